//! Upkeep: operations that change files, and nothing of what an array says.
//!
//! [`operation`] lists them, [`state`] is what a reader sees, [`crashes`] runs each operation on a simulated disk and looks
//! at every state that a power cut may leave.

mod baton;
mod buckets;
mod commits;
pub mod crashes;
mod cuts;
mod expectation;
mod exports;
mod faults;
mod fragment_meta;
mod ground;
mod half_done;
mod interleavings;
mod locks;
mod metadata;
pub mod operation;
mod pieces;
mod reference;
mod requests;
pub mod state;
mod stops;
mod verify;

use operation::Operation;
use smalti_array::ArrayPlace;
use smalti_store::{LocalStore, ManualClock, MemoryStore, SeededEntropy, SimDisk, Store, SyncLevel};
use smalti_types::Env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A place in a store. Names that it gives differ from those of every other place.
pub fn place_in(store: Arc<dyn Store>) -> ArrayPlace {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let entropy = SeededEntropy::new(SEED.fetch_add(0x1_0000_0001, Ordering::Relaxed));
    ArrayPlace::in_store(store, "array".into(), None, Env::new(ManualClock::new(1), entropy))
}

/// A place on a disk that the real write protocol writes to.
pub fn place_on(disk: &SimDisk) -> ArrayPlace {
    place_in(Arc::new(LocalStore::on(disk.clone(), SyncLevel::Full)))
}

/// A number from the environment, for longer and other runs.
fn parameter(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, and must be a number"))
    })
}

/// Runs work on one thread: thousands of tiny arrays are read sooner without waking others.
fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

/// An array in memory with a history.
fn array_in_memory(history: &[Operation]) -> (MemoryStore, ArrayPlace) {
    let store = MemoryStore::new();
    let place = place_in(Arc::new(store.clone()));
    for operation in history {
        operation.run(&place).unwrap();
    }
    (store, place)
}

/// As [`CHANGES`], of a dense array.
pub const DENSE_CHANGES: &[Operation] = &[
    Operation::CreateDense,
    Operation::Write { at: 10, cells: &[1, 2, 3, 4, 5, 6, 7], number: 100 },
    Operation::PutMetadata { at: 11, key: "kept", value: Some(1) },
    Operation::Write { at: 20, cells: &[3, 4], number: 200 },
    Operation::Write { at: 30, cells: &[6, 7, 8, 9, 10, 11], number: 300 },
];

/// Some of every kind of change, each at a time of its own.
pub const CHANGES: &[Operation] = &[
    Operation::Create,
    Operation::Write { at: 10, cells: &[1, 2, 3, 4, 5, 6, 7], number: 100 },
    Operation::PutMetadata { at: 11, key: "kept", value: Some(1) },
    Operation::Write { at: 20, cells: &[3, 4, 30], number: 200 },
    Operation::PutMetadata { at: 21, key: "gone", value: Some(2) },
    Operation::Delete { at: 25, number: 201 },
    Operation::Write { at: 30, cells: &[4, 40], number: 300 },
    Operation::PutMetadata { at: 31, key: "gone", value: None },
];
