//! Programs that are killed in the middle of what they do to an array in a bucket: this program again, behind a proxy that answers no more
//! requests from some number on, with the last of them passed on or not, until the program is killed.
//!
//! Whoever looks then sees the array as it was before or as it is behind what the program did, can write to it, and finds nothing broken.

use crate::behind::Behind;
use crate::server::{Server, moto, s3s, settings_of_s3};
use smalti::arrow_array::cast::AsArray as _;
use smalti::arrow_array::types::{Int32Type, Int64Type};
use smalti::upkeep::{FragmentOptions, UpkeepOptions, VacuumOptions};
use smalti::{Array, Context, Dimension, FsckOptions, Options, prelude::*};
use smalti_tests::proxy::{Fault, Rule};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// What programs do, in the words that they are told it.
const WORKS: [&str; 8] =
    ["create", "write", "delete", "evolve", "put metadata", "consolidate", "consolidate commits", "vacuum"];

/// How often each work is cut short in the short form: after requests that lie apart evenly.
const CUTS: u64 = 4;

/// What somebody sees of an array: its attributes, cells, and metadata.
#[derive(Debug, PartialEq, Eq)]
struct Sight {
    attributes: Vec<String>,
    cells: Vec<(i32, i64)>,
    metadata: Vec<String>,
}

/// The setting that says whether a server can be asked for the end of an object.
const SUFFIX_RANGES: &str = "s3.suffix_ranges";

fn schema() -> Schema {
    let schema = Schema::sparse().dimension(Dimension::new("x", 0..=999).tile(10));
    schema.attribute(Attribute::of::<i64>("a").filters([Filter::zstd(3)])).build().unwrap()
}

/// Writes ten cells, whose places tell them from those of other rounds.
fn write(array: &Array, round: i32) -> smalti::Result<()> {
    let x: Vec<i32> = (10 * round..10 * round + 10).collect();
    let a: Vec<i64> = x.iter().map(|x| 3 * i64::from(*x)).collect();
    array.write().column("x", &x).column("a", &a).at(100 + round as u64).commit().map(drop)
}

fn work(name: &str, uri: &str, options: &Options) -> smalti::Result<()> {
    if name == "create" {
        return Array::create_with(uri, &schema(), options).map(drop);
    }
    let mut array = Array::open_with(uri, options)?;
    match name {
        "write" => write(&array, 3),
        "delete" => array.delete(field("a").lt(30)).commit().map(drop),
        "evolve" => array.evolve().add_attribute(Attribute::of::<i8>("b").fill(7)).commit().map(drop),
        "put metadata" => array.write_metadata().put("key", 2_u64).commit().map(drop),
        "consolidate" => array.consolidate(&FragmentOptions::default()).map(drop),
        "consolidate commits" => array.consolidate_commits(&UpkeepOptions::default()).map(drop),
        "vacuum" => {
            array.vacuum(&VacuumOptions { keeps_for: Duration::ZERO, ..VacuumOptions::default() }).map(drop)
        }
        other => panic!("{other}"),
    }
}

/// An array with three fragments and metadata, or what a work begins with instead.
fn prepare(name: &str, uri: &str, options: &Options) {
    if name == "create" {
        return;
    }
    let array = Array::create_with(uri, &schema(), options).unwrap();
    (0..3).for_each(|round| write(&array, round).unwrap());
    array.write_metadata().put("key", 1_u64).commit().unwrap();
    if name == "vacuum" {
        work("consolidate", uri, options).unwrap();
    }
}

/// What is seen of the array, by somebody who knows nothing yet; nothing where there is none.
fn sight(uri: &str, options: &Options) -> Option<Sight> {
    let array = match Array::open_with(uri, options) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        opened => opened.unwrap(),
    };
    let batch = array.read().select(["x", "a"]).collect().unwrap();
    let x = batch.column(0).as_primitive::<Int32Type>().values();
    let a = batch.column(1).as_primitive::<Int64Type>().values();
    let mut cells: Vec<_> = x.iter().copied().zip(a.iter().copied()).collect();
    cells.sort_unstable();
    let metadata = array.metadata().unwrap();
    Some(Sight {
        attributes: array.schema().attributes.iter().map(|attribute| attribute.name.clone()).collect(),
        cells,
        metadata: metadata.iter().map(|(key, value)| format!("{key}: {value:?}")).collect(),
    })
}

