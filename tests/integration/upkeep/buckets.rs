//! The same in a bucket, where nothing is locked or renamed, and another user or the end of the process may come between any two requests:
//! schedules of several users, and what is left when an operation ends between two requests. See `docs/decisions/0018`.

use super::crashes::{BEFORE, arrays, changed_on};
use super::expectation::{Answer, Expectation};
use super::interleavings::{play_pairs, play_triples};
use super::operation::{Operation, every_operation};
use super::pieces::Pieces;
use super::{on_one_thread, parameter};
use smalti_format::Version;
use smalti_store::BucketImage;

/// Longer than a claim that nobody renews.
const CLAIMS_END_MS: u64 = 61_000;

/// Longer than files stay that readers may have open.
const READERS_END_MS: u64 = 2 * 3_600_000;

/// Ends an operation between any two of its requests, at one of `stride` places. Returns how many states were looked at.
fn end_everywhere(
    base: &BucketImage,
    operation: Operation,
    others: &[Operation],
    (start, stride): (usize, usize),
    context: &str,
) -> usize {
    let expectation = Expectation::new(base, operation);
    let (mut left, mut count) = (base.clone(), 0);
    let step_count = expectation.steps.len();
    for done in 0_usize..=step_count {
        if let Some(step) = done.checked_sub(1).and_then(|idx| expectation.steps.get(idx)) {
            left.apply(step);
        }
        if done % stride != start % stride && done != step_count {
            continue;
        }
        let answer = if done == step_count { Answer::Success } else { Answer::Unknown };
        let other = others[(start + done) % others.len()];
        let mut later = left.clone();
        later.advance(if (start + done) % 2 == 0 { CLAIMS_END_MS } else { READERS_END_MS });
        let context = format!("{context}, ended after {done} of {step_count}, then {other:?}");
        expectation.check(&later, answer, other, &context);
        count += 1;
    }
    count
}

/// Ends every operation on every array, each a unit. Returns how many states were looked at.
fn end_all(mut pieces: Pieces, stride: usize, befores: impl Fn(usize) -> Vec<usize>) -> usize {
    let mut count = 0;
    for (at, array) in arrays().iter().enumerate() {
        let is_dense = array.contains(&Operation::CreateDense);
        let fit = |operation: &Operation| !(is_dense && operation.is_sparse_only());
        let others: Vec<Operation> = every_operation(60, 600, "later", 6).into_iter().filter(fit).collect();
        for before in befores(at) {
            let base = changed_on::<BucketImage>(Version::DEFAULT, array, BEFORE[before]).image();
            for operation in every_operation(50, 500, "late", 5).into_iter().filter(fit) {
                if pieces.take(&count) {
                    let context = format!("{operation:?} of {:?} {before}", array[0]);
                    count += end_everywhere(&base, operation, &others, (count, stride), &context);
                }
            }
        }
    }
    pieces.finish(&count);
    count
}

#[test]
fn an_operation_in_a_bucket_that_ends_between_two_requests_is_done_or_not() {
    let count = on_one_thread(|| end_all(Pieces::all("ends in a bucket"), 1, |at| vec![0, 1 + at, 5 + at]));
    assert!(count > 300, "{count}");
}

#[test]
fn any_two_at_once_in_a_bucket_do_what_one_after_the_other_does() {
    on_one_thread(|| play_pairs::<BucketImage>(Pieces::all("schedules of two in a bucket"), 0..3));
}

#[test]
fn any_three_at_once_in_a_bucket_do_what_one_after_the_other_does() {
    on_one_thread(|| play_triples::<BucketImage>(Pieces::all("schedules of three in a bucket"), 0..20));
}

#[test]
#[ignore = "takes an hour; `cargo xtask states buckets` runs it"]
fn long_run_of_buckets() {
    let (start, count) = (parameter("SMALTI_SEED", 1_000), parameter("SMALTI_SCHEDULES", 200));
    let (pairs, triples) = ("schedules of two in a bucket", "schedules of three in a bucket");
    on_one_thread(|| end_all(Pieces::asked_for("ends in a bucket"), 1, |_| (0..BEFORE.len()).collect()));
    on_one_thread(|| play_pairs::<BucketImage>(Pieces::asked_for(pairs), start..start + count));
    on_one_thread(|| play_triples::<BucketImage>(Pieces::asked_for(triples), start..start + 5 * count));
}
