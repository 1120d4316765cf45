//! What can be set about stores and the network: typed keys with units, from a file, the environment, and by call.
//!
//! A call wins over the environment, that over the file, and what nobody sets has its default. Keys are `area.name`; the variable of each is `SMALTI_AREA_NAME`,
//! and some have the variables that other programs read too. The values of secrets never appear in what is printed.

use smalti_types::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    /// Any text.
    Text,
    /// Text that is never shown.
    Secret,
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

/// A key that can be set.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Key {
    /// Its name: `s3.region`.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// The variables of the environment that set it, those of other programs too, beside its own.
    pub variables: &'static [&'static str],
    /// What holds if nobody sets it; empty for what is found out otherwise, or not used.
    pub default: &'static str,
    /// What it says.
    pub about: &'static str,
}

const fn key(
    name: &'static str,
    takes: Takes,
    variables: &'static [&'static str],
    default: &'static str,
    about: &'static str,
) -> Key {
    Key { name, takes, variables, default, about }
}

/// All keys, sorted.
pub const KEYS: &[Key] = &[
    key(
        "azure.account",
        Takes::Text,
        &["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"],
        "",
        "the storage account, where the URI names none",
    ),
    key("azure.anonymous", Takes::Flag, &[], "false", "read public containers without credentials"),
    key(
        "azure.endpoint",
        Takes::Text,
        &["AZURE_STORAGE_ENDPOINT"],
        "",
        "the address of the service, for others than Azure's own",
    ),
    key(
        "azure.key",
        Takes::Secret,
        &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"],
        "",
        "a key of the storage account",
    ),
    key(
        "azure.sas",
        Takes::Secret,
        &["AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"],
        "",
        "a shared access signature",
    ),
    key("gcs.anonymous", Takes::Flag, &[], "false", "read public buckets without credentials"),
    key(
        "gcs.credentials",
        Takes::Text,
        &["GOOGLE_APPLICATION_CREDENTIALS"],
        "",
        "the file with the credentials of an application or service account",
    ),
    key(
        "gcs.endpoint",
        Takes::Text,
        &["STORAGE_EMULATOR_HOST"],
        "",
        "the address of the service, for others than Google's own",
    ),
    key(
        "network.ca_file",
        Takes::Text,
        &["AWS_CA_BUNDLE", "SSL_CERT_FILE"],
        "",
        "certificates in PEM that are trusted beside those of the system",
    ),
    key("network.connect_timeout", Takes::Duration, &[], "5 s", "how long a connection may take to be made"),
    key(
        "network.gap",
        Takes::ByteLen,
        &[],
        "3 MiB",
        "bytes nobody wants that are read rather than asking twice: what comes in a round trip",
    ),
    key(
        "network.listing",
        Takes::ByteLen,
        &[],
        "1 GiB",
        "the longest listing, in bytes of its pages: one that never ends is refused",
    ),
    key(
        "network.merged",
        Takes::ByteLen,
        &[],
        "16 MiB",
        "the longest request that several wanted ranges are joined to",
    ),
    key(
        "network.part_size",
        Takes::ByteLen,
        &[],
        "8 MiB",
        "the size of the parts that long files are uploaded in, 5 MiB at least",
    ),
    key("network.proxy", Takes::Text, &[], "", "a proxy for all requests: http://host:port"),
    key("network.requests", Takes::Count, &[], "64", "requests that go side by side"),
    key(
        "network.retries",
        Takes::Count,
        &[],
        "8",
        "how often a request that failed for a while is sent again",
    ),
    key("network.retry_time", Takes::Duration, &[], "1 min", "for how long a request is sent again"),
    key("network.timeout", Takes::Duration, &[], "30 s", "how long an answer may make no progress"),
    key("s3.access_key_id", Takes::Text, &["AWS_ACCESS_KEY_ID"], "", "the name of the access key"),
    key("s3.anonymous", Takes::Flag, &[], "false", "read public buckets without credentials"),
    key(
        "s3.conditional_put",
        Takes::OneOf(&["etag", "none"]),
        &[],
        "etag",
        "how the store refuses to replace: by If-None-Match, or not at all",
    ),
    key(
        "s3.endpoint",
        Takes::Text,
        &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
        "",
        "the address of the service, for others than Amazon's own",
    ),
    key(
        "s3.profile",
        Takes::Text,
        &["AWS_PROFILE"],
        "",
        "the profile of the shared files of settings and credentials",
    ),
    key("s3.region", Takes::Text, &["AWS_REGION", "AWS_DEFAULT_REGION"], "", "the region of the bucket"),
    key(
        "s3.secret_access_key",
        Takes::Secret,
        &["AWS_SECRET_ACCESS_KEY"],
        "",
        "the secret of the access key",
    ),
    key("s3.session_token", Takes::Secret, &["AWS_SESSION_TOKEN"], "", "the token of keys that end"),
    key(
        "s3.suffix_ranges",
        Takes::Flag,
        &[],
        "true",
        "the store gives the end of an object without being told its length; false asks for the length first",
    ),
    key(
        "s3.virtual_hosted",
        Takes::Flag,
        &[],
        "false",
        "the bucket is a part of the host's name, not of the path",
    ),
];

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    File(String),
    Variable(String),
    Call,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => f.write_str(path),
            Source::Variable(name) => write!(f, "the variable {name}"),
            Source::Call => f.write_str("the program"),
        }
    }
}

