//! From a URI to a bucket.

use crate::connect::Connector;
use crate::io::Io;
use crate::objects::{Manners, Objects};
use crate::remade::{Common, Maker, remade};
use crate::settings::Settings;
use crate::values::shown_address;
use crate::who::Who;
use object_store::client::HttpConnector;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use smalti_store::{Coalescing, DiskCache, Place, Remote, check_path};
use smalti_types::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The object stores of a context: buckets that were opened, connections, and the thread that waits for them.
pub struct ObjectStores {
    /// What the environment says is looked at when the first bucket is opened.
    settings: OnceLock<Result<Settings>>,
    network: OnceLock<Result<Network>>,
    disk_cache: OnceLock<Option<Arc<DiskCache>>>,
    /// Where requests go instead of the network.
    connector: Option<Arc<dyn HttpConnector>>,
    buckets: Mutex<BTreeMap<String, Objects>>,
    #[cfg(feature = "http")]
    servers: Mutex<BTreeMap<crate::http::Address, crate::http::Files>>,
}

#[derive(Clone)]
struct Network {
    connector: Connector,
    io: Io,
}

impl ObjectStores {
    /// Those of the environment, which is looked at when the first bucket is opened.
    pub fn from_env() -> ObjectStores {
        ObjectStores {
            settings: OnceLock::new(),
            network: OnceLock::new(),
            disk_cache: OnceLock::new(),
            connector: None,
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

    /// As [`new`](ObjectStores::new), for tests: requests to object stores go through a connector, which may lead to a store in the same process. Files are uploaded
    /// in parts of any size that `network.part_size` says, as some stores on this side of the network take them.
    pub fn with_connector(settings: Settings, connector: Arc<dyn HttpConnector>) -> ObjectStores {
        ObjectStores { connector: Some(connector), ..ObjectStores::new(settings) }
    }

    fn settings(&self) -> Result<&Settings> {
        self.settings.get_or_init(Settings::from_env).as_ref().map_err(Clone::clone)
    }

    fn network(&self) -> Result<&Network> {
        let make = || {
            let settings = self.settings()?;
            let request_count = usize::try_from(settings.count("network.requests")).unwrap_or(usize::MAX);
            let connector = match &self.connector {
                Some(other) => Connector::of(&**other, settings)?,
                None => Connector::new(settings)?,
            };
            Ok(Network { connector, io: Io::new(request_count.min(4096)) })
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
        let who = Who::default();
        let common = Common {
            settings: settings.clone(),
            connector: network.connector.clone(),
            options: client_options(),
            retries: retries(settings),
            no_retries: no_retries(),
            who: who.clone(),
        };
        let (reads_tails, puts_if_absent) = match scheme {
            "s3" => (settings.flag("s3.suffix_ranges"), settings.get("s3.conditional_put") != Some("none")),
            // Azure reads no suffixes.
            scheme => (matches!(scheme, "gs" | "gcs"), true),
        };
        let manners = Manners {
            reads_tails,
            puts_if_absent,
            part_byte_len: match self.connector {
                Some(_) => settings.byte_len("network.part_size").max(1),
                // Stores take no smaller ones.
                None => settings.byte_len("network.part_size").max(5 << 20),
            },
            coalescing: coalescing(settings),
            listing_byte_len: settings.byte_len("network.listing"),
            retries: settings.count("network.retries"),
            retry_time: settings.duration("network.retry_time"),
            retry_pause: retry_pause(settings),
        };
        let (io, doubts) = (network.io.clone(), network.connector.doubts());
        let clients = remade(maker(scheme, bucket, common)?);
        let objects = Objects::new(clients, doubts, io, address.clone(), who, manners);
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
        let files =
            Files::new(network.connector.connections(), address.clone(), network.io.clone(), patience);
        servers.insert(address, files.clone());
        Ok(Place { store: Arc::new(files), path })
    }
}

/// How reads are joined.
fn coalescing(settings: &Settings) -> Coalescing {
    Coalescing {
        max_gap_byte_len: settings.byte_len("network.gap"),
        max_byte_len: settings.byte_len("network.merged"),
        side_by_side: usize::try_from(settings.count("network.requests")).unwrap_or(usize::MAX),
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
            #[cfg(feature = "azure")]
            "abfs",
            #[cfg(feature = "azure")]
            "abfss",
            #[cfg(feature = "http")]
            "http",
            #[cfg(feature = "http")]
            "https",
        ]
    }

    fn change_bucket(&self, scheme: &str, bucket: &str, is_made: bool) -> Result<()> {
        if matches!(scheme, "http" | "https") {
            return Err(Error::unsupported("web servers have no buckets"));
        }
        self.bucket(scheme, bucket)?.change_bucket(is_made)
    }

    /// What is wrong with settings is told by who opens a bucket.
    fn disk_cache(&self) -> Option<Arc<DiskCache>> {
        /// Names of buckets mean something else elsewhere.
        const REALM: [&str; 6] =
            ["azure.account", "azure.endpoint", "gcs.endpoint", "s3.endpoint", "s3.profile", "s3.region"];
        let make = || {
            let settings = self.settings().ok()?;
            let folder = settings.path("cache.folder")?;
            // It stands in the files of the folder: passwords are left out.
            let of_key = |name| shown_address(settings.get(name).unwrap_or_default());
            let realm = REALM.map(of_key).join("\n");
            Some(Arc::new(DiskCache::new(folder, settings.byte_len("cache.size"), realm)))
        };
        self.disk_cache.get_or_init(make).clone()
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

/// What makes the clients of a bucket.
#[cfg_attr(
    not(any(feature = "s3", feature = "gcs", feature = "azure")),
    expect(unused_variables, reason = "there are no buckets in this build")
)]
fn maker(scheme: &str, bucket: &str, common: Common) -> Result<Box<dyn Maker>> {
    match scheme {
        #[cfg(feature = "s3")]
        "s3" => {
            let state = crate::aws::State::default();
            Ok(Box::new(crate::aws::S3 { common, bucket: check_bucket(bucket)?, state }))
        }
        #[cfg(feature = "gcs")]
        "gs" | "gcs" => Ok(Box::new(crate::gcs::Gcs { common, bucket: check_bucket(bucket)? })),
        #[cfg(feature = "azure")]
        "az" | "azure" | "abfs" | "abfss" => {
            Ok(Box::new(crate::azure::Azure { common, named: crate::azure::named(bucket)? }))
        }
        _ => Err(Error::unsupported(format!("storage of scheme {scheme:?} is not in this build"))),
    }
}

/// Of the names of buckets hosts and paths are made.
#[cfg(any(feature = "s3", feature = "gcs"))]
fn check_bucket(bucket: &str) -> Result<String> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match bucket.bytes().all(is_of_name) {
        true => Ok(bucket.to_owned()),
        false => Err(Error::invalid(format!("{bucket:?} is no name of a bucket"))),
    }
}

/// How often requests that change nothing, or the same however often they are sent, are sent again.
fn retries(settings: &Settings) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig { init_backoff: retry_pause(settings), ..BackoffConfig::default() },
        max_retries: usize::try_from(settings.count("network.retries")).unwrap_or(usize::MAX),
        retry_timeout: settings.duration("network.retry_time"),
    }
}

/// The first pause before a request is sent again: the crate wants one, and no longer than its longest.
fn retry_pause(settings: &Settings) -> Duration {
    let pause = settings.duration("network.retry_pause");
    pause.clamp(Duration::from_millis(1), BackoffConfig::default().max_backoff)
}

fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// What the connector does is not said here: a connect timeout marks requests to the metadata service.
fn client_options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true).with_connect_timeout_disabled()
}
