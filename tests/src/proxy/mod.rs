//! A proxy in front of a server on the loopback that counts requests and rounds, takes its time, and breaks what it is told to break.
//!
//! It speaks HTTP/1.1 on both sides, keeps connections on both, and passes requests on as they came, with the `Host` of the client, which
//! signatures cover. What it does to single requests are [rules](Rule), which tests set. A program of its own, `fault-proxy`, has no rules; it is
//! asked over HTTP:
//!
//! - `GET /__proxy/counts` answers `{"requests": n, "rounds": n, "bytes_in": n, "bytes_out": n}`;
//! - `POST /__proxy/reset` sets them to zero;
//! - `POST /__proxy/latency?ms=30` says how long each request waits before it is passed on.
//!
//! Requests to it are counted nowhere. Latency is per request, many at a time.

mod body;
mod rule;
mod serve;
mod shared;
mod socket;

pub use rule::{Canned, Fault, Rule, Seen};
pub use shared::Counts;

use serve::Service;
use shared::{Shared, lock};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A proxy that is running; it ends with the handle.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

impl Proxy {
    /// Starts a proxy on a free port of the loopback.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(to: SocketAddr) -> io::Result<Proxy> {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_name("fault-proxy").enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::new(to));
        runtime.spawn(Service::new(Arc::clone(&shared)).accept(listener));
        Ok(Proxy { port, shared, runtime: Some(runtime) })
    }

    /// In front of a server on a port of the loopback.
    ///
    /// # Errors
    /// Those of the system.
    pub fn to_port(port: u16) -> io::Result<Proxy> {
        Proxy::start((Ipv4Addr::LOCALHOST, port).into())
    }

    /// The port of the loopback that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What went through since the last [reset](Proxy::reset).
    pub fn counts(&self) -> Counts {
        self.shared.counters.now()
    }

    /// Sets the counts to zero.
    pub fn reset(&self) {
        self.shared.counters.reset();
    }

    /// How long each request waits from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.shared.set_latency(latency);
    }

    /// Replaces all rules. Of those that are for a request, the first counts. What was remembered is forgotten.
    pub fn set_rules(&self, rules: impl IntoIterator<Item = Rule>) {
        *lock(&self.shared.rules) = rules.into_iter().collect();
        lock(&self.shared.remembered).clear();
    }

    /// Replaces all rules, and keeps what was remembered.
    pub fn change_rules(&self, rules: impl IntoIterator<Item = Rule>) {
        *lock(&self.shared.rules) = rules.into_iter().collect();
    }

    /// Writes down what arrives from now on; see [`log`](Proxy::log).
    pub fn start_log(&self) {
        *lock(&self.shared.log) = Some(Vec::new());
    }

    /// The requests that arrived since [`start_log`](Proxy::start_log), in the order they did: method, path and query, and what was done to them if
    /// it was a rule.
    pub fn log(&self) -> Vec<String> {
        lock(&self.shared.log).clone().unwrap_or_default()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
