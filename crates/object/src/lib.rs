//! Arrays in object stores: Amazon S3 and what speaks its protocol, Google Cloud Storage, and Azure, over the crate `object_store`; and behind web
//! servers, to be read.
//!
//! [`ObjectStores`] opens URIs for [`Stores`](smalti_store::Stores): it is a [`Remote`](smalti_store::Remote). A bucket is a
//! [`Store`](smalti_store::Store) like any other, with these manners:
//!
//! - Files that are not to replace anything, commits above all, are put only if nothing has their name. A put whose acknowledgement was lost is
//!   compared with what is there before it is reported as done or failed.
//! - Folders are what names have in common. An empty one is none.
//! - Renames are copies: [`move_folder`](smalti_store::Store::move_folder) is not atomic here.
//! - Nothing can be locked: claims are files (docs/decisions/0012).
//!
//! All requests go through one thread of the context's, which waits for all of them; it starts with the first request. What can be set is in
//! [`KEYS`]. Each kind of store is a feature of the crate; without any of them it opens nothing, and knows the settings alone.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(any(feature = "s3", feature = "gcs", feature = "azure")),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "what buckets need is there for a build that opens none"
    )
)]

#[cfg(not(feature = "network"))]
mod absent;
mod account;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod address;
#[cfg(feature = "network")]
mod answers;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod asking;
#[cfg(feature = "s3")]
mod aws;
#[cfg(feature = "azure")]
mod azure;
#[cfg(feature = "network")]
mod backend;
#[cfg(feature = "network")]
mod batch;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod bucket;
#[cfg(feature = "network")]
mod connect;
#[cfg(feature = "network")]
mod doubts;
#[cfg(feature = "network")]
mod error;
#[cfg(feature = "gcs")]
mod gcs;
#[cfg(feature = "http")]
mod http;
mod ini;
#[cfg(feature = "network")]
mod io;
#[cfg(feature = "network")]
mod lists;
#[cfg(feature = "network")]
mod objects;
#[cfg(feature = "network")]
mod open;
mod page;
#[cfg(feature = "network")]
mod pauses;
#[cfg(feature = "network")]
mod proxy;
#[cfg(feature = "network")]
mod puts;
#[cfg(feature = "network")]
mod reading;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod reason;
#[cfg(feature = "network")]
mod remade;
mod room;
mod settings;
#[cfg(all(test, feature = "s3", feature = "gcs", feature = "azure"))]
mod tests;
#[cfg(feature = "network")]
mod upload;
#[cfg(feature = "uploads")]
mod uploads_listed;
mod values;
#[cfg(feature = "network")]
mod who;
#[cfg(feature = "network")]
mod whole_bucket;

#[cfg(not(feature = "network"))]
pub use absent::ObjectStores;
#[cfg(feature = "network")]
pub use open::ObjectStores;
pub use settings::{KEYS, Key, Settings, Shown, Takes};

/// For fuzzers: what reads the bytes of strangers here.
#[doc(hidden)]
pub mod fuzzing {
    /// Reads bytes as the page, or the JSON, that a web server makes of a folder.
    pub fn listing_page(bytes: &[u8]) {
        crate::page::fuzz(bytes);
    }

    /// Reads bytes as the list that a store makes of unfinished uploads.
    #[cfg(feature = "uploads")]
    pub fn list_of_uploads(bytes: &[u8]) {
        crate::uploads_listed::fuzz(bytes);
    }

    /// Reads bytes as a file of settings, as one that the AWS tools share, and as what names accounts of Azure.
    pub fn settings(bytes: &[u8]) {
        crate::ini::fuzz(bytes);
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        crate::account::fuzz(text);
        if let Ok(settings) = crate::Settings::from_text(text, "file") {
            assert_eq!(settings.shown().len(), crate::KEYS.len());
        }
    }
}
