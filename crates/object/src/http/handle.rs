//! A server's files, as all who read them share them.

use super::address::Address;
use super::server::{Learnt, Server};
use super::sources::Folders;
use crate::io::Io;
use smalti_store::Coalescing;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The files of a server. Clones are the same.
#[derive(Clone)]
pub(crate) struct Files(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) server: Server,
    pub(super) folders: Folders,
    pub(super) io: Io,
    pub(super) coalescing: Coalescing,
}

/// What was set about requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) coalescing: Coalescing,
    pub(crate) retries: u64,
    pub(crate) retry_time: Duration,
}

impl Files {
    pub(crate) fn new(client: reqwest::Client, address: Address, io: Io, patience: Patience) -> Files {
        let Patience { coalescing, retries, retry_time } = patience;
        let (ranges, suffixes, heads) = (Learnt::default(), Learnt::default(), Learnt::default());
        let server = Server { client, address, retries, retry_time, ranges, suffixes, heads };
        Files(Arc::new(Inner { server, folders: Folders::default(), io, coalescing }))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Files({})", self.0.server.address.origin)
    }
}