/// Values of keys. Debug output shows no secret.
#[derive(Clone, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, (String, Source)>,
}

impl Settings {
    /// What the environment says, and the file that `SMALTI_CONFIG` names.
    ///
    /// # Errors
    /// `InvalidArgument` for values that are none of their key, and unknown keys of the file; what reading the file reports.
    pub fn from_env() -> Result<Settings> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let file = match variable("SMALTI_CONFIG") {
            Some(path) => {
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| Error::from(error).context("the file of SMALTI_CONFIG").at_uri(&path))?;
                Settings::from_text(&text, &path)?
            }
            None => Settings::default(),
        };
        file.over_variables(&variable)
    }

    /// What a text says: lines of `key = value`; those that begin with `#` are for people. Errors name the file and the line.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn from_text(text: &str, file: &str) -> Result<Settings> {
        let mut settings = Settings::default();
        for (idx, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |error: Error| error.context(format_args!("line {}", idx + 1)).at_uri(file);
            let Some((name, value)) = line.split_once('=') else {
                return Err(wrong(Error::invalid("write `key = value`")));
            };
            let value = value.trim().trim_matches('"');
            settings.put(name.trim(), value, Source::File(file.to_owned())).map_err(wrong)?;
        }
        Ok(settings)
    }

    fn over_variables(mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Settings> {
        for key in KEYS {
            let own = key.own_variable();
            let names = std::iter::once(own.as_str()).chain(key.variables.iter().copied());
            let Some((name, value)) = names.into_iter().find_map(|name| Some((name, variable(name)?))) else {
                continue;
            };
            self.put(key.name, &value, Source::Variable(name.to_owned()))?;
        }
        Ok(self)
    }

    /// Sets a key.
    ///
    /// # Errors
    /// `InvalidArgument` for unknown keys, with the nearest one, and for values that are none of the key.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.put(name, value, Source::Call)
    }

    fn put(&mut self, name: &str, value: &str, source: Source) -> Result<()> {
        let key = known(name)?;
        check(key, value).map_err(|error| error.context(format_args!("{} of {source}", key.name)))?;
        self.values.insert(key.name, (value.to_owned(), source));
        Ok(())
    }

    /// The value of a key; `None` where nobody set it and it has no default.
    pub(crate) fn get(&self, name: &'static str) -> Option<&str> {
        let set = self.values.get(name).map(|(value, _)| value.as_str());
        set.or_else(|| KEYS.iter().find(|key| key.name == name).map(|key| key.default))
            .filter(|value| !value.is_empty())
    }

    /// Who set a key, for messages.
    pub(crate) fn source(&self, name: &'static str) -> Option<String> {
        self.values.get(name).map(|(_, source)| source.to_string())
    }

    /// What each key is now, for people: secrets are not shown.
    pub fn shown(&self) -> Vec<Shown> {
        let shown = |key: &'static Key| {
            let value = self.get(key.name).map(|value| match key.takes {
                Takes::Secret => "(secret)".to_owned(),
                _ => value.to_owned(),
            });
            Shown { key, value, source: self.source(key.name) }
        };
        KEYS.iter().map(shown).collect()
    }
}

/// What a key is, for people.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Shown {
    /// The key.
    pub key: &'static Key,
    /// Its value; `(secret)` for one that is not shown. `None` where nobody set it and it has no default.
    pub value: Option<String>,
    /// Who set it; `None` for defaults.
    pub source: Option<String>,
}

