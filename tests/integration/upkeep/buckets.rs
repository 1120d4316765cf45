//! The same in a bucket, where nothing is locked or renamed, and another user or the end of the process may come between any two requests:
//! schedules of several users, and what is left when an operation ends between two requests. See `docs/decisions/0018`.

use super::crashes::{BEFORE, arrays, changed_on};
use super::expectation::{Answer, Expectation};
use super::ground::{Ground, clock_ms, place_in_bucket};
use super::interleavings::{
    COMMITS, CONSOLIDATOR, Scene, Stage, User, VACUUM, WRITER, play_pairs, play_triples,
};
use super::operation::{ALL_UPKEEP, Operation, every_operation};
use super::pieces::Pieces;
use super::state::State;
use super::{on_one_thread, parameter};
use smalti_array::ArrayPlace;
use smalti_format::Version;
use smalti_store::{BucketImage, BucketStore, ManualClock, Store};
use smalti_types::{ErrorKind, Result, TimeRange};
use smalti_upkeep::{
    Class, FragmentChoice, FragmentDeletion, FsckOptions, VacuumOptions, delete_fragments, fsck,
    vacuum_fragments,
};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longer than a claim that nobody renews.
pub(super) const CLAIMS_END_MS: u64 = 61_000;

/// Longer than files stay that readers may have open.
pub(super) const READERS_END_MS: u64 = 2 * 3_600_000;

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
    on_one_thread(|| play_pairs::<BucketImage>(Pieces::all("schedules of two in a bucket"), 0..2));
}

#[test]
fn any_three_at_once_in_a_bucket_do_what_one_after_the_other_does() {
    on_one_thread(|| play_triples::<BucketImage>(Pieces::all("schedules of three in a bucket"), 0..14));
}

/// Something that happens to a user before one of its requests, whatever else the user does.
fn before_request(
    bucket: BucketStore,
    number: u64,
    happens: impl Fn() + Send + Sync + 'static,
) -> BucketStore {
    let requests = AtomicU64::new(0);
    bucket.calling(move || {
        if requests.fetch_add(1, Ordering::Relaxed) == number {
            happens();
        }
    })
}

/// Runs operations in a bucket, at its time.
fn run_all(bucket: &BucketStore, operations: &[Operation]) {
    for operation in operations {
        let done = operation.run(&BucketImage::place(bucket));
        done.unwrap_or_else(|error| panic!("{operation:?}: {error}"));
    }
}

/// Times that are looked at, and what is seen then.
const TIMES: &[u64] = &[22, u64::MAX];

fn look(place: &ArrayPlace) -> Result<Vec<State>> {
    TIMES.iter().map(|time| State::at(place, *time)).collect()
}

/// Whether upkeep may have made this of what was seen before: of past times nothing may be left.
fn is_same(before: &[State], after: &[State]) -> bool {
    before.iter().zip(after).zip(TIMES).all(|((before, after), time)| {
        let may_be_gone = *time != u64::MAX;
        (before.cells == after.cells || may_be_gone && after.cells.is_none())
            && (before.metadata == after.metadata || may_be_gone && after.metadata.is_none())
            && before.schema == after.schema
            && before.warnings == after.warnings
    })
}

/// An array with a history in a bucket.
fn bucket_of(array: &[Operation], before: &[Operation]) -> BucketStore {
    changed_on::<BucketImage>(Version::DEFAULT, array, before)
}

/// What comes between two requests of a reader, however long the reader waits there.
fn interrupt_readers(
    array: &[Operation],
    happens: fn(&BucketStore),
    outcome: impl Fn(u64, Result<bool>),
) -> u64 {
    let base = bucket_of(array, &[]).image();
    let expected = look(&BucketImage::place(&base.live())).unwrap();
    let mut number = 0;
    loop {
        let (bucket, has_happened) = (base.live(), Arc::new(AtomicU64::new(0)));
        let (others, happening) = (bucket.clone(), Arc::clone(&has_happened));
        let reader = before_request(bucket.clone(), number, move || {
            happens(&others);
            happening.store(1, Ordering::Relaxed);
        });
        let seen = look(&place_in_bucket(reader, clock_ms(&bucket)));
        if has_happened.load(Ordering::Relaxed) == 0 {
            return number;
        }
        outcome(number, seen.map(|seen| is_same(&expected, &seen)));
        number += 1;
    }
}

#[test]
fn a_reader_in_a_bucket_finds_its_files_for_as_long_as_the_vacuum_keeps_them() {
    let upkeep = |bucket: &BucketStore| {
        run_all(bucket, &[Operation::ConsolidateFragments, Operation::VacuumFragments]);
        bucket.advance(3_590_000);
        run_all(
            bucket,
            &[Operation::VacuumFragments, Operation::ConsolidateCommits, Operation::VacuumCommits],
        );
    };
    for array in arrays() {
        let count = interrupt_readers(&array, upkeep, |number, seen| {
            assert!(seen.unwrap_or_else(|error| panic!("{number}: {error}")), "{number}");
        });
        assert!(count > 20, "{count}");
    }
}

