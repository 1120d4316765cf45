//! What can be set about stores and the network: typed keys with units, from a file, the environment, and by call.
//!
//! A call wins over the environment, that over the file, and what nobody sets has its default. Keys are `area.name`; the variable of each is `SMALTI_AREA_NAME`,
//! and some have the variables that other programs read too. The values of secrets never appear in what is printed.

use crate::values;
pub use crate::values::Takes;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A file of settings is not longer than this.
const MAX_FILE_BYTE_LEN: u64 = 1 << 20;

/// Names of keys are shorter, and so what is longer is something else, which may be a secret.
const MAX_NAME_LEN: usize = 64;

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
        "azure.authority",
        Takes::Address,
        &["AZURE_AUTHORITY_HOST"],
        "",
        "where tokens are asked for, for other clouds than the public one",
    ),
    key("azure.cli", Takes::Flag, &[], "true", "ask the command az for a token where nothing else is set"),
    key(
        "azure.client_id",
        Takes::Text,
        &["AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID"],
        "",
        "the application, or the managed identity of several, that logs in",
    ),
    key(
        "azure.client_secret",
        Takes::Secret,
        &["AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET"],
        "",
        "the secret of the application",
    ),
    key(
        "azure.connection_string",
        Takes::Secret,
        &["AZURE_STORAGE_CONNECTION_STRING"],
        "",
        "account, key and addresses in one text, as the portal shows it",
    ),
    key(
        "azure.endpoint",
        Takes::Address,
        &["AZURE_STORAGE_ENDPOINT"],
        "",
        "the address of the service, for others than Azure's own",
    ),
    key(
        "azure.federated_token_file",
        Takes::File,
        &["AZURE_FEDERATED_TOKEN_FILE"],
        "",
        "the file with the token of a workload identity",
    ),
    key(
        "azure.identity_endpoint",
        Takes::Address,
        &["IDENTITY_ENDPOINT", "MSI_ENDPOINT"],
        "",
        "where managed identities are asked for, if not at the metadata service",
    ),
    key(
        "azure.key",
        Takes::Secret,
        &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"],
        "",
        "a key of the storage account",
    ),
    key(
        "azure.metadata_disabled",
        Takes::Flag,
        &[],
        "false",
        "do not look for a managed identity of this machine",
    ),
    key(
        "azure.sas",
        Takes::Secret,
        &["AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"],
        "",
        "a shared access signature",
    ),
    key(
        "azure.tenant_id",
        Takes::Text,
        &["AZURE_TENANT_ID", "AZURE_STORAGE_TENANT_ID"],
        "",
        "the tenant that the application is of",
    ),
    key("azure.token", Takes::Secret, &["AZURE_STORAGE_TOKEN"], "", "a token that somebody else got"),
    key(
        "cache.folder",
        Takes::File,
        &["SMALTI_CACHE"],
        "",
        "a folder of yours alone that keeps what was read of distant arrays, for later programs too",
    ),
    key("cache.size", Takes::ByteLen, &[], "10 GiB", "how much that folder may hold"),
    key("gcs.anonymous", Takes::Flag, &[], "false", "read public buckets without credentials"),
    key(
        "gcs.credentials",
        Takes::File,
        &["GOOGLE_APPLICATION_CREDENTIALS"],
        "",
        "the file with the credentials of an application or service account",
    ),
    key(
        "gcs.endpoint",
        Takes::Address,
        &["STORAGE_EMULATOR_HOST"],
        "",
        "the address of the service, for others than Google's own",
    ),
    key(
        "gcs.metadata_disabled",
        Takes::Flag,
        &["NO_GCE_CHECK"],
        "false",
        "do not look for a service account of this machine",
    ),
    key(
        "gcs.metadata_endpoint",
        Takes::Address,
        &["GCE_METADATA_HOST"],
        "http://169.254.169.254",
        "the metadata service, which knows the service account of this machine",
    ),
    key("gcs.project", Takes::Text, &["GOOGLE_CLOUD_PROJECT"], "", "the project that new buckets are of"),
    key(
        "gcs.service_account",
        Takes::Secret,
        &["GOOGLE_SERVICE_ACCOUNT_KEY"],
        "",
        "the key of a service account: the JSON itself",
    ),
    key(
        "gcs.token",
        Takes::Secret,
        &["CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"],
        "",
        "a token that somebody else got",
    ),
    key(
        "gcs.user_credentials",
        Takes::File,
        &[],
        "~/.config/gcloud/application_default_credentials.json",
        "the file that `gcloud auth application-default login` writes",
    ),
    key(
        "network.ca_file",
        Takes::File,
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
        "network.http_proxy",
        Takes::Address,
        &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
        "",
        "a proxy for requests to http:// addresses",
    ),
    key(
        "network.https_proxy",
        Takes::Address,
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        "",
        "a proxy for requests to https:// addresses",
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
        "network.no_proxy",
        Takes::Text,
        &["no_proxy", "NO_PROXY"],
        "",
        "hosts, domains and networks that are asked without a proxy, between commas; * for all",
    ),
    key(
        "network.part_size",
        Takes::ByteLen,
        &[],
        "8 MiB",
        "the size of the parts that long files are uploaded in, 5 MiB at least",
    ),
    key(
        "network.proxy",
        Takes::Address,
        &[],
        "",
        "a proxy for all requests, whatever the two for http and https are: http://host:port",
    ),
    key("network.requests", Takes::Count, &[], "64", "requests that go side by side"),
    key(
        "network.retries",
        Takes::Count,
        &[],
        "8",
        "how often a request that failed for a while is sent again",
    ),
    key(
        "network.retry_pause",
        Takes::Duration,
        &[],
        "100 ms",
        "how long to wait before a request is sent again the first time; later waits are longer",
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
    key("s3.config_file", Takes::File, &["AWS_CONFIG_FILE"], "~/.aws/config", "the shared file of settings"),
    key(
        "s3.container_path",
        Takes::Text,
        &["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"],
        "",
        "where the container service tells credentials: what follows http://169.254.170.2",
    ),
    key(
        "s3.container_token",
        Takes::Secret,
        &["AWS_CONTAINER_AUTHORIZATION_TOKEN"],
        "",
        "what the container service wants to see",
    ),
    key(
        "s3.container_token_file",
        Takes::File,
        &["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"],
        "",
        "the file with what the container service wants to see",
    ),
    key(
        "s3.container_uri",
        Takes::Address,
        &["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
        "",
        "where the container service tells credentials: an address",
    ),
    key(
        "s3.credentials_file",
        Takes::File,
        &["AWS_SHARED_CREDENTIALS_FILE"],
        "~/.aws/credentials",
        "the shared file of credentials",
    ),
    key(
        "s3.endpoint",
        Takes::Address,
        &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
        "",
        "the address of the service, for others than Amazon's own",
    ),
    key(
        "s3.metadata_disabled",
        Takes::Flag,
        &["AWS_EC2_METADATA_DISABLED"],
        "false",
        "do not look for a role of this machine",
    ),
    key(
        "s3.metadata_endpoint",
        Takes::Address,
        &["AWS_EC2_METADATA_SERVICE_ENDPOINT"],
        "http://169.254.169.254",
        "the metadata service, which knows the role of this machine",
    ),
    key(
        "s3.profile",
        Takes::Text,
        &["AWS_PROFILE", "AWS_DEFAULT_PROFILE"],
        "",
        "the profile of the shared files; without one, default",
    ),
    key(
        "s3.region",
        Takes::Text,
        &["AWS_REGION", "AWS_DEFAULT_REGION"],
        "",
        "the region of the bucket; a wrong one is corrected by what the store answers",
    ),
    key("s3.role_arn", Takes::Text, &["AWS_ROLE_ARN"], "", "the role that a web identity takes"),
    key(
        "s3.role_session_name",
        Takes::Text,
        &["AWS_ROLE_SESSION_NAME"],
        "",
        "what the session of a web identity is called",
    ),
    key(
        "s3.secret_access_key",
        Takes::Secret,
        &["AWS_SECRET_ACCESS_KEY"],
        "",
        "the secret of the access key",
    ),
    key("s3.session_token", Takes::Secret, &["AWS_SESSION_TOKEN"], "", "the token of keys that end"),
    key(
        "s3.sts_endpoint",
        Takes::Address,
        &["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"],
        "",
        "the service that gives roles, for others than Amazon's own",
    ),
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
    key(
        "s3.web_identity_token_file",
        Takes::File,
        &["AWS_WEB_IDENTITY_TOKEN_FILE"],
        "",
        "the file with the token of a web identity",
    ),
];

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    File(String),
    Variable(String),
    Call,
}

