//! URIs of HTTP: which server, whose login, which path; and back.

use reqwest::Url;
use smalti_store::{check_path, percent_decoded};
use smalti_types::{Error, Result};
use std::fmt;

/// A name and a password, which are sent to the server of the URI alone, and never shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Login {
    pub(super) name: String,
    pub(super) password: Option<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

/// A server, and who asks it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    /// Its root: `http://host:8080`, without what is the default.
    pub(super) origin: String,
    pub(super) login: Option<Login>,
}

/// The server and the path of a URI: of a scheme, and what follows `://`.
///
/// # Errors
/// `InvalidArgument`, which says nothing of the login.
pub(crate) fn parse(scheme: &str, rest: &str) -> Result<(Address, String)> {
    let rest = rest.trim_end_matches('/');
    if rest.contains(['?', '#']) {
        return Err(Error::invalid(
            "a query or a fragment has no place in the URI of an array; in names `?` is `%3F`, and `#` is `%23`",
        ));
    }
    let Some((host, path)) = rest.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        return Err(Error::invalid(format!(
            "write {scheme}://HOST/PATH: a server as a whole can be no array or group; serve the folder that it is in"
        )));
    };
    let (login, host) = match host.rsplit_once('@') {
        Some((login, host)) => (Some(login_of(login)?), host),
        None => (None, host),
    };
    let url = Url::parse(&format!("{scheme}://{host}/"));
    let url = url.ok().filter(|url| url.host().is_some() && url.username().is_empty());
    let url = url.ok_or_else(|| Error::invalid("the host or the port of the URI is none"))?;
    let parts = path.split('/').map(percent_decoded).collect::<Result<Vec<_>>>()?;
    let path = parts.join("/");
    check_path(&path)?;
    Ok((Address { origin: url.origin().ascii_serialization(), login }, path))
}

fn login_of(text: &str) -> Result<Login> {
    let (name, password) = match text.split_once(':') {
        Some((name, password)) => (name, Some(password)),
        None => (text, None),
    };
    let decoded = |part: &str| {
        // What is wrong with a password is not said by showing it.
        percent_decoded(part).map_err(|_| {
            Error::invalid(
                "the name or the password of the URI is not percent-encoded; a percent sign itself is `%25`",
            )
        })
    };
    Ok(Login { name: decoded(name)?, password: password.map(decoded).transpose()? })
}

/// A path as it stands in a URI (RFC 3986, section 3.3): all but unreserved characters are encoded.
pub(super) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_through_uris_and_back() {
        for name in
            ["a", "a b", "100%", "%41", "a%2Fb", "ü", "a?b#c", "a+b&c=d;e,f@g:h", "~a-b_c.d", "\u{1f600}"]
        {
            let uri = format!("host:80/data/{}/x", encoded(name));
            let (address, path) = parse("http", &uri).unwrap();
            assert_eq!((address.origin.as_str(), path), ("http://host", format!("data/{name}/x")), "{uri}");
        }
        assert_eq!(parse("https", "HOST:444/a b/").unwrap().1, "a b");
    }

    #[test]
    fn logins_are_taken_and_not_shown() {
        let (address, path) = parse("http", "ann%40work:p%3Aw:x@[::1]:8080/a").unwrap();
        let login = address.login.clone().unwrap();
        assert_eq!((login.name.as_str(), login.password.as_deref()), ("ann@work", Some("p:w:x")));
        assert_eq!((address.origin.as_str(), path.as_str()), ("http://[::1]:8080", "a"));
        assert!(!format!("{address:?}").contains("ann"), "{address:?}");
        for bad in ["ann:p%w@host/a", "ann:pw@/a", "ann:pw@host:x/a", "ann:pw@host/../a"] {
            let error = parse("http", bad).unwrap_err();
            assert!(!error.to_string().contains("pw") && !error.to_string().contains("p%w"), "{error}");
        }
    }

    #[test]
    fn what_names_no_folder_of_a_server_is_refused() {
        for bad in [
            "",
            "host",
            "host/",
            "/a",
            "host//a",
            "host/a//b",
            "host/a/../b",
            "host/a?b",
            "host/a#b",
            "host/a%2Fb",
            "host/%",
            ":/a",
        ] {
            assert!(parse("http", bad).is_err(), "{bad:?}");
        }
    }
}
