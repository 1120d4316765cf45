//! A sample of the states that power cuts may leave, as folders with what each must show. `tests/interop/crash_states.py` has
//! libtiledb open them (invariant I10).

use super::crashes::{BEFORE, arrays, changed_in};
use super::expectation::Expectation;
use super::operation::{Operation, every_operation};
use super::state::State;
use super::{on_one_thread, parameter, place_on};
use crate::mutation::Random;
use serde_json::{Value, json};
use smalti_format::Version;
use smalti_format::names::{COMMITS_FOLDER, PENDING_VACUUM_ENDING, VACUUM_ENDING, WRITE_ENDING};
use smalti_store::{CrashLimits, CrashState, Image, SimDisk, crash_states};
use smalti_types::{Extent, Physical};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// States of one operation.
const STATES_PER_CASE: usize = 10;

/// An operation on an array with a history.
struct Case {
    kind: &'static str,
    history: String,
    base: Image,
    operation: Operation,
}

#[test]
#[ignore = "needs a folder, SMALTI_STATES_FOLDER; `cargo xtask interop` runs it"]
fn states_are_exported_for_other_readers() {
    let folder = PathBuf::from(std::env::var("SMALTI_STATES_FOLDER").unwrap());
    let (count, seed) = (parameter("SMALTI_STATES_COUNT", 440), parameter("SMALTI_STATES_SEED", 1));
    let mut random = Random(seed);
    on_one_thread(|| {
        let mut exported = 0;
        while exported < count {
            for case in cases(&mut random) {
                for state in sample(&case, &mut random) {
                    if exported < count {
                        state.write(&folder.join(exported.to_string()), &case);
                        exported += 1;
                    }
                }
            }
        }
    });
}

/// Every operation on every kind of array once, each behind a history that is drawn.
fn cases(random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for (array, kind) in arrays().iter().zip(["sparse", "dups", "dense"]) {
        let base = SimDisk::new().image();
        cases.push(Case { kind, history: "nothing".into(), base, operation: array[0] });
        let is_fit =
            |operation: &Operation| !(array.contains(&Operation::CreateDense) && operation.is_sparse_only());
        for operation in every_operation(60, 600, "later", 6).into_iter().filter(is_fit) {
            let before = BEFORE[random.below(BEFORE.len())];
            let earlier = every_operation(50, 500, "late", 5);
            let earlier = earlier[random.below(earlier.len())];
            let is_second =
                is_fit(&earlier) && random.below(2) == 0 && !(is_upgrade(&earlier) && is_upgrade(&operation));
            let earlier = is_second.then_some(earlier);
            // libtiledb reads no newer version.
            let upgrades = is_upgrade(&operation) || earlier.as_ref().is_some_and(is_upgrade);
            let version = if upgrades { Version::new(21).unwrap() } else { Version::DEFAULT };
            let disk = changed_in(version, array, &[before, earlier.as_slice()].concat());
            let history = format!("{:?} {before:?} {earlier:?}", array[0]);
            cases.push(Case { kind, history, base: disk.image(), operation });
        }
    }
    cases
}

fn is_upgrade(operation: &Operation) -> bool {
    matches!(operation, Operation::Upgrade { .. })
}

/// States from the first step of an operation to behind its last.
fn sample(case: &Case, random: &mut Random) -> Vec<Exported> {
    let expectation = Expectation::new(&case.base, case.operation);
    let limits = CrashLimits { random_count: 2, seed: random.below(1 << 30) as u64 };
    let mut all = Vec::new();
    crash_states(&case.base, &expectation.steps, limits, |crash| all.push(crash.clone()));
    let count = STATES_PER_CASE.min(all.len());
    let start = random.below(all.len());
    let mut chosen: BTreeSet<usize> =
        (0..count).map(|at| (start + at * all.len() / count) % all.len()).collect();
    // The window is short, and of interest.
    let in_window = (0..all.len()).filter(|&at| is_window_open(&all[at].image));
    chosen.extend(in_window.take(STATES_PER_CASE));
    chosen.into_iter().map(|at| Exported::new(case, &expectation, &all[at])).collect()
}

