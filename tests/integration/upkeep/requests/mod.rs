//! The same through the client of object stores: every request of every operation fails in every way that requests fail, and what is left is what the
//! simulations of buckets allow; no upload stays behind, or `fsck` finds it and a repair gives it up.

mod line;
mod moto;
mod server;

use super::buckets::{CLAIMS_END_MS, READERS_END_MS};
use super::crashes::{BEFORE, arrays, changed_on};
use super::expectation::{Answer, Expectation};
use super::ground::{Ground, clock_ms, lone_place};
use super::on_one_thread;
use super::operation::{ALL_UPKEEP, Operation, every_operation};
use super::pieces::Pieces;
use super::state::State;
use line::{FAULTS, Fault, KEY, Lines, Plan, Sent, Server};
use server::Served;
use smalti_array::ArrayPlace;
use smalti_format::Version;
use smalti_object::{ObjectStores, Settings};
use smalti_store::{BucketImage, BucketStore, Remote as _};
use smalti_types::Result;
use smalti_upkeep::{FindingKind, FsckOptions, RepairOptions, fsck, repair};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A day, and longer than uploads are young.
const UPLOADS_ARE_OLD_MS: u64 = 2 * 24 * 3_600_000;

/// A client of object stores whose requests go to servers in this process.
struct Client {
    stores: ObjectStores,
    lines: Lines,
    /// What the names of its buckets begin with.
    name: &'static str,
    count: AtomicU64,
}

/// What a run has left.
struct Run<T> {
    result: Result<T>,
    served: Served,
    sent: Vec<Sent>,
}

impl<T> Run<T> {
    fn has_failed(&self) -> bool {
        self.sent.iter().any(|sent| sent.has_fault)
    }
}

impl Client {
    /// Files longer than two parts are uploaded in parts.
    fn new(part_byte_len: u64) -> Client {
        let mut settings = Settings::default();
        for (name, value) in [
            ("s3.endpoint", "http://127.0.0.1:9"),
            ("s3.region", "us-east-1"),
            ("s3.access_key_id", KEY),
            ("s3.secret_access_key", KEY),
            ("network.part_size", &part_byte_len.to_string()),
            ("network.retries", "2"),
            ("network.retry_pause", "1 ms"),
        ] {
            settings.set(name, value).unwrap();
        }
        let lines = Lines::default();
        let stores = ObjectStores::with_connector(settings, Arc::new(lines.clone()));
        Client { stores, lines, name: "bucket", count: AtomicU64::new(0) }
    }

    /// Does something to the array in a bucket, at the bucket's time as clocks of the simulations tell it.
    fn run<T>(
        &self,
        bucket: BucketStore,
        plan: Option<Plan>,
        does: impl FnOnce(&ArrayPlace) -> Result<T>,
    ) -> Run<T> {
        let served = Served::new(bucket);
        let now_ms = clock_ms(&served.bucket);
        let (result, sent) = self.over(&Server::Here(served.clone()), plan, now_ms, does);
        Run { result, served, sent }
    }

    /// Does something to the array in a bucket of a new name that is served.
    fn over<T>(
        &self,
        server: &Server,
        plan: Option<Plan>,
        now_ms: u64,
        does: impl FnOnce(&ArrayPlace) -> Result<T>,
    ) -> (Result<T>, Vec<Sent>) {
        // Requests of an earlier run that nobody waits for go to a bucket that is not there any more.
        self.over_named(&self.new_name(), server, plan, now_ms, does)
    }

    /// The name of a bucket that was not used before.
    fn new_name(&self) -> String {
        format!("{}-{}", self.name, self.count.fetch_add(1, Ordering::Relaxed))
    }

    fn over_named<T>(
        &self,
        name: &str,
        server: &Server,
        plan: Option<Plan>,
        now_ms: u64,
        does: impl FnOnce(&ArrayPlace) -> Result<T>,
    ) -> (Result<T>, Vec<Sent>) {
        let sent = self.lines.lay(name, server, plan);
        let opened = self.stores.open("s3", &format!("{name}/array")).unwrap();
        let result = does(&lone_place(opened.store, now_ms));
        self.lines.cut(name);
        let sent = sent.lock().unwrap().clone();
        (result, sent)
    }
}

