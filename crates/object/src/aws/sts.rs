//! The service that gives roles (STS): AssumeRole with keys, and AssumeRoleWithWebIdentity with a token.

use super::origin::{Keys, Role};
use crate::address::get;
use crate::asking;
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use smalti_types::{Error, ErrorKind, Result};

/// Where roles are asked for.
#[derive(Debug, Clone)]
pub(crate) struct Sts {
    pub(crate) client: HttpClient,
    pub(crate) endpoint: String,
    /// What requests are signed for.
    pub(crate) region: String,
}

impl Sts {
    /// Takes a role with keys.
    ///
    /// # Errors
    /// `Permission` where they may not, `Io` where the service does not answer.
    pub(crate) async fn take(&self, role: &Role, keys: Keys) -> Result<Keys> {
        let mut request = post(&self.endpoint, &fields(role, "AssumeRole", None))?;
        let credential = AwsCredential { key_id: keys.id, secret_key: keys.secret, token: keys.token };
        AwsAuthorizer::new(&credential, "sts", &self.region)
            .try_authorize(&mut request, None)
            .map_err(|error| Error::invalid(format!("the request for a role cannot be signed: {error}")))?;
        self.ask(role, request, &format!("the key {}", credential.key_id)).await
    }

    /// Takes a role with the token of a web identity.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) async fn take_with_token(&self, role: &Role, token: &str) -> Result<Keys> {
        let fields = fields(role, "AssumeRoleWithWebIdentity", Some(token));
        self.ask(role, post(&self.endpoint, &fields)?, "the web identity").await
    }

    async fn ask(&self, role: &Role, request: HttpRequest, who: &str) -> Result<Keys> {
        let at = format!("the service {}", self.endpoint);
        let answer = asking::ask(&self.client, &request, 3).await;
        let answer =
            answer.map_err(|error| error.context(format_args!("{at}, for the role {}", role.arn)))?;
        let text = String::from_utf8_lossy(&answer.body);
        if answer.status != 200 {
            // What it says beyond the code may repeat what it was sent.
            let code =
                element(&text, "Code").filter(|code| code.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            let code =
                code.map(|code| code.chars().take(64).collect()).unwrap_or_else(|| answer.status.to_string());
            return Err(Error::new(
                ErrorKind::Permission,
                format!(
                    "{at} refused {who} the role {} ({code}); check who is trusted by the role",
                    role.arn
                ),
            ));
        }
        let part = |name| element(&text, name).filter(|part| !part.is_empty());
        let (Some(id), Some(secret), Some(token)) =
            (part("AccessKeyId"), part("SecretAccessKey"), part("SessionToken"))
        else {
            return Err(Error::new(ErrorKind::Io, format!("{at} answered without credentials")));
        };
        let keys = Keys { id, secret, token: Some(token) };
        keys.check().map_err(|error| error.context(at))?;
        Ok(keys)
    }
}

/// A request with the fields of a form.
///
/// # Errors
/// `InvalidArgument` for what is no address.
fn post(address: &str, fields: &[(&str, String)]) -> Result<HttpRequest> {
    let mut form = reqwest::Url::parse("http://form").map_err(|error| Error::invalid(error.to_string()))?;
    form.query_pairs_mut().extend_pairs(fields);
    let mut request = get(address)?;
    *request.method_mut() = Method::POST;
    *request.body_mut() = HttpRequestBody::from(form.query().unwrap_or_default().to_owned());
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    Ok(request)
}

fn fields(role: &Role, action: &str, token: Option<&str>) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("Action", action.to_owned()),
        ("Version", "2011-06-15".to_owned()),
        ("RoleArn", role.arn.clone()),
        ("RoleSessionName", role.session_name.clone()),
        ("DurationSeconds", role.duration_s.to_string()),
    ];
    fields.extend(role.external_id.clone().map(|id| ("ExternalId", id)));
    fields.extend(token.map(|token| ("WebIdentityToken", token.to_owned())));
    fields
}

/// What an element of an answer in XML holds: the first of its name. Credentials have no characters that are written otherwise.
fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (held, _) = rest.split_once(&format!("</{name}>"))?;
    Some(held.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_answers_that_are_whole() {
        let text = "<a><Code>Denied</Code><Code>2</Code><Empty></Empty><Open>";
        assert_eq!(element(text, "Code").unwrap(), "Denied");
        assert_eq!(element(text, "Empty").unwrap(), "");
        assert_eq!(element(text, "Open"), None);
        assert_eq!(element("</Code><Code>", "Code"), None);
    }
}
