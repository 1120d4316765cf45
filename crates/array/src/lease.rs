//! How readers, consolidation and vacuum of one array keep out of each other's way.
//!
//! - An open snapshot holds a shared claim on the array's folder. Vacuum, which takes away what open snapshots may still read, needs
//!   an exclusive one for the moment in which it takes back commits: no snapshot is open then, and those that are opened
//!   later do not see what it removes.
//! - Consolidation and vacuum hold an exclusive claim on the schema, so that two of them never work on the same fragments.
//!
//! Writers need no claims: what they write is new. Other libraries know nothing of claims; against them listings are made again
//! right before a commit.

use crate::ArrayPlace;
use smalti_format::names::{OLD_SCHEMA_FILE, SCHEMA_FOLDER};
use smalti_store::{Claim, Lease};
use smalti_types::{Error, ErrorKind, Result};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Held while fragments are merged, or what was merged is removed.
#[derive(Debug)]
pub struct UpkeepLock {
    _lease: Lease,
}

/// Held while no snapshot of the array is open on this machine.
#[derive(Debug)]
pub struct ReadersAway {
    _lease: Lease,
}

/// How long a reader waits for a vacuum that is taking back commits: long enough for any that is alive.
const READER_PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

impl ArrayPlace {
    /// A reader's claim, which all open snapshots of this place share. Where it cannot be had, reading goes on without: then a
    /// vacuum may end the read with an error.
    pub(crate) fn reader_lease(&self) -> Option<Arc<Lease>> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lease) = readers.upgrade() {
            return Some(lease);
        }
        let start = Instant::now();
        loop {
            match self.store().lease(self.path(), Claim::Shared) {
                Ok(Some(lease)) => {
                    let lease = Arc::new(lease);
                    *readers = Arc::downgrade(&lease);
                    return Some(lease);
                }
                Ok(None) if start.elapsed() < READER_PATIENCE => std::thread::sleep(PAUSE),
                _ => return None,
            }
        }
    }

    /// The claim of consolidation and vacuum.
    ///
    /// # Errors
    /// `Io` when another process or thread holds it; `NotFound` when there is no array; what the store reports.
    pub fn upkeep_lock(&self) -> Result<UpkeepLock> {
        let folder = self.join(SCHEMA_FOLDER);
        let found = match self.store().lease(&folder, Claim::Exclusive) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.store().lease(&self.join(OLD_SCHEMA_FILE), Claim::Exclusive)?
            }
            found => found?,
        };
        let busy = "another consolidation or vacuum of this array is running; wait for it to end";
        let lease = found.ok_or_else(|| Error::new(ErrorKind::Io, busy).at_uri(self.uri()))?;
        Ok(UpkeepLock { _lease: lease })
    }

    /// Makes sure that no snapshot is open, and keeps new ones waiting until the result is dropped; `None` when some are
    /// open.
    ///
    /// # Errors
    /// What the store reports.
    pub fn readers_away(&self) -> Result<Option<ReadersAway>> {
        Ok(self.store().lease(self.path(), Claim::Exclusive)?.map(|lease| ReadersAway { _lease: lease }))
    }
}