/// What an operation answered.
fn answer<T>(result: &Result<T>) -> Answer {
    match result {
        Ok(_) => Answer::Success,
        Err(error) if error.to_string().contains("the fragments are deleted") => Answer::Success,
        Err(error) if error.to_string().contains("effect is unknown") => Answer::Unknown,
        Err(_) => Answer::Failure,
    }
}

/// What is to happen to requests that were seen: everything to each of them, or each fault to one, which the turn chooses.
fn plans_for(sent: &[Sent], turn: usize, is_long: bool) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (fault_idx, &fault) in FAULTS.iter().enumerate() {
        let fitting: Vec<usize> =
            (0..sent.len()).filter(|&idx| sent[idx].can_have.contains(&fault)).collect();
        if is_long {
            let both = |request_idx| [false, true].map(|is_lasting| Plan { fault, request_idx, is_lasting });
            plans.extend(fitting.into_iter().flat_map(both));
        } else if !fitting.is_empty() {
            let request_idx = fitting[(turn * 7 + fault_idx * 3) % fitting.len()];
            // Once is the rule, and for good now and then.
            plans.push(Plan { fault, request_idx, is_lasting: (turn + fault_idx).is_multiple_of(4) });
        }
    }
    // Whoever cannot send a part any more cannot give its upload up either.
    let is_part = |sent: &Sent| sent.what.contains("partNumber");
    if let Some(request_idx) = sent.iter().position(is_part).filter(|_| !is_long) {
        plans.push(Plan { fault: Fault::ResetBefore, request_idx, is_lasting: true });
    }
    plans
}

/// What was seen of runs with faults.
#[derive(Debug, Default)]
struct Seen {
    runs: usize,
    faults: BTreeMap<Fault, usize>,
    successes: usize,
    unknown: usize,
    uploads_left: usize,
}

impl Seen {
    /// Checks that each fault has happened.
    fn check_every_fault(&self) {
        println!("{self:?}");
        let missing: Vec<&Fault> = FAULTS.iter().filter(|fault| !self.faults.contains_key(fault)).collect();
        assert!(missing.is_empty(), "{missing:?} did not happen: {self:?}");
    }
}

/// Lets requests of an operation fail: each in every way, or some in each.
fn fail_everywhere(
    client: &Client,
    base: &BucketImage,
    operation: Operation,
    others: &[Operation],
    (turn, is_long): (usize, bool),
    (context, seen): (&str, &mut Seen),
) {
    let expectation = Expectation::new(base, operation);
    let whole = client.run(base.live(), None, |place| operation.run(place).map(drop));
    whole.result.unwrap_or_else(|error| panic!("{operation:?} of {context}: {error}"));
    assert!(whole.served.uploads().is_empty(), "{operation:?} of {context}");
    let faults_before: usize = seen.faults.values().sum();
    for plan in plans_for(&whole.sent, turn, is_long) {
        let run = client.run(base.live(), Some(plan), |place| operation.run(place).map(drop));
        seen.runs += 1;
        if !run.has_failed() {
            continue;
        }
        *seen.faults.entry(plan.fault).or_default() += 1;
        let answer = answer(&run.result);
        seen.successes += usize::from(answer == Answer::Success);
        seen.unknown += usize::from(answer == Answer::Unknown);
        let context = format!("{operation:?} of {context}, {plan:?}: {:?}; {:?}", run.result, run.sent);
        if plan.fault.is_mended() && !plan.is_lasting {
            assert_eq!(answer, Answer::Success, "{context}");
        }
        let mut left = run.served.bucket.image();
        check_uploads(client, &run.served, plan, &context, seen);
        left.advance(if seen.runs.is_multiple_of(2) { CLAIMS_END_MS } else { READERS_END_MS });
        expectation.check(&left, answer, others[seen.runs % others.len()], &context);
    }
    assert!(seen.faults.values().sum::<usize>() > faults_before, "{operation:?} of {context} met no fault");
}

