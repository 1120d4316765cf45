//! Several operations on one array at once, in schedules that seeds choose: readers see a state that some order of the
//! operations explains (invariants I3 to I6), and nobody fails but for the two reasons that are documented.

use super::baton::Baton;
use super::crashes::{BEFORE, arrays, changed_on};
use super::ground::Ground;
use super::operation::{Operation, WAITS_FOR_READERS, every_operation};
use super::pieces::Pieces;
use super::state::State;
use super::{on_one_thread, parameter};
use rayon::ThreadPoolBuilder;
use smalti_array::ArrayPlace;
use smalti_format::Version;
use smalti_store::Image;
use smalti_types::{ErrorKind, Result};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// Somebody who uses the array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum User {
    Does(Operation),
    /// Reads at all of [`TIMES`].
    Reads,
}

/// What a user did.
enum Done {
    Operation,
    WaitsForReaders,
    Seen(Vec<State>),
}

/// Times that are looked at: before what the users do, between, and now.
const TIMES: &[u64] = &[22, 55, u64::MAX];

fn look(place: &ArrayPlace) -> Result<Vec<State>> {
    TIMES.iter().map(|&time| State::at(place, time)).collect()
}

impl User {
    fn act(self, place: &ArrayPlace) -> Result<Done> {
        match self {
            User::Reads => look(place).map(Done::Seen),
            User::Does(operation) => {
                let report = operation.run(place)?;
                let waits = report.is_some_and(|report| report.warnings == [WAITS_FOR_READERS]);
                Ok(if waits { Done::WaitsForReaders } else { Done::Operation })
            }
        }
    }

    fn is_change(self) -> bool {
        matches!(self, User::Does(operation) if !operation.is_upkeep())
    }