#[test]
fn a_reader_in_a_bucket_that_takes_longer_than_files_are_kept_is_told_to_open_the_array_again() {
    let upkeep = |bucket: &BucketStore| {
        run_all(bucket, &[Operation::ConsolidateFragments, Operation::VacuumFragments]);
        bucket.advance(READERS_END_MS);
        run_all(bucket, &[Operation::VacuumFragments]);
    };
    let told = Cell::new(0);
    interrupt_readers(&arrays()[0], upkeep, |number, seen| match seen {
        Ok(is_same) => assert!(is_same, "{number}"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{number}: {error}");
            assert!(error.to_string().contains("open the array again"), "{number}: {error}");
            told.set(told.get() + 1);
        }
    });
    assert!(told.get() > 0);
}

#[test]
fn what_a_vacuum_keeps_in_a_bucket_goes_with_a_later_one() {
    for array in arrays() {
        let bucket = bucket_of(&array, &[Operation::ConsolidateFragments]);
        let place = BucketImage::place(&bucket);
        let expected = State::at(&place, u64::MAX).unwrap();
        let vacuum = || vacuum_fragments(&BucketImage::place(&bucket), &VacuumOptions::default()).unwrap();
        let first = vacuum();
        assert!(first.fragments.is_empty() && first.kept_for_readers.len() > 1, "{first:?}");
        let findings = || fsck(&BucketImage::place(&bucket), &FsckOptions::default()).unwrap().findings;
        assert!(findings().iter().all(|finding| finding.class == Class::Harmless));
        bucket.advance(3_590_000);
        assert_eq!(vacuum().kept_for_readers, first.kept_for_readers);
        bucket.advance(20_000);
        let last = vacuum();
        assert_eq!((&last.fragments, last.kept_for_readers.len()), (&first.kept_for_readers, 0));
        assert!(last.byte_len > 0 && !last.vacuum_files.is_empty());
        assert!(findings().is_empty(), "{:?}", findings());
        assert_eq!(State::at(&place, u64::MAX).unwrap(), expected);
    }
}

#[test]
fn fragments_that_are_deleted_in_a_bucket_are_gone_at_once_and_their_files_later() {
    let bucket = bucket_of(&arrays()[0], &[Operation::ConsolidateFragments]);
    let place = BucketImage::place(&bucket);
    let all = FragmentDeletion::of(FragmentChoice::Within(TimeRange::ALL));
    let done = delete_fragments(&place, &all).unwrap();
    assert!(done.is_kept_for_readers && done.fragments.len() == 1 && done.replaced.len() > 1, "{done:?}");
    assert_eq!(State::at(&place, u64::MAX).unwrap().cells, Some(Vec::new()));
    let findings = || fsck(&BucketImage::place(&bucket), &FsckOptions::default()).unwrap().findings;
    bucket.advance(READERS_END_MS);
    assert!(findings().iter().all(|finding| finding.class == Class::Harmless), "{:?}", findings());
    let last = vacuum_fragments(&BucketImage::place(&bucket), &VacuumOptions::default()).unwrap();
    assert_eq!(last.fragments.len(), done.fragments.len() + done.replaced.len());
    assert!(findings().is_empty(), "{:?}", findings());
}

#[test]
fn files_that_a_vacuum_keeps_go_at_once_where_it_is_told_that_nobody_reads() {
    let nobody = VacuumOptions { ignores_readers: true, ..VacuumOptions::default() };
    let at_once = VacuumOptions { keeps_for: Duration::ZERO, ..VacuumOptions::default() };
    for options in [nobody, at_once] {
        for before in [
            &[Operation::ConsolidateFragments][..],
            &[Operation::ConsolidateFragments, Operation::VacuumFragments],
        ] {
            let bucket = bucket_of(&arrays()[0], before);
            vacuum_fragments(&BucketImage::place(&bucket), &options).unwrap();
            let findings = fsck(&BucketImage::place(&bucket), &FsckOptions::default()).unwrap().findings;
            assert!(findings.is_empty(), "{findings:?}");
            assert_eq!(bucket.list("array/__fragments").unwrap().len(), 1);
        }
    }
}

#[test]
fn a_reader_to_whom_a_bucket_lists_what_was_sees_an_old_state_and_no_error() {
    let work = || {
        let mut count = 0;
        for array in arrays() {
            let base = bucket_of(&array, BEFORE[5]).image();
            let expected = look(&BucketImage::place(&base.live())).unwrap();
            for operation in ALL_UPKEEP.iter().chain(&[Operation::PurgeFragments]) {
                for seed in 0..12 {
                    let bucket = base.live();
                    run_all(&bucket, &[*operation]);
                    let now_ms = clock_ms(&bucket);
                    let reader = place_in_bucket(bucket.with_stale_lists(6, seed), now_ms);
                    let context = || format!("{operation:?} of {:?}, seed {seed}", array[0]);
                    let seen = look(&reader).unwrap_or_else(|error| panic!("{}: {error}", context()));
                    assert!(is_same(&expected, &seen), "{}: {seen:?}, not {expected:?}", context());
                    count += 1;
                }
            }
        }
        count
    };
    assert!(on_one_thread(work) > 300);
}

