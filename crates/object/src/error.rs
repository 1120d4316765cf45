//! What stores and the network report, as errors of smalti: one line that says what came of it, who was asked with whose credentials, and what to do.

use crate::answers::{ANSWERED_BY, Refused, Why};
use object_store::client::{HttpError, HttpErrorKind};
use smalti_store::UNKNOWN_EFFECT;
use smalti_types::{Error, ErrorKind};
use std::error::Error as StdError;

/// What was asked for, for messages.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The address of the object or bucket.
    pub(crate) uri: String,
    /// Whose credentials were sent along.
    pub(crate) who: String,
}

/// Whether a change may have happened although it is reported as failed.
pub(crate) fn is_uncertain(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    if let Some(refused) = find::<Refused>(error) {
        return match &refused.why {
            Why::Unanswered { source, .. } => !is_of_tls(source),
            Why::Broken(_) => true,
            Why::Redirected { .. } | Why::NoStore { .. } | Why::Endless { .. } => false,
        };
    }
    match error {
        E::JoinError { .. } => true,
        // What is wrong with a request is wrong with it again; but the store may be busy.
        E::Generic { .. } => !matches!(status(error), Some(400..=407 | 410..=428 | 430..=499)),
        // S3 answers 409 where two conditional requests meet: neither or either may have happened.
        E::AlreadyExists { .. } => status(error) == Some(409),
        // Uploads that were completed are gone.
        E::NotFound { .. } => code(error).as_deref() == Some("NoSuchUpload"),
        _ => false,
    }
}

/// Whether a request that failed may still be carried out: it was sent, and no answer came.
pub(crate) fn may_be_under_way(error: &object_store::Error) -> bool {
    let was_sent = |http: &HttpError| http.kind() != HttpErrorKind::Connect;
    match find::<Refused>(error) {
        Some(Refused { why: Why::Unanswered { source, .. }, .. }) => was_sent(source),
        Some(_) => false,
        None => find::<HttpError>(error).is_some_and(was_sent),
    }
}

/// An error of smalti for a change that failed, and of which nothing is known but that.
pub(crate) fn told_of_change(error: &object_store::Error, asked: &Asked) -> Error {
    let told = told(error, asked);
    if is_uncertain(error) { told.context(UNKNOWN_EFFECT) } else { told }
}

/// Whether a request failed and nobody knows why: it was refused without a reason, or what came is none of a store's answers.
pub(crate) fn is_mute(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    let is_refused = match status(error) {
        Some(status) => (400..500).contains(&status) && !matches!(error, E::NotFound { .. }),
        None => matches!(error, E::Generic { .. }),
    };
    is_refused && code(error).is_none() && find::<HttpError>(error).is_none()
}

/// An error of smalti for one of a store.
pub(crate) fn told(error: &object_store::Error, asked: &Asked) -> Error {
    // What was found out about credentials comes this way too.
    if let Some(own) = find::<Error>(error) {
        return own.clone().at_uri(&asked.uri);
    }
    let (kind, message) = match find::<Refused>(error) {
        Some(refused) => of_network(refused, asked),
        None => of_store(error, asked),
    };
    Error::new(kind, message).at_uri(&asked.uri)
}

/// What is wrong where no answer came that could be believed.
fn of_network(refused: &Refused, asked: &Asked) -> (ErrorKind, String) {
    let (host, area) = (&refused.host, area(&asked.uri));
    match &refused.why {
        Why::Unanswered { proxy, source } => unanswered(host, proxy.as_deref(), source, area),
        Why::Redirected { region: Some(region), .. } if area == "s3" => elsewhere(host, Some(region)),
        Why::Redirected { status, to, .. } => {
            let to = to.as_deref().unwrap_or("somewhere else");
            let same = to.split_once("://").is_some_and(|(_, to)| to == host);
            let advice = match same {
                true => format!("it sends everybody round in circles; check {area}.endpoint"),
                false if area == "s3" => {
                    "set s3.endpoint to where the store is, and s3.region to the bucket's region".to_owned()
                }
                false => format!("set {area}.endpoint to where the store is"),
            };
            let problem =
                format!("{host} sends the request on to {to} (status {status}), which is not followed");
            (ErrorKind::InvalidArgument, format!("{problem}: {advice}"))
        }
        Why::NoStore { status } => {
            let speaks = match area {
                "azure" => "Azure's",
                "gcs" => "Google's",
                _ => "S3's",
            };
            let problem =
                format!("what answers at {host} does not speak {speaks} protocol (status {status})");
            (ErrorKind::InvalidArgument, format!("{problem}: check {area}.endpoint"))
        }
        Why::Endless { page_count, byte_len } => {
            let problem =
                format!("the listing of {host} does not end, after {page_count} pages of {byte_len} bytes");
            let advice = "ask whoever runs the store, or set network.listing if there is so much";
            (ErrorKind::Io, format!("{problem}: {advice}"))
        }
        Why::Broken(problem) => (ErrorKind::Io, format!("the answer of {host} is broken ({problem})")),
    }
}

