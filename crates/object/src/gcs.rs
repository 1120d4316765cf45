//! Google Cloud Storage: its clients, with credentials as Google's tools find them.

use crate::address::{address_of, get};
use crate::asking;
use crate::bucket;
use crate::reason::unopened;
use crate::remade::{Clients, Common, Maker, carried};
use crate::uploads_listed;
use crate::values::host_of;
use crate::whole_bucket::{Unfinished, WholeBucket};
use async_trait::async_trait;
use object_store::client::{HttpClient, HttpRequest};
use object_store::gcp::{GcpCredential, GoogleCloudStorage, GoogleCloudStorageBuilder};
use object_store::multipart::MultipartStore as _;
use object_store::{CredentialProvider, RetryConfig, StaticCredentialProvider};
use serde_json::Value;
use smalti_types::{Error, ErrorKind, Result};
use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// No file of credentials is longer.
const MAX_BYTE_LEN: u64 = 1 << 20;

/// Where the metadata service tells a token of the machine's account.
const TOKEN_PATH: &str = "computeMetadata/v1/instance/service-accounts/default/token";

/// Tokens are asked for anew so long before they end.
const RESERVE: Duration = Duration::from_secs(300);

/// Makes clients of a bucket in Google Cloud Storage.
pub(crate) struct Gcs {
    pub(crate) common: Common,
    pub(crate) bucket: String,
}

/// Credentials that were set or lie in a file.
#[derive(Debug, PartialEq, Eq)]
enum Stored {
    /// The JSON of a service account's key, and the account.
    ServiceAccount(String),
    /// What a user's login left, in a file that the crate reads itself.
    User,
}

#[async_trait]
impl Maker for Gcs {
    async fn make(&self) -> Result<Clients> {
        let endpoint = address_of(&self.common.settings, "gcs.endpoint")?;
        let mut builder = GoogleCloudStorageBuilder::new()
            .with_bucket_name(&self.bucket)
            .with_client_options(self.common.options.clone())
            .with_http_connector(self.common.connector.clone());
        if let Some(endpoint) = &endpoint {
            builder = builder.with_base_url(endpoint);
        }
        let builder = self.log_in(builder, endpoint.as_deref()).await?;
        let address = endpoint.unwrap_or_else(|| "https://storage.googleapis.com".to_owned());
        let whole = |client: &Arc<GoogleCloudStorage>| -> Option<Arc<dyn WholeBucket>> {
            Some(Arc::new(GcsBucket {
                client: Arc::clone(client),
                http: self.common.connector.client(),
                retries: self.common.retries.clone(),
                address: format!("{address}/{}", self.bucket),
                project: self.common.settings.get("gcs.project").unwrap_or_default().to_owned(),
            }))
        };
        self.common
            .clients(|retries| builder.clone().with_retry(retries).build(), whole)
            .map_err(|failed| unopened(&failed))
    }
}

