//! Servers of S3 behind a proxy, which counts requests, and breaks them where it is told to.

use crate::server::Server;
use smalti::{Context, Options};
use smalti_object::{ObjectStores, Settings};
use smalti_store::{Remote as _, Store};
use smalti_tests::proxy::Proxy;
use std::sync::Arc;

/// A bucket of a server, with a proxy in front.
pub(crate) struct Behind {
    pub(crate) proxy: Proxy,
    pub(crate) bucket: String,
    pub(crate) settings: Settings,
}

impl Behind {
    pub(crate) fn of(server: &dyn Server) -> Behind {
        let mut settings = server.settings();
        let endpoint = settings.shown().into_iter().find(|shown| shown.key.name == "s3.endpoint").unwrap();
        let to = endpoint.value.unwrap().strip_prefix("http://").unwrap().parse().unwrap();
        let proxy = Proxy::start(to).unwrap();
        for (name, value) in [
            ("s3.endpoint", format!("http://127.0.0.1:{}", proxy.port()).as_str()),
            ("network.retries", "4"),
            ("network.retry_time", "1 min"),
            ("network.retry_pause", "1 ms"),
            ("network.timeout", "20 s"),
        ] {
            settings.set(name, value).unwrap();
        }
        Behind { bucket: server.new_bucket(), proxy, settings }
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Behind {
        self.settings.set(name, value).unwrap();
        self
    }

    /// The bucket, as nobody has seen it before.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        let stores = ObjectStores::new(self.settings.clone());
        stores.open("s3", &format!("{}/any", self.bucket)).unwrap().store
    }

    pub(crate) fn uri(&self, name: &str) -> String {
        format!("s3://{}/{name}", self.bucket)
    }

    /// Whoever opens with it has seen nothing before.
    pub(crate) fn options(&self) -> Options {
        Options::new().context(&Context::new().storage(self.settings.clone()))
    }
}
