//! Consolidation and vacuum.

use smalti::upkeep::{Choice, FragmentOptions, Steps, VacuumOptions};
use smalti::{Array, Dimension, prelude::*};
use smalti::{ErrorKind, Literal, Relation};

fn sparse(name: &str, allows_dups: bool) -> Array {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=999).tile(10))
        .attribute(Attribute::of::<i64>("a"))
        .attribute(Attribute::utf8("s").nullable())
        .capacity(7)
        .allow_duplicates(allows_dups)
        .build()
        .unwrap();
    Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap()
}

/// Writes `a = 100 * round + x`.
fn put(array: &Array, round: i64, cells: &[i32]) {
    let a: Vec<i64> = cells.iter().map(|&x| 100 * round + i64::from(x)).collect();
    let s: Vec<Option<String>> =
        a.iter().map(|a| (a % 3 != 0).then(|| "s".repeat(*a as usize % 5))).collect();
    let at = round as u64 * 10;
    array.write().column("x", cells).column("a", &a).column("s", &s).at(at).commit().unwrap();
}

/// All cells as text, with their times, at a time.
fn shown(uri: &str, at: u64) -> Vec<String> {
    let array = Array::open_with(uri, &crate::options().at(at)).unwrap();
    let batch = array.read().select(["x", "a", "s", "__timestamps"]).collect().unwrap();
    let mut rows: Vec<String> = (0..batch.num_rows())
        .map(|row| {
            let cells: Vec<String> =
                batch.columns().iter().map(|column| arrow_cast_display(column, row)).collect();
            cells.join(" ")
        })
        .collect();
    rows.sort();
    rows
}

fn arrow_cast_display(column: &arrow_array::ArrayRef, row: usize) -> String {
    format!("{:?}", column.slice(row, 1))
}

fn shown_at_all_times(uri: &str, until: u64) -> Vec<Vec<String>> {
    (0..=until).step_by(5).map(|at| shown(uri, at)).collect()
}

/// An array of which a cell was deleted by an attribute that was dropped then, and of which all that was purged. The
/// time is that of the drop.
fn purged(name: &str) -> (Array, u64) {
    let mut array = sparse(name, false);
    put(&array, 1, &[1, 2, 3]);
    put(&array, 3, &[4, 5]);
    let x = Condition::compare("x", Relation::Le, Literal::from(1_i64));
    let a = Condition::compare("a", Relation::Lt, Literal::from(200_i64));
    array.delete(x.and(a)).at(20).commit().unwrap();
    let at = array.evolve().drop_attribute("a").commit().unwrap();
    array = array.reopen().unwrap();
    array.consolidate(&FragmentOptions { purges: true, ..FragmentOptions::default() }).unwrap();
    (array, at)
}

/// The positions that are read at a time, or the error.
fn positions(uri: &str, at: u64) -> smalti::Result<Vec<i32>> {
    let array = Array::open_with(uri, &crate::options().at(at))?;
    let batch = array.read().select(["x"]).collect()?;
    let column = batch.column(0).as_any().downcast_ref::<arrow_array::Int32Array>().unwrap();
    Ok(column.values().to_vec())
}

#[test]
fn a_purge_of_dropped_attributes_keeps_what_deletes_by_them_left() {
    let (mut array, at) = purged("purge-dropped");
    assert_eq!(positions(&crate::uri("purge-dropped"), at).unwrap(), [2, 3, 4, 5]);
    array.vacuum(&VacuumOptions::default()).unwrap();
    assert_eq!(positions(&crate::uri("purge-dropped"), at).unwrap(), [2, 3, 4, 5]);
}

#[test]
fn a_purge_stays_known_when_its_fragment_is_merged_again() {
    let (array, at) = purged("purge-again");
    let uri = &crate::uri("purge-again");
    array.write().column("x", &[7]).column("s", &["s"]).at(at + 1).commit().unwrap();
    let mut array = array.reopen().unwrap();
    for _ in 0..2 {
        assert!(positions(uri, at - 1).unwrap_err().to_string().contains("purged"));
        assert_eq!(positions(uri, at).unwrap(), [2, 3, 4, 5]);
        assert_eq!(positions(uri, 9).unwrap(), [0; 0], "before all writes nothing is gone");
        array.consolidate(&FragmentOptions::default()).unwrap();
    }
    array.vacuum(&VacuumOptions::default()).unwrap();
    assert!(positions(uri, at - 1).unwrap_err().to_string().contains("purged"));
    assert_eq!(positions(uri, at + 1).unwrap(), [2, 3, 4, 5, 7]);
}

