//! A consolidation that fails says whether the merge counts.

use super::{CHANGES, DENSE_CHANGES, array_in_memory, place_in};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_store::{FaultEffect, FaultPlan, FaultStore, MemoryStore};
use smalti_types::TimeRange;
use smalti_upkeep::{Choice, FragmentOptions, Steps, consolidate_fragments};
use std::sync::Arc;

fn names(place: &ArrayPlace) -> Vec<String> {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    snapshot.fragments().iter().map(|fragment| fragment.name().to_string()).collect()
}

#[test]
fn an_error_of_a_consolidation_says_whether_fragments_were_merged() {
    let options = FragmentOptions { choice: Choice::Steps(Steps::default()), ..FragmentOptions::default() };
    for history in [CHANGES, DENSE_CHANGES] {
        let (store, place) = array_in_memory(history);
        let (files, before) = (store.files(), names(&place));
        let (mut merged_count, mut call_idx, mut has_failed) = (0, 0, true);
        while std::mem::take(&mut has_failed) {
            for effect in [FaultEffect::Before, FaultEffect::After] {
                let store = MemoryStore::from_files(files.clone()).unwrap();
                let faulty = Arc::new(FaultStore::new(store.clone()));
                faulty.set_plan(Some(FaultPlan { effect, ..FaultPlan::once(call_idx) }));
                let result = consolidate_fragments(&place_in(faulty.clone()), &options);
                let is_merged = names(&place_in(Arc::new(store))) != before;
                let Err(error) = result else { continue };
                let error = error.to_string();
                let says_so = error.contains("the fragments are merged");
                let is_unsure = error.contains("effect is unknown");
                assert!(says_so == is_merged || is_unsure, "{effect:?} {call_idx}, {is_merged}: {error}");
                merged_count += usize::from(says_so);
                has_failed = true;
            }
            call_idx += 1;
        }
        assert!(call_idx > 3 && merged_count > 1, "{call_idx} {merged_count}");
    }
}
