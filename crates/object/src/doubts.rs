//! Requests that begin an upload in parts, and whose answer was lost, are counted: an upload may be there whose name nobody knows.

use async_trait::async_trait;
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};
use reqwest::Method;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many uploads in parts may have been begun of which nobody learned the name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubts(Arc<AtomicU64>);

impl Doubts {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A client whose doubts are counted.
pub(crate) fn doubting(client: HttpClient, doubts: &Doubts) -> HttpClient {
    HttpClient::new(Doubting { client, doubts: doubts.clone() })
}

#[derive(Debug)]
struct Doubting {
    client: HttpClient,
    doubts: Doubts,
}

#[async_trait]
impl HttpService for Doubting {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_of_uploads = |part: &str| matches!(part, "uploads" | "uploads=");
        let begins_upload = request.method() == Method::POST
            && request.uri().query().is_some_and(|query| query.split('&').any(is_of_uploads));
        let answer = self.client.execute(request).await;
        if begins_upload && !answer.as_ref().is_ok_and(|answer| answer.status().as_u16() < 500) {
            self.doubts.0.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}