#[test]
fn a_purge_that_leaves_no_cell_is_known_too() {
    let mut array = sparse("purge-all", true);
    put(&array, 1, &[1, 2, 3]);
    let all = Condition::compare("x", Relation::Ge, Literal::from(0_i64));
    array.delete(all).at(20).commit().unwrap();
    array.consolidate(&FragmentOptions { purges: true, ..FragmentOptions::default() }).unwrap();
    for _ in 0..2 {
        assert!(positions(&crate::uri("purge-all"), 19).unwrap_err().to_string().contains("purged"));
        assert_eq!(positions(&crate::uri("purge-all"), 20).unwrap(), [0; 0]);
        array.vacuum(&VacuumOptions::default()).unwrap();
    }
}

fn history(name: &str, allows_dups: bool) -> Array {
    let array = sparse(name, allows_dups);
    put(&array, 1, &[1, 5, 9, 200, 300, 301, 302, 303, 304, 305]);
    put(&array, 2, &[5, 6, 7, 300]);
    let takes = |relation, value: i64| Condition::compare("a", relation, Literal::from(value));
    array.delete(takes(Relation::Eq, 206)).at(25).commit().unwrap();
    put(&array, 3, &[6, 9, 301]);
    array.delete(takes(Relation::Lt, 105)).at(35).commit().unwrap();
    put(&array, 4, &[1, 2, 900]);
    array
}

/// A vacuum that does not keep files for readers of which it cannot know.
fn now() -> VacuumOptions {
    VacuumOptions { ignores_readers: crate::is_far(), ..VacuumOptions::default() }
}

#[test]
fn consolidation_and_vacuum_change_no_cell_at_any_time() {
    for allows_dups in [false, true] {
        let name = format!("upkeep-history-{allows_dups}");
        let mut array = history(&name, allows_dups);
        let before = shown_at_all_times(&array.uri(), 60);
        let done = array.consolidate(&FragmentOptions::default()).unwrap();
        assert_eq!(done.merges.len(), 1);
        assert_eq!(done.merges[0].inputs.len(), 4);
        assert_eq!(array.fragments().unwrap().len(), 1);
        assert_eq!(shown_at_all_times(&array.uri(), 60), before);
        let removed = array.vacuum(&now()).unwrap();
        assert_eq!(removed.fragments.len(), 4);
        assert!(removed.byte_len > 0);
        assert_eq!(shown_at_all_times(&array.uri(), 60), before);
        // What was merged is merged again with what comes after it.
        put(&array, 5, &[1, 2, 3]);
        let before = shown_at_all_times(&array.uri(), 60);
        array.consolidate(&FragmentOptions::default()).unwrap();
        array.vacuum(&VacuumOptions::default()).unwrap();
        assert_eq!(array.fragments().unwrap().len(), 1);
        assert_eq!(shown_at_all_times(&array.uri(), 60), before);
    }
}

#[test]
fn purged_cells_are_gone_and_times_before_are_refused() {
    for allows_dups in [false, true] {
        let name = format!("upkeep-purge-{allows_dups}");
        let array = history(&name, allows_dups);
        let before = shown(&array.uri(), 60);
        let purge = FragmentOptions { purges: true, ..FragmentOptions::default() };
        array.consolidate(&purge).unwrap();
        assert_eq!(shown(&array.uri(), 60), before);
        assert_eq!(shown(&array.uri(), 35).len(), shown(&array.uri(), 39).len());
        let early = Array::open_with(&array.uri(), &crate::options().at(30)).unwrap();
        let error = early.read().collect().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().contains("purged"), "{error}");
        // A delete after the merge is purged although one fragment is left.
        array.delete("a >= 900".parse().unwrap()).at(70).commit().unwrap();
        let after = shown(&array.uri(), 80);
        let done = array.consolidate(&purge).unwrap();
        assert_eq!(done.merges[0].inputs.len(), 1);
        assert_eq!(shown(&array.uri(), 80), after);
        assert!(array.consolidate(&purge).unwrap().merges.is_empty());
    }
}

