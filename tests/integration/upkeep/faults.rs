//! The k-th storage call of an operation fails: an error means no effect, or says that the effect is unknown (invariant I9);
//! then the operation can be repeated.

use super::crashes::{BEFORE, arrays, changed};
use super::expectation::{Answer, Expectation};
use super::operation::{Operation, every_operation};
use super::pieces::Pieces;
use super::{on_one_thread, place_in, place_on};
use smalti_store::{
    CrashLimits, FaultDisk, FaultEffect, FaultPlan, FaultScope, Image, LocalStore, SimDisk, SyncLevel,
    crash_states,
};
use std::io::ErrorKind::{PermissionDenied, StorageFull, TimedOut};
use std::sync::Arc;

/// How calls fail: what they do first, with which error, and whether all later ones fail too.
const FAULTS: &[(FaultScope, FaultEffect, std::io::ErrorKind, bool)] = &[
    (FaultScope::Mutations, FaultEffect::Before, StorageFull, false),
    (FaultScope::Mutations, FaultEffect::Before, PermissionDenied, true),
    (FaultScope::Mutations, FaultEffect::Torn, StorageFull, true),
    (FaultScope::Mutations, FaultEffect::After, TimedOut, false),
    (FaultScope::Mutations, FaultEffect::After, TimedOut, true),
    (FaultScope::Reads, FaultEffect::Before, TimedOut, false),
    (FaultScope::Reads, FaultEffect::Before, PermissionDenied, true),
];

/// What a run with a failing call has left.
struct Failed {
    result: smalti_types::Result<()>,
    disk: SimDisk,
    /// Whether there was such a call.
    has_failed: bool,
}

fn fail(base: &Image, operation: Operation, plan: FaultPlan) -> Failed {
    let disk = SimDisk::from_image(base);
    let store = Arc::new(LocalStore::on(FaultDisk::new(disk.clone()), SyncLevel::Full));
    let place = place_in(store.clone());
    store.disk().set_plan(Some(plan));
    let result = operation.run(&place).map(drop);
    Failed { result, disk, has_failed: store.disk().call_count() > plan.call_idx }
}

/// Fails every call of an operation, one of `stride` beginning with `start`. Returns how often.
fn fail_everywhere(
    base: &Image,
    operation: Operation,
    others: &[Operation],
    stride: usize,
    context: &str,
) -> usize {
    let expectation = Expectation::new(base, operation);
    let mut count = 0;
    for (at, &(scope, effect, error, is_lasting)) in FAULTS.iter().enumerate() {
        // Reads are many, and alike.
        let stride = if scope == FaultScope::Reads { stride * 3 } else { stride };
        for call_idx in (at % stride..).step_by(stride) {
            let plan = FaultPlan { call_idx: call_idx as u64, scope, effect, is_lasting, error };
            let failed = fail(base, operation, plan);
            if !failed.has_failed {
                break;
            }
            count += 1;
            let answer = match &failed.result {
                Ok(()) => Answer::Success,
                Err(error) if error.to_string().contains("the fragments are deleted") => Answer::Success,
                Err(error) if error.to_string().contains("effect is unknown") => Answer::Unknown,
                Err(_) => Answer::Failure,
            };
            let other = others[count % others.len()];
            let context = format!("{operation:?} of {context}, {plan:?}: {:?}", failed.result);
            expectation.check(&failed.disk.image(), answer, other, &context);
            if answer == Answer::Success {
                check_durable(&expectation, base, &failed.disk, other, &context);
            }
        }
    }
    count
}

/// An operation that succeeded although a call failed has survived a power cut all the same.
fn check_durable(expectation: &Expectation, base: &Image, disk: &SimDisk, other: Operation, context: &str) {
    let (ops, limits) = (disk.ops(), CrashLimits { random_count: 0, ..CrashLimits::default() });
    crash_states(base, &ops, limits, |crash| {
        if crash.op_count == ops.len() && crash.torn.is_none() {
            expectation.check(&crash.image, Answer::Success, other, &format!("{context}, {crash}"));
        }
    });
}

#[test]
fn a_call_that_fails_while_an_array_is_created_leaves_all_of_it_or_nothing() {
    let nothing = SimDisk::new().image();
    // An empty folder counts as absent.
    let mut folder = nothing.clone();
    folder.folders.insert("array".into());
    for base in [nothing, folder] {
        let context = format!("{:?}", base.folders);
        let count = fail_everywhere(&base, Operation::Create, &[Operation::CreateDense], 1, &context);
        assert!(count > 50, "{count}");
    }
}

/// Fails the calls of every operation on every array, each a unit. Returns how many.
fn fail_all(mut pieces: Pieces, stride: usize, befores: impl Fn(usize) -> Vec<usize>) -> usize {
    let mut count = 0;
    for (at, array) in arrays().iter().enumerate() {
        let is_dense = array.contains(&Operation::CreateDense);
        let is_fit = |operation: &Operation| !(is_dense && operation.is_sparse_only());
        let others: Vec<Operation> =
            every_operation(60, 600, "later", 6).into_iter().filter(is_fit).collect();
        for before in befores(at) {
            let base = changed(array, BEFORE[before]).image();
            for operation in every_operation(50, 500, "late", 5).into_iter().filter(is_fit) {
                if pieces.take(&count) {
                    let context = format!("{:?} {before}", array[0]);
                    count += fail_everywhere(&base, operation, &others, stride, &context);
                }
            }
        }
    }
    pieces.finish(&count);
    count
}

#[test]
fn a_call_that_fails_has_no_effect_or_says_that_it_is_unknown() {
    let count = on_one_thread(|| fail_all(Pieces::all("failed calls"), 2, |at| vec![5 + at % 3]));
    assert!(count > 500, "{count}");
}

#[test]
#[ignore = "takes minutes; `cargo xtask states faults` runs it"]
fn long_run_of_faults() {
    on_one_thread(|| fail_all(Pieces::asked_for("failed calls"), 1, |_| (0..BEFORE.len()).collect()));
}

#[test]
fn nothing_fails_where_nothing_is_to_fail() {
    let base = changed(&arrays()[0], &[]).image();
    let plan = FaultPlan::once(u64::MAX);
    let failed = fail(&base, Operation::ConsolidateFragments, plan);
    assert!(failed.result.is_ok() && !failed.has_failed);
    super::state::State::history(&place_on(&failed.disk)).unwrap();
}