/// How strong the word of a source is.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    File,
    Variable,
    Call,
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
impl Source {
    fn rank(&self) -> Rank {
        match self {
            Source::File(_) => Rank::File,
            Source::Variable(_) => Rank::Variable,
            Source::Call => Rank::Call,
        }
    }
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
    /// What the environment says, and the file that `SMALTI_CONFIG` names. Without that variable it is `smalti/config` in the folder of
    /// `XDG_CONFIG_HOME`, or `~/.config/smalti/config`, if there is one.
    ///
    /// # Errors
    /// `InvalidArgument` for values that are none of their key, and unknown keys of the file; what reading the file reports.
    pub fn from_env() -> Result<Settings> {
        let file = match std::env::var_os("SMALTI_CONFIG").filter(|path| !path.is_empty()) {
            Some(path) => {
                let path = PathBuf::from(path);
                let text = text_of(&path).map_err(|error| {
                    error.context("the file of SMALTI_CONFIG").at_uri(path.display().to_string())
                })?;
                Settings::from_text(&text, &path.display().to_string())?
            }
            None => Settings::of_user()?,
        };
        file.over_variables(&|name| {
            let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
                return Ok(None);
            };
            let wrong = |_| Error::invalid(format!("the variable {name} is no text"));
            value.into_string().map(Some).map_err(wrong)
        })
    }

    /// What the user's own file says, if there is one.
    fn of_user() -> Result<Settings> {
        let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
        let folder = folder.map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".config")));
        let Some(path) = folder.map(|folder| folder.join("smalti/config")) else {
            return Ok(Settings::default());
        };
        match text_of(&path) {
            Ok(text) => Settings::from_text(&text, &path.display().to_string()),
            // Programs without a home of their own may look at nobody's.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Permission) => {
                Ok(Settings::default())
            }
            Err(error) => Err(error.at_uri(path.display().to_string())),
        }
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

    pub(crate) fn over_variables(
        mut self,
        variable: &dyn Fn(&str) -> Result<Option<String>>,
    ) -> Result<Settings> {
        for key in KEYS {
            for name in key.variables() {
                if let Some(value) = variable(&name)? {
                    self.put(key.name, &value, Source::Variable(name))?;
                    break;
                }
            }
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
        let value = value.trim();
        values::check(key.takes, value)
            .map_err(|error| error.context(format_args!("{} of {source}", key.name)))?;
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
            let value = self.get(key.name).map(|value| values::shown(key.takes, value));
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

/// Whose word counts.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
impl Settings {
    /// How strong the word of who set a key is; `None` where nobody did.
    pub(crate) fn rank(&self, name: &'static str) -> Option<Rank> {
        self.values.get(name).map(|(_, source)| source.rank())
    }

    /// The key of several that was set by the strongest word; the first of those that are alike. `None` where nobody set any.
    pub(crate) fn strongest(&self, names: &[&'static str]) -> Option<&'static str> {
        let set = names.iter().rev().filter_map(|&name| Some((self.rank(name)?, name)));
        // Of equal ones the last, which is the first of the names.
        set.max_by_key(|&(rank, _)| rank).map(|(_, name)| name)
    }
}

/// Values in the types of their keys, which were checked when they were set.
#[cfg(feature = "network")]
impl Settings {
    /// The path of a file, with the user's home in it.
    pub(crate) fn path(&self, name: &'static str) -> Option<PathBuf> {
        self.get(name).map(values::path)
    }

    pub(crate) fn flag(&self, name: &'static str) -> bool {
        self.get(name).and_then(|value| values::flag(value).ok()).unwrap_or_default()
    }

    pub(crate) fn count(&self, name: &'static str) -> u64 {
        self.get(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn duration(&self, name: &'static str) -> std::time::Duration {
        self.get(name).and_then(|value| values::duration(value).ok()).unwrap_or_default()
    }

    pub(crate) fn byte_len(&self, name: &'static str) -> u64 {
        self.get(name).and_then(|value| values::byte_len(value).ok()).unwrap_or_default()
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

    /// All variables that set it; the first that is there wins.
    pub fn variables(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.own_variable()).chain(self.variables.iter().map(|&name| name.to_owned()))
    }

    /// Whether its value is never shown.
    pub fn is_secret(&self) -> bool {
        self.takes == Takes::Secret
    }
}

/// The text of a file of settings.
fn text_of(path: &Path) -> Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_FILE_BYTE_LEN + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTE_LEN {
        return Err(Error::invalid(format!(
            "it has more than {MAX_FILE_BYTE_LEN} bytes: these are no settings"
        )));
    }
    Ok(text)
}

fn known(name: &str) -> Result<&'static Key> {
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        return Ok(key);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.len() > MAX_NAME_LEN || !name.chars().all(is_name) {
        // It may be a secret in the wrong place.
        return Err(Error::invalid(
            "what stands for the name of a setting is none; write one like s3.region",
        ));
    }
    let nearest = KEYS.iter().min_by_key(|key| strsim::damerau_levenshtein(key.name, name));
    let nearest = nearest.map(|key| format!("; did you mean {:?}?", key.name)).unwrap_or_default();
    Err(Error::invalid(format!("there is no setting {name:?}{nearest}")))
}

#[cfg(test)]
mod tests;
