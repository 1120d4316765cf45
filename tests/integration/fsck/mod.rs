//! Checks, repairs and salvage of whole arrays.

mod corpus;
mod crashes;
mod damages;
mod hunt;
mod mutated;
mod rows;
mod salvaged;
mod shown;

use smalti_array::ArrayPlace;
use smalti_store::{ManualClock, MemoryStore, SeededEntropy};
use smalti_types::{EncryptionKey, Env};
use std::sync::Arc;

use crate::mutation::Files;

/// A time after that of all names in the corpus.
const NOW_MS: u64 = 2_000_000_000_000;

/// An array of files in memory.
fn place_of(files: &Files, key: Option<&str>) -> (Arc<MemoryStore>, ArrayPlace) {
    let env = Env::new(ManualClock::new(NOW_MS), SeededEntropy::new(1));
    let store = Arc::new(MemoryStore::from_files(files.iter().cloned()).unwrap());
    let key = key.map(|key| EncryptionKey::new(key.as_bytes()).unwrap());
    let place = ArrayPlace::in_store(store.clone(), "array".into(), key, env);
    (store, place)
}
