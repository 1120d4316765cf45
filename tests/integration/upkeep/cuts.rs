//! Every state that a power cut may leave of changes and upkeep, alone and behind another operation: invariants I1, I2, I7
//! and I8.

use super::crashes::{BEFORE, arrays, changed};
use super::expectation::{Answer, Expectation};
use super::operation::{Operation, every_operation};
use super::pieces::Pieces;
use super::{on_one_thread, parameter};
use smalti_store::{CrashLimits, Image, SimDisk, crash_states};

/// Which states are looked at.
#[derive(Clone, Copy)]
struct Sample {
    /// One of so many, and every one after the last step.
    stride: usize,
    /// Random choices of lost steps for every prefix.
    random_count: usize,
}

/// How many states there are, and how many were looked at.
#[derive(Default, Debug)]
struct Counts {
    operations: usize,
    states: usize,
    checked: usize,
}

impl Counts {
    /// Cuts an operation short everywhere. Other operations take turns to come behind.
    fn cut(
        &mut self,
        expectation: &Expectation,
        base: &Image,
        others: &[Operation],
        sample: Sample,
        context: &str,
    ) {
        let limits = CrashLimits { random_count: sample.random_count, seed: self.operations as u64 };
        let (mut idx, mut checked) = (self.operations, 0);
        let step_count = expectation.steps.len();
        self.states += crash_states(base, &expectation.steps, limits, |crash| {
            idx += 1;
            let is_acknowledged = crash.op_count == step_count;
            let is_chosen = idx.is_multiple_of(sample.stride);
            // What was acknowledged, and what remains of it where nothing or all that is not durable is lost.
            if !is_chosen && (!is_acknowledged || crash.lost.len() == 1) {
                return;
            }
            checked += 1;
            let answer = if is_acknowledged { Answer::Success } else { Answer::Unknown };
            let other = others[(idx / sample.stride) % others.len()];
            expectation.check(&crash.image, answer, other, &format!("{context}, {crash}, then {other:?}"));
        });
        self.checked += checked;
        self.operations += 1;
    }
}

fn operations(array: &[Operation], all: Vec<Operation>) -> Vec<Operation> {
    let is_dense = array.contains(&Operation::CreateDense);
    all.into_iter().filter(|operation| !(is_dense && operation.is_sparse_only())).collect()
}

#[test]
fn creating_an_array_that_a_power_cut_interrupts_leaves_all_of_it_or_nothing() {
    let mut counts = Counts::default();
    let sample = Sample { stride: 1, random_count: 4 };
    for create in [Operation::Create, Operation::CreateDups, Operation::CreateDense] {
        let base = SimDisk::new().image();
        let expectation = Expectation::new(&base, create);
        let others = [Operation::Create, Operation::CreateDense];
        counts.cut(&expectation, &base, &others, sample, &format!("{create:?}"));
    }
    assert!(counts.states > 100, "{counts:?}");
}

#[test]
fn a_change_that_a_power_cut_interrupts_is_whole_or_absent() {
    let counts = on_one_thread(cut_operations);
    println!("states of one operation: {counts:?}");
    assert!(counts.states > 4_000 && counts.checked > 1_000, "{counts:?}");
}

fn cut_operations() -> Counts {
    let mut counts = Counts::default();
    for (at, array) in arrays().iter().enumerate() {
        for (before, done) in BEFORE.iter().enumerate().filter(|(before, _)| before % 3 == at) {
            let base = changed(array, done).image();
            let others = operations(array, every_operation(60, 600, "later", 6));
            for operation in operations(array, every_operation(50, 500, "late", 5)) {
                let context = format!("{operation:?} of {:?} {before}", array[0]);
                let expectation = Expectation::new(&base, operation);
                counts.cut(&expectation, &base, &others, Sample { stride: 4, random_count: 2 }, &context);
            }
        }
    }
    counts
}

/// Cuts the second of sequences of two operations. A unit is an array with a history and the first operation.
fn cut_sequences(mut pieces: Pieces, sample: Sample, befores: impl Fn(usize) -> Vec<usize>) -> Counts {
    let mut counts = Counts::default();
    for (at, array) in arrays().iter().enumerate() {
        let others = operations(array, every_operation(70, 700, "latest", 7));
        for before in befores(at) {
            let base = changed(array, BEFORE[before]).image();
            for first in operations(array, every_operation(50, 500, "late", 5)) {
                if !pieces.take(&counts) {
                    continue;
                }
                let base = Expectation::new(&base, first).image_after().clone();
                for second in operations(array, every_operation(60, 600, "later", 6)) {
                    let context = format!("{first:?}, {second:?} of {:?} {before}", array[0]);
                    let expectation = Expectation::new(&base, second);
                    counts.cut(&expectation, &base, &others, sample, &context);
                }
            }
        }
    }
    pieces.finish(&counts);
    counts
}

#[test]
fn a_vacuum_of_merges_of_merges_that_a_power_cut_interrupts_shows_a_time_as_it_was_or_refuses_it() {
    let mut counts = Counts::default();
    let sample = Sample { stride: 5, random_count: 1 };
    for array in arrays() {
        let merged = changed(&array, BEFORE[6]).image();
        for first in [Operation::ConsolidateFragments, Operation::PurgeFragments] {
            let base = Expectation::new(&merged, first).image_after().clone();
            let expectation = Expectation::new(&base, Operation::VacuumFragments);
            let others = operations(&array, every_operation(70, 700, "latest", 7));
            let context = format!("{first:?}, VacuumFragments of {:?}", array[0]);
            counts.cut(&expectation, &base, &others, sample, &context);
        }
    }
    assert!(counts.checked > 50, "{counts:?}");
}

#[test]
fn every_sequence_of_two_operations_survives_a_power_cut_in_the_second() {
    let sample = Sample { stride: 31, random_count: 1 };
    let counts = on_one_thread(|| cut_sequences(Pieces::all("cuts"), sample, |_| vec![0]));
    assert!(counts.operations > 500 && counts.checked > 1_000, "{counts:?}");
}

#[test]
#[ignore = "takes an hour; `cargo xtask states cuts` runs it"]
fn long_run_of_cuts() {
    let sample = Sample { stride: parameter("SMALTI_STRIDE", 1) as usize, random_count: 4 };
    on_one_thread(|| cut_sequences(Pieces::asked_for("cuts"), sample, |_| (0..BEFORE.len()).collect()));
}