impl Gcs {
    async fn log_in(
        &self,
        builder: GoogleCloudStorageBuilder,
        endpoint: Option<&str>,
    ) -> Result<GoogleCloudStorageBuilder> {
        let settings = &self.common.settings;
        // The crate would look for others.
        let nobody = |builder: GoogleCloudStorageBuilder| {
            let none = GcpCredential { bearer: String::new() };
            builder.with_credentials(Arc::new(StaticCredentialProvider::new(none))).with_skip_signature(true)
        };
        if settings.flag("gcs.anonymous") {
            self.common.who.is("nobody (gcs.anonymous)");
            return Ok(nobody(builder));
        }
        let chosen = settings.strongest(&["gcs.token", "gcs.service_account", "gcs.credentials"]);
        let source = chosen.and_then(|name| settings.source(name)).unwrap_or_default();
        match chosen {
            Some("gcs.token") => {
                let token = settings.get("gcs.token").unwrap_or_default();
                if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Err(Error::invalid(format!(
                        "the token of {source} has characters that none has"
                    )));
                }
                self.common.who.is(format!("the token of {source}"));
                return Ok(builder.with_bearer_token(token));
            }
            Some("gcs.service_account") => {
                let text = settings.get("gcs.service_account").unwrap_or_default();
                let stored = read(text)
                    .map_err(|error| error.context(format_args!("gcs.service_account of {source}")))?;
                let Stored::ServiceAccount(account) = stored else {
                    return Err(Error::invalid(
                        "gcs.service_account is the key of none; gcs.credentials takes files of users",
                    ));
                };
                self.common.who.is(format!("the service account {account} of {source}"));
                return Ok(builder.with_service_account_key(text));
            }
            _ => {}
        }
        let path = settings.path("gcs.credentials").or_else(|| {
            // Most people have none.
            settings.path("gcs.user_credentials").filter(|path| path.exists())
        });
        if let Some(path) = path {
            let shown = path.display().to_string();
            let text = content(&path).map_err(|error| error.at_uri(&shown))?;
            return Ok(match read(&text).map_err(|error| error.at_uri(&shown))? {
                Stored::ServiceAccount(account) => {
                    self.common.who.is(format!("the service account {account} in {shown}"));
                    builder.with_service_account_key(text)
                }
                Stored::User => {
                    self.common.who.is(format!("the user's login in {shown}"));
                    builder.with_application_credentials(shown)
                }
            });
        }
        let why = match self.machine(endpoint).await? {
            Ok(machine) => {
                self.common.who.is("the service account of this machine");
                return Ok(builder.with_credentials(Arc::new(machine)));
            }
            Err(why) => why,
        };
        let user_credentials = settings.path("gcs.user_credentials").unwrap_or_default();
        self.common.who.is(format!(
            "nobody, as no credentials were found: looked at GOOGLE_APPLICATION_CREDENTIALS, {}, {why}",
            user_credentials.display()
        ));
        Ok(nobody(builder))
    }

    /// The service account of this machine, or why there is none. It is not asked for by other services than Google's, unless somebody says where.
    async fn machine(&self, endpoint: Option<&str>) -> Result<Result<Machine, String>> {
        let is_named = self.common.settings.source("gcs.metadata_endpoint").is_some();
        let is_google =
            endpoint.is_none_or(|endpoint| format!(".{}", host_of(endpoint)).ends_with(".googleapis.com"));
        if self.common.settings.flag("gcs.metadata_disabled") {
            return Ok(Err("no metadata service, which gcs.metadata_disabled forbids".to_owned()));
        }
        if !is_google && !is_named {
            return Ok(Err("no metadata service, as gcs.endpoint is none of Google's".to_owned()));
        }
        let service = address_of(&self.common.settings, "gcs.metadata_endpoint")?.unwrap_or_default();
        let machine = Machine {
            client: self.common.connector.near_client(),
            address: format!("{service}/{TOKEN_PATH}"),
            kept: Mutex::default(),
        };
        Ok(match machine.token(1).await {
            Ok(_) => Ok(machine),
            Err(error) => Err(format!("the metadata service ({})", error.message())),
        })
    }
}

/// A bucket as a whole.
#[derive(Debug)]
struct GcsBucket {
    client: Arc<GoogleCloudStorage>,
    http: HttpClient,
    retries: RetryConfig,
    /// That of the bucket.
    address: String,
    /// That of the bucket, when it is made.
    project: String,
}

impl GcsBucket {
    async fn request(
        &self,
        bearer: &str,
        query: Vec<(&'static str, String)>,
    ) -> object_store::Result<HttpRequest> {
        let url = reqwest::Url::parse_with_params(&self.address, query)
            .map_err(|_| carried(Error::invalid("this is no address of a service")))?;
        let mut request = get(url.as_str()).map_err(carried)?;
        asking::add_header(&mut request, "authorization", &format!("Bearer {bearer}")).map_err(carried)?;
        Ok(request)
    }
}

impl GcsBucket {
    /// Asks for a change of the bucket itself.
    async fn change(&self, method: reqwest::Method, project: &str) -> object_store::Result<()> {
        let credential = self.client.credentials().get_credential().await?;
        let mut request = get(&self.address).map_err(carried)?;
        *request.method_mut() = method;
        if !credential.bearer.is_empty() {
            let bearer = format!("Bearer {}", credential.bearer);
            asking::add_header(&mut request, "authorization", &bearer).map_err(carried)?;
        }
        if !project.is_empty() {
            asking::add_header(&mut request, "x-goog-project-id", project).map_err(carried)?;
        }
        bucket::change(&self.http, request).await
    }
}

#[async_trait]
impl WholeBucket for GcsBucket {
    async fn unfinished(&self, prefix: &str) -> object_store::Result<Vec<Unfinished>> {
        let credential = self.client.credentials().get_credential().await?;
        if credential.bearer.is_empty() {
            // The list is for those alone who may write.
            return Ok(Vec::new());
        }
        let request = |query| self.request(&credential.bearer, query);
        uploads_listed::all(&self.http, &self.retries, prefix, request).await
    }

    async fn abort(&self, key: &object_store::path::Path, id: &str) -> object_store::Result<()> {
        match self.client.abort_multipart(key, &id.to_owned()).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            aborted => aborted,
        }
    }

    async fn create_bucket(&self) -> object_store::Result<()> {
        self.change(reqwest::Method::PUT, &self.project).await
    }

    async fn remove_bucket(&self) -> object_store::Result<()> {
        self.change(reqwest::Method::DELETE, "").await
    }
}

