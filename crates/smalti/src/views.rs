//! What an array handle shows: a snapshot, until a change that was made through the handle calls for a newer one.

use crate::Schema;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_types::{Result, TimeRange};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The view that the clones of a handle share. Reads hold the snapshot that they started with; the view holds the latest alone, so
/// that a snapshot goes with the last read of it.
#[derive(Debug)]
pub(crate) struct View {
    /// Changes that were made through the handle.
    changes: AtomicU64,
    shown: Mutex<Shown>,
}

#[derive(Debug)]
struct Shown {
    schema: Schema,
    schema_name: String,
    /// `None` while fragments are taken away.
    snapshot: Option<Snapshot>,
    /// How many of the handle's changes it has seen.
    seen: u64,
}

impl Shown {
    fn of(snapshot: Snapshot, seen: u64) -> Shown {
        let schema = Schema::unchecked(Arc::clone(snapshot.schema()));
        Shown { schema, schema_name: snapshot.schema_name().to_owned(), snapshot: Some(snapshot), seen }
    }
}

impl View {
    pub(crate) fn open(place: &ArrayPlace, time: TimeRange) -> Result<View> {
        let shown = Shown::of(Snapshot::open(place.clone(), time)?, 0);
        Ok(View { changes: AtomicU64::new(0), shown: Mutex::new(shown) })
    }

    /// A view of a snapshot that is there.
    pub(crate) fn showing(snapshot: Snapshot) -> View {
        View { changes: AtomicU64::new(0), shown: Mutex::new(Shown::of(snapshot, 0)) }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The schema of the last snapshot.
    pub(crate) fn schema(&self) -> Schema {
        self.shown().schema.clone()
    }

    /// The file name of that schema.
    pub(crate) fn schema_name(&self) -> String {
        self.shown().schema_name.clone()
    }

    /// The last snapshot, whether or not something was changed since.
    ///
    /// # Errors
    /// As opening a snapshot.
    pub(crate) fn last(&self, place: &ArrayPlace, time: TimeRange) -> Result<Snapshot> {
        let last = self.shown().snapshot.clone();
        last.map_or_else(|| self.latest(place, time), Ok)
    }

    /// The last snapshot, or a new one where the handle has changed something since.
    ///
    /// # Errors
    /// As opening a snapshot.
    pub(crate) fn latest(&self, place: &ArrayPlace, time: TimeRange) -> Result<Snapshot> {
        let wanted = self.changes.load(Ordering::Acquire);
        {
            let shown = self.shown();
            if let Some(snapshot) = shown.snapshot.as_ref().filter(|_| shown.seen >= wanted) {
                return Ok(snapshot.clone());
            }
        }
        // Two threads may open at once: each sees every change that came before it asked.
        let snapshot = Snapshot::open(place.clone(), time)?;
        let mut shown = self.shown();
        if shown.snapshot.is_none() || shown.seen <= wanted {
            *shown = Shown::of(snapshot.clone(), wanted);
        }
        Ok(snapshot)
    }

    /// Lets go of the snapshot, so that it does not keep fragments from being taken away; reads that go on keep theirs.
    pub(crate) fn release(&self) {
        self.expire();
        self.shown().snapshot = None;
    }

    /// Notes that the array has changed.
    pub(crate) fn expire(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}