/// Values in the types of their keys, which were checked when they were set.
#[cfg(feature = "network")]
impl Settings {
    pub(crate) fn flag(&self, name: &'static str) -> bool {
        self.get(name) == Some("true")
    }

    pub(crate) fn count(&self, name: &'static str) -> u64 {
        self.get(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn duration(&self, name: &'static str) -> Duration {
        self.get(name).and_then(|value| duration(value).ok()).unwrap_or_default()
    }

    pub(crate) fn byte_len(&self, name: &'static str) -> u64 {
        self.get(name).and_then(|value| byte_len(value).ok()).unwrap_or_default()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown().into_iter().filter_map(|shown| {
            let (value, source) = (shown.value?, shown.source?);
            Some((shown.key.name, format!("{value}, from {source}")))
        });
        f.debug_map().entries(shown).finish()
    }
}

impl Key {
    /// The variable of the environment that is the key's own: `SMALTI_S3_REGION` of `s3.region`.
    pub fn own_variable(&self) -> String {
        format!("SMALTI_{}", self.name.replace('.', "_").to_ascii_uppercase())
    }
}

fn known(name: &str) -> Result<&'static Key> {
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        return Ok(key);
    }
    let nearest = KEYS.iter().min_by_key(|key| strsim::damerau_levenshtein(key.name, name));
    let nearest = nearest.map(|key| format!("; did you mean {:?}?", key.name)).unwrap_or_default();
    Err(Error::invalid(format!("there is no setting {name:?}{nearest}")))
}

fn check(key: &Key, value: &str) -> Result<()> {
    match key.takes {
        Takes::Text | Takes::Secret => Ok(()),
        Takes::Flag if matches!(value, "true" | "false") => Ok(()),
        Takes::Flag => Err(Error::invalid(format!("{value:?} is neither true nor false"))),
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

/// A number and what follows it.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, unit.trim()))
}

fn duration(text: &str) -> Result<Duration> {
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

fn byte_len(text: &str) -> Result<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_their_defaults_are_values_of_theirs() {
        assert!(KEYS.is_sorted_by_key(|key| key.name));
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            check(key, key.default).unwrap();
        }
    }

    #[test]
    fn a_call_wins_over_the_environment_and_that_over_the_file() {
        let file = Settings::from_text("# mine\ns3.region = \"file\"\n\nnetwork.timeout=10 s", "f").unwrap();
        let variables = |name: &str| match name {
            "AWS_REGION" => Some("theirs".to_owned()),
            "SMALTI_S3_ENDPOINT" => Some("http://own".to_owned()),
            "AWS_ENDPOINT_URL" => Some("http://theirs".to_owned()),
            _ => None,
        };
        let mut settings = file.over_variables(&variables).unwrap();
        assert_eq!(settings.get("s3.region"), Some("theirs"));
        assert_eq!(settings.source("s3.region").unwrap(), "the variable AWS_REGION");
        assert_eq!(settings.get("s3.endpoint"), Some("http://own"));
        assert_eq!(settings.duration("network.timeout"), Duration::from_secs(10));
        assert_eq!(settings.byte_len("network.part_size"), 8 << 20);
        settings.set("s3.region", "called").unwrap();
        assert_eq!(settings.get("s3.region"), Some("called"));
        assert_eq!(settings.get("s3.profile"), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_the_nearest_key() {
        let mut settings = Settings::default();
        let told = |result: Result<()>| result.unwrap_err().to_string();
        assert!(told(settings.set("s3.regoin", "x")).contains("did you mean \"s3.region\"?"));
        assert!(told(settings.set("network.timeout", "30")).contains("write it like"));
        assert!(told(settings.set("network.timeout", "99999999999999999999 s")).contains("is no time"));
        assert!(told(settings.set("s3.conditional_put", "x")).contains("none of etag, none"));
        assert!(told(settings.set("s3.anonymous", "yes")).contains("neither true nor false"));
        let error = Settings::from_text("s3.region = a\nwhat\n", "settings").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("settings"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let mut settings = Settings::default();
        settings.set("s3.secret_access_key", "hush").unwrap();
        settings.set("s3.region", "here").unwrap();
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hush") && shown.contains("here"), "{shown}");
    }
}
