//! The snapshots that one array handle has shown.

use crate::Schema;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_types::{Result, TimeRange};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A snapshot, and the one that replaced it. Reads borrow from snapshots, so each stays until the handle goes; a new one is
/// opened only when there is something to see that this handle wrote.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) snapshot: Snapshot,
    pub(crate) schema: Schema,
    is_stale: AtomicBool,
    next: OnceLock<Box<View>>,
}

impl View {
    pub(crate) fn open(place: &ArrayPlace, time: TimeRange) -> Result<View> {
        let snapshot = Snapshot::open(place.clone(), time)?;
        let schema = Schema::unchecked(Arc::clone(snapshot.schema()));
        Ok(View { snapshot, schema, is_stale: AtomicBool::new(false), next: OnceLock::new() })
    }

    /// The last view, stale or not.
    pub(crate) fn last(&self) -> &View {
        let mut view = self;
        while let Some(next) = view.next.get() {
            view = next;
        }
        view
    }

    /// The last view, or a new one if that is stale.
    ///
    /// # Errors
    /// As opening a snapshot.
    pub(crate) fn latest(&self, place: &ArrayPlace, time: TimeRange) -> Result<&View> {
        let last = self.last();
        if !last.is_stale.load(Ordering::Acquire) {
            return Ok(last);
        }
        let new = Box::new(View::open(place, time)?);
        // Of two threads that open at once one keeps its view; both see every write that came before they asked.
        Ok(last.next.get_or_init(|| new))
    }

    /// Gives up the claims of all snapshots on their fragments.
    pub(crate) fn release(&mut self) {
        let mut view = self;
        loop {
            view.snapshot.release_lease();
            match view.next.get_mut() {
                Some(next) => view = next,
                None => return,
            }
        }
    }

    /// Notes that the array has changed.
    pub(crate) fn expire(&self) {
        self.last().is_stale.store(true, Ordering::Release);
    }
}

/// A long chain must not be dropped link inside link.
impl Drop for View {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut view) = next {
            next = view.next.take();
        }
    }
}
