//! Servers on the loopback, and clients of theirs.

use crate::gcs::gcs;
use smalti::Context;
use smalti_object::{ObjectStores, Settings};
use smalti_store::{Remote as _, Store};
use smalti_tests::s3_files::S3Files;
pub(crate) use smalti_tests::servers::{Azurite, Moto, azurite, moto};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// A server of an object store.
pub(crate) trait Server: Sync {
    /// What it is, for messages.
    fn name(&self) -> &'static str;

    /// The scheme of its URIs.
    fn scheme(&self) -> &'static str;

    /// Makes a bucket.
    fn make_bucket(&self, name: &str);

    /// What a client has to set.
    fn settings(&self) -> Settings;

    /// A new bucket.
    fn new_bucket(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("bucket-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.make_bucket(&name);
        name
    }

    /// A store over a new bucket.
    fn new_store(&self) -> Arc<dyn Store> {
        self.store(&self.new_bucket())
    }

    /// A store over a bucket.
    fn store(&self, bucket: &str) -> Arc<dyn Store> {
        ObjectStores::new(self.settings()).open(self.scheme(), &format!("{bucket}/any")).unwrap().store
    }

    /// A new context that knows the server.
    fn context(&self) -> Context {
        Context::new().storage(self.settings())
    }

    /// The URI of a path in a new bucket.
    fn new_uri(&self, path: &str) -> String {
        self.uri(&self.new_bucket(), path)
    }

    /// The URI of a path in a bucket.
    fn uri(&self, bucket: &str, path: &str) -> String {
        format!("{}://{bucket}/{path}", self.scheme())
    }
}

/// All servers that are there.
pub(crate) fn servers() -> Vec<&'static dyn Server> {
    let moto = moto().map(|moto| moto as &dyn Server);
    let azurite = azurite().map(|azurite| azurite as &dyn Server);
    [Some(s3s() as &dyn Server), Some(gcs()), moto, azurite].into_iter().flatten().collect()
}

/// What a client of the server on a port has to set.
pub(crate) fn settings_of_s3(port: u16) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in [
        ("s3.endpoint", format!("http://127.0.0.1:{port}").as_str()),
        ("s3.region", "us-east-1"),
        ("s3.access_key_id", "testing"),
        ("s3.secret_access_key", "testing"),
    ] {
        settings.set(name, value).unwrap();
    }
    settings
}

impl Server for Moto {
    fn name(&self) -> &'static str {
        "moto"
    }

    fn scheme(&self) -> &'static str {
        "s3"
    }

    fn settings(&self) -> Settings {
        settings_of_s3(self.port())
    }

    fn make_bucket(&self, name: &str) {
        Moto::make_bucket(self, name);
    }
}

/// The account that every Azurite has, and its key, which is no secret.
const ACCOUNT: (&str, &str) = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
);

impl Server for Azurite {
    fn name(&self) -> &'static str {
        "Azurite"
    }

    fn scheme(&self) -> &'static str {
        "az"
    }

    fn settings(&self) -> Settings {
        let (account, key) = ACCOUNT;
        let mut settings = Settings::default();
        settings.set("azure.account", account).unwrap();
        settings.set("azure.key", key).unwrap();
        settings.set("azure.endpoint", &format!("http://127.0.0.1:{}/{account}", self.port())).unwrap();
        settings
    }

    fn make_bucket(&self, name: &str) {
        self.make_container(name);
    }
}

/// s3s-fs, in this process.
pub(crate) struct S3s {
    server: S3Files,
    _root: tempfile::TempDir,
}

impl S3s {
    fn start() -> S3s {
        let root = tempfile::tempdir().unwrap();
        S3s { server: S3Files::start(root.path()).unwrap(), _root: root }
    }
}

impl Server for S3s {
    fn name(&self) -> &'static str {
        "s3s-fs"
    }

    fn scheme(&self) -> &'static str {
        "s3"
    }

    /// It breaks down where more of the end is asked for than there is.
    fn settings(&self) -> Settings {
        let mut settings = settings_of_s3(self.server.port());
        settings.set("s3.suffix_ranges", "false").unwrap();
        settings
    }

    fn make_bucket(&self, name: &str) {
        self.server.make_bucket(name).unwrap();
    }
}

/// s3s-fs, in this process; started once.
pub(crate) fn s3s() -> &'static S3s {
    static S3S: LazyLock<S3s> = LazyLock::new(S3s::start);
    &S3S
}
