//! From a URI to a bucket.

use crate::backend::{Manners, Objects};
use crate::connect::Connector;
use crate::io::Io;
use crate::settings::Settings;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use smalti_store::{Coalescing, Place, Remote, check_path};
use smalti_types::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The object stores of a context: buckets that were opened, connections, and the thread that waits for them.
pub struct ObjectStores {
    /// What the environment says is looked at when the first bucket is opened.
    settings: OnceLock<Result<Settings>>,
    network: OnceLock<Result<Network>>,
    buckets: Mutex<BTreeMap<String, Objects>>,
    #[cfg(feature = "http")]
    servers: Mutex<BTreeMap<crate::http::Address, crate::http::Files>>,
}

#[derive(Clone)]
struct Network {
    connector: Connector,
    io: Io,
}

/// A client and what its store does differently.
struct Opened {
    client: Arc<dyn ObjectStore>,
    once: Arc<dyn ObjectStore>,
    who: String,
    reads_tails: bool,
    puts_if_absent: bool,
}

impl ObjectStores {
    /// Those of the environment, which is looked at when the first bucket is opened.
    pub fn from_env() -> ObjectStores {
        ObjectStores {
            settings: OnceLock::new(),
            network: OnceLock::new(),
            buckets: Mutex::default(),
            #[cfg(feature = "http")]
            servers: Mutex::default(),
        }
    }

    /// Those that settings describe; the environment has no say beyond them.
    pub fn new(settings: Settings) -> ObjectStores {
        let stores = ObjectStores::from_env();
        // It was made just now.
        let _ = stores.settings.set(Ok(settings));
        stores
    }

    fn settings(&self) -> Result<&Settings> {
        self.settings.get_or_init(Settings::from_env).as_ref().map_err(Clone::clone)
    }

    fn network(&self) -> Result<&Network> {
        let make = || {
            let settings = self.settings()?;
            let request_count = usize::try_from(settings.count("network.requests")).unwrap_or(usize::MAX);
            Ok(Network { connector: Connector::new(settings)?, io: Io::new(request_count.min(4096)) })
        };
        self.network.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    fn bucket(&self, scheme: &str, bucket: &str) -> Result<Objects> {
        let address = format!("{scheme}://{bucket}");
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(objects) = buckets.get(&address) {
            return Ok(objects.clone());
        }
        let (settings, network) = (self.settings()?, self.network()?);
        let opened: Result<Opened> = match scheme {
            #[cfg(feature = "s3")]
            "s3" => s3(settings, network, bucket),
            #[cfg(feature = "gcs")]
            "gs" | "gcs" => gcs(settings, network, bucket),
            #[cfg(feature = "azure")]
            "az" | "azure" => azure(settings, network, bucket),
            _ => Err(Error::unsupported(format!("storage of scheme {scheme:?} is not in this build"))),
        };
        let opened = opened?;
        let manners = Manners {
            reads_tails: opened.reads_tails,
            puts_if_absent: opened.puts_if_absent,
            // Stores take no smaller ones.
            part_byte_len: settings.byte_len("network.part_size").max(5 << 20),
            coalescing: coalescing(settings),
            retries: settings.count("network.retries"),
            retry_time: settings.duration("network.retry_time"),
        };
        let Opened { client, once, who, .. } = opened;
        let objects = Objects::new(client, once, network.io.clone(), address.clone(), who, manners);
        buckets.insert(address, objects.clone());
        Ok(objects)
    }
}

#[cfg(feature = "http")]
impl ObjectStores {
    fn server(&self, scheme: &str, rest: &str) -> Result<Place> {
        use crate::http::{Files, Patience, parse};
        let (address, path) = parse(scheme, rest)?;
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = servers.get(&address) {
            return Ok(Place { store: Arc::new(files.clone()), path });
        }
        let (settings, network) = (self.settings()?, self.network()?);
        let patience = Patience {
            coalescing: coalescing(settings),
            retries: settings.count("network.retries"),
            retry_time: settings.duration("network.retry_time"),
        };
        let files = Files::new(network.connector.client(), address.clone(), network.io.clone(), patience);
        servers.insert(address, files.clone());
        Ok(Place { store: Arc::new(files), path })
    }
}

/// How reads are joined.
fn coalescing(settings: &Settings) -> Coalescing {
    Coalescing {
        max_gap_byte_len: settings.byte_len("network.gap"),
        max_byte_len: settings.byte_len("network.merged"),
    }
}

impl Remote for ObjectStores {
    fn schemes(&self) -> &'static [&'static str] {
        &[
            #[cfg(feature = "s3")]
            "s3",
            #[cfg(feature = "gcs")]
            "gs",
            #[cfg(feature = "gcs")]
            "gcs",
            #[cfg(feature = "azure")]
            "az",
            #[cfg(feature = "azure")]
            "azure",
            #[cfg(feature = "http")]
            "http",
            #[cfg(feature = "http")]
            "https",
        ]
    }

    fn open(&self, scheme: &str, rest: &str) -> Result<Place> {
        #[cfg(feature = "http")]
        if let "http" | "https" = scheme {
            return self.server(scheme, rest);
        }
        let rest = rest.trim_end_matches('/');
        let Some((bucket, path)) =
            rest.split_once('/').filter(|(bucket, path)| !bucket.is_empty() && !path.is_empty())
        else {
            return Err(Error::invalid(format!(
                "write {scheme}://BUCKET/PATH: a bucket as a whole can be no array or group"
            )));
        };
        check_path(path)?;
        Ok(Place { store: Arc::new(self.bucket(scheme, bucket)?), path: path.to_owned() })
    }
}

