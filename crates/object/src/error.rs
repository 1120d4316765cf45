//! What stores and the network report, as errors of smalti: one line that says what came of it, and what to do.

use object_store::client::{HttpError, HttpErrorKind};
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
    match error {
        object_store::Error::Generic { .. } | object_store::Error::JoinError { .. } => true,
        // S3 answers 409 where two conditional requests meet: neither or either may have happened.
        object_store::Error::AlreadyExists { .. } => status(error) == Some(409),
        _ => false,
    }
}

/// An error of smalti for one of a store.
pub(crate) fn told(error: &object_store::Error, asked: &Asked) -> Error {
    use object_store::Error as E;
    // What looking for credentials found wrong.
    if let Some(own) = find::<Error>(error) {
        return own.clone().at_uri(&asked.uri);
    }
    let (kind, message) = match error {
        E::NotFound { .. } => match code(error).as_deref() {
            Some("NoSuchBucket" | "ContainerNotFound") => {
                (ErrorKind::NotFound, "there is no such bucket; check its name and the region".to_owned())
            }
            _ => (ErrorKind::NotFound, "no such object".to_owned()),
        },
        E::AlreadyExists { .. } | E::Precondition { .. } => {
            (ErrorKind::AlreadyExists, "an object of that name exists".to_owned())
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            (ErrorKind::Permission, refused(error, asked))
        }
        E::NotSupported { .. } | E::NotImplemented { .. } => (ErrorKind::Unsupported, innermost(error)),
        E::InvalidPath { .. } => (ErrorKind::InvalidArgument, innermost(error)),
        _ => failed(error, asked),
    };
    Error::new(kind, message).at_uri(&asked.uri)
}

fn refused(error: &object_store::Error, asked: &Asked) -> String {
    let code = code(error).unwrap_or_else(|| "no reason given".to_owned());
    let advice = match code.as_str() {
        "ExpiredToken" | "ExpiredTokenException" => "the credentials have ended; get new ones",
        "RequestTimeTooSkewed" => "the clock of this machine is wrong; set it",
        "SignatureDoesNotMatch" => "the secret does not belong to the key",
        "InvalidAccessKeyId" => "the store knows no such key",
        _ => "check that they may do this, or use others",
    };
    format!("the store refused access ({code}) to {}: {advice}", asked.who)
}

fn failed(error: &object_store::Error, asked: &Asked) -> (ErrorKind, String) {
    if let Some(http) = find::<HttpError>(error) {
        let why = innermost(http);
        let advice = match http.kind() {
            HttpErrorKind::Connect => "could not be reached; check the endpoint, the network and the proxy",
            HttpErrorKind::Timeout => {
                "did not answer in time; network.timeout and network.retry_time allow for more"
            }
            _ => "broke off",
        };
        return (ErrorKind::Io, format!("the store {advice} ({why})"));
    }
    match (status(error), code(error).as_deref()) {
        (
            Some(301 | 307 | 400),
            Some("PermanentRedirect" | "AuthorizationHeaderMalformed" | "TemporaryRedirect"),
        ) => (ErrorKind::InvalidArgument, "the bucket is in another region; set s3.region".to_owned()),
        (Some(400), Some("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired")) => {
            (ErrorKind::Permission, refused(error, asked))
        }
        // Listings that are refused come as general errors.
        (Some(401 | 403), _) => (ErrorKind::Permission, refused(error, asked)),
        (Some(status), code) => {
            let code = code.map(|code| format!(", {code}")).unwrap_or_default();
            (ErrorKind::Io, format!("the store answered with status {status}{code}"))
        }
        (None, _) if find_text(error, "redirect").is_some() => {
            (ErrorKind::InvalidArgument, "the bucket is in another region; set s3.region".to_owned())
        }
        (None, _) => (ErrorKind::Io, innermost(error)),
    }
}

/// The status of the answer.
fn status(error: &object_store::Error) -> Option<u16> {
    let text = find_text(error, "status code: ")?;
    let digits = text.split("status code: ").nth(1)?;
    digits.get(..3)?.parse().ok()
}

/// The code in an answer of XML.
fn code(error: &object_store::Error) -> Option<String> {
    let text = find_text(error, "<Code>")?;
    let code = text.split("<Code>").nth(1)?.split("</Code>").next()?;
    Some(code.chars().take(64).collect())
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
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