#[test]
fn purging_every_cell_leaves_an_empty_array() {
    let mut array = sparse("upkeep-purge-all", false);
    put(&array, 1, &[1, 2, 3]);
    put(&array, 2, &[3, 4]);
    array.delete("x >= 0".parse().unwrap()).at(30).commit().unwrap();
    let purge = FragmentOptions { purges: true, ..FragmentOptions::default() };
    let done = array.consolidate(&purge).unwrap();
    assert_eq!(done.merges[0].outputs, Vec::<String>::new());
    assert!(shown(&array.uri(), 40).is_empty());
    let check = || Array::fsck(&array.uri(), &crate::options(), &smalti::FsckOptions::default()).unwrap();
    assert!(check().is_sound(), "{:?}", check());
    assert_eq!(array.vacuum(&now()).unwrap().fragments.len(), 2);
    assert!(shown(&array.uri(), 40).is_empty());
    put(&array, 5, &[7]);
    assert_eq!(shown(&array.uri(), 60).len(), 1);
}

#[test]
fn an_open_reader_keeps_its_fragments() {
    if crate::is_far() {
        return;
    }
    let mut array = history("upkeep-reader", false);
    let reader = Array::open_with(&array.uri(), &crate::options()).unwrap();
    array.consolidate(&FragmentOptions::default()).unwrap();
    let waiting = array.vacuum(&VacuumOptions::default()).unwrap();
    assert!(waiting.waits_for_readers && waiting.fragments.is_empty());
    assert_eq!(reader.read().collect().unwrap().num_rows(), array.read().collect().unwrap().num_rows());
    drop(reader);
    assert_eq!(array.vacuum(&VacuumOptions::default()).unwrap().fragments.len(), 4);
}

#[test]
fn a_stream_keeps_its_fragments_when_its_handle_has_gone() {
    if crate::is_far() {
        return;
    }
    let array = history("upkeep-stream", false);
    let uri = array.uri();
    let expected = array.read().collect().unwrap().num_rows();
    let mut stream = array.read().batch_cells(1).batches().unwrap();
    drop(array);
    let mut other = Array::open_with(&uri, &crate::options()).unwrap();
    other.consolidate(&FragmentOptions::default()).unwrap();
    assert!(other.vacuum(&VacuumOptions::default()).unwrap().waits_for_readers);
    let first = stream.next().unwrap().unwrap().num_rows();
    let rest: usize =
        std::thread::spawn(move || stream.map(|batch| batch.unwrap().num_rows()).sum()).join().unwrap();
    assert_eq!(first + rest, expected);
    assert_eq!(other.vacuum(&VacuumOptions::default()).unwrap().fragments.len(), 4);
}

#[test]
fn a_stream_of_the_handle_itself_keeps_its_fragments() {
    if crate::is_far() {
        return;
    }
    let mut array = history("upkeep-own-stream", false);
    let expected = array.read().collect().unwrap().num_rows();
    let stream = array.read().batch_cells(1).batches().unwrap();
    array.consolidate(&FragmentOptions::default()).unwrap();
    assert!(array.vacuum(&VacuumOptions::default()).unwrap().waits_for_readers);
    assert_eq!(stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), expected);
    assert_eq!(array.vacuum(&VacuumOptions::default()).unwrap().fragments.len(), 4);
}

#[test]
fn a_handle_that_writes_and_reads_thousands_of_times_holds_one_claim() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("array").display().to_string();
    let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a"));
    let options = crate::options().sync(smalti::SyncLevel::None);
    let array = Array::create_with(&uri, &schema.build().unwrap(), &options).unwrap();
    let open_files = || std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count());
    array.write().range("x", 0..=0).column("a", &[1]).at(1).commit().unwrap();
    let before = open_files();
    for _ in 0..300 {
        array.write().range("x", 0..=0).column("a", &[1]).at(1).commit().unwrap();
        assert!(!array.fragments().unwrap().is_empty());
        if array.fragments().unwrap().len() > 20 {
            array.consolidate(&FragmentOptions::default()).unwrap();
        }
    }
    assert!(open_files() < before + 100, "{} open files, {before} before", open_files());
}

