//! Writers, consolidators, a vacuum and readers of one array in a bucket, each a process of its own: this program again, with a part to play.
//!
//! What they do is counted in rounds: the writers say when the others may end, and a vacuum ends when it has removed all that was merged. The
//! only time in it is that for which the vacuum keeps files: readers that take longer are told so, and may be.

use crate::server::{Moto, Server as _, moto, settings_of_s3};
use smalti::upkeep::{FragmentOptions, UpkeepOptions, VacuumOptions};
use smalti::{Array, Context, Dimension, ErrorKind, FsckOptions, Options, prelude::*};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const WRITERS: usize = 8;
const CONSOLIDATORS: usize = 2;
const READERS: usize = 4;

/// Cells of one write. They are seen together.
const CELLS: i32 = 10;

/// How often a writer writes.
fn rounds() -> i32 {
    if std::env::var("SMALTI_LONG").is_ok() { 30 } else { 4 }
}

/// How long the vacuum keeps files that readers may have open.
fn keeps_for() -> Duration {
    Duration::from_secs(if std::env::var("SMALTI_LONG").is_ok() { 20 } else { 5 })
}

fn options(port: u16) -> Options {
    Options::new().context(&Context::new().threads(1).storage(settings_of_s3(port)))
}

/// The cells of all writes of an array by their places: one a cell, or it was read twice.
fn cells(array: &Array) -> smalti::Result<BTreeMap<i32, i32>> {
    let batch = array.read().select(["x", "a"]).collect()?;
    let values = |name: &str| -> Vec<i32> {
        let column = batch.column_by_name(name).unwrap().as_any();
        column.downcast_ref::<smalti::arrow_array::Int32Array>().unwrap().values().to_vec()
    };
    let mut cells = BTreeMap::new();
    for (x, a) in values("x").into_iter().zip(values("a")) {
        assert_eq!(cells.insert(x, a), None, "the cell {x} is there twice");
    }
    Ok(cells)
}

/// Which writes are seen; each is whole and as it was written.
fn writes(cells: &BTreeMap<i32, i32>) -> BTreeSet<i32> {
    let seen: BTreeSet<i32> = cells.keys().map(|x| x / CELLS).collect();
    for write in &seen {
        for x in write * CELLS..(write + 1) * CELLS {
            assert_eq!(cells.get(&x), Some(&(3 * x)), "the cell {x} of a write that is seen");
        }
    }
    seen
}

/// Whether an error of upkeep says that somebody else was there first, or that two at once gave way to each other.
fn gave_way(error: &smalti::Error) -> bool {
    let told = error.to_string();
    ["another consolidation or vacuum", "removed or replaced while it was being merged"]
        .iter()
        .any(|way| told.contains(way))
}

/// Whether the process that started this one has said that it is over.
fn is_over() -> impl Fn() -> bool {
    let over = Arc::new(AtomicBool::new(false));
    let listening = Arc::clone(&over);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        listening.store(true, Ordering::SeqCst);
    });
    move || over.load(Ordering::SeqCst)
}

