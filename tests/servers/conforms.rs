//! What every store must do, done by buckets.

use crate::server::{S3Server, moto, s3s};
use smalti_store::conformance;

#[test]
fn buckets_of_moto_conform() {
    let Some(moto) = moto() else { return };
    conformance::run_of_objects(|| moto.new_store());
}

#[test]
fn buckets_of_s3s_conform() {
    conformance::run_of_objects(|| s3s().new_store());
}