/// Checks that uploads stay behind only where nothing could be done about them, and then are found and given up.
fn check_uploads(client: &Client, served: &Served, plan: Plan, context: &str, seen: &mut Seen) {
    let left = served.uploads();
    if left.is_empty() {
        return;
    }
    // Of two that were begun by one request one has a name that nobody was told.
    let is_twice = matches!(plan.fault, Fault::TwiceFirst | Fault::TwiceSecond);
    assert!(plan.is_lasting || is_twice, "{left:?} stayed: {context}");
    seen.uploads_left += left.len();
    for (age_ms, stay) in [(1, left.len()), (UPLOADS_ARE_OLD_MS, 0)] {
        let now_ms = served.bucket.image().now_ms() + age_ms;
        let mended = client.over(&Server::Here(served.clone()), None, now_ms, |place| {
            let found = fsck(place, &FsckOptions::default())?.findings;
            let count = found.iter().filter(|finding| finding.kind == FindingKind::Upload).count();
            assert_eq!(count, left.len(), "{context}: {found:#?}");
            repair(place, &RepairOptions::default())
        });
        // Where no array came to be there is nothing to be checked.
        let Ok(report) = mended.0 else { return };
        assert!(!report.has_failed(), "{context}: {report:#?}");
        assert_eq!(served.uploads().len(), stay, "{context}");
    }
}

/// Lets requests of every operation fail, each operation on an array a unit. In the long form on every array, each first as one thing that was done before has left
/// it, then as the next has; in the short one on one of the arrays, which the operation's number chooses.
fn fail_all(mut pieces: Pieces, is_long: bool) -> Seen {
    let mut seen = Seen::default();
    let mut turn = 0;
    // One that uploads nearly all files in parts, and one that never does.
    let clients = [Client::new(100), Client::new(1 << 20)];
    for round in 0..if is_long { BEFORE.len() } else { 1 } {
        for (at, array) in arrays().iter().enumerate() {
            let is_dense = array.contains(&Operation::CreateDense);
            let is_fit = |operation: &Operation| !(is_dense && operation.is_sparse_only());
            let others: Vec<Operation> =
                every_operation(60, 600, "later", 6).into_iter().filter(is_fit).collect();
            let before = (5 + at % 3 + round) % BEFORE.len();
            let base = changed_on::<BucketImage>(Version::DEFAULT, array, BEFORE[before]).image();
            for (number, operation) in every_operation(50, 500, "late", 5).into_iter().enumerate() {
                let array_count =
                    if operation.is_sparse_only() { arrays().len() - 1 } else { arrays().len() };
                if !is_fit(&operation) || !is_long && number % array_count != at {
                    continue;
                }
                turn += 1;
                if !pieces.take(&seen.runs) {
                    continue;
                }
                let context = format!("{:?} {before}", array[0]);
                for client in if is_long { &clients[..] } else { &clients[turn % 2..][..1] } {
                    let how = (turn, is_long);
                    fail_everywhere(client, &base, operation, &others, how, (&context, &mut seen));
                }
            }
        }
    }
    pieces.finish(&seen);
    seen
}

#[test]
fn a_request_that_fails_has_no_effect_or_says_that_it_is_unknown_and_leaves_no_upload() {
    let seen = on_one_thread(|| fail_all(Pieces::all("failed requests"), false));
    seen.check_every_fault();
    assert!(seen.successes > 0 && seen.unknown > 0 && seen.uploads_left > 0, "{seen:?}");
}

#[test]
fn an_array_whose_creation_fails_at_any_request_is_there_or_not() {
    let client = Client::new(1 << 20);
    let nothing = BucketImage::default();
    let mut seen = Seen::default();
    for operation in [Operation::Create, Operation::CreateDense] {
        let others = [Operation::CreateDups];
        fail_everywhere(&client, &nothing, operation, &others, (0, true), ("nothing", &mut seen));
    }
    seen.check_every_fault();
}

/// How many turns of the sample a test of readers takes; with `SMALTI_LONG` it takes all requests and faults.
const READER_TURN_COUNT: usize = 4;

