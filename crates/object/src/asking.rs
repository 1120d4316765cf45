//! Requests that the crate has no words for, such as those to the services that give credentials: few, short, and with one way to say what went wrong.

use crate::reason::reason;
use futures_util::TryStreamExt as _;
use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest};
use reqwest::header::{HeaderName, HeaderValue};
use smalti_types::{Error, ErrorKind, Result};
use std::time::Duration;

/// No answer with credentials is longer.
const MAX_ANSWER_BYTE_LEN: usize = 1 << 20;

/// How long one answer may take.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// What a service said.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Adds a header, whose value may be a secret.
///
/// # Errors
/// `InvalidArgument` for a value that none can have.
pub(crate) fn add_header(request: &mut HttpRequest, name: &'static str, value: &str) -> Result<()> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| Error::invalid("there are characters in it that no header has"))?;
    value.set_sensitive(true);
    request.headers_mut().insert(HeaderName::from_static(name), value);
    Ok(())
}

/// Sends a request, and again where the service was not there or busy.
///
/// # Errors
/// `Io` where it does not answer, in words that go behind the name of the service.
pub(crate) async fn ask(client: &HttpClient, request: &HttpRequest, tries: u32) -> Result<Answer> {
    let mut pause = Duration::from_millis(100);
    for rest in (0..tries.max(1)).rev() {
        let answer = tokio::time::timeout(ANSWER_WAIT, ask_once(client, request.clone())).await;
        let answer = answer.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "did not answer in time")));
        match answer {
            Ok(answer) if answer.status < 500 && answer.status != 429 => return Ok(answer),
            answer if rest == 0 => return answer,
            _ => {}
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    Err(Error::new(ErrorKind::Io, "was not asked"))
}

async fn ask_once(client: &HttpClient, request: HttpRequest) -> Result<Answer> {
    let answer = answer_of(client, request, MAX_ANSWER_BYTE_LEN).await;
    answer.map_err(|error| Error::new(ErrorKind::Io, format!("could not be reached ({})", reason(&error))))
}

/// Sends a request once, for an answer that is no longer than that.
///
/// # Errors
/// Those of the client; a body that is longer.
pub(crate) async fn answer_of(
    client: &HttpClient,
    request: HttpRequest,
    max_byte_len: usize,
) -> Result<Answer, HttpError> {
    let answer = client.execute(request).await?;
    let status = answer.status().as_u16();
    let mut body = Vec::new();
    let mut pieces = answer.into_body().bytes_stream();
    while let Some(piece) = pieces.try_next().await? {
        if body.len() + piece.len() > max_byte_len {
            let long = std::io::Error::other("the answer is longer than any can be");
            return Err(HttpError::new(HttpErrorKind::Decode, long));
        }
        body.extend_from_slice(&piece);
    }
    Ok(Answer { status, body })
}