fn unanswered(host: &str, proxy: Option<&str>, source: &HttpError, area: &str) -> (ErrorKind, String) {
    let why = innermost(source);
    let all = chain(source).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let through = proxy.map(|proxy| format!(" through the proxy {proxy},")).unwrap_or_default();
    let failed = |problem: &str, advice: &str| format!("{host}{through} {problem} ({why}): {advice}");
    if all.contains("invalid peer certificate") {
        let advice = if all.contains("NotValidForName") || all.contains("not valid for name") {
            format!("check the name in {area}.endpoint")
        } else if all.contains("Expired") || all.contains("expired") || all.contains("NotValidYet") {
            "it has to be renewed, or the clock of this machine is wrong".to_owned()
        } else {
            "name a file with the certificate of whoever issued it in network.ca_file".to_owned()
        };
        return (ErrorKind::Io, failed("has a certificate that is not trusted", &advice));
    }
    if all.contains("InvalidContentType") || all.contains("corrupt message") {
        let advice = format!("check {area}.endpoint, which may have to begin with http://");
        return (ErrorKind::InvalidArgument, failed("does not speak TLS", &advice));
    }
    if all.contains("invalid HTTP") || all.contains("invalid HTTP version") {
        let advice = format!("check {area}.endpoint, which may have to begin with https://");
        return (ErrorKind::InvalidArgument, failed("does not speak HTTP", &advice));
    }
    if all.contains("dns error") {
        let name = if area == "azure" {
            "azure.account and azure.endpoint".to_owned()
        } else {
            format!("{area}.endpoint")
        };
        let advice = format!("check {name}, and the network");
        return (ErrorKind::Io, failed("is not known by that name", &advice));
    }
    let (problem, advice) = match source.kind() {
        HttpErrorKind::Connect if proxy.is_some() => {
            ("could not be reached", format!("check the proxy, {area}.endpoint and the network"))
        }
        HttpErrorKind::Connect => (
            "could not be reached",
            format!("check {area}.endpoint, the network, and whether a proxy is needed"),
        ),
        HttpErrorKind::Timeout => {
            ("did not answer in time", "network.timeout and network.retry_time allow for more".to_owned())
        }
        _ => ("broke off", "try again; network.retries and network.retry_time allow for more".to_owned()),
    };
    (ErrorKind::Io, failed(problem, &advice))
}

/// The bucket is in another region.
fn elsewhere(host: &str, region: Option<&str>) -> (ErrorKind, String) {
    let message = match region {
        Some(region) => format!("{host} says that the bucket is in the region {region}: set s3.region to it"),
        None => format!("{host} says that the bucket is in another region: set s3.region to it"),
    };
    (ErrorKind::InvalidArgument, message)
}

/// What a store says is wrong.
fn of_store(error: &object_store::Error, asked: &Asked) -> (ErrorKind, String) {
    use object_store::Error as E;
    let found = (status(error), code(error));
    if let Some(known) = of_code(error, asked, found.1.as_deref()) {
        return known;
    }
    match error {
        E::NotFound { .. } => (ErrorKind::NotFound, "no such object".to_owned()),
        E::AlreadyExists { .. } | E::Precondition { .. } => {
            (ErrorKind::AlreadyExists, "an object of that name exists".to_owned())
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } if found.0.is_none() => {
            (ErrorKind::Permission, innermost(error))
        }
        // Listings that are refused come as general errors.
        E::PermissionDenied { .. } | E::Unauthenticated { .. } | E::Generic { .. }
            if matches!(found.0, Some(401 | 403)) =>
        {
            let code = found.1.unwrap_or_else(|| "no reason given".to_owned());
            let advice = "check that they may do this, or use others";
            (
                ErrorKind::Permission,
                format!("{} refused access ({code}) to {}: {advice}", host(error), asked.who),
            )
        }
        E::NotSupported { .. } | E::NotImplemented { .. } => (ErrorKind::Unsupported, innermost(error)),
        E::InvalidPath { .. } => (ErrorKind::InvalidArgument, innermost(error)),
        _ => match found {
            (Some(status), code) => (ErrorKind::Io, failed(error, asked, status, code)),
            (None, _) => (ErrorKind::Io, innermost(error)),
        },
    }
}

