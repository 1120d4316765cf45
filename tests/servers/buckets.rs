//! Buckets are made and removed.

use crate::gcs::gcs;
use crate::server::{Server, azurite, moto};
use smalti::ErrorKind;

/// A bucket of a name that no other test has.
fn come_and_go(server: &dyn Server) {
    let files = server.context().files();
    let bucket = format!("{}://made-and-removed", server.scheme());
    let file = format!("{bucket}/folder/file");
    assert_eq!(files.remove_bucket(&bucket).unwrap_err().kind(), ErrorKind::NotFound);
    files.create_bucket(&bucket).unwrap();
    files.create(&file).unwrap().close().unwrap();
    assert!(files.is_file(&file).unwrap(), "{}", server.name());
    let full = files.remove_bucket(&bucket).unwrap_err();
    assert!(full.to_string().contains("not empty"), "{full}");
    files.remove_file(&file).unwrap();
    files.remove_bucket(&bucket).unwrap();
    assert_eq!(files.remove_bucket(&bucket).unwrap_err().kind(), ErrorKind::NotFound);
    files.create_bucket(&format!("{bucket}/")).unwrap();
    files.remove_bucket(&bucket).unwrap();
    for wrong in ["no-bucket", "mem://no-bucket", "http://127.0.0.1"] {
        files.create_bucket(wrong).unwrap_err();
    }
    files.create_bucket(&file).unwrap_err();
}

#[test]
fn buckets_of_moto_come_and_go() {
    if let Some(server) = moto() {
        come_and_go(server);
    }
}

#[test]
fn buckets_of_google_come_and_go() {
    come_and_go(gcs());
    let files = gcs().context().files();
    files.create_bucket("gs://made-twice").unwrap();
    assert_eq!(files.create_bucket("gs://made-twice").unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn containers_of_azure_come_and_go() {
    if let Some(server) = azurite() {
        come_and_go(server);
        let files = server.context().files();
        let bucket = format!("{}://made-twice", server.scheme());
        files.create_bucket(&bucket).unwrap();
        assert_eq!(files.create_bucket(&bucket).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
