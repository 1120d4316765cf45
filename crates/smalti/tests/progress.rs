//! Reads that are watched and stopped from another thread: a program of its own, as other tests beside it would delay them.

use smalti::{Aggregate, Function, Progress};
use smalti::{Array, Dimension, prelude::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A loop over cells asks after so many of them whether it goes on.
const CELLS_BETWEEN_QUESTIONS: u64 = 1 << 16;

/// Questions that may come after the one that stops a read, beside one for each tile whose turn comes: of threads that do not know yet.
const MOST_LATE_QUESTIONS: u64 = 16;

/// Set where time is measured: `cargo xtask timed`.
const TIMED: &str = "SMALTI_TIMED";

/// Where time is measured: a read that is stopped ends within this time.
const PROMISE: Duration = Duration::from_millis(100);

/// Sixteen million cells in tiles of 100,000.
fn dense(name: &str) -> Array {
    let schema = Schema::dense()
        .dimension(Dimension::new("y", 0..=3999).tile(100))
        .dimension(Dimension::new("x", 0..=3999).tile(1000))
        .attribute(Attribute::of::<i32>("a").filters(smalti::Filter::Zstd { level: 1 }))
        .build()
        .unwrap();
    let array = Array::create(&format!("mem://{name}"), &schema).unwrap();
    let a: Vec<i32> =
        (0..16_000_000_u32).map(|cell| (cell.wrapping_mul(2_654_435_761) >> 20) as i32).collect();
    array.write().column("a", &a).commit().unwrap();
    array
}

/// Cells in two fragments that lie in each other.
fn sparse(name: &str, cell_count: u64) -> Array {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9_999_999_u64).tile(100_000_u64))
        .attribute(Attribute::of::<i32>("a"))
        .allow_duplicates(true)
        .build()
        .unwrap();
    let array = Array::create(&format!("mem://{name}"), &schema).unwrap();
    for part in 0..2 {
        let x: Vec<u64> = (0..cell_count / 2).map(|cell| 2 * cell + part).collect();
        let a: Vec<i32> = (0..cell_count as i32 / 2).collect();
        array.write().column("x", &x).column("a", &a).commit().unwrap();
    }
    array
}

/// Moments of a read's life at which it is stopped.
const MOMENTS: u32 = 12;
/// Reads that are stopped at each moment: other work on the machine delays some, but a stage that cannot be stopped delays all.
const TRIES: usize = 4;
/// Reads that are begun at each moment at most; some end before they are stopped.
const MAX_READS: usize = 16;

/// Held by the one test that runs.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A read of so many cells goes over them at least so many times, and asks all the while; stopped at any of the questions it ends.
fn check(
    what: &str,
    (cell_count, pass_count): (u64, f64),
    read: impl Fn(Arc<Progress>) -> smalti::Result<()> + Sync,
) {
    // What earlier reads left would make these shorter.
    let read = |progress| {
        let context = smalti::Context::default();
        context.forget_kept();
        context.trim();
        read(progress)
    };
    let progress = Arc::new(Progress::new());
    read(Arc::clone(&progress)).unwrap();
    let (question_count, whole) = (progress.question_count(), progress.statistics());
    let passes = question_count as f64 * CELLS_BETWEEN_QUESTIONS as f64 / cell_count as f64;
    assert!(passes >= pass_count, "{what}: {question_count} questions, those of {passes:.2} passes");
    for moment in 0..u64::from(MOMENTS) {
        let progress = Arc::new(Progress::new());
        let number = 1 + (question_count - 1) * moment / u64::from(MOMENTS);
        progress.cancel_at_question(number);
        let error = read(Arc::clone(&progress)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}: {error}");
        let late_count = progress.question_count() - number;
        assert!(
            late_count <= whole.tile_count + MOST_LATE_QUESTIONS,
            "{what}: {late_count} questions after the {number}th"
        );
    }
    if std::env::var_os(TIMED).is_some() {
        check_in_time(what, read);
    }
}

/// Stops a read at several moments of its life; at each it must keep the promise.
fn check_in_time(what: &str, read: impl Fn(Arc<Progress>) -> smalti::Result<()> + Sync) {
    let start = Instant::now();
    read(Arc::new(Progress::new())).unwrap();
    let mut whole = start.elapsed();
    let mut stopped_count = 0;
    for moment in 0..MOMENTS {
        let mut delays = Vec::new();
        for _ in 0..MAX_READS {
            match stopped(&read, whole * moment / MOMENTS) {
                Stopped::After(delay) => delays.push(delay),
                // There was nothing to stop: other reads were slower.
                Stopped::Never(life) => whole = whole.min(life),
            }
            if delays.len() == TRIES || delays.last().is_some_and(|delay| *delay < PROMISE) {
                break;
            }
        }
        assert!(delays.iter().min().is_none_or(|delay| *delay < PROMISE), "{what}: {delays:?}");
        stopped_count += u32::from(!delays.is_empty());
    }
    assert!(stopped_count > MOMENTS / 3, "{what}: {stopped_count} reads were stopped");
}