fn plane(name: &str) -> Array {
    let schema = Schema::dense()
        .dimension(Dimension::new("y", 0..=99).tile(10))
        .dimension(Dimension::new("x", 0..=99).tile(10))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap()
}

fn fill(
    array: &Array,
    y: std::ops::RangeInclusive<i32>,
    x: std::ops::RangeInclusive<i32>,
    value: i32,
    at: u64,
) {
    let count = (y.end() - y.start() + 1) * (x.end() - x.start() + 1);
    array
        .write()
        .range("y", y)
        .range("x", x)
        .column("a", &vec![value; count as usize])
        .at(at)
        .commit()
        .unwrap();
}

fn all_of(array: &Array) -> Vec<i32> {
    array.read().to_ndarray::<i32>("a").unwrap().iter().copied().collect()
}

#[test]
fn dense_history_is_kept_until_the_vacuum_and_refused_after() {
    let mut array = plane("upkeep-dense");
    fill(&array, 0..=99, 0..=99, 1, 10);
    fill(&array, 5..=14, 5..=14, 2, 20);
    fill(&array, 90..=99, 0..=3, 3, 30);
    let (uri, options) = (array.uri(), |at| crate::options().at(at));
    let before: Vec<_> = [10, 20, 30].map(|at| all_of(&Array::open_with(&uri, &options(at)).unwrap())).into();
    array.consolidate(&FragmentOptions::default()).unwrap();
    assert_eq!(array.fragments().unwrap().len(), 1);
    for (at, cells) in [10, 20, 30].into_iter().zip(&before) {
        assert_eq!(&all_of(&Array::open_with(&uri, &options(at)).unwrap()), cells);
    }
    array.vacuum(&VacuumOptions::default()).unwrap();
    assert_eq!(&all_of(&array), &before[2]);
    let early = Array::open_with(&uri, &options(20)).unwrap();
    let error = early.read().collect().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("vacuumed"), "{error}");
    assert_eq!(all_of(&Array::open_with(&uri, &options(9)).unwrap()), vec![i32::MIN; 10_000]);
}

#[test]
fn merging_dense_fragments_covers_neither_older_nor_newer_cells() {
    let array = plane("upkeep-dense-holes");
    fill(&array, 40..=49, 40..=49, 1, 10);
    fill(&array, 0..=9, 0..=9, 2, 20);
    fill(&array, 90..=99, 90..=99, 3, 30);
    fill(&array, 0..=4, 0..=4, 4, 40);
    let names: Vec<String> = array.fragments().unwrap().iter().map(|one| one.name().to_string()).collect();
    let before = all_of(&array);
    let list = |places: &[usize]| FragmentOptions {
        choice: Choice::Listed(places.iter().map(|&at| names[at].clone()).collect()),
        ..FragmentOptions::default()
    };
    // The rectangle around them has the first write in its middle.
    let error = array.consolidate(&list(&[1, 2])).unwrap_err();
    assert!(error.message().contains("older fragment"), "{error}");
    // Between them in time somebody wrote the same cells.
    let error = array.consolidate(&list(&[0, 1, 3])).map(drop);
    assert!(error.is_ok(), "{error:?}");
    assert_eq!(all_of(&array), before);
    assert_eq!(
        array.non_empty_domain().unwrap(),
        Array::open_with(&array.uri(), &crate::options()).unwrap().non_empty_domain().unwrap()
    );
}