/// Opens the array, and again where that took longer than files are kept for readers: no more was promised to it.
fn opened(uri: &str, options: &Options) -> Array {
    loop {
        let start = Instant::now();
        match Array::open_with(uri, options) {
            Ok(array) => return array,
            Err(error) if error.kind() == ErrorKind::NotFound && start.elapsed() > keeps_for() => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn write(uri: &str, options: &Options, writer: i32) {
    for round in 0..rounds() {
        let array = opened(uri, options);
        let first = (writer * rounds() + round) * CELLS;
        let x: Vec<i32> = (first..first + CELLS).collect();
        let a: Vec<i32> = x.iter().map(|x| 3 * x).collect();
        array.write().column("x", &x).column("a", &a).commit().unwrap();
    }
    println!("\nwrote {} times", rounds());
}

fn consolidate(uri: &str, options: &Options) {
    let (is_over, mut merged, mut lost) = (is_over(), 0, 0);
    let mut count = |done: smalti::Result<usize>| match done {
        Ok(count) => merged += count,
        Err(error) if gave_way(&error) => lost += 1,
        Err(error) => panic!("{error}"),
    };
    loop {
        // The last round is done after the last write.
        let is_last = is_over();
        let array = opened(uri, options);
        let done = array.consolidate(&FragmentOptions::default());
        count(done.map(|done| done.merges.iter().map(|merge| merge.inputs.len()).sum()));
        count(array.consolidate_commits(&UpkeepOptions::default()).map(|_| 0));
        count(array.vacuum_commits(&UpkeepOptions::default()).map(|_| 0));
        if is_last {
            break;
        }
    }
    println!("\nmerged {merged} fragments, gave way {lost} times");
}

fn vacuum(uri: &str, options: &Options) {
    let (is_over, mut removed, mut lost) = (is_over(), 0, 0);
    loop {
        let was_over = is_over();
        let mut array = opened(uri, options);
        let wanted = VacuumOptions { keeps_for: keeps_for(), ..VacuumOptions::default() };
        match array.vacuum(&wanted) {
            Ok(done) => {
                removed += done.fragments.len();
                if was_over && done.kept_for_readers.is_empty() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(error) if gave_way(&error) => lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
    println!("\nremoved {removed} fragments, gave way {lost} times");
}

fn read(uri: &str, options: &Options) {
    let (is_over, mut reads, mut outlived) = (is_over(), 0, 0);
    let mut seen = BTreeSet::new();
    loop {
        let is_last = is_over();
        let start = Instant::now();
        match Array::open_with(uri, options).and_then(|array| cells(&array)) {
            Ok(cells) => {
                let now = writes(&cells);
                assert!(now.is_superset(&seen), "{:?} were seen before", seen.difference(&now));
                seen = now;
                reads += 1;
            }
            // Nothing else was promised to it.
            Err(error) if error.kind() == ErrorKind::NotFound && start.elapsed() > keeps_for() => {
                outlived += 1
            }
            Err(error) => panic!("after {} reads: {error}", reads),
        }
        if is_last && reads > 0 {
            break;
        }
    }
    println!("\nread {reads} times, {} writes at last, {outlived} reads took too long", seen.len());
}

#[test]
#[ignore = "a part of another test, in a process of its own"]
fn a_part() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let (uri, port) = (variable("SMALTI_RACE_URI"), variable("SMALTI_RACE_PORT").parse().unwrap());
    let options = options(port);
    let part = variable("SMALTI_RACE_PART");
    match part.split_once(' ').unwrap_or((&part, "")) {
        ("writer", number) => write(&uri, &options, number.parse().unwrap()),
        ("consolidator", _) => consolidate(&uri, &options),
        ("vacuum", _) => vacuum(&uri, &options),
        ("reader", _) => read(&uri, &options),
        other => panic!("{other:?}"),
    }
}

/// A process that plays a part, until its standard input ends at the latest.
struct Part {
    name: String,
    process: Child,
}

impl Part {
    fn start(name: String, uri: &str, port: u16) -> Part {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["races::a_part", "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
        command.env("SMALTI_RACE_PART", &name).env("SMALTI_RACE_URI", uri);
        command.env("SMALTI_RACE_PORT", port.to_string());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        Part { name, process: command.spawn().unwrap() }
    }

    /// Says that it is over, and waits until the part has ended well.
    fn end(mut self) {
        drop(self.process.stdin.take());
        let mut told = String::new();
        for line in BufReader::new(self.process.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let is_own = ["wrote", "merged", "removed", "read "].iter().any(|word| line.starts_with(word));
            told = if is_own { line } else { told };
        }
        let status = self.process.wait().unwrap();
        println!("{}: {told}", self.name);
        assert!(status.success(), "{}: {status}", self.name);
    }
}

/// Lets them race on an array of a kind, in a bucket of its own.
fn race(server: &Moto, allows_dups: bool) {
    let uri = format!("s3://{}/array", server.new_bucket());
    let options = options(server.port());
    let cell_count = i32::try_from(WRITERS).unwrap() * rounds() * CELLS;
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=cell_count - 1).tile(100))
        .attribute(Attribute::of::<i32>("a"))
        .allow_duplicates(allows_dups)
        .build()
        .unwrap();
    Array::create_with(&uri, &schema, &options).unwrap();
    let start = |name: String| Part::start(name, &uri, server.port());
    let writers: Vec<Part> = (0..WRITERS).map(|number| start(format!("writer {number}"))).collect();
    let consolidators: Vec<Part> =
        (0..CONSOLIDATORS).map(|number| start(format!("consolidator {number}"))).collect();
    let vacuum = start("vacuum".to_owned());
    let readers: Vec<Part> = (0..READERS).map(|number| start(format!("reader {number}"))).collect();
    writers.into_iter().for_each(Part::end);
    consolidators.into_iter().for_each(Part::end);
    // It goes on until the files of all that was merged are gone, and readers read meanwhile.
    vacuum.end();
    readers.into_iter().for_each(Part::end);

    let mut array = Array::open_with(&uri, &options).unwrap();
    let all: BTreeMap<i32, i32> = (0..cell_count).map(|x| (x, 3 * x)).collect();
    assert_eq!(cells(&array).unwrap(), all);
    // The last consolidators may have given way to each other.
    array.consolidate(&FragmentOptions::default()).unwrap();
    array.consolidate_commits(&UpkeepOptions::default()).unwrap();
    array.vacuum_commits(&UpkeepOptions::default()).unwrap();
    array.vacuum(&VacuumOptions { keeps_for: Duration::ZERO, ..VacuumOptions::default() }).unwrap();
    assert_eq!(array.fragments().unwrap().len(), 1);
    assert_eq!(cells(&array).unwrap(), all);
    let checked = Array::fsck(&uri, &options, &FsckOptions { reads_data: true, ..FsckOptions::default() });
    let findings = checked.unwrap().findings;
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn eight_writers_two_consolidators_a_vacuum_and_four_readers_of_one_bucket_lose_no_cell_and_no_reader_fails()
{
    let Some(moto) = moto() else { return };
    race(moto, true);
}

#[test]
#[ignore = "takes minutes; SMALTI_LONG=1 with --ignored is its long form"]
fn the_same_in_an_array_without_duplicates() {
    let Some(moto) = moto() else { return };
    race(moto, false);
}