enum Stopped {
    /// How long the read went on.
    After(Duration),
    /// It had ended by itself, after this time.
    Never(Duration),
}

fn stopped(read: &(impl Fn(Arc<Progress>) -> smalti::Result<()> + Sync), moment: Duration) -> Stopped {
    let progress = Arc::new(Progress::new());
    thread::scope(|scope| {
        let own = Arc::clone(&progress);
        let start = Instant::now();
        let reader = scope.spawn(|| (read(own), Instant::now()));
        thread::sleep(moment);
        let stop = Instant::now();
        progress.cancel();
        let (outcome, end) = reader.join().unwrap();
        match outcome {
            // All but done, it ended as soon as one that gives up has to.
            Ok(()) if end > stop && end.duration_since(stop) < PROMISE => {
                Stopped::After(end.duration_since(stop))
            }
            Ok(()) => Stopped::Never(end.saturating_duration_since(start)),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Cancelled);
                Stopped::After(end.saturating_duration_since(stop))
            }
        }
    })
}

#[test]
fn dense_reads_stop_at_once() {
    let _turn = turn();
    let array = dense("stop-dense");
    let batches = |progress| array.read().progress(progress).batches()?.try_for_each(|batch| batch.map(drop));
    check("batches", (16_000_000, 2.0), batches);
    let at_once = |progress| array.read().order(Layout::ColMajor).batch_cells(1 << 30).progress(progress);
    check("one batch", (16_000_000, 6.0), |progress| at_once(progress).collect().map(drop));
    let condition = || field("a").gt(100).and(field("a").lt(4000));
    check("one batch with a condition", (16_000_000, 8.0), |progress| {
        at_once(progress).filter(condition()).collect().map(drop)
    });
    let aggregate = |progress| {
        array.read().filter(condition()).progress(progress).aggregate([Aggregate::count()]).map(drop)
    };
    check("aggregate", (16_000_000, 5.0), aggregate);
}

#[test]
fn dense_reads_of_strings_stop_at_once() {
    let _turn = turn();
    let schema = Schema::dense()
        .dimension(Dimension::new("x", 0..=3_999_999).tile(100_000))
        .attribute(Attribute::utf8("s"))
        .build()
        .unwrap();
    let array = Array::create("mem://stop-strings", &schema).unwrap();
    let s: Vec<String> = (0..4_000_000_u32).map(|cell| format!("{:x}", cell.wrapping_mul(40_503))).collect();
    array.write().column("s", &s).commit().unwrap();
    let at_once = |progress| array.read().batch_cells(1 << 30).progress(progress);
    check("one batch", (4_000_000, 4.0), |progress| at_once(progress).collect().map(drop));
    let condition = || field("s").gt("4").and(field("s").lt("d"));
    check("one batch with a condition", (4_000_000, 12.0), |progress| {
        at_once(progress).filter(condition()).collect().map(drop)
    });
}

#[test]
fn dense_reads_of_other_forms_stop_at_once() {
    let _turn = turn();
    let labels = (0..100).map(|at| format!("label {at}"));
    let schema = Schema::dense()
        .dimension(Dimension::new("x", 0..=7_999_999).tile(100_000))
        .enumeration(smalti::Enumeration::new("labels", labels))
        .attribute(Attribute::of::<u8>("code").enumeration("labels").nullable())
        .attribute(Attribute::of::<f64>("f"))
        .build()
        .unwrap();
    let array = Array::create("mem://stop-forms", &schema).unwrap();
    let code: Vec<Option<u8>> = (0..8_000_000_u32).map(|x| (x % 7 > 0).then_some((x % 100) as u8)).collect();
    let f: Vec<f64> = (0..8_000_000).map(f64::from).collect();
    array.write().column("code", &code).column("f", &f).commit().unwrap();
    // Newer fragments hide every second tile.
    for start in (0..8_000_000).step_by(200_000) {
        let f = vec![0.5; 100_000];
        let code = vec![Some(3_u8); 100_000];
        let write = array.write().range("x", start..start + 100_000);
        write.column("code", &code).column("f", &f).commit().unwrap();
    }
    let array = array.reopen().unwrap();
    let at_once = |progress| array.read().batch_cells(1 << 30).progress(progress);
    check("labels", (8_000_000, 5.0), |progress| at_once(progress).collect().map(drop));
    check("to ndarray", (8_000_000, 1.5), |progress| at_once(progress).to_ndarray::<f64>("f").map(drop));
    let matching = |progress| at_once(progress).filter(field("f").gt(0.5)).matching_only();
    check("matching cells alone", (8_000_000, 12.0), |progress| matching(progress).collect().map(drop));
    let ranges = |progress| {
        let ranges = (0..300_000).map(|at| at * 26 + 5);
        ranges.fold(array.read().progress(progress), |read, x| read.range("x", x..=x))
    };
    check("ranges", (300_000, 60.0), |progress| ranges(progress).collect().map(drop));
}