#[test]
fn steps_are_chosen_as_libtiledb_does() {
    let array = sparse("upkeep-steps", true);
    for round in 1..=6 {
        put(&array, round, &[round as i32]);
    }
    let steps = |steps: Steps| FragmentOptions { choice: Choice::Steps(steps), ..FragmentOptions::default() };
    let two = Steps { count: 1, min_fragments: 2, max_fragments: 2, ..Steps::default() };
    let done = array.consolidate(&steps(two)).unwrap();
    assert_eq!(done.merges.len(), 1);
    assert_eq!(done.merges[0].inputs.len(), 2);
    assert_eq!(array.fragments().unwrap().len(), 5);
    let all = Steps { count: 9, min_fragments: 2, max_fragments: 3, ..Steps::default() };
    array.consolidate(&steps(all)).unwrap();
    assert_eq!(array.fragments().unwrap().len(), 1);
    assert_eq!(array.read().collect().unwrap().num_rows(), 6);
    let wrong = Steps { min_fragments: 3, max_fragments: 2, ..Steps::default() };
    assert_eq!(array.consolidate(&steps(wrong)).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn output_is_cut_where_a_fragment_has_enough_bytes() {
    let array = sparse("upkeep-cut", true);
    for round in 1..=20 {
        put(&array, round, &(0..100).map(|x| x * 10).collect::<Vec<_>>());
    }
    let options = FragmentOptions { max_fragment_byte_len: Some(4096), ..FragmentOptions::default() };
    let done = array.consolidate(&options).unwrap();
    assert!(done.merges[0].outputs.len() > 1, "{done:?}");
    assert_eq!(array.fragments().unwrap().len(), done.merges[0].outputs.len());
    assert_eq!(array.read().collect().unwrap().num_rows(), 2000);
}

#[test]
fn a_stopped_consolidation_leaves_no_trace() {
    let array = history("upkeep-stop", true);
    let progress = std::sync::Arc::new(smalti::Progress::new());
    progress.cancel();
    let options = FragmentOptions { progress: Some(progress), ..FragmentOptions::default() };
    assert_eq!(array.consolidate(&options).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(array.fragments().unwrap().len(), 4);
    let options = FragmentOptions { progress: None, verifies: false, ..options };
    assert_eq!(array.consolidate(&options).unwrap().merges.len(), 1);
}

#[test]
fn purging_a_fragment_brings_back_no_older_version_from_another() {
    let array = sparse("upkeep-purge-apart", false);
    put(&array, 1, &[1, 2, 3]);
    put(&array, 2, &[2, 3]);
    let newest = Condition::compare("a", Relation::Ge, Literal::from(200_i64));
    array.delete(newest).at(30).commit().unwrap();
    let shown = || -> Vec<i32> {
        let batch = array.read().select(["x"]).collect().unwrap();
        batch.column(0).as_any().downcast_ref::<arrow_array::Int32Array>().unwrap().values().to_vec()
    };
    assert_eq!(shown(), [1]);
    let names: Vec<String> =
        array.fragments().unwrap().iter().map(|fragment| fragment.name().to_string()).collect();
    // Each alone, then together.
    for choice in [Choice::Listed(names[1..].to_vec()), Choice::default()] {
        let options = FragmentOptions { choice, purges: true, ..FragmentOptions::default() };
        array.consolidate(&options).unwrap();
        assert_eq!(shown(), [1]);
    }
    assert_eq!(array.fragments().unwrap().len(), 1);
}

#[test]
fn cells_outside_the_current_domain_of_an_older_schema_are_merged() {
    for is_dense in [true, false] {
        let schema = if is_dense { Schema::dense() } else { Schema::sparse() };
        let schema = schema
            .dimension(Dimension::new("x", 0..=99).tile(10))
            .attribute(Attribute::of::<i32>("a"))
            .attribute(Attribute::of::<i32>("b"))
            .current_domain("x", 0..=9)
            .build()
            .unwrap();
        let array =
            Array::create_with(&crate::uri(&format!("upkeep-grown-{is_dense}")), &schema, &crate::options())
                .unwrap();
        let xs = |start: i32| (start..start + 10).collect::<Vec<i32>>();
        let (first, second) = (xs(0), xs(13));
        let write = array.write().column("a", &first).column("b", &first);
        if is_dense { write.range("x", 0..=9).commit() } else { write.column("x", &first).commit() }.unwrap();
        array.evolve().drop_attribute("b").expand_current_domain("x", 0..=49).commit().unwrap();
        let array = array.reopen().unwrap();
        let write = array.write().column("a", &second);
        if is_dense { write.range("x", 13..=22).commit() } else { write.column("x", &second).commit() }
            .unwrap();
        let before = array.reopen().unwrap().read().collect().unwrap();
        assert_eq!(array.consolidate(&FragmentOptions::default()).unwrap().merges.len(), 1);
        let array = array.reopen().unwrap();
        assert_eq!(array.fragments().unwrap().len(), 1);
        assert_eq!(array.read().collect().unwrap(), before, "dense: {is_dense}");
    }
}

#[test]
fn other_bytes_in_ascii_cells_are_found_and_harm_nothing() {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9))
        .attribute(Attribute::ascii("s").nullable())
        .attribute(Attribute::utf8("u"))
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("not-ascii"), &schema, &crate::options()).unwrap();
    // As raw bytes, which nobody checks: other writers put any into such cells.
    let bytes = |bytes: &[u8]| {
        let mut buf = smalti::AlignedBuf::new();
        buf.extend_from_slice(bytes).map(|()| buf).unwrap()
    };
    let ends: Vec<u8> = [0_u64, 5, 5, 10].iter().flat_map(|end| end.to_le_bytes()).collect();
    let texts = smalti::Column {
        data: bytes("plaincaf\u{e9}".as_bytes()),
        offsets: Some(bytes(&ends)),
        validity: Some(bytes(&[1, 0, 1])),
    };
    array
        .write()
        .column("x", &[1, 2, 3])
        .column("s", texts.as_ref())
        .column("u", &["\u{e9}", "", ""])
        .commit()
        .unwrap();
    let options = smalti::FsckOptions { reads_data: true, ..smalti::FsckOptions::default() };
    let report = Array::fsck(&array.uri(), &crate::options(), &options).unwrap();
    let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!((finding.kind.name(), finding.class), ("text-not-ascii", smalti::Class::Harmless));
    assert!(finding.message.contains("cell 2 of tile 0 of \"s\" is \"caf\u{e9}\""), "{finding}");
    assert!(report.is_sound());
}

