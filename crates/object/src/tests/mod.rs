//! Stores against servers that answer what a test says, on the loopback.

mod azure;
mod canned;
mod gcs;
mod network;
mod s3_credentials;
mod s3_profiles;
mod s3_regions;
mod shown;

use crate::{ObjectStores, Settings};
use canned::{Canned, Canned as Server};
use smalti_store::{Remote as _, Store};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands for secrets in tests: no message has it.
const SECRET: &str = "hush";

/// Nobody listens there.
const CLOSED: &str = "http://127.0.0.1:1";

/// A listing of nothing, for S3 and Google's store.
const NOTHING: &str = "<ListBucketResult><Name>b</Name><Prefix></Prefix><KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys>\
                       <IsTruncated>false</IsTruncated></ListBucketResult>";

/// Settings of these variables of an environment, and of no other; then what a call sets.
fn settings(variables: &[(&str, &str)], called: &[(&str, &str)]) -> Settings {
    // Nothing of this machine: not its files, nor the services that know it.
    let mut of_environment: BTreeMap<&str, &str> = BTreeMap::from([
        ("SMALTI_NETWORK_RETRIES", "0"),
        ("AWS_CONFIG_FILE", "/nowhere/config"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", CLOSED),
        ("SMALTI_GCS_USER_CREDENTIALS", "/nowhere/user"),
        ("GCE_METADATA_HOST", CLOSED),
        ("IDENTITY_ENDPOINT", CLOSED),
        ("SMALTI_AZURE_CLI", "false"),
    ]);
    of_environment.extend(variables.iter().copied());
    let variable = |name: &str| Ok(of_environment.get(name).map(|&value| value.to_owned()));
    let mut settings = Settings::default().over_variables(&variable).unwrap();
    for (name, value) in called {
        settings.set(name, value).unwrap();
    }
    settings
}

/// The store of a URI.
fn open(settings: &Settings, uri: &str) -> Arc<dyn Store> {
    let (scheme, rest) = uri.split_once("://").unwrap();
    ObjectStores::new(settings.clone()).open(scheme, rest).unwrap().store
}

/// What is told of listing a store that refuses it.
fn problem(store: &Arc<dyn Store>) -> String {
    let told = store.list("array").unwrap_err().to_string();
    assert!(!told.contains(SECRET) && !told.contains('\n'), "{told}");
    told
}

/// A file in a folder, with its path as text.
fn file(folder: &tempfile::TempDir, name: &str, content: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}
