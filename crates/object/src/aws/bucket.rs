//! Unfinished uploads in S3, and its buckets themselves.

use crate::bucket;
use crate::uploads_listed;
use crate::whole_bucket::{Unfinished, WholeBucket};
use async_trait::async_trait;
use object_store::aws::AmazonS3;
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use object_store::multipart::MultipartStore as _;
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer as _};
use object_store::{Error as StoreError, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

/// For how long a signed request holds.
const HOLDS: Duration = Duration::from_secs(300);

/// A bucket of S3 as a whole.
#[derive(Debug)]
pub(crate) struct S3Bucket {
    pub(crate) client: Arc<AmazonS3>,
    pub(crate) http: HttpClient,
    pub(crate) retries: RetryConfig,
    pub(crate) is_signed: bool,
    /// Where the bucket is made, if it is; `None` for Amazon's first region, which has no name for that.
    pub(crate) location: Option<String>,
}

impl S3Bucket {
    async fn request(&self, query: Vec<(&'static str, String)>) -> object_store::Result<HttpRequest> {
        let options = SignedUrlOptions::new().with_query(query);
        self.signed(reqwest::Method::GET, &options, HttpRequestBody::empty()).await
    }

    /// A request to the bucket as a whole.
    async fn signed(
        &self,
        method: reqwest::Method,
        options: &SignedUrlOptions,
        body: HttpRequestBody,
    ) -> object_store::Result<HttpRequest> {
        let url = self.client.signed_url_opts(method.clone(), &Path::default(), HOLDS, options).await?;
        let mut request = HttpRequest::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = url.as_str().parse().map_err(|_| StoreError::Generic {
            store: "S3",
            source: "the endpoint makes no address".into(),
        })?;
        Ok(request)
    }
}

#[async_trait]
impl WholeBucket for S3Bucket {
    async fn unfinished(&self, prefix: &str) -> object_store::Result<Vec<Unfinished>> {
        if !self.is_signed {
            // The list is for those alone who may write.
            return Ok(Vec::new());
        }
        uploads_listed::all(&self.http, &self.retries, prefix, |query| self.request(query)).await
    }

    async fn abort(&self, key: &Path, id: &str) -> object_store::Result<()> {
        match self.client.abort_multipart(key, &id.to_owned()).await {
            Err(StoreError::NotFound { .. }) => Ok(()),
            aborted => aborted,
        }
    }

    async fn create_bucket(&self) -> object_store::Result<()> {
        let body = match &self.location {
            None => HttpRequestBody::empty(),
            Some(region) => HttpRequestBody::from(format!(
                "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                 <LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
            )),
        };
        let request = self.signed(reqwest::Method::PUT, &SignedUrlOptions::new(), body).await?;
        bucket::change(&self.http, request).await
    }

    async fn remove_bucket(&self) -> object_store::Result<()> {
        let options = SignedUrlOptions::new();
        let request = self.signed(reqwest::Method::DELETE, &options, HttpRequestBody::empty()).await?;
        bucket::change(&self.http, request).await
    }
}
