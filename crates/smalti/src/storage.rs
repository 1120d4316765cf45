//! Object stores: what can be set about them and the network.
//!
//! With the features `s3`, `gcs` and `azure` URIs lead to buckets: `s3://bucket/path`, `gs://bucket/path`, `az://container/path`; with the feature `http`
//! to web servers, to be read: `https://host/path`. Credentials, endpoints and time limits
//! come from the variables of the environment that the stores' own programs read too; [`KEYS`] has all of them. A program that knows
//! better says so to its [context](crate::Context::storage):
//!
//! ```
//! use smalti::{Context, storage::Settings};
//!
//! let mut settings = Settings::from_env()?;
//! settings.set("s3.endpoint", "http://localhost:9000")?;
//! settings.set("network.timeout", "10 s")?;
//! let context = Context::new().storage(settings);
//! # Ok::<(), smalti::Error>(())
//! ```

pub use smalti_object::{KEYS, Key, Settings, Shown, Takes};
