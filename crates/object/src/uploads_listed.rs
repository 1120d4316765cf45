//! Uploads in parts that were begun and not finished. The crate begins and ends them; which there are is asked here, by the one request of the protocol
//! that it has no words for: `GET ?uploads`, of S3, and of the XML interface of Google's.

use crate::asking::{Answer, answer_of};
use crate::pauses::Pauses;
use crate::whole_bucket::Unfinished;
use chrono::DateTime;
use object_store::client::{HttpClient, HttpRequest};
use object_store::{Error as StoreError, RetryConfig};
use serde::Deserialize;
use std::fmt;
use std::future::Future;

/// No page of a list is longer: a thousand uploads.
const MAX_PAGE_BYTE_LEN: usize = 8 << 20;

/// More uploads of one folder are not looked at.
const MAX_COUNT: usize = 100_000;

/// So much of an answer that is none is repeated.
const MAX_REASON_LEN: usize = 1000;

/// A page of the list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    #[serde(default)]
    is_truncated: bool,
    next_key_marker: Option<String>,
    next_upload_id_marker: Option<String>,
    #[serde(default, rename = "Upload")]
    uploads: Vec<Listed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    key: String,
    upload_id: String,
    initiated: Option<String>,
}

fn broken(why: impl fmt::Display) -> StoreError {
    StoreError::Generic { store: "uploads", source: why.to_string().into() }
}

/// Reads a page; the document has to be such a list, as an error in its place would be an empty one.
fn page(bytes: &[u8]) -> object_store::Result<Page> {
    let text = std::str::from_utf8(bytes).map_err(broken)?;
    if !text.contains("<ListMultipartUploadsResult") {
        return Err(broken("the store answered with something else than a list of uploads"));
    }
    quick_xml::de::from_str(text).map_err(broken)
}

/// For fuzzers.
pub(crate) fn fuzz(bytes: &[u8]) {
    drop(page(bytes));
}

/// Asks for all pages. `request` makes the request for the page that has these queries.
pub(crate) async fn all<F: Future<Output = object_store::Result<HttpRequest>> + Send>(
    client: &HttpClient,
    retries: &RetryConfig,
    prefix: &str,
    request: impl Fn(Vec<(&'static str, String)>) -> F + Send + Sync,
) -> object_store::Result<Vec<Unfinished>> {
    let mut found = Vec::new();
    let mut after: Option<(String, String)> = None;
    loop {
        let mut query = vec![("uploads", String::new()), ("prefix", prefix.to_owned())];
        if let Some((key, id)) = &after {
            query.push(("key-marker", key.clone()));
            query.push(("upload-id-marker", id.clone()));
        }
        let page = page(&answer(client, retries, || request(query.clone())).await?)?;
        let is_over = !page.is_truncated || page.uploads.is_empty() || found.len() >= MAX_COUNT;
        found.extend(page.uploads.into_iter().filter(|upload| upload.key.starts_with(prefix)).map(
            |upload| {
                let begun = upload.initiated.and_then(|at| DateTime::parse_from_rfc3339(&at).ok());
                let begun_ms = begun.and_then(|at| u64::try_from(at.timestamp_millis()).ok());
                Unfinished { key: upload.key, id: upload.upload_id, begun_ms }
            },
        ));
        let next = page.next_key_marker.map(|key| (key, page.next_upload_id_marker.unwrap_or_default()));
        // A store that does not get on would be asked for ever.
        if is_over || next.is_none() || next == after {
            return Ok(found);
        }
        after = next;
    }
}

/// The answer to a request that may be sent again, which is made anew then.
async fn answer<F: Future<Output = object_store::Result<HttpRequest>> + Send>(
    client: &HttpClient,
    retries: &RetryConfig,
    request: impl Fn() -> F + Send + Sync,
) -> object_store::Result<Vec<u8>> {
    let mut pauses = Pauses::of(retries);
    loop {
        let answer = answer_of(client, request().await?, MAX_PAGE_BYTE_LEN).await;
        let failed = match answer {
            Ok(Answer { status: 200, body }) => return Ok(body),
            Ok(Answer { status, body }) => {
                let reason: String = String::from_utf8_lossy(&body).chars().take(MAX_REASON_LEN).collect();
                let source = format!("status code: {status}, {reason}").into();
                match status {
                    401 | 403 => return Err(StoreError::PermissionDenied { path: String::new(), source }),
                    404 if reason.contains("NoSuchBucket") => {
                        return Err(StoreError::NotFound { path: String::new(), source });
                    }
                    400..=428 | 430..=499 | 501 => return Err(StoreError::NotSupported { source }),
                    _ => StoreError::Generic { store: "uploads", source },
                }
            }
            Err(failed) => StoreError::Generic { store: "uploads", source: Box::new(failed) },
        };
        if !pauses.wait().await {
            return Err(failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_uploads_is_read_and_an_error_in_its_place_is_none() {
        let text = r#"<?xml version="1.0"?><ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <Bucket>b</Bucket><KeyMarker></KeyMarker><NextKeyMarker>k</NextKeyMarker><IsTruncated>true</IsTruncated>
            <Upload><Key>a/x &amp; y</Key><UploadId>1</UploadId><Owner><ID>o</ID></Owner><Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>
            <Upload><Key>a/z</Key><UploadId>2</UploadId></Upload></ListMultipartUploadsResult>"#;
        let page = page(text.as_bytes()).unwrap();
        assert!(page.is_truncated && page.next_key_marker.as_deref() == Some("k"));
        let keys: Vec<&str> = page.uploads.iter().map(|upload| upload.key.as_str()).collect();
        assert_eq!(keys, ["a/x & y", "a/z"]);
        for text in ["", "<Error><Code>InternalError</Code></Error>", "<ListMultipartUploadsResult", "\u{0}"]
        {
            assert!(super::page(text.as_bytes()).is_err(), "{text}");
        }
    }
}
