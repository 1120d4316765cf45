//! Values of settings: what they are in the types of their keys, and how they are shown.

use smalti_types::{Error, Result};
#[cfg(feature = "network")]
use std::path::PathBuf;
use std::time::Duration;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    /// Any text.
    Text,
    /// Text that is never shown.
    Secret,
    /// The address of a service or proxy, shown without passwords in it.
    Address,
    /// The path of a file; `~/` in front is the user's home.
    File,
    /// `true` or `false`.
    Flag,
    /// A number.
    Count,
    /// A time: `500 ms`, `30 s`, `2 min`.
    Duration,
    /// A number of bytes: `4096`, `512 KiB`, `8 MiB`, `1 GiB`.
    ByteLen,
    /// One of some words.
    OneOf(&'static [&'static str]),
}

/// Whether a value is one of a key that takes this.
///
/// # Errors
/// `InvalidArgument`, with what to write. Secrets, and addresses, which may have a password, are not repeated.
pub(crate) fn check(takes: Takes, value: &str) -> Result<()> {
    if takes != Takes::Secret && value.chars().any(char::is_control) {
        return Err(Error::invalid("there are control characters in it"));
    }
    match takes {
        Takes::Text | Takes::Secret | Takes::File => Ok(()),
        Takes::Address => address(value).map(drop),
        Takes::Flag => flag(value).map(drop),
        Takes::Count => match value.parse::<u64>() {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::invalid(format!("{value:?} is no number"))),
        },
        Takes::Duration => duration(value).map(drop),
        Takes::ByteLen => byte_len(value).map(drop),
        Takes::OneOf(words) if words.contains(&value) => Ok(()),
        Takes::OneOf(words) => Err(Error::invalid(format!("{value:?} is none of {}", words.join(", ")))),
    }
}

/// A value as people may see it.
pub(crate) fn shown(takes: Takes, value: &str) -> String {
    match takes {
        Takes::Secret => "(secret)".to_owned(),
        Takes::Address => shown_address(value),
        _ => value.to_owned(),
    }
}

/// Other programs write flags in these ways.
pub(crate) fn flag(value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Error::invalid(format!("{value:?} is neither true nor false"))),
    }
}

/// A number and what follows it.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, unit.trim()))
}

pub(crate) fn duration(text: &str) -> Result<Duration> {
    let wrong = || Error::invalid(format!("{text:?} is no time; write it like 500 ms, 30 s or 2 min"));
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let ms: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(ms).map(Duration::from_millis).ok_or_else(wrong)
}

pub(crate) fn byte_len(text: &str) -> Result<u64> {
    let wrong = || {
        Error::invalid(format!("{text:?} is no number of bytes; write it like 4096, 512 KiB, 8 MiB or 1 GiB"))
    };
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let shift = match unit {
        "" => 0,
        "KiB" | "K" => 10,
        "MiB" | "M" => 20,
        "GiB" | "G" => 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A path in which `~/` is the user's home.
#[cfg(feature = "network")]
pub(crate) fn path(text: &str) -> PathBuf {
    match text.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(text),
    }
}

/// An address with its scheme, which is `http` where none is said, and without the line at its end.
pub(crate) fn address(text: &str) -> Result<String> {
    let wrong = || Error::invalid("write the address like https://host or http://host:port");
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => ("http".to_owned(), text),
    };
    if !matches!(scheme.as_str(), "http" | "https") {
        let is_word = scheme.len() < 16 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let scheme = if is_word { scheme.as_str() } else { "this" };
        return Err(Error::invalid(format!("addresses of {scheme}:// cannot be used; http and https can")));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or_else(wrong)?,
        None => host.find(':').and_then(|at| host.split_at_checked(at)).unwrap_or((host, "")),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    let is_printed = rest.bytes().all(|byte| byte.is_ascii_graphic());
    if name.is_empty() || !name.chars().all(is_name) || !is_port || !is_printed {
        return Err(wrong());
    }
    Ok(format!("{scheme}://{}", rest.trim_end_matches('/')))
}

/// The host of an address, without user, password and port.
pub(crate) fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((name, _)) => name,
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// User, password and query of an address are nobody's business.
pub(crate) fn shown_address(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let (rest, query) = match rest.split_once(['?', '#']) {
        Some((rest, _)) => (rest, "?(secret)"),
        None => (rest, ""),
    };
    let (authority, path) = rest.find('/').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}(secret)@{host}{path}{query}"),
        None => format!("{scheme}{authority}{path}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scheme_and_a_host() {
        assert_eq!(address("https://host").unwrap(), "https://host");
        assert_eq!(address("HTTP://host:80/path/").unwrap(), "http://host:80/path");
        assert_eq!(address("proxy:3128").unwrap(), "http://proxy:3128");
        assert_eq!(address("http://user:pass@[::1]:8080").unwrap(), "http://user:pass@[::1]:8080");
        for bad in [
            "",
            "http://",
            "http:///path",
            "host:port",
            "http://host:99999",
            "http://a b",
            "http://host/\u{e9}",
            "http://[::1",
            "https://user@",
        ] {
            assert!(address(bad).unwrap_err().to_string().contains("write the address"), "{bad}");
        }
        assert!(address("socks5://host").unwrap_err().to_string().contains("socks5://"));
    }

    #[test]
    fn hosts_are_told_from_what_stands_around_them() {
        assert_eq!(host_of("http://user:pass@[::1]:8080/x"), "::1");
        assert_eq!(host_of("https://user@host:1/x"), "host");
        assert_eq!(host_of("host"), "host");
    }

    #[test]
    fn passwords_in_addresses_are_not_shown() {
        assert_eq!(shown_address("http://user:pass@host:1/a/b"), "http://(secret)@host:1/a/b");
        assert_eq!(shown_address("user:p@ss@host"), "(secret)@host");
        assert_eq!(shown_address("https://host/path?sig=pass"), "https://host/path?(secret)");
        assert_eq!(shown_address("https://host/at@path"), "https://host/at@path");
    }

    #[test]
    fn times_and_bytes_have_units() {
        assert_eq!(duration("500 ms").unwrap(), Duration::from_millis(500));
        assert_eq!(
            (duration("10s").unwrap(), duration("2 min").unwrap()),
            (Duration::from_secs(10), Duration::from_secs(120))
        );
        assert_eq!((byte_len("4096").unwrap(), byte_len("512 KiB").unwrap()), (4096, 512 << 10));
        assert_eq!((byte_len("8M").unwrap(), byte_len("1 GiB").unwrap()), (8 << 20, 1 << 30));
        for bad in ["", "10", "s", "-1 s", "1.5 s", "1 h", "18446744073709551615 min"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        for bad in ["", "KiB", "1 TB", "18446744073709551615 KiB"] {
            assert!(byte_len(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_are_written_in_several_ways() {
        for (text, is) in [("true", true), ("TRUE", true), ("1", true), ("False", false), ("0", false)] {
            assert_eq!(flag(text).unwrap(), is);
        }
        assert!(flag("yes").is_err() && flag("").is_err());
    }

    #[cfg(feature = "network")]
    #[test]
    fn the_home_stands_for_its_sign() {
        let home = std::env::home_dir();
        assert_eq!(
            path("~/.aws/config"),
            home.map_or("~/.aws/config".into(), |home| home.join(".aws/config"))
        );
        assert_eq!(path("/etc/~/x"), PathBuf::from("/etc/~/x"));
        assert_eq!(path("~other/x"), PathBuf::from("~other/x"));
    }
}