impl fmt::Debug for ObjectStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectStores({:?})", self.settings.get())
    }
}

/// How often requests that change nothing, or the same however often they are sent, are sent again.
fn retries(settings: &Settings) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: usize::try_from(settings.count("network.retries")).unwrap_or(usize::MAX),
        retry_timeout: settings.duration("network.retry_time"),
    }
}

fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// What the connector does is not said here: a connect timeout marks requests to the metadata service.
fn client_options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true).with_connect_timeout_disabled()
}

fn refused(error: &object_store::Error) -> Error {
    Error::invalid(format!("the store cannot be opened: {error}"))
}

#[cfg(feature = "s3")]
fn s3(settings: &Settings, network: &Network, bucket: &str) -> Result<Opened> {
    use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(client_options())
        .with_http_connector(network.connector.clone())
        .with_virtual_hosted_style_request(settings.flag("s3.virtual_hosted"))
        .with_allow_http(true);
    let puts_if_absent = settings.get("s3.conditional_put") != Some("none");
    builder = builder.with_conditional_put(match puts_if_absent {
        true => S3ConditionalPut::ETagMatch,
        false => S3ConditionalPut::Disabled,
    });
    if let Some(region) = settings.get("s3.region") {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = settings.get("s3.endpoint") {
        builder = builder.with_endpoint(endpoint);
    }
    let who;
    if settings.flag("s3.anonymous") {
        builder = builder.with_skip_signature(true);
        who = "nobody (s3.anonymous)".to_owned();
    } else if let (Some(id), Some(secret)) =
        (settings.get("s3.access_key_id"), settings.get("s3.secret_access_key"))
    {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        if let Some(token) = settings.get("s3.session_token") {
            builder = builder.with_token(token);
        }
        let source = settings.source("s3.access_key_id").unwrap_or_default();
        who = format!("the key {id} of {source}");
    } else {
        who = "the role of this machine".to_owned();
    }
    let client = builder.clone().with_retry(retries(settings)).build().map_err(|error| refused(&error))?;
    let once = builder.with_retry(no_retries()).build().map_err(|error| refused(&error))?;
    let reads_tails = settings.flag("s3.suffix_ranges");
    Ok(Opened { client: Arc::new(client), once: Arc::new(once), who, reads_tails, puts_if_absent })
}

#[cfg(feature = "gcs")]
fn gcs(settings: &Settings, network: &Network, bucket: &str) -> Result<Opened> {
    use object_store::gcp::GoogleCloudStorageBuilder;
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name(bucket)
        .with_client_options(client_options())
        .with_http_connector(network.connector.clone());
    if let Some(endpoint) = settings.get("gcs.endpoint") {
        builder = builder.with_base_url(endpoint);
    }
    let who;
    if settings.flag("gcs.anonymous") {
        builder = builder.with_skip_signature(true);
        who = "nobody (gcs.anonymous)".to_owned();
    } else if let Some(path) = settings.get("gcs.credentials") {
        builder = builder.with_application_credentials(path);
        who = format!("the credentials in {path}");
    } else {
        who = "the account of this machine".to_owned();
    }
    let client = builder.clone().with_retry(retries(settings)).build().map_err(|error| refused(&error))?;
    let once = builder.with_retry(no_retries()).build().map_err(|error| refused(&error))?;
    Ok(Opened {
        client: Arc::new(client),
        once: Arc::new(once),
        who,
        reads_tails: true,
        puts_if_absent: true,
    })
}

#[cfg(feature = "azure")]
fn azure(settings: &Settings, network: &Network, container: &str) -> Result<Opened> {
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
    let account = settings.get("azure.account").ok_or_else(|| {
        Error::invalid("the storage account is not known; set azure.account, or AZURE_STORAGE_ACCOUNT_NAME")
    })?;
    let mut builder = MicrosoftAzureBuilder::new()
        .with_account(account)
        .with_container_name(container)
        .with_client_options(client_options())
        .with_http_connector(network.connector.clone());
    if let Some(endpoint) = settings.get("azure.endpoint") {
        builder = builder.with_endpoint(endpoint.to_owned());
    }
    let who;
    if settings.flag("azure.anonymous") {
        builder = builder.with_skip_signature(true);
        who = "nobody (azure.anonymous)".to_owned();
    } else if let Some(key) = settings.get("azure.key") {
        builder = builder.with_access_key(key);
        who = format!("a key of the account {account}");
    } else if let Some(signature) = settings.get("azure.sas") {
        builder = builder.with_config(AzureConfigKey::SasKey, signature);
        who = "a shared access signature".to_owned();
    } else {
        who = "the identity of this machine".to_owned();
    }
    let client = builder.clone().with_retry(retries(settings)).build().map_err(|error| refused(&error))?;
    let once = builder.with_retry(no_retries()).build().map_err(|error| refused(&error))?;
    // Azure reads no suffixes.
    Ok(Opened {
        client: Arc::new(client),
        once: Arc::new(once),
        who,
        reads_tails: false,
        puts_if_absent: true,
    })
}