/// What a code says that stores give as a reason.
fn of_code(error: &object_store::Error, asked: &Asked, code: Option<&str>) -> Option<(ErrorKind, String)> {
    let (area, code) = (area(&asked.uri), code?);
    let secret = match area {
        "gcs" => "gcs.credentials",
        _ => "s3.secret_access_key",
    };
    let advice = match code {
        "NoSuchBucket" | "ContainerNotFound" => {
            let region = if area == "s3" { ", s3.endpoint and s3.region" } else { "" };
            let account = if area == "azure" { " and azure.account" } else { "" };
            let problem = format!("{} knows no such bucket ({code}), asked with {}", host(error), asked.who);
            return Some((ErrorKind::NotFound, format!("{problem}: check its name{account}{region}")));
        }
        "PermanentRedirect"
        | "TemporaryRedirect"
        | "AuthorizationHeaderMalformed"
        | "IllegalLocationConstraintException" => {
            let region = element(error, "Region");
            return Some(elsewhere(&host(error), region.as_deref()));
        }
        "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => {
            "the credentials have ended; get new ones".to_owned()
        }
        "InvalidToken" | "InvalidSecurity" => "the store knows no such token; get new credentials".to_owned(),
        "RequestTimeTooSkewed" | "RequestExpired" => "the clock of this machine is wrong; set it".to_owned(),
        "SignatureDoesNotMatch" => format!("the secret does not belong to the key; check {secret}"),
        "InvalidAccessKeyId" => {
            "the store knows no such key; check s3.access_key_id and s3.endpoint".to_owned()
        }
        "AuthenticationFailed" | "InvalidAuthenticationInfo" => {
            match element(error, "AuthenticationErrorDetail") {
                Some(detail) if detail.contains("specified time frame") => {
                    "the signature has ended, or is not valid yet; get a new one".to_owned()
                }
                Some(detail) if detail.contains("too old") => {
                    "the clock of this machine is wrong; set it".to_owned()
                }
                _ => "check azure.key or azure.sas, azure.account, and the clock of this machine".to_owned(),
            }
        }
        "AuthenticationRequired" | "NoAuthenticationInformation" | "PublicAccessNotPermitted" => {
            "nobody may read this without credentials; log in".to_owned()
        }
        "KeyBasedAuthenticationNotPermitted" => "keys are switched off for this account; log in".to_owned(),
        "AccountIsDisabled" | "AccountProblem" | "AllAccessDisabled" | "UserProjectAccountProblem" => {
            "something is wrong with the account; ask whoever pays for it".to_owned()
        }
        "UserProjectMissing" => "the bucket wants whoever reads to pay, which is not supported".to_owned(),
        "AccessDenied" | "AuthorizationFailure" | "AuthorizationPermissionMismatch" => {
            "check that they may do this, or use others".to_owned()
        }
        _ => return None,
    };
    let refused = format!("{} refused access ({code}) to {}: {advice}", host(error), asked.who);
    Some((ErrorKind::Permission, refused))
}

fn failed(error: &object_store::Error, asked: &Asked, status: u16, code: Option<String>) -> String {
    let code = code.map(|code| format!(", {code}")).unwrap_or_default();
    let tries = find_text(error, "Error performing ")
        .and_then(|text| text.split(", after ").nth(1)?.split(' ').next()?.parse::<u64>().ok())
        .map(|again| format!(", asked {} times", again.saturating_add(1)))
        .unwrap_or_default();
    let advice = match status {
        408 | 429 | 500.. => "try later; network.retries and network.retry_time allow for more",
        _ => "check the settings of the store, and its documentation",
    };
    format!("{} answered with status {status}{code}{tries}, to {}: {advice}", host(error), asked.who)
}

/// The area of the keys for the stores of a URI.
fn area(uri: &str) -> &'static str {
    match uri.split_once("://").map(|(scheme, _)| scheme) {
        Some("gs" | "gcs") => "gcs",
        Some("az" | "azure" | "abfs" | "abfss") => "azure",
        _ => "s3",
    }
}

