//! Claims on files and folders, by which processes on one machine stay out of each other's way.
//!
//! A claim is a lock of the operating system on what is there anyway: nothing is written for it, and it ends with the process that
//! holds it. Stores that cannot lock say so; there exclusive claims are [files](crate::ClaimFile).

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// What a claim lets others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Others may have shared claims too.
    Shared,
    /// Nobody else may have a claim.
    Exclusive,
}

/// A claim that is held until it is dropped.
#[derive(Debug)]
pub struct Lease {
    _held: Box<dyn Held>,
}

/// Something whose drop ends a claim.
trait Held: Send + Sync + Debug {}

impl<T: Send + Sync + Debug> Held for T {}

impl Lease {
    /// A claim that ends when `held` is dropped.
    pub fn held_by(held: impl Send + Sync + Debug + 'static) -> Self {
        Lease { _held: Box::new(held) }
    }
}

/// Claims inside one process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claims {
    /// By path the number of shared claims, or `None` for an exclusive one.
    held: Arc<Mutex<HashMap<String, Option<usize>>>>,
}

#[derive(Debug)]
struct HeldClaim {
    claims: Claims,
    path: String,
}

impl Claims {
    /// A claim on a path; `None` when another stands against it.
    pub(crate) fn take(&self, path: &str, claim: Claim) -> Option<Lease> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match (held.get(path), claim) {
            (None, Claim::Shared) => Some(1),
            (None, Claim::Exclusive) => None,
            (Some(Some(count)), Claim::Shared) => Some(count + 1),
            (Some(_), _) => return None,
        };
        held.insert(path.to_owned(), count);
        Some(Lease::held_by(HeldClaim { claims: self.clone(), path: path.to_owned() }))
    }
}

impl Drop for HeldClaim {
    fn drop(&mut self) {
        let mut held = self.claims.held.lock().unwrap_or_else(PoisonError::into_inner);
        match held.get_mut(&self.path) {
            Some(Some(count)) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&self.path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LocalStore, MemoryStore, Store, SyncLevel};

    #[test]
    fn shared_claims_go_together_and_exclusive_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let local = LocalStore::new(folder.path(), SyncLevel::None).unwrap();
        let (store, memory): (&dyn Store, MemoryStore) = (&local, MemoryStore::new());
        for store in [store, &memory] {
            store.create_folder("a").unwrap();
            let first = store.lease("a", Claim::Shared).unwrap().unwrap();
            let second = store.lease("a", Claim::Shared).unwrap().unwrap();
            assert!(store.lease("a", Claim::Exclusive).unwrap().is_none());
            drop((first, second));
            let alone = store.lease("a", Claim::Exclusive).unwrap().unwrap();
            assert!(store.lease("a", Claim::Shared).unwrap().is_none());
            assert!(store.lease("a", Claim::Exclusive).unwrap().is_none());
            drop(alone);
            assert!(store.lease("a", Claim::Shared).unwrap().is_some());
        }
    }
}