/// What is to happen to the requests of readers.
fn plans_for_readers(sent: &[Sent]) -> Vec<Plan> {
    match std::env::var("SMALTI_LONG").is_ok_and(|long| long == "1") {
        true => plans_for(sent, 0, true),
        false => (0..READER_TURN_COUNT).flat_map(|turn| plans_for(sent, turn, false)).collect(),
    }
}

/// Reads an array with a fault in each request: what is read is right, or an error; and right if the fault happens once and is one that is mended.
#[test]
fn a_reader_whose_requests_fail_sees_what_is_there_or_an_error() {
    let client = Client::new(1 << 20);
    let read = |place: &ArrayPlace| State::at(place, u64::MAX);
    let mut seen = Seen::default();
    for (at, array) in arrays().iter().enumerate() {
        let bucket = changed_on::<BucketImage>(Version::DEFAULT, array, BEFORE[5 + at % 3]);
        let base = bucket.image();
        let whole = client.run(base.live(), None, read);
        let expected = whole.result.unwrap();
        assert_eq!(expected, State::at(&BucketImage::place(&base.live()), u64::MAX).unwrap());
        for plan in plans_for_readers(&whole.sent) {
            let run = client.run(base.live(), Some(plan), read);
            if !run.has_failed() {
                continue;
            }
            *seen.faults.entry(plan.fault).or_default() += 1;
            match &run.result {
                Ok(found) => assert_eq!(*found, expected, "{plan:?}: {:#?}", run.sent),
                Err(error) => {
                    let is_mended = plan.fault.is_mended() && !plan.is_lasting;
                    assert!(!is_mended, "{plan:?}: {error}: {:#?}", run.sent);
                }
            }
        }
    }
    seen.check_every_fault();
}

/// Lists to a reader what was, at each of its requests or at all of them from one on, while something was changed meanwhile.
#[test]
fn a_reader_to_whom_a_server_lists_what_was_sees_an_old_state_and_no_error() {
    let client = Client::new(1 << 20);
    let read = |place: &ArrayPlace| State::at(place, u64::MAX);
    let work = || {
        let mut faults: BTreeMap<Fault, usize> = BTreeMap::new();
        for (at, array) in arrays().iter().enumerate() {
            let base = changed_on::<BucketImage>(Version::DEFAULT, array, BEFORE[5 + at % 3]).image();
            let before = State::at(&BucketImage::place(&base.live()), u64::MAX).unwrap();
            let write = Operation::Write { at: 50, cells: &[3, 4, 5], number: 500 };
            for operation in ALL_UPKEEP.iter().chain(&[write]) {
                let changed = || {
                    let bucket = base.live();
                    operation.run(&BucketImage::place(&bucket)).unwrap();
                    bucket
                };
                let after = State::at(&BucketImage::place(&changed()), u64::MAX).unwrap();
                let sent = client.run(changed(), None, read).sent;
                let is_old = |plan: &Plan| matches!(plan.fault, Fault::Stale | Fault::StaleByOne);
                for plan in plans_for_readers(&sent).into_iter().filter(is_old) {
                    let run = client.run(changed(), Some(plan), read);
                    if !run.has_failed() {
                        continue;
                    }
                    let context = format!("{operation:?} of {:?}, {plan:?}: {:#?}", array[0], run.sent);
                    let seen = run.result.unwrap_or_else(|error| panic!("{context}: {error}"));
                    let is_same =
                        |state: &State| state.cells == seen.cells && state.metadata == seen.metadata;
                    assert!(is_same(&before) || is_same(&after), "{context}: {seen:?}");
                    *faults.entry(plan.fault).or_default() += 1;
                }
            }
        }
        faults
    };
    let faults = on_one_thread(work);
    println!("lists of what was: {faults:?}");
    assert!([Fault::Stale, Fault::StaleByOne].iter().all(|fault| faults.contains_key(fault)), "{faults:?}");
}

#[test]
#[ignore = "a campaign: `cargo xtask states requests` runs it"]
fn long_run_of_requests() {
    let pieces = Pieces::asked_for("failed requests");
    on_one_thread(|| fail_all(pieces, true));
}