/// Who was asked: host and port.
fn host(error: &object_store::Error) -> String {
    element(error, ANSWERED_BY).unwrap_or_else(|| "the store".to_owned())
}

/// The status of the answer.
fn status(error: &object_store::Error) -> Option<u16> {
    let text = find_text(error, "status code: ")?;
    let digits = text.split("status code: ").nth(1)?;
    digits.get(..3)?.parse().ok()
}

/// The code in an answer of XML.
fn code(error: &object_store::Error) -> Option<String> {
    element(error, "Code")
}

/// The text of an element in an answer of XML.
fn element(error: &object_store::Error, name: &str) -> Option<String> {
    let start = format!("<{name}>");
    let text = find_text(error, &start)?;
    let content = text.split(&start).nth(1)?.split("</").next()?;
    Some(content.chars().filter(|c| !c.is_control()).take(200).collect())
}

fn is_of_tls(error: &HttpError) -> bool {
    chain(error).iter().any(|error| error.to_string().contains("invalid peer certificate"))
}

/// An error and what caused it.
fn chain<'e>(error: &'e (dyn StdError + 'static)) -> Vec<&'e (dyn StdError + 'static)> {
    let mut found = vec![error];
    let mut last = error;
    while let Some(source) = last.source() {
        found.push(source);
        last = source;
    }
    found
}

fn find<'e, T: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e T> {
    chain(error).into_iter().find_map(|error| error.downcast_ref::<T>())
}

fn find_text(error: &(dyn StdError + 'static), part: &str) -> Option<String> {
    chain(error).into_iter().map(ToString::to_string).find(|text| text.contains(part))
}

/// What the deepest error says, in one line.
pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let text = chain(error).last().map(ToString::to_string).unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unanswered_with(kind: HttpErrorKind, why: &str, uri: &str) -> Error {
        let source = HttpError::new(kind, std::io::Error::other(why.to_owned()));
        let refused = Refused {
            host: "ourlake.blob.core.windows.net".to_owned(),
            why: Why::Unanswered { proxy: None, source },
        };
        let source = HttpError::new(kind, refused);
        let error = object_store::Error::Generic { store: "any", source: Box::new(source) };
        told(&error, &Asked { uri: uri.to_owned(), who: Default::default() })
    }

    #[test]
    fn an_account_that_nobody_knows_has_no_host() {
        let why = "dns error: failed to lookup address information: Name or service not known";
        let error = unanswered_with(HttpErrorKind::Connect, why, "az://box/array");
        assert_eq!(
            error.to_string(),
            format!(
                "az://box/array: input/output error: ourlake.blob.core.windows.net is not known by that name ({why}): \
                 check azure.account and azure.endpoint, and the network"
            )
        );
        let error = unanswered_with(HttpErrorKind::Connect, why, "s3://bucket/array");
        assert!(error.to_string().ends_with("check s3.endpoint, and the network"), "{error}");
    }

    #[test]
    fn certificates_say_what_is_wrong_with_them() {
        for (why, advice) in [
            ("invalid peer certificate: UnknownIssuer", "network.ca_file"),
            ("invalid peer certificate: Expired", "the clock of this machine"),
            ("invalid peer certificate: NotValidForName", "check the name in s3.endpoint"),
        ] {
            let error = unanswered_with(HttpErrorKind::Decode, why, "s3://bucket/array");
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.message().contains(advice), "{error}");
        }
    }

    #[test]
    fn what_may_have_happened_is_told_from_what_has_not() {
        let of = |kind, why: &str| {
            let source = HttpError::new(kind, std::io::Error::other(why.to_owned()));
            let refused = Refused { host: String::new(), why: Why::Unanswered { proxy: None, source } };
            object_store::Error::Generic { store: "S3", source: Box::new(HttpError::new(kind, refused)) }
        };
        assert!(is_uncertain(&of(HttpErrorKind::Interrupted, "reset")));
        assert!(is_uncertain(&of(HttpErrorKind::Timeout, "slow")));
        assert!(!is_uncertain(&of(HttpErrorKind::Decode, "invalid peer certificate: UnknownIssuer")));
        let answered = |text: &str| object_store::Error::Generic { store: "S3", source: text.into() };
        assert!(is_uncertain(&answered("status code: 503 Service Unavailable: <Code>SlowDown</Code>")));
        assert!(is_uncertain(&answered("status code: 429 Too Many Requests")));
        assert!(!is_uncertain(&answered("status code: 400 Bad Request: <Code>ExpiredToken</Code>")));
    }
}