#[test]
fn sparse_reads_of_other_forms_stop_at_once() {
    let _turn = turn();
    let array = sparse("stop-sparse-forms", 10_000_000);
    let condition = || field("a").gt(100_000).and(field("a").lt(4_000_000));
    let functions = || [Aggregate::new(Function::Sum, "a"), Aggregate::new(Function::Mean, "x")];
    let aggregate =
        |progress| array.read().filter(condition()).progress(progress).aggregate(functions()).map(drop);
    check("aggregate", (10_000_000, 6.0), aggregate);
    let ranges = |progress| {
        let ranges = (0..300_000_u64).map(|at| at * 33 + 5);
        ranges.fold(array.read().progress(progress), |read, x| read.range("x", x..=x + 1))
    };
    check("ranges", (600_000, 400.0), |progress| ranges(progress).collect().map(drop));
    let unordered = |progress| array.read().order(Layout::Unordered).batch_cells(1 << 30).progress(progress);
    check("one batch", (10_000_000, 8.0), |progress| unordered(progress).memory(4 << 30).collect().map(drop));
    array.delete(field("a").lt(2_000_000)).commit().unwrap();
    let array = array.reopen().unwrap();
    let global = |progress| array.read().batch_cells(1 << 30).timestamps().progress(progress);
    check("deletes and times", (10_000_000, 40.0), |progress| global(progress).collect().map(drop));
}

#[test]
fn sparse_reads_stop_at_once() {
    let _turn = turn();
    let array = sparse("stop-sparse", 10_000_000);
    for (what, layout, memory, pass_count) in [
        ("tile by tile", Layout::Unordered, 512 << 20, 8.0),
        ("sorted by small windows", Layout::RowMajor, 8 << 20, 30.0),
        ("sorted by large windows in global order", Layout::GlobalOrder, 512 << 20, 30.0),
        ("sorted at once", Layout::RowMajor, 4 << 30, 30.0),
    ] {
        let read = |progress| {
            let read = array.read().order(layout).memory(memory).batch_cells(1 << 30).progress(progress);
            read.batches()?.try_for_each(|batch| batch.map(drop))
        };
        check(what, (10_000_000, pass_count), read);
    }
}

#[test]
fn sparse_reads_of_strings_stop_at_once() {
    let _turn = turn();
    let schema = Schema::sparse()
        .dimension(Dimension::string("name"))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let array = Array::create("mem://stop-names", &schema).unwrap();
    for part in 0..2 {
        let name: Vec<String> = (0..1_000_000_u32)
            .map(|cell| format!("a name of {:010}", (2 * cell + part).wrapping_mul(2_654_435_761)))
            .collect();
        let a: Vec<i32> = (0..1_000_000).collect();
        array.write().column("name", &name).column("a", &a).commit().unwrap();
    }
    for (what, memory) in [("sorted by windows", 64 << 20), ("sorted at once", 4 << 30)] {
        let read = |progress| {
            let read = array.read().order(Layout::RowMajor).memory(memory).progress(progress);
            read.batches()?.try_for_each(|batch| batch.map(drop))
        };
        check(what, (2_000_000, 50.0), read);
    }
}

#[test]
fn a_read_that_goes_on_tells_what_it_did() {
    let _turn = turn();
    let array = sparse("watched", 3_000_000);
    let progress = Arc::new(Progress::new());
    let mut batches =
        array.read().order(Layout::Unordered).progress(Arc::clone(&progress)).batches().unwrap();
    let first = batches.next().unwrap().unwrap().num_rows() as u64;
    let before = progress.statistics();
    assert_eq!(before.cell_count, first);
    assert!(before.tile_count > 0 && before.tile_count < before.planned_tile_count, "{before:?}");
    let rest: u64 = batches.map(|batch| batch.unwrap().num_rows() as u64).sum();
    let after = progress.statistics();
    assert_eq!(after.cell_count, first + rest);
    assert_eq!(after.tile_count, after.planned_tile_count);
    assert!(after.byte_len > before.byte_len && after.request_count >= before.request_count, "{after:?}");
}
