//! How readers, consolidation and vacuum of one array keep out of each other's way.
//!
//! - An open snapshot holds a shared claim on the array's folder. Vacuum, which takes away what open snapshots may still read, needs
//!   an exclusive one for the moment in which it takes back commits: no snapshot is open then, and those that are opened
//!   later do not see what it removes.
//! - Consolidation and vacuum hold an exclusive claim on the schema, so that two of them never work on the same fragments.
//! - What puts a schema holds an exclusive claim on the newest one, from which it makes the new one: of two changes at the same time
//!   neither undoes the other.
//!
//! Where nothing can be locked, exclusive claims of the last two kinds are files in the array's folder, and readers have none: see
//! `docs/decisions/0012`.
//!
//! Writers need no claims: what they write is new. Other libraries know nothing of claims; against them listings are made again
//! right before a commit.

use crate::ArrayPlace;
use crate::listing::schema_files;
use smalti_format::names::{OLD_SCHEMA_FILE, SCHEMA_FOLDER};
use smalti_store::{Claim, ClaimFile, Claiming, Lease};
use smalti_types::{Clock, Error, ErrorKind, Result};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Held while fragments are merged, or what was merged is removed.
#[derive(Debug)]
pub struct UpkeepLock {
    held: Held,
}

/// An exclusive claim.
#[derive(Debug)]
enum Held {
    /// A lock of the store, which ends with the process.
    Lock { _lease: Lease },
    /// A file, where there are no locks.
    File(ClaimFile),
}

/// Held while no snapshot of the array is open on this machine.
#[derive(Debug)]
pub struct ReadersAway {
    _lease: Lease,
}

/// Held while a schema is made from the newest one.
#[derive(Debug)]
pub(crate) struct SchemaLock {
    held: Held,
}

/// How long a reader waits for a vacuum that is taking back commits, and a change of the schema for another: long enough
/// for any that is alive.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks whether somebody else has ended: as short at first as most of them take, longer where one takes long.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(100)];

/// Waits for somebody else to end.
struct Waiting<'a> {
    clock: &'a dyn Clock,
    until: Duration,
    pause: Duration,
}

impl Waiting<'_> {
    fn new(clock: &dyn Clock) -> Waiting<'_> {
        Waiting { clock, until: clock.uptime() + PATIENCE, pause: PAUSES[0] }
    }

    /// Waits for a moment; whether it is worth another look.
    fn go_on(&mut self) -> bool {
        if self.clock.uptime() >= self.until {
            return false;
        }
        self.clock.wait(self.pause);
        self.pause = (self.pause * 2).min(PAUSES[1]);
        true
    }
}

/// The names of claims that are files.
const UPKEEP_CLAIM: &str = "upkeep";
const SCHEMA_CLAIM: &str = "schema";

impl Held {
    /// See [`UpkeepLock::confirm`].
    fn confirm(&self) -> Result<()> {
        match self {
            Held::Lock { .. } => Ok(()),
            Held::File(file) => file.confirm(),
        }
    }
}

impl UpkeepLock {
    /// Makes sure that the lock is held still: to be called before each step that changes what readers see. Locks of the operating
    /// system are; claims that are files end where a process was asleep for longer than a minute.
    ///
    /// # Errors
    /// `Io` when another process has taken the claim over; what the store reports.
    pub fn confirm(&self) -> Result<()> {
        self.held.confirm()
    }
}

impl SchemaLock {
    /// As [`UpkeepLock::confirm`].
    pub(crate) fn confirm(&self) -> Result<()> {
        self.held.confirm()
    }
}