#[test]
fn putting_files_together_tells_how_far_it_is_and_can_be_stopped() {
    use smalti::upkeep::{UpkeepOptions, UpkeepReport};
    use smalti::{Phase, Progress};
    use std::sync::Arc;
    type Work = fn(&Array, &UpkeepOptions) -> smalti::Result<UpkeepReport>;
    let array = crate::line("files-progress", 4, Attribute::of::<i32>("a"));
    for time in 1..=3_u64 {
        array.write().column("a", &[1, 2, 3, 4]).at(time).commit().unwrap();
        array.write_metadata().put("k", 1).at(time).commit().unwrap();
    }
    let works: [Work; 3] =
        [Array::consolidate_fragment_meta, Array::consolidate_commits, Array::consolidate_metadata];
    for work in works {
        let progress = Arc::new(Progress::new());
        let options = UpkeepOptions { progress: Some(Arc::clone(&progress)), ..UpkeepOptions::default() };
        progress.cancel_at_question(2);
        assert_eq!(work(&array, &options).unwrap_err().kind(), ErrorKind::Cancelled);
        let progress = Arc::new(Progress::new());
        let options = UpkeepOptions { progress: Some(Arc::clone(&progress)), ..UpkeepOptions::default() };
        assert_eq!(work(&array, &options).unwrap().read.len(), 3);
        let phases = progress.phases();
        assert_eq!(
            phases.iter().map(|phase| phase.phase).collect::<Vec<_>>(),
            [Phase::Reading, Phase::Publishing]
        );
        assert_eq!((phases[0].total, phases[0].done), (Some(3), 3));
        assert_eq!(phases[1].total, Some(phases[1].done));
    }
    let progress = Arc::new(Progress::new());
    let options = UpkeepOptions { progress: Some(Arc::clone(&progress)), ..UpkeepOptions::default() };
    assert_eq!(array.vacuum_commits(&options).unwrap().removed.len(), 3);
    let phases = progress.phases();
    assert_eq!((phases[0].phase, phases[0].total, phases[0].done), (Phase::Removing, Some(3), 3));
}
