//! Buckets themselves are made and removed. The crate has no words for that: the request is made here, by each store in its own way.

use crate::asking::{Answer, answer_of};
use object_store::client::{HttpClient, HttpRequest};
use object_store::{Error as StoreError, Result};
use reqwest::header::{CONTENT_LENGTH, HeaderValue};

/// No answer to a change of a bucket is longer.
const MAX_ANSWER_BYTE_LEN: usize = 1 << 20;

/// So much of an answer that is an error is repeated.
const MAX_REASON_LEN: usize = 1000;

/// Sends a request that makes a bucket or removes it, once.
///
/// # Errors
/// `AlreadyExists`, `NotFound`, `PermissionDenied`, `Precondition` where the bucket is not empty, or what the store says.
pub(crate) async fn change(client: &HttpClient, mut request: HttpRequest) -> Result<()> {
    if request.body().is_empty() {
        // Stores want to be told that nothing follows.
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let failed = |source| StoreError::Generic { store: "buckets", source };
    let answer = answer_of(client, request, MAX_ANSWER_BYTE_LEN).await;
    let Answer { status, body } = answer.map_err(|error| failed(Box::new(error)))?;
    let reason: String = String::from_utf8_lossy(&body).chars().take(MAX_REASON_LEN).collect();
    let source = format!("status code: {status}, {reason}").into();
    let path = String::new();
    match status {
        200..=299 => Ok(()),
        401 | 403 => Err(StoreError::PermissionDenied { path, source }),
        404 => Err(StoreError::NotFound { path, source }),
        409 if reason.contains("BucketNotEmpty") => Err(not_empty()),
        409 if reason.contains("BeingDeleted") => {
            let source = "the store is still removing one of that name; try again in a minute".into();
            Err(StoreError::Precondition { path, source })
        }
        409 => Err(StoreError::AlreadyExists { path, source }),
        400..=499 => Err(StoreError::NotSupported { source }),
        _ => Err(failed(source)),
    }
}

/// Why a bucket stays.
pub(crate) fn not_empty() -> StoreError {
    StoreError::Precondition { path: String::new(), source: "the bucket is not empty".into() }
}