impl ArrayPlace {
    /// A reader's claim, which all open snapshots of this place share; `None` where nothing can be locked, so that a vacuum, which
    /// knows of no reader there, may end the read with an error, and where there is no such folder.
    ///
    /// # Errors
    /// `Io` when a vacuum does not end that is taking back commits; what the store reports.
    pub(crate) fn reader_lease(&self) -> Result<Option<Arc<Lease>>> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lease) = readers.upgrade() {
            return Ok(Some(lease));
        }
        let mut waiting = Waiting::new(&*self.env().clock);
        loop {
            match self.store().lease(self.path(), Claim::Shared) {
                Ok(Some(lease)) => {
                    let lease = Arc::new(lease);
                    *readers = Arc::downgrade(&lease);
                    return Ok(Some(lease));
                }
                Ok(None) if waiting.go_on() => {}
                Ok(None) => {
                    let busy =
                        "a vacuum or a deletion of fragments is taking back commits; wait for it to end";
                    return Err(Error::new(ErrorKind::Io, busy).at_uri(self.uri()));
                }
                Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::NotFound) => {
                    return Ok(None);
                }
                Err(error) => return Err(unlocked(error)),
            }
        }
    }

    /// The claim of a change of the schema. Waits for another one to end.
    ///
    /// # Errors
    /// `NotFound` when no array is here; `Io` when another change does not end; what the store reports.
    pub(crate) fn schema_lock(&self) -> Result<SchemaLock> {
        let newest = || -> Result<String> {
            let last = schema_files(self)?.pop();
            last.map(|(_, path)| path).ok_or_else(|| Error::not_found("no array is here").at_uri(self.uri()))
        };
        let mut waiting = Waiting::new(&*self.env().clock);
        loop {
            let path = newest()?;
            let by = match self.claim(&path, SCHEMA_CLAIM)? {
                // Another change may have ended between the listing and the claim.
                Ok(held) if newest()? == path => return Ok(SchemaLock { held }),
                Ok(_) => String::new(),
                Err(by) => by,
            };
            if !waiting.go_on() {
                let busy = format!("another change of the array's schema is running; wait for it to end{by}");
                return Err(Error::new(ErrorKind::Io, busy).at_uri(self.uri()));
            }
        }
    }

    /// An exclusive claim of something in the array's folder: a lock, or where there are none the claim file of that name. Where
    /// somebody else has it, the inner error says who, as far as that is known.
    fn claim(&self, path: &str, name: &str) -> Result<std::result::Result<Held, String>> {
        match self.store().lease(path, Claim::Exclusive) {
            Ok(Some(lease)) => Ok(Ok(Held::Lock { _lease: lease })),
            Ok(None) => Ok(Err(String::new())),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                // Nothing is put where no array is.
                schema_files(self)?;
                Ok(match ClaimFile::take(self.store(), self.path(), name, self.env())? {
                    Claiming::Held(file) => Ok(Held::File(file)),
                    Claiming::Taken(by) => Err(format!(": {by}")),
                })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
            Err(error) => Err(unlocked(error)),
        }
    }

    /// The claim of consolidation and vacuum.
    ///
    /// # Errors
    /// `Io` when another process or thread holds it; `NotFound` when there is no array; what the store reports.
    pub fn upkeep_lock(&self) -> Result<UpkeepLock> {
        let folder = self.join(SCHEMA_FOLDER);
        let found = match self.claim(&folder, UPKEEP_CLAIM) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.claim(&self.join(OLD_SCHEMA_FILE), UPKEEP_CLAIM)?
            }
            found => found?,
        };
        let busy = |by: String| {
            let busy =
                format!("another consolidation or vacuum of this array is running; wait for it to end{by}");
            Error::new(ErrorKind::Io, busy).at_uri(self.uri())
        };
        found.map(|held| UpkeepLock { held }).map_err(busy)
    }

    /// Makes sure that no snapshot is open, and keeps new ones waiting until the result is dropped; `None` when some are
    /// open.
    ///
    /// # Errors
    /// `Unsupported` where nothing can be locked, so that nobody can tell; what the store reports.
    pub fn readers_away(&self) -> Result<Option<ReadersAway>> {
        match self.store().lease(self.path(), Claim::Exclusive) {
            Err(error) if error.kind() == ErrorKind::Unsupported => Err(Error::unsupported(
                "there are no locks here, so that nobody can tell whether the array is being read, and fragments would be taken away \
                 from readers; when none is open, do it with --ignore-readers",
            )
            .at_uri(self.uri())),
            Err(error) => Err(unlocked(error)),
            Ok(lease) => Ok(lease.map(|lease| ReadersAway { _lease: lease })),
        }
    }
}

/// An error of a lock, which is no leave to go on without.
fn unlocked(error: Error) -> Error {
    error.context("a lock of the array could not be taken")
}