impl fmt::Debug for Gcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gcs({})", self.bucket)
    }
}

/// Tokens of the machine's service account.
struct Machine {
    client: HttpClient,
    address: String,
    kept: Mutex<Option<(Arc<GcpCredential>, Instant)>>,
}

impl Machine {
    async fn token(&self, tries: u32) -> Result<Arc<GcpCredential>> {
        let mut kept = self.kept.lock().await;
        let now = Instant::now();
        if let Some((credential, until)) = &*kept
            && *until > now
        {
            return Ok(Arc::clone(credential));
        }
        let mut request = get(&self.address)?;
        asking::add_header(&mut request, "metadata-flavor", "Google")?;
        let answer = asking::ask(&self.client, &request, tries).await?;
        let failed = |what: String| Error::new(ErrorKind::Io, what);
        if answer.status != 200 {
            return Err(failed(format!("answered with status {}", answer.status)));
        }
        let (bearer, rest) =
            token_of(&answer.body).ok_or_else(|| failed("answered without a token".to_owned()))?;
        let credential = Arc::new(GcpCredential { bearer });
        *kept = Some((Arc::clone(&credential), now + rest.saturating_sub(RESERVE).max(rest / 2)));
        Ok(credential)
    }
}

#[async_trait]
impl CredentialProvider for Machine {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        let found = self.token(3).await;
        found.map_err(|error| carried(error.context("the metadata service")))
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Machine")
    }
}

/// A token and for how long it holds, out of an answer.
fn token_of(body: &[u8]) -> Option<(String, Duration)> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let token = answer.get("access_token")?.as_str()?;
    let rest = answer.get("expires_in").and_then(Value::as_u64).unwrap_or(300).min(86_400);
    token.bytes().all(|byte| byte.is_ascii_graphic()).then(|| (token.to_owned(), Duration::from_secs(rest)))
}

fn content(path: &Path) -> Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTE_LEN).read_to_string(&mut text)?;
    Ok(text)
}

/// Says what a file of credentials holds. Its values are not repeated in errors.
///
/// # Errors
/// `InvalidArgument` for what is none, `Unsupported` for what is left to Google's tools, with the command that helps.
fn read(text: &str) -> Result<Stored> {
    let file: Value = serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("this is no JSON (line {})", error.line())))?;
    let part = |name: &str| file.get(name).and_then(Value::as_str);
    let whole = |names: &[&str]| match names.iter().find(|name| part(name).is_none()) {
        Some(absent) => Err(Error::invalid(format!("there is no {absent} in it"))),
        None => Ok(()),
    };
    match part("type") {
        None | Some("service_account") => {
            whole(&["private_key", "private_key_id", "client_email"])?;
            Ok(Stored::ServiceAccount(part("client_email").unwrap_or_default().to_owned()))
        }
        Some("authorized_user") => {
            whole(&["client_id", "client_secret", "refresh_token"])?;
            Ok(Stored::User)
        }
        Some(other) => {
            let is_word =
                other.len() < 64 && other.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let other = if is_word { other } else { "another" };
            Err(Error::unsupported(format!(
                "these credentials are of the type {other}, which is left to Google's tools: \
                 export SMALTI_GCS_TOKEN=$(gcloud auth application-default print-access-token)"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_credentials_are_told_apart_and_not_repeated() {
        let account = r#"{"type": "service_account", "private_key": "hush", "private_key_id": "hush", "client_email": "me@there"}"#;
        assert_eq!(read(account).unwrap(), Stored::ServiceAccount("me@there".to_owned()));
        let user = r#"{"type": "authorized_user", "client_id": "hush", "client_secret": "hush", "refresh_token": "hush"}"#;
        assert_eq!(read(user).unwrap(), Stored::User);
        for (text, problem) in [
            ("hush", "no JSON"),
            ("[]", "no private_key"),
            (r#"{"type": "service_account", "private_key": "hush"}"#, "private_key_id"),
            (r#"{"type": "authorized_user", "client_id": 7, "client_secret": "hush"}"#, "client_id"),
            (r#"{"type": "external_account", "x": "hush"}"#, "type external_account"),
            (r#"{"type": "Hush hush"}"#, "type another"),
        ] {
            let told = read(text).unwrap_err().to_string();
            assert!(told.contains(problem) && !told.contains("hush"), "{told}");
        }
    }

    #[test]
    fn tokens_are_read_from_answers() {
        let (token, rest) = token_of(br#"{"access_token": "t", "expires_in": 3599}"#).unwrap();
        assert_eq!((token.as_str(), rest), ("t", Duration::from_secs(3599)));
        for bad in ["", "{}", "[1]", r#"{"access_token": 1}"#, "{\"access_token\": \"a\\nb\"}"] {
            assert!(token_of(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