#[test]
#[ignore = "a part of another test, in a process of its own"]
fn a_part() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let mut settings = settings_of_s3(variable("SMALTI_KILLED_PORT").parse().unwrap());
    settings.set(SUFFIX_RANGES, &variable("SMALTI_KILLED_SUFFIX_RANGES")).unwrap();
    let options = Options::new().context(&Context::new().threads(2).storage(settings));
    work(&variable("SMALTI_KILLED_WORK"), &variable("SMALTI_KILLED_URI"), &options).unwrap();
}

fn start(name: &str, uri: &str, behind: &Behind) -> Child {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["kills::a_part", "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
    program.env("SMALTI_KILLED_WORK", name).env("SMALTI_KILLED_URI", uri);
    program.env("SMALTI_KILLED_PORT", behind.proxy.port().to_string());
    let shown = behind.settings.shown().into_iter().find(|shown| shown.key.name == SUFFIX_RANGES).unwrap();
    program.env("SMALTI_KILLED_SUFFIX_RANGES", shown.value.unwrap_or_default());
    program.stdout(Stdio::null()).spawn().unwrap()
}

/// Waits until the program has sent so many requests, and kills it, or until it ends by itself.
fn kill_after(behind: &Behind, program: &mut Child, requests: u64) -> Option<ExitStatus> {
    loop {
        if let Some(status) = program.try_wait().unwrap() {
            return Some(status);
        }
        if behind.proxy.counts().requests > requests {
            program.kill().unwrap();
            program.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Cuts a work short behind requests of it, with the next one passed on or not.
fn cut(server: &dyn Server, name: &str, is_long: bool) -> u64 {
    let behind = Behind::of(server);
    let direct = || Options::new().context(&server.context());
    let uri = behind.uri("whole");
    prepare(name, &uri, &direct());
    let before = sight(&uri, &direct());
    behind.proxy.reset();
    let ended = start(name, &uri, &behind).wait().unwrap();
    assert!(ended.success(), "{name}: {ended}");
    let request_count = behind.proxy.counts().requests;
    let after = sight(&uri, &direct());

    let step = if is_long { 1 } else { request_count.div_ceil(CUTS).max(1) };
    let mut killed = 0;
    for requests in (0..request_count).step_by(step as usize) {
        for reaches in [false, true] {
            let place = format!(
                "{name}, after {requests} of {request_count} requests, the next one reaches: {reaches}"
            );
            let uri = behind.uri(&format!("cut-{requests}-{reaches}"));
            prepare(name, &uri, &direct());
            let last = Rule::new(Fault::Silence { reaches }).after(requests).times(1);
            let others = Rule::new(Fault::Silence { reaches: false }).after(requests);
            behind.proxy.set_rules([last, others]);
            behind.proxy.reset();
            let ended = kill_after(&behind, &mut start(name, &uri, &behind), requests);
            // Where requests go side by side it may send fewer than it did before.
            assert!(ended.is_none_or(|status| status.success()), "{place}: {ended:?}");
            killed += u64::from(ended.is_none());
            let seen = sight(&uri, &direct());
            assert!(seen == before || seen == after, "{place}: {seen:?}");
            if seen.is_some() {
                let array = Array::open_with(&uri, &direct()).unwrap();
                if array.schema().attributes.len() == 1 {
                    write(&array, 9).unwrap();
                    let cells = sight(&uri, &direct()).unwrap().cells;
                    assert!(cells.iter().filter(|(x, _)| *x >= 90).count() == 10, "{place}: {cells:?}");
                }
                let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
                let report = Array::fsck(&uri, &direct(), &check).unwrap();
                assert!(report.is_sound(), "{place}: {:?}", report.findings);
            }
        }
    }
    println!("{}: {name}: {request_count} requests, killed {killed} times", server.name());
    killed
}

fn cut_all(server: &dyn Server, is_long: bool) {
    for name in WORKS {
        assert!(cut(server, name, is_long) > 0, "{name} was never killed");
    }
}

#[test]
fn programs_that_are_killed_leave_arrays_of_moto_whole() {
    if let Some(moto) = moto() {
        cut_all(moto, std::env::var("SMALTI_LONG").is_ok());
    }
}

#[test]
fn programs_that_are_killed_leave_arrays_of_s3s_whole() {
    cut_all(s3s(), std::env::var("SMALTI_LONG").is_ok());
}
