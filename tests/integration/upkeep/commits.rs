//! Consolidated commits.

use super::operation::{Operation, UPKEEP};
use super::state::{State, assert_unchanged};
use super::{CHANGES, array_in_memory};
use smalti_store::Store;
use smalti_upkeep::{Options, Report, ignore_taken};

fn endings(names: &[String]) -> Vec<&str> {
    names.iter().filter_map(|name| name.rsplit('.').next()).collect()
}

fn commits(store: &dyn Store) -> Vec<String> {
    store.list_names("array/__commits").unwrap()
}

#[test]
fn a_delete_outlives_consolidation_and_vacuum_of_commits_again_and_again() {
    let (store, place) = array_in_memory(CHANGES);
    let before = State::history(&place).unwrap();
    for round in 0..3 {
        Operation::ConsolidateCommits.run(&place).unwrap();
        Operation::VacuumCommits.run(&place).unwrap();
        assert_eq!(endings(&commits(&store)), ["con"], "round {round}");
        assert_unchanged(&before, &State::history(&place).unwrap(), &round);
    }
    let more = Operation::Write { at: 50, cells: &[90], number: 900 };
    more.run(&place).unwrap();
    let before = State::history(&place).unwrap();
    let report = Operation::ConsolidateCommits.run(&place).unwrap().unwrap();
    assert_eq!((report.read.len(), report.written.len()), (2, 1));
    let report = Operation::VacuumCommits.run(&place).unwrap().unwrap();
    assert_eq!(report.removed.len(), 2, "{report:?}");
    assert_eq!(endings(&commits(&store)), ["con"]);
    assert_unchanged(&before, &State::history(&place).unwrap(), &"with more");
}

#[test]
fn nothing_to_do_is_an_empty_report_and_a_dry_run_changes_nothing() {
    let (store, place) = array_in_memory(CHANGES);
    for operation in UPKEEP {
        let before = store.files();
        let dry =
            operation.run_with(&place, &Options { dry_run: true, ..Options::default() }).unwrap().unwrap();
        assert_eq!(store.files(), before, "{operation:?}");
        let done = operation.run(&place).unwrap().unwrap();
        assert_eq!(dry.read, done.read, "{operation:?}");
        assert_eq!(dry.removed, done.removed, "{operation:?}");
        assert_eq!(dry.written.len(), done.written.len(), "{operation:?}");
        let again = operation.run(&place).unwrap().unwrap();
        assert!(again.is_empty() && again.read.is_empty(), "{operation:?}: {again:?}");
    }
}

#[test]
fn a_fragment_that_a_vacuum_took_meanwhile_is_taken_back() {
    let (store, place) = array_in_memory(CHANGES);
    Operation::ConsolidateCommits.run(&place).unwrap();
    Operation::VacuumCommits.run(&place).unwrap();
    let snapshot = smalti_array::Snapshot::open(place.clone(), smalti_types::TimeRange::ALL).unwrap();
    let name = snapshot.fragments()[1].name().clone();
    store.delete_folders(&[&format!("array/__fragments/{name}")]).unwrap();
    let state = State::at(&place, u64::MAX).unwrap();
    assert_eq!(state.warnings.len(), 1, "{state:?}");

    let mut report = Report::default();
    ignore_taken(&place, [&name], &mut report).unwrap();
    assert_eq!(report.written.len(), 1);
    assert!(State::at(&place, u64::MAX).unwrap().warnings.is_empty());
    assert_eq!(endings(&commits(&store)), ["con", "ign"]);
    // The next consolidation leaves it out, and then the ignore file has no use.
    Operation::ConsolidateCommits.run(&place).unwrap();
    let expected = State::history(&place).unwrap();
    Operation::VacuumCommits.run(&place).unwrap();
    assert_eq!(endings(&commits(&store)), ["con"]);
    assert_unchanged(&expected, &State::history(&place).unwrap(), &"ignored");
}

#[test]
fn a_commit_whose_folder_was_missing_before_is_left_for_somebody_to_look_at() {
    let (store, place) = array_in_memory(CHANGES);
    let snapshot = smalti_array::Snapshot::open(place.clone(), smalti_types::TimeRange::ALL).unwrap();
    let name = snapshot.fragments()[1].name().clone();
    store.delete_folders(&[&format!("array/__fragments/{name}")]).unwrap();
    let report = Operation::ConsolidateCommits.run(&place).unwrap().unwrap();
    assert_eq!(report.warnings.len(), 1, "{report:?}");
    Operation::VacuumCommits.run(&place).unwrap();
    assert_eq!(commits(&store).len(), 2);
    assert!(commits(&store).contains(&format!("{name}.wrt")));
}

#[test]
fn a_damaged_delete_is_not_copied() {
    let (store, place) = array_in_memory(CHANGES);
    let delete = commits(&store).into_iter().find(|name| name.ends_with(".del")).unwrap();
    store.delete_files(&[&format!("array/__commits/{delete}")]).unwrap();
    store.put(&format!("array/__commits/{delete}"), &[b"torn"]).unwrap();
    let before = store.files();
    let error = Operation::ConsolidateCommits.run(&place).unwrap_err();
    assert!(error.to_string().contains(delete.trim_end_matches(".del")), "{error}");
    assert_eq!(store.files(), before);
}
