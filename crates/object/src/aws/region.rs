//! Regions: which one answers are from, and which one the store says that a bucket is in.

use super::refusal::element;
use crate::connect::Connector;
use async_trait::async_trait;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientOptions, Error as StoreError};
use std::sync::{Arc, Mutex, PoisonError};

/// The header in which S3 says where a bucket is.
const REGION_HEADER: &str = "x-amz-bucket-region";

/// Statuses with which S3 refuses a request that should go to another region, or is signed for another one.
const ELSEWHERE: [u16; 4] = [301, 307, 308, 400];

/// The region that refusals told last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Option<String>>>);

impl Told {
    /// The region in which a bucket is, as the store said when it refused a request.
    pub(crate) fn region(&self, failed: &StoreError) -> Option<String> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        told.or_else(|| {
            let region = element(failed, "Region")?;
            is_region(&region).then_some(region)
        })
    }

    fn look(&self, answer: &HttpResponse) {
        if !ELSEWHERE.contains(&answer.status().as_u16()) {
            return;
        }
        let region = answer.headers().get(REGION_HEADER).and_then(|region| region.to_str().ok());
        if let Some(region) = region.filter(|region| is_region(region)) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(region.to_owned());
        }
    }
}

/// Whether a text may be the name of a region, of which host names are made.
pub(crate) fn is_region(text: &str) -> bool {
    let is_of_region = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_of_region)
}

/// A connector that looks at answers for regions.
#[derive(Debug, Clone)]
pub(crate) struct Watching {
    pub(crate) connector: Connector,
    pub(crate) told: Told,
}

impl HttpConnector for Watching {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Watched { client: self.connector.connect(options)?, told: self.told.clone() }))
    }
}

#[derive(Debug)]
struct Watched {
    client: HttpClient,
    told: Told,
}

#[async_trait]
impl HttpService for Watched {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.client.execute(request).await?;
        self.told.look(&answer);
        Ok(answer)
    }
}
