//! Work that is stopped at each of its steps: nothing of it is seen, and nothing is left; or it was too late, and it is done.

use super::baton::TurnDisk;
use super::crashes::{arrays, changed};
use super::operation::Operation;
use super::state::{State, assert_unchanged};
use super::{on_one_thread, place_in, place_on};
use smalti_query::{Phase, Progress};
use smalti_store::{Image, LocalStore, SimDisk, SyncLevel};
use smalti_types::ErrorKind;
use smalti_upkeep::Options;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What can be stopped, what is done before, and its phases.
const STOPPABLE: &[(Operation, &[Operation], &[Phase])] = &[
    (Operation::Write { at: 50, cells: &[3, 4, 5], number: 500 }, &[], &[]),
    (
        Operation::ConsolidateFragments,
        &[],
        &[Phase::Choosing, Phase::Merging, Phase::Verifying, Phase::Publishing],
    ),
    (Operation::VacuumFragments, &[Operation::ConsolidateFragments], &[Phase::Choosing, Phase::Removing]),
    (Operation::DeleteFragments { until: 35 }, &[], &[Phase::Choosing, Phase::Removing]),
];

/// What is on a disk, but for locks and empty folders.
fn paths(image: &Image) -> BTreeSet<String> {
    let paths = image.files.keys().cloned();
    paths.filter(|path| !path.contains("lock")).collect()
}

/// Stops an operation before a step of the disk. Whether it had so many, and the phases that it went through.
fn stop(
    base: &Image,
    operation: Operation,
    step: usize,
    states: &[Vec<State>; 2],
    context: &str,
) -> (bool, Vec<Phase>) {
    let disk = SimDisk::from_image(base);
    let progress = Arc::new(Progress::new());
    let count = Arc::new(AtomicUsize::new(0));
    let (stopped, counted) = (Arc::clone(&progress), Arc::clone(&count));
    let disk_that_stops = TurnDisk::calling(disk.clone(), move |_| {
        if counted.fetch_add(1, Ordering::Relaxed) == step {
            stopped.cancel();
        }
    });
    let place = place_in(Arc::new(LocalStore::on(disk_that_stops, SyncLevel::Full)));
    let result = operation.run_watched(&place, &Options::default(), Some(Arc::clone(&progress)));
    let phases: Vec<Phase> = progress.phases().iter().map(|phase| phase.phase).collect();
    let now = State::history(&place_on(&disk)).unwrap();
    match result {
        Ok(_) => {
            assert_unchanged(&states[1], &now, &context);
            let is_whole = |phase: &smalti_query::PhaseProgress| Some(phase.done) == phase.total;
            assert!(progress.phases().iter().all(is_whole), "{context}: {:?}", progress.phases());
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{context}: {error}");
            // A vacuum may leave to the next one what it has not removed; it is hidden all the same.
            if operation == Operation::VacuumFragments {
                operation.run(&place_on(&disk)).unwrap();
                assert_unchanged(&states[1], &State::history(&place_on(&disk)).unwrap(), &context);
            } else {
                assert_unchanged(&states[0], &now, &context);
                assert_eq!(paths(&disk.image()), paths(base), "{context}");
            }
        }
    }
    (count.load(Ordering::Relaxed) > step, phases)
}

#[test]
fn work_that_is_stopped_leaves_nothing_and_tells_its_phases() {
    let count = on_one_thread(|| {
        let mut stopped_count = 0;
        for array in arrays() {
            let is_dense = array.contains(&Operation::CreateDense);
            for (operation, before, phases) in STOPPABLE {
                let context = format!("{operation:?} of {:?}", array[0]);
                let base = changed(&array, before).image();
                let done = SimDisk::from_image(&base);
                let before = State::history(&place_on(&done)).unwrap();
                operation.run(&place_on(&done)).unwrap();
                let states = [before, State::history(&place_on(&done)).unwrap()];
                let mut step = 0;
                loop {
                    let context = format!("{context} at step {step}");
                    let (was_stopped, entered) = stop(&base, *operation, step, &states, &context);
                    if !was_stopped {
                        let phases = match (phases, is_dense) {
                            ([], true) => Phase::DENSE_WRITE,
                            ([], false) => Phase::SPARSE_WRITE,
                            (phases, _) => phases,
                        };
                        assert_eq!(entered, phases, "{context}");
                        break;
                    }
                    stopped_count += 1;
                    step += 3;
                }
            }
        }
        stopped_count
    });
    assert!(count > 200, "{count}");
}