/// A state and what it must show.
struct Exported {
    image: Image,
    crash: String,
    /// What may be seen now; nothing stands for no array.
    allowed: Vec<Option<State>>,
    /// The cells where libtiledb's window is open: what was merged stands beside what it was merged into.
    window: Option<Vec<(i32, u32)>>,
}

impl Exported {
    fn new(case: &Case, expectation: &Expectation, crash: &CrashState) -> Self {
        let is_acknowledged = crash.op_count == expectation.steps.len();
        let sides: &[usize] = if is_acknowledged { &[1] } else { &[0, 1] };
        let mut allowed: Vec<Option<State>> = Vec::new();
        for state in sides.iter().map(|&side| expectation.latest(side)) {
            if !allowed.contains(&state.cloned()) {
                allowed.push(state.cloned());
            }
        }
        let window = is_window_open(&crash.image).then(|| {
            assert!(matches!(case.operation, Operation::ConsolidateFragments | Operation::PurgeFragments));
            cells_in_window(&crash.image, expectation.latest(0))
        });
        Exported { image: crash.image.clone(), crash: crash.to_string(), allowed, window }
    }

    /// Writes `root`, what the disk holds, and `expected.json`.
    fn write(&self, folder: &Path, case: &Case) {
        let root = folder.join("root");
        fs::create_dir_all(&root).unwrap();
        for path in &self.image.folders {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for (path, bytes) in &self.image.files {
            fs::write(root.join(path), bytes).unwrap();
        }
        let expected = json!({
            "kind": case.kind,
            "what": format!("{:?} after {}, {}", case.operation, case.history, self.crash),
            "allowed": self.allowed.iter().map(shown).collect::<Vec<Value>>(),
            "window": self.window,
        });
        fs::write(folder.join("expected.json"), expected.to_string()).unwrap();
    }
}

/// Whether a merged fragment is committed, and the list of what it replaces has only the name that libtiledb passes over.
fn is_window_open(image: &Image) -> bool {
    pending_lists(image).any(|merged| {
        let is_there = |ending: &str| image.files.contains_key(&format!("{merged}{ending}"));
        is_there(WRITE_ENDING) && !is_there(VACUUM_ENDING)
    })
}

fn pending_lists(image: &Image) -> impl Iterator<Item = &str> {
    let commits = format!("array/{COMMITS_FOLDER}/");
    image
        .files
        .keys()
        .filter(move |path| path.starts_with(&commits))
        .filter_map(|path| path.strip_suffix(PENDING_VACUUM_ENDING))
}

/// What a reader sees who passes over the pending list: each cell that was merged once more, and nothing else.
fn cells_in_window(image: &Image, before: Option<&State>) -> Vec<(i32, u32)> {
    let mut without = image.clone();
    without.files.retain(|path, _| !path.ends_with(PENDING_VACUUM_ENDING));
    let state = State::at(&place_on(&SimDisk::from_image(&without)), u64::MAX).unwrap();
    let (mut more, before) = (state.cells.clone().unwrap(), before.unwrap().cells.clone().unwrap());
    for cell in &before {
        let at = more.iter().position(|other| other == cell);
        more.remove(at.unwrap_or_else(|| panic!("{cell:?} is missing")));
    }
    for cell in &more {
        let count = |cells: &[(i32, u32)]| cells.iter().filter(|other| *other == cell).count();
        assert!(count(&more) <= count(&before), "{cell:?} is there too often");
    }
    state.cells.unwrap()
}

fn shown(state: &Option<State>) -> Value {
    let Some(state) = state else { return Value::Null };
    let number = |bytes: &[u8]| i32::from_le_bytes(bytes.try_into().unwrap());
    let metadata = state.metadata.as_ref().unwrap();
    let metadata = metadata.iter().map(|(key, value)| (key.clone(), json!(number(&value.bytes))));
    let domain = state.non_empty_domain.as_ref().map(|domain| match &domain[0] {
        Extent::Num { lo, hi } => [i32::from_ordinal(*lo), i32::from_ordinal(*hi)],
        Extent::Str { .. } => unreachable!("the dimension has numbers"),
    });
    json!({
        "cells": state.cells,
        "metadata": metadata.collect::<serde_json::Map<String, Value>>(),
        "domain": domain,
        // The version, the attributes, and behind each the elements of its enumeration.
        "schema": state.schema,
    })
}