    fn changes_schema(self) -> bool {
        matches!(self, User::Does(Operation::Evolve { .. } | Operation::Upgrade { .. }))
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// A thread for each user, which is also all of its pool: who waits for his turn keeps nobody else's work waiting.
pub(super) struct Stage(Vec<Sender<Work>>);

impl Stage {
    pub(super) fn new() -> Self {
        let thread = || {
            let (sender, works) = channel::<Work>();
            std::thread::spawn(move || {
                let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
                works.into_iter().for_each(|work| work());
                drop(pool);
            });
            sender
        };
        Stage((0..3).map(|_| thread()).collect())
    }

    fn play<G: Ground>(&self, live: &G::Live, users: &[User], seed: u64) -> Vec<Result<Done>> {
        let baton = Baton::new(users.len(), seed);
        let start = |(user, thread): (usize, &Sender<Work>)| {
            let (does, baton) = (users[user], Arc::clone(&baton));
            let place = G::place_in_turn(live, &baton, user);
            let (sender, outcome) = channel();
            let work = move || {
                let _part = baton.part(user);
                // Nobody listens only where another user has panicked.
                let _ = sender.send(does.act(&place));
            };
            thread.send(Box::new(work)).unwrap();
            outcome
        };
        let parts: Vec<_> = self.0.iter().enumerate().take(users.len()).map(start).collect();
        let context = || format!("a user has panicked, seed {seed} of {users:?}");
        parts.into_iter().map(|part| part.recv().unwrap_or_else(|_| panic!("{}", context()))).collect()
    }
}

/// Users of an array, with all that readers may see.
pub(super) struct Scene<G: Ground = Image> {
    base: G,
    /// The disk as the users have it.
    seen_as: fn(G::Live) -> G::Live,
    users: Vec<User>,
    /// By the set of those who have changed the array, as bits: what is seen then, in one order and in the other.
    possible: Vec<Vec<Vec<State>>>,
}

impl<G: Ground> Scene<G> {
    pub(super) fn new(base: &G, users: &[User]) -> Self {
        let possible = (0..1_usize << users.len()).map(|set| {
            let chosen: Vec<User> =
                (0..).zip(users).filter(|(at, _)| set >> at & 1 == 1).map(|(_, user)| *user).collect();
            let reversed = chosen.iter().rev().copied().collect();
            let orders: [Vec<User>; 2] = [chosen, reversed];
            orders.iter().filter_map(|order| Scene::<G>::in_order(base, order)).collect()
        });
        Scene {
            base: base.clone(),
            seen_as: |live| live,
            users: users.to_vec(),
            possible: possible.collect(),
        }
    }

    /// The same scene on another kind of disk.
    pub(super) fn on(self, seen_as: fn(G::Live) -> G::Live) -> Self {
        Scene { seen_as, ..self }
    }

    /// What is seen after changes in an order, if they can be done so.
    fn in_order(base: &G, changes: &[User]) -> Option<Vec<State>> {
        let live = base.live();
        let is_done = changes.iter().all(|user| user.is_change() && user.act(&G::place(&live)).is_ok());
        is_done.then(|| look(&G::place(&live)).unwrap())
    }

    /// Plays one schedule and checks what was seen and what is left.
    pub(super) fn check(&self, stage: &Stage, seed: u64) {
        let context = format!("seed {seed} of {:?}", self.users);
        let live = self.base.live();
        let users_have = G::in_schedule((self.seen_as)(live.clone()), seed);
        let mut done = 0;
        let mut again = Vec::new();
        for (at, outcome) in stage.play::<G>(&users_have, &self.users, seed).into_iter().enumerate() {
            let user = self.users[at];
            match outcome {
                Ok(Done::Operation) => done |= usize::from(user.is_change()) << at,
                Ok(Done::WaitsForReaders) => again.push((at, user)),
                Ok(Done::Seen(states)) => self.explain(&states, None, &context),
                Err(error) if is_busy(&error) => again.push((at, user)),
                // The other's schema is the later one.
                Err(error)
                    if user.changes_schema()
                        && error.kind() == ErrorKind::InvalidArgument
                        && self.users.iter().filter(|user| user.changes_schema()).count() > 1 => {}
                Err(error) => panic!("{context}: {user:?}: {error}"),
            }
        }
        let found = look(&G::place(&live)).unwrap_or_else(|error| panic!("{context}: {error}"));
        self.explain(&found, Some(done), &context);
        if seed.is_multiple_of(4) {
            let upkeep = [Operation::ConsolidateFragments, Operation::VacuumFragments];
            again.extend(upkeep.map(|operation| (self.users.len(), User::Does(operation))));
        }
        for (at, user) in &again {
            let outcome = user.act(&G::place(&live));
            done |= usize::from(user.is_change()) << at;
            assert!(matches!(outcome, Ok(Done::Operation)), "{context}: {user:?} again");
        }
        if !again.is_empty() {
            self.explain(&look(&G::place(&live)).unwrap(), Some(done), &format!("{context}, then {again:?}"));
        }
    }

    /// Everything that was seen is so after some of the changes, or after just these.
    fn explain(&self, found: &[State], done: Option<usize>, context: &str) {
        let sets = match done {
            Some(set) => &self.possible[set..=set],
            None => &self.possible[..],
        };
        let sets: Vec<&Vec<State>> = sets.iter().flatten().collect();
        assert!(!sets.is_empty(), "{context}: nothing explains {done:?}");
        for ((at, time), found) in TIMES.iter().enumerate().zip(found) {
            let any = |is_so: &dyn Fn(&State) -> bool| sets.iter().any(|states| is_so(&states[at]));
            let may_be_gone = *time != u64::MAX;
            let is_explained = (may_be_gone && found.cells.is_none() || any(&|state| state.cells == found.cells))
                && (may_be_gone && found.metadata.is_none() || any(&|state| state.metadata == found.metadata))
                // A merged fragment has one rectangle for all of its times.
                && (may_be_gone || any(&|state| state.non_empty_domain == found.non_empty_domain))
                && any(&|state| state.schema == found.schema)
                && any(&|state| state.warnings == found.warnings);
            assert!(
                is_explained,
                "{context}: at {time} seen is {found:?}, expected {:?}",
                sets.iter().map(|s| &s[at]).collect::<Vec<_>>()
            );
        }
    }
}

/// Consolidation and vacuum give way to each other.
pub(super) fn is_busy(error: &smalti_types::Error) -> bool {
    error.to_string().contains("another consolidation or vacuum of this array is running")
}

/// Schedules of each two users of an array on every change.
const PAIR_SCHEDULES: u64 = 30;

/// Schedules of each three users of an array on every change.
const TRIPLE_SCHEDULES: u64 = 200;

/// What was done before in the scenes: nothing, or so much that there is something to vacuum.
const SCENES: &[usize] = &[0, 5, 7];

/// All pairs of operations and readers, on arrays of every kind and history, each a unit of some schedules. Returns how many
/// schedules there were.
pub(super) fn play_pairs<G: Ground>(mut pieces: Pieces, seeds: Range<u64>) -> usize {
    let stage = Stage::new();
    let mut count = 0;
    for (kind, array) in arrays().iter().enumerate() {
        let is_dense = array.contains(&Operation::CreateDense);
        for (scene, &before) in SCENES.iter().enumerate() {
            let base = G::image_of(&changed_on::<G>(Version::DEFAULT, array, BEFORE[before]));
            let users = |operations: Vec<Operation>| -> Vec<User> {
                let fit =
                    operations.into_iter().filter(|operation| !(is_dense && operation.is_sparse_only()));
                fit.map(User::Does).chain([User::Reads]).collect()
            };
            let first = users(every_operation(50, 500, "late", 5));
            let second = users(every_operation(60, 600, "later", 6));
            let pairs = (0..first.len()).flat_map(|one| (one..second.len()).map(move |other| (one, other)));
            for (one, other) in pairs {
                if !pieces.take(&count) {
                    continue;
                }
                let place = Scene::new(&base, &[first[one], second[other]]);
                // Each scene has schedules of its own.
                let number = (kind * SCENES.len() + scene) as u64;
                for seed in seeds.clone() {
                    place.check(&stage, seed * 16 + number);
                    count += 1;
                }
            }
        }
    }
    pieces.finish(&count);
    count
}

pub(super) const WRITER: User = User::Does(Operation::Write { at: 50, cells: &[3, 4, 5], number: 500 });
const OTHER_WRITER: User = User::Does(Operation::Write { at: 61, cells: &[4, 5], number: 600 });
const DELETER: User = User::Does(Operation::Delete { at: 62, number: 300 });
pub(super) const CONSOLIDATOR: User = User::Does(Operation::ConsolidateFragments);
pub(super) const COMMITS: User = User::Does(Operation::ConsolidateCommits);
pub(super) const VACUUM: User = User::Does(Operation::VacuumFragments);
pub(super) const COMMITS_VACUUM: User = User::Does(Operation::VacuumCommits);

const REMOVER: User = User::Does(Operation::DeleteFragments { until: 35 });

/// Three users at once.
const TRIPLES: &[[User; 3]] = &[
    [WRITER, OTHER_WRITER, User::Reads],
    [WRITER, DELETER, CONSOLIDATOR],
    [WRITER, CONSOLIDATOR, User::Reads],
    [WRITER, CONSOLIDATOR, VACUUM],
    [WRITER, VACUUM, User::Reads],
    [DELETER, COMMITS, User::Reads],
    [COMMITS, VACUUM, User::Reads],
    [COMMITS_VACUUM, WRITER, User::Reads],
    [COMMITS, COMMITS_VACUUM, User::Reads],
    [User::Does(Operation::PurgeFragments), DELETER, User::Reads],
    [REMOVER, WRITER, User::Reads],
    [REMOVER, CONSOLIDATOR, User::Reads],
    [REMOVER, VACUUM, User::Reads],
    [REMOVER, COMMITS, User::Reads],
    [REMOVER, COMMITS_VACUUM, WRITER],
];

/// As [`play_pairs`], of [`TRIPLES`].
pub(super) fn play_triples<G: Ground>(mut pieces: Pieces, seeds: Range<u64>) -> usize {
    let stage = Stage::new();
    let mut count = 0;
    for array in &arrays()[..2] {
        for &before in SCENES {
            let base = G::image_of(&changed_on::<G>(Version::DEFAULT, array, BEFORE[before]));
            for users in TRIPLES {
                if !pieces.take(&count) {
                    continue;
                }
                let scene = Scene::new(&base, users);
                for seed in seeds.clone() {
                    scene.check(&stage, seed);
                    count += 1;
                }
            }
        }
    }
    pieces.finish(&count);
    count
}

#[test]
fn any_two_at_once_do_what_one_after_the_other_does() {
    on_one_thread(|| play_pairs::<Image>(Pieces::all("schedules of two"), 0..PAIR_SCHEDULES));
}

#[test]
fn any_three_at_once_do_what_one_after_the_other_does() {
    on_one_thread(|| play_triples::<Image>(Pieces::all("schedules of three"), 0..TRIPLE_SCHEDULES));
}

#[test]
#[ignore = "takes an hour; `cargo xtask states interleavings` runs it"]
fn long_run_of_interleavings() {
    let (start, count) = (parameter("SMALTI_SEED", 1_000), parameter("SMALTI_SCHEDULES", 200));
    on_one_thread(|| play_pairs::<Image>(Pieces::asked_for("schedules of two"), start..start + count));
    on_one_thread(|| {
        play_triples::<Image>(Pieces::asked_for("schedules of three"), start..start + 5 * count)
    });
}
