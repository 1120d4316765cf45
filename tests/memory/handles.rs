//! A handle holds the snapshot that it shows, and none of those before.

use super::TURN;
use smalti::upkeep::{FragmentOptions, VacuumOptions};
use smalti::{Array, Attribute, Context, Dimension, Filter, Options, ReadRequest, Schema};
use smalti_tests::counting::{forget_peak, live_byte_len, peak_byte_len};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

/// Rounds of a write and a read: `SMALTI_ROUNDS` says how many.
fn round_count() -> u64 {
    std::env::var("SMALTI_ROUNDS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000)
}

#[test]
fn rounds_of_writes_and_reads_through_one_handle_hold_a_flat_number_of_bytes_and_files() {
    const PERIOD: u64 = 50;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let schema =
        Schema::dense().dimension(Dimension::new("x", 0..=99).tile(10)).attribute(Attribute::of::<i32>("a"));
    let mut array = Array::create("mem://rounds", &schema.build().unwrap()).unwrap();
    let mut held = Vec::new();
    for round in 0..round_count() {
        let at = 1 + round;
        array.write().range("x", 10..=11).column("a", &[1, 2]).at(at).commit().unwrap();
        assert_eq!(
            array.read().range("x", 11..=11).to_ndarray::<i32>("a").unwrap().as_slice(),
            Some(&[2][..])
        );
        if round % PERIOD == PERIOD - 1 {
            array.consolidate(&FragmentOptions::default()).unwrap();
            array.vacuum(&VacuumOptions::default()).unwrap();
            let files = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count());
            held.push((live_byte_len(), files));
        }
    }
    let (settled, last) = (held[1], held[held.len() - 1]);
    assert!(last.0 < settled.0 + (64 << 10), "{held:?} bytes and files are held after each {PERIOD} rounds");
    assert!(last.1 <= settled.1 + 2, "{held:?}");
}

/// The threads of contexts in this process, by their numbers.
fn workers() -> BTreeSet<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let is_worker = |path: &PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with("smalti-"))
    };
    let paths = tasks.filter_map(|task| Some(task.ok()?.path())).filter(is_worker);
    paths.map(|path| path.display().to_string()).collect()
}

#[test]
fn all_handles_of_a_context_share_its_threads_which_start_with_the_first_work() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let context = Context::new().threads(3);
    let options = Options::new().context(&context);
    // Those of the default context, which other tests may have started, stay.
    let before = workers();
    let own = || workers().difference(&before).count();
    let schema =
        Schema::dense().dimension(Dimension::new("x", 0..=99).tile(10)).attribute(Attribute::of::<i32>("a"));
    let schema = schema.build().unwrap();
    let arrays: Vec<Array> = (0..20)
        .map(|idx| {
            let array = Array::create_with(&format!("mem://workers/{idx}"), &schema, &options).unwrap();
            array.write().column("a", &(0..100).collect::<Vec<i32>>()).commit().unwrap();
            array
        })
        .collect();
    let streams: Vec<_> = arrays.iter().map(|array| array.read().batch_cells(7).batches().unwrap()).collect();
    // Each takes its name when it begins, in its own time; more than those never come.
    while own() < 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(own(), 3);
    drop((arrays, options, context));
    let row_count: usize = streams.into_iter().flatten().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(row_count, 20 * 100);
    // They end when the last of all has gone, in their own time.
    while own() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn stores_in_memory_belong_to_a_context() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a"));
    let schema = schema.build().unwrap();
    let (one, two) = (Context::new(), Context::new().threads(1));
    Array::create_with("mem://of-one", &schema, &Options::new().context(&one)).unwrap();
    let open = |context: &Context| Array::open_with("mem://of-one", &Options::new().context(context));
    assert!(open(&one).is_ok() && open(&one.clone().threads(2)).is_ok());
    assert!(open(&two).is_err() && open(&Context::default()).is_err());
    assert!(one.forget_memory_store("of-one") && !one.forget_memory_store("of-one"));
    assert!(open(&one).is_err());
}

/// Beside the result each thread holds the filtered bytes of a tile and a piece of it, decoded or as it is.
#[test]
fn all_of_a_dense_array_takes_its_result_and_little_more() {
    const SIDE: i64 = 256;
    const BYTE_LEN: usize = (SIDE * SIDE * SIDE) as usize * 4;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options::new().context(&Context::new().threads(2));
    let folder = tempfile::tempdir().unwrap();
    for (name, filters) in [("plain", vec![]), ("zstd", vec![Filter::Zstd { level: 1 }])] {
        let sides = ["z", "y", "x"].map(|name| Dimension::new(name, 0..=SIDE - 1).tile(64));
        let schema = sides.into_iter().fold(Schema::dense(), |schema, side| schema.dimension(side));
        let schema = schema.attribute(Attribute::of::<u32>("a").filters(filters)).build().unwrap();
        let path = folder.path().join(name);
        let array = Array::create_with(path.to_str().unwrap(), &schema, &options).unwrap();
        let cells: Vec<u32> =
            (0..(SIDE * SIDE * SIDE) as u32).map(|at| at.wrapping_mul(40_503) >> 5).collect();
        array.write().column("a", &cells).commit().unwrap();
        drop((array, cells));
        let array = Array::open_with(path.to_str().unwrap(), &options).unwrap();
        forget_peak();
        let before = live_byte_len();
        let request = ReadRequest {
            fields: vec!["a".into()],
            batch_cell_count: Some(usize::MAX),
            ..ReadRequest::default()
        };
        let batches: Vec<_> = array.read_raw(&request).unwrap().map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(|batch| batch.cell_count).sum::<usize>() * 4, BYTE_LEN);
        let held = peak_byte_len() - before;
        // A fresh buffer has room for a sixteenth more, which nothing touches.
        let most = BYTE_LEN + BYTE_LEN / 16 + BYTE_LEN / 20;
        assert!(held <= most, "{name}: {held} bytes for a result of {BYTE_LEN}");
    }
}
