//! Object stores: what can be set about them and the network.
//!
//! With the features `s3`, `gcs` and `azure` URIs lead to buckets:
//!
//! | URI | feature |
//! |---|---|
//! | `s3://BUCKET/PATH` | `s3` |
//! | `gs://BUCKET/PATH`, `gcs://BUCKET/PATH` | `gcs` |
//! | `az://CONTAINER/PATH`, `azure://CONTAINER/PATH`, `abfs://CONTAINER/PATH`, `abfss://CONTAINER/PATH` of the account that `azure.account` or the connection string names | `azure` |
//! | the same with `CONTAINER@ACCOUNT.dfs.core.windows.net` for `CONTAINER`, or `.blob.`, in Azure's public cloud, in China, and of the US government | `azure` |
//! | `http://HOST/PATH`, `https://HOST/PATH`, to be read (docs/http.md) | `http` |
//!
//! Credentials, endpoints and time limits come from the variables of the environment that the stores' own programs read too, their shared files, and the services of
//! machines; [`KEYS`] has all that can be set, and docs/settings.md tells the order. Where there are no credentials, requests go unsigned. A program that knows
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
//!
//! What programs keep beside their arrays, on the same paths, is reached by [`Files`]:
//!
//! ```
//! # use smalti::Context;
//! let files = Context::new().files();
//! let mut note = files.create("mem://survey/notes.txt")?;
//! note.write(b"calibrated on Monday")?;
//! note.close()?;
//! assert_eq!(files.byte_len("mem://survey/notes.txt")?, 20);
//! # Ok::<(), smalti::Error>(())
//! ```

pub use smalti_object::{KEYS, Key, Settings, Shown, Takes};
pub use smalti_store::{Files, FoundFile, OpenFile};
