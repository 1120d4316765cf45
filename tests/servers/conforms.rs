//! What every store must do, done by buckets.

use crate::gcs::gcs;
use crate::server::{Server, azurite, moto, s3s};
use smalti_store::conformance;

fn conforms(server: Option<&dyn Server>) {
    if let Some(server) = server {
        conformance::run_of_objects(|| server.new_store());
    }
}

#[test]
fn buckets_of_moto_conform() {
    conforms(moto().map(|server| server as &dyn Server));
}

#[test]
fn buckets_of_s3s_conform() {
    conforms(Some(s3s()));
}

#[test]
fn buckets_of_google_conform() {
    conforms(Some(gcs()));
}

#[test]
fn containers_of_azure_conform() {
    conforms(azurite().map(|server| server as &dyn Server));
}
