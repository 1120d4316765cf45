//! The service that tells the tasks of a container their credentials.

use super::origin::Keys;
use crate::address::{checked, get};
use crate::asking;
use crate::settings::Settings;
use crate::values::{Takes, host_of, shown};
use chrono::DateTime;
use object_store::client::HttpClient;
use serde_json::Value;
use smalti_types::{Error, ErrorKind, Result};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// Where the service is for tasks that are told a path alone.
const SERVICE: &str = "http://169.254.170.2";

/// Where it may be without TLS, beside this machine.
const KNOWN_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];

/// No file with a token is longer.
const MAX_TOKEN_BYTE_LEN: u64 = 1 << 16;

/// The credentials of the container, and for how long they hold, if that was said.
///
/// # Errors
/// `InvalidArgument` for addresses that a token must not go to, `Io` where the service does not answer as it should.
pub(crate) async fn ask(settings: &Settings, client: &HttpClient) -> Result<(Keys, Option<Duration>)> {
    let uri = match (settings.get("s3.container_path"), settings.get("s3.container_uri")) {
        (Some(path), _) => format!("{SERVICE}/{}", path.trim_start_matches('/')),
        (None, Some(uri)) => checked(uri).map_err(|error| error.context("s3.container_uri"))?,
        (None, None) => {
            return Err(Error::invalid(
                "this is no container: AWS_CONTAINER_CREDENTIALS_FULL_URI is not set",
            ));
        }
    };
    if !may_be_asked(&uri) {
        return Err(Error::invalid(
            "s3.container_uri: credentials are asked for with TLS, or on this machine and the addresses of containers",
        ));
    }
    let mut request = get(&uri)?;
    let token = match settings.path("s3.container_token_file") {
        Some(path) => Some(token_of(&path)?),
        None => settings.get("s3.container_token").map(str::to_owned),
    };
    if let Some(token) = token {
        asking::add_header(&mut request, "authorization", token.trim())
            .map_err(|error| error.context("the token for the container service"))?;
    }
    let service = || format!("the container service {}", shown(Takes::Address, &uri));
    let answer = asking::ask(client, &request, 3).await.map_err(|error| error.context(service()))?;
    if answer.status != 200 {
        return Err(Error::new(
            ErrorKind::Permission,
            format!("{} answered with status {}", service(), answer.status),
        ));
    }
    read(&answer.body).map_err(|error| error.context(service()))
}

/// Credentials and tokens are not to be sent around.
fn may_be_asked(uri: &str) -> bool {
    let host = host_of(uri);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.starts_with("https://") || is_here || KNOWN_HOSTS.contains(&host)
}

pub(crate) fn token_of(path: &std::path::Path) -> Result<String> {
    use std::io::Read as _;
    let mut token = String::new();
    let wrong = |error: std::io::Error| Error::from(error).at_uri(path.display().to_string());
    let file = std::fs::File::open(path).map_err(wrong)?;
    file.take(MAX_TOKEN_BYTE_LEN).read_to_string(&mut token).map_err(wrong)?;
    Ok(token)
}

/// Reads an answer: an object with `AccessKeyId`, `SecretAccessKey`, `Token` and `Expiration`.
fn read(body: &[u8]) -> Result<(Keys, Option<Duration>)> {
    let wrong = || Error::new(ErrorKind::Io, "answered without credentials");
    let answer: Value = serde_json::from_slice(body).map_err(|_| wrong())?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(id), Some(secret)) = (text("AccessKeyId"), text("SecretAccessKey")) else {
        return Err(wrong());
    };
    let keys = Keys { id, secret, token: text("Token") };
    keys.check()?;
    let end = text("Expiration").and_then(|end| DateTime::parse_from_rfc3339(&end).ok());
    let end_ms = end.and_then(|end| u64::try_from(end.timestamp_millis()).ok());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok((keys, end_ms.map(|end_ms| Duration::from_millis(end_ms).saturating_sub(now))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_nowhere_without_tls_but_to_the_addresses_of_containers() {
        for uri in [
            "https://any.example/x",
            "http://127.0.0.1:1/x",
            "http://localhost/x",
            "http://[::1]:2/x",
            SERVICE,
        ] {
            assert!(may_be_asked(uri), "{uri}");
        }
        for uri in [
            "http://any.example/x",
            "http://127.0.0.1@any.example/",
            "http://10.0.0.1/",
            "http://169.254.169.254",
        ] {
            assert!(!may_be_asked(uri), "{uri}");
        }
    }

    #[test]
    fn answers_hold_keys_and_their_end() {
        let body = r#"{"AccessKeyId": "id", "SecretAccessKey": "hush", "Token": "t", "Expiration": "2001-01-01T00:00:00Z"}"#;
        let (keys, rest) = read(body.as_bytes()).unwrap();
        assert_eq!((keys.id.as_str(), keys.token.as_deref(), rest), ("id", Some("t"), Some(Duration::ZERO)));
        let (_, rest) =
            read(br#"{"AccessKeyId": "id", "SecretAccessKey": "hush", "Expiration": "soon"}"#).unwrap();
        assert_eq!(rest, None);
        for bad in [
            "",
            "[]",
            "{}",
            "hush",
            r#"{"AccessKeyId": 1, "SecretAccessKey": "hush"}"#,
            "{\"AccessKeyId\": \"i\\nd\", \"SecretAccessKey\": \"hush\"}",
        ] {
            let told = read(bad.as_bytes()).unwrap_err().to_string();
            assert!(!told.contains("hush"), "{told}");
        }
    }
}
