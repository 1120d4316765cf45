//! S3: its clients, with credentials and regions as the AWS tools find them.

mod bucket;
mod container;
mod credentials;
mod origin;
mod profile;
mod refusal;
mod region;
mod sources;
mod sts;

use crate::address::{address_of, checked};
use crate::reason::unopened;
use crate::remade::{Clients, Common, Maker};
use crate::whole_bucket::WholeBucket;
use async_trait::async_trait;
use bucket::S3Bucket;
use credentials::{Asking, Credentials, First};
use object_store::aws::{
    AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredentialProvider, S3ConditionalPut,
};
use object_store::{Error as StoreError, RetryConfig};
use profile::Profiles;
use refusal::Refusal;
use region::{Told, Watching, is_region};
use smalti_types::{Error, Result};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use sts::Sts;
use tokio::sync::OnceCell;

/// Where Amazon looks first for buckets of which nobody knows the region.
const FIRST_REGION: &str = "us-east-1";

/// Makes clients of a bucket in S3.
pub(crate) struct S3 {
    pub(crate) common: Common,
    pub(crate) bucket: String,
    pub(crate) state: State,
}

/// What is found out about a bucket, and remembered.
#[derive(Default)]
pub(crate) struct State {
    /// Where the store said it is.
    region: Mutex<Option<String>>,
    told: Told,
    /// The credentials; `None` where there are none.
    credentials: OnceCell<Arc<Credentials>>,
}

impl S3 {
    /// The region that requests go to: what the store said, what was set, what the profile says.
    fn region(&self, profiles: &Profiles) -> Result<String> {
        let told = self.state.region.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let set = || self.common.settings.get("s3.region").or_else(|| profiles.region()).map(str::to_owned);
        let region = told.or_else(set).unwrap_or_else(|| FIRST_REGION.to_owned());
        match is_region(&region) {
            true => Ok(region),
            false => Err(Error::invalid(format!("{region:?} is no region; write it like eu-west-1"))),
        }
    }

    /// The address that was set for a service, or that the profile says.
    fn endpoint(&self, profiles: &Profiles, service: &str, key: &'static str) -> Result<Option<String>> {
        if let Some(endpoint) = address_of(&self.common.settings, key)? {
            return Ok(Some(endpoint));
        }
        let of_profile = profiles.endpoint(service).map(checked).transpose();
        of_profile
            .map_err(|error| error.context(format_args!("endpoint_url of the profile {}", profiles.name())))
    }

    fn asking(&self, profiles: &Profiles) -> Result<Asking> {
        let region = self.region(profiles)?;
        let near_client = self.common.connector.near_client();
        let endpoint = self.endpoint(profiles, "sts", "s3.sts_endpoint")?;
        let sts = Sts {
            client: self.common.connector.client(),
            endpoint: endpoint.unwrap_or_else(|| format!("https://sts.{region}.{}", domain(&region))),
            region,
        };
        let metadata = address_of(&self.common.settings, "s3.metadata_endpoint")?.unwrap_or_default();
        let (connector, options, bucket) =
            (self.common.connector.clone(), self.common.options.clone(), self.bucket.clone());
        // One more try: the service is near, or nobody answers at all.
        let retries = RetryConfig { max_retries: 1, ..self.common.retries.clone() };
        let machine = move || -> Result<AwsCredentialProvider> {
            let builder = AmazonS3Builder::new()
                .with_bucket_name(&bucket)
                .with_client_options(options.clone())
                .with_http_connector(connector.clone())
                .with_retry(retries.clone())
                .with_metadata_endpoint(&metadata);
            let client = builder.build().map_err(|failed| unopened(&failed))?;
            Ok(Arc::clone(client.credentials()))
        };
        Ok(Asking { settings: self.common.settings.clone(), near_client, sts, machine: Box::new(machine) })
    }

    /// The credentials that go along; none where there are none, or none are to.
    async fn credentials(&self, profiles: &Profiles) -> Result<Option<Arc<Credentials>>> {
        if self.common.settings.flag("s3.anonymous") {
            self.common.who.is("nobody (s3.anonymous)");
            return Ok(None);
        }
        let make = || async { Ok::<_, Error>(Arc::new(Credentials::new(self.asking(profiles)?))) };
        let credentials = self.state.credentials.get_or_try_init(make).await?;
        match credentials.first(profiles).await? {
            First::Of(who) => {
                self.common.who.is(who);
                Ok(Some(Arc::clone(credentials)))
            }
            First::None(why) => {
                self.common.who.is(why);
                Ok(None)
            }
        }
    }
}

/// Amazon's regions in China have a domain of their own.
fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
}

#[async_trait]
impl Maker for S3 {
    async fn make(&self) -> Result<Clients> {
        let settings = &self.common.settings;
        let profiles = Profiles::read(settings)?;
        let region = self.region(&profiles)?;
        let conditional_put = match settings.get("s3.conditional_put") {
            Some("none") => S3ConditionalPut::Disabled,
            _ => S3ConditionalPut::ETagMatch,
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&self.bucket)
            .with_client_options(self.common.options.clone())
            .with_http_connector(Watching {
                connector: self.common.connector.clone(),
                told: self.state.told.clone(),
            })
            .with_virtual_hosted_style_request(settings.flag("s3.virtual_hosted"))
            .with_allow_http(true)
            .with_conditional_put(conditional_put)
            .with_region(&region);
        let endpoint = self.endpoint(&profiles, "s3", "s3.endpoint")?;
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        } else if region.starts_with("cn-") {
            builder = builder.with_config(
                AmazonS3ConfigKey::Endpoint,
                match settings.flag("s3.virtual_hosted") {
                    true => format!("https://{}.s3.{region}.{}", self.bucket, domain(&region)),
                    false => format!("https://s3.{region}.{}", domain(&region)),
                },
            );
        }
        let credentials = self.credentials(&profiles).await?;
        let is_signed = credentials.is_some();
        builder = match credentials {
            Some(credentials) => builder.with_credentials(credentials),
            None => builder.with_skip_signature(true),
        };
        let whole = |client: &Arc<AmazonS3>| -> Option<Arc<dyn WholeBucket>> {
            Some(Arc::new(S3Bucket {
                client: Arc::clone(client),
                http: self.common.connector.client(),
                retries: self.common.retries.clone(),
                is_signed,
                location: Some(region.clone()).filter(|region| region != FIRST_REGION),
            }))
        };
        self.common
            .clients(|retries| builder.clone().with_retry(retries).build(), whole)
            .map_err(|failed| unopened(&failed))
    }

    async fn mend(&self, failed: &StoreError) -> bool {
        if let Some(told) = self.state.told.region(failed) {
            let Ok(profiles) = Profiles::read(&self.common.settings) else { return false };
            if self.region(&profiles).is_ok_and(|region| region != told) {
                *self.state.region.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
                return true;
            }
        }
        let refusal = refusal::refusal(failed);
        let Some(credentials) = self.state.credentials.get().filter(|_| refusal.is_some()) else {
            return false;
        };
        credentials.renew(refusal == Some(Refusal::Ended)).await
    }
}

impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S3({})", self.bucket)
    }
}
