//! Reads that are watched and stopped from another thread.

use smalti::prelude::*;
use smalti::{Aggregate, ReadProgress};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A read that is stopped ends within this time.
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

/// Stops a read at several moments of its life. How long each took to end then.
fn stopped(read: impl Fn(Arc<ReadProgress>) -> smalti::Result<()> + Sync) -> Vec<Duration> {
    let start = Instant::now();
    read(Arc::new(ReadProgress::new())).unwrap();
    let whole = start.elapsed();
    let mut delays = Vec::new();
    for moment in 0..8_u32 {
        let progress = Arc::new(ReadProgress::new());
        thread::scope(|scope| {
            let own = Arc::clone(&progress);
            let reader = scope.spawn(|| (read(own), Instant::now()));
            thread::sleep(whole * moment / 8);
            let stop = Instant::now();
            progress.cancel();
            let (outcome, end) = reader.join().unwrap();
            // A read that was faster this time has nothing to stop.
            if let Err(error) = outcome {
                assert_eq!(error.kind(), ErrorKind::Cancelled);
                delays.push(end.saturating_duration_since(stop));
            }
        });
    }
    delays
}

/// Other work on the machine delays some: half of them must keep the promise.
fn check(what: &str, mut delays: Vec<Duration>) {
    delays.sort();
    assert!(!delays.is_empty(), "{what}: no read was stopped");
    assert!(delays[delays.len() / 2] < PROMISE, "{what}: {delays:?}");
}

#[test]
fn dense_reads_stop_at_once() {
    let array = dense("stop-dense");
    let batches = |progress| array.read().progress(progress).batches()?.try_for_each(|batch| batch.map(drop));
    check("batches", stopped(batches));
    let columns = |progress| {
        array.read().order(Layout::ColMajor).batch_cells(1 << 30).progress(progress).collect().map(drop)
    };
    check("one batch", stopped(columns));
    let aggregate = |progress| {
        let wanted = [Aggregate::count()];
        array
            .read()
            .filter(field("a").gt(100).and(field("a").lt(4000)))
            .progress(progress)
            .aggregate(wanted)
            .map(drop)
    };
    check("aggregate", stopped(aggregate));
}

#[test]
fn sparse_reads_stop_at_once() {
    let (large, small) = (sparse("stop-large", 3_000_000), sparse("stop-small", 500_000));
    for (what, array, layout, memory) in [
        ("tile by tile", &large, Layout::Unordered, 512 << 20),
        ("sorted by windows", &large, Layout::RowMajor, 8 << 20),
        ("sorted by windows in global order", &large, Layout::GlobalOrder, 8 << 20),
        ("sorted at once", &small, Layout::RowMajor, 512 << 20),
    ] {
        let read = |progress| {
            let read = array.read().order(layout).memory(memory).progress(progress);
            read.batches()?.try_for_each(|batch| batch.map(drop))
        };
        check(what, stopped(read));
    }
}

#[test]
fn a_read_that_goes_on_tells_what_it_did() {
    let array = sparse("watched", 3_000_000);
    let progress = Arc::new(ReadProgress::new());
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