/// Lets an operation fall asleep before each of its requests, until its claim has ended and another operation was done, and go on then. Returns
/// before which requests that did harm: what is seen in the end is told with whether the operation went well.
fn sleep_before_each_request(
    array: &[Operation],
    sleeper: Operation,
    other: Operation,
    is_fine: impl Fn(&[State], bool) -> bool,
) -> (u64, Vec<u64>) {
    let base = bucket_of(array, &[]).image();
    let (mut number, mut harmful) = (0, Vec::new());
    loop {
        let (bucket, has_slept) = (base.live(), Arc::new(AtomicU64::new(0)));
        let clock = Arc::new(ManualClock::new(clock_ms(&bucket)));
        let (others, sleeping, ringing) = (bucket.clone(), Arc::clone(&has_slept), Arc::clone(&clock));
        let asleep = before_request(bucket.clone(), number, move || {
            others.advance(CLAIMS_END_MS);
            ringing.advance(CLAIMS_END_MS);
            run_all(&others, &[other]);
            sleeping.store(1, Ordering::Relaxed);
        });
        let place = place_in_bucket(asleep, 0);
        let mut env = place.env().clone();
        env.clock = clock;
        let place = ArrayPlace::in_store(Arc::clone(place.store()), "array".into(), None, env);
        let went_well = sleeper.run(&place).is_ok();
        if has_slept.load(Ordering::Relaxed) == 0 {
            return (number, harmful);
        }
        bucket.advance(CLAIMS_END_MS);
        let seen = look(&BucketImage::place(&bucket));
        if !seen.is_ok_and(|seen| is_fine(&seen, went_well)) {
            harmful.push(number);
        }
        number += 1;
    }
}

#[test]
fn who_falls_asleep_with_a_claim_in_a_bucket_does_no_harm_but_between_the_last_look_and_the_commit() {
    let work = || {
        for array in arrays() {
            for (sleeper, other) in [
                (Operation::ConsolidateFragments, Operation::ConsolidateFragments),
                (Operation::ConsolidateFragments, Operation::VacuumFragments),
                (Operation::VacuumFragments, Operation::ConsolidateFragments),
                (Operation::ConsolidateCommits, Operation::ConsolidateFragments),
                (Operation::ConsolidateFragments, Operation::ConsolidateCommits),
            ] {
                let expected = look(&BucketImage::place(&bucket_of(&array, &[]))).unwrap();
                let is_fine = |seen: &[State], _| is_same(&expected, seen);
                let (count, harmful) = sleep_before_each_request(&array, sleeper, other, is_fine);
                println!("{sleeper:?} beside {other:?} of {:?}: {harmful:?} of {count}", array[0]);
                let both_merge = sleeper == other && array[0] == Operation::CreateDups;
                let known = usize::from(both_merge);
                assert!(count > 5 && harmful.len() == known, "{harmful:?} of {count}");
            }
        }
    };
    on_one_thread(work);
}

#[test]
fn who_falls_asleep_while_a_schema_changes_in_a_bucket_undoes_nothing_but_between_the_last_look_and_the_put()
{
    let array = &arrays()[0];
    for sleeper in [Operation::Evolve { at: 70, name: "mine" }, Operation::Upgrade { at: 70 }] {
        let is_fine = |seen: &[State], went_well: bool| {
            let schema = &seen.last().unwrap().schema;
            let has = |name: &str| schema.iter().any(|other| other == name);
            let is_done = if matches!(sleeper, Operation::Evolve { .. }) { has("mine") } else { has("23") };
            has("other") && is_done == went_well
        };
        let other = Operation::Evolve { at: 80, name: "other" };
        let (count, harmful) = sleep_before_each_request(array, sleeper, other, is_fine);
        println!("{sleeper:?}: {harmful:?} of {count}");
        assert!(count > 5 && harmful.len() == 1, "{harmful:?} of {count}");
    }
}

/// Users of a bucket where files that were kept for readers go.
const WHILE_FILES_GO: &[&[User]] = &[
    &[VACUUM, User::Reads],
    &[VACUUM, CONSOLIDATOR, User::Reads],
    &[VACUUM, WRITER, User::Reads],
    &[VACUUM, COMMITS, User::Reads],
];

#[test]
fn readers_that_come_when_files_go_in_a_bucket_do_not_miss_them() {
    let play = || {
        let stage = Stage::new();
        for array in arrays() {
            let bucket = bucket_of(&array, &[Operation::ConsolidateFragments, Operation::VacuumFragments]);
            bucket.advance(READERS_END_MS);
            let base = bucket.image();
            for users in WHILE_FILES_GO {
                let scene = Scene::new(&base, users);
                (0..24).for_each(|seed| scene.check(&stage, seed * 4));
            }
        }
    };
    on_one_thread(play);
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
