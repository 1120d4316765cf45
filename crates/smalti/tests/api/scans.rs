//! Planned reads, their splits, and streams that wait for nobody.

use smalti::futures_core::Stream;
use smalti::upkeep::{FragmentOptions, VacuumOptions};
use smalti::{Array, BatchStream, Context, Count, Dimension, Progress, Split, prelude::*};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake};
use std::thread::Thread;

/// A sparse array on disk: 100 cells in four writes that interleave, of which a delete took three.
fn points(folder: &std::path::Path, options: &Options) -> Array {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=999).tile(100))
        .attribute(Attribute::of::<i32>("a"))
        .attribute(Attribute::utf8("s").nullable())
        .capacity(5)
        .build()
        .unwrap();
    let array = Array::create_with(folder.join("points").to_str().unwrap(), &schema, options).unwrap();
    for write in 0..4_i32 {
        let x: Vec<i32> = (0..25).map(|cell| cell * 4 + write).collect();
        let a: Vec<i32> = x.iter().map(|x| 1000 - x).collect();
        let s: Vec<Option<String>> = x.iter().map(|x| (x % 3 > 0).then(|| format!("s{x}"))).collect();
        array
            .write()
            .column("x", &x)
            .column("a", &a)
            .column("s", &s)
            .at(1000 + write as u64)
            .commit()
            .unwrap();
    }
    array.delete("x < 3".parse().unwrap()).at(2000).commit().unwrap();
    array
}

fn numbers(batches: smalti::RecordBatches) -> smalti::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for batch in batches {
        let batch = batch?;
        let column = batch.column_by_name("a").unwrap().as_any();
        numbers.extend(column.downcast_ref::<smalti::arrow_array::Int32Array>().unwrap().values());
    }
    Ok(numbers)
}

fn written(splits: &[Split]) -> Vec<Vec<u8>> {
    splits.iter().map(|split| split.to_bytes().unwrap()).collect()
}

#[test]
fn a_split_sees_what_the_read_saw_whatever_comes_after_it_and_lists_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path(), &crate::options());
    let expected = numbers(array.read().batches().unwrap()).unwrap();
    assert_eq!(expected.len(), 97);
    let splits = written(&array.read().scan().unwrap().splits(5).unwrap());
    assert_eq!(splits.len(), 5);
    array.write().column("x", &[500]).column("a", &[0]).column("s", &[Some("new")]).commit().unwrap();
    array.delete("x > 50".parse().unwrap()).commit().unwrap();
    // Without its commits nothing could be listed any more.
    std::fs::remove_dir_all(folder.path().join("points/__commits")).unwrap();
    for _ in 0..2 {
        let read = |bytes: &Vec<u8>| {
            let options = crate::options().context(&Context::new().threads(2));
            numbers(Split::from_bytes(bytes, &options).unwrap().batches().unwrap()).unwrap()
        };
        let together: Vec<i32> = splits.iter().flat_map(read).collect();
        assert_eq!(together, expected);
    }
}

#[test]
fn splits_of_other_arrays_and_of_what_was_vacuumed_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut array = points(folder.path(), &crate::options());
    let [bytes] = &written(&array.read().scan().unwrap().splits(1).unwrap())[..] else { panic!() };
    let fragment = array.fragments().unwrap()[0].name().to_owned();

    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = points(&other, &crate::options());
    let elsewhere = Split::from_bytes_at(bytes, &other.uri(), &crate::options()).unwrap();
    let error = elsewhere.batches().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.message().contains("the array has no schema \"__")
            && error.message().contains("plan the read again")
    );
    let nowhere = folder.path().join("nowhere");
    let nowhere = Split::from_bytes_at(bytes, nowhere.to_str().unwrap(), &crate::options()).unwrap();
    assert_eq!(nowhere.batches().unwrap_err().kind(), ErrorKind::NotFound);

    array.consolidate(&FragmentOptions::default()).unwrap();
    let split = Split::from_bytes(bytes, &crate::options()).unwrap();
    assert_eq!(numbers(split.batches().unwrap()).unwrap().len(), 97);
    array.vacuum(&VacuumOptions::default()).unwrap();
    let error = split.batches().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains(&fragment) && error.message().contains("a vacuum took it"), "{error}");
}

#[test]
fn what_a_split_of_an_encrypted_array_says_is_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let key = [9_u8; 32];
    let options = crate::options().key(EncryptionKey::new(&key).unwrap());
    let array = points(folder.path(), &options);
    let read = array.read().filter("s != 'secret words'".parse().unwrap());
    let splits = written(&read.clone().scan().unwrap().splits(2).unwrap());
    let expected = numbers(read.batches().unwrap()).unwrap();
    let mut together = Vec::new();
    for bytes in &splits {
        let holds = |wanted: &[u8]| bytes.windows(wanted.len()).any(|bytes| bytes == wanted);
        assert!(!holds(&key) && !holds(b"secret words") && holds(array.uri().as_bytes()));
        assert_eq!(Split::from_bytes(bytes, &crate::options()).unwrap_err().kind(), ErrorKind::Permission);
        together.extend(numbers(Split::from_bytes(bytes, &options).unwrap().batches().unwrap()).unwrap());
    }
    assert_eq!(together, expected);
}

#[test]
fn a_scan_knows_what_metadata_tells() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path(), &crate::options());
    // Before the delete every cell counts.
    let before = Array::open_with(&array.uri(), &crate::options().at(1999)).unwrap();
    let scan = before.read().scan().unwrap();
    assert_eq!(scan.cell_count(), Count::AtMost(100), "cells of writes that interleave may hide others");
    let known = scan.statistics().unwrap();
    let ends = |name: &str| {
        let field = known.iter().find(|known| known.name == name).unwrap();
        (field.least.clone().unwrap(), field.greatest.clone().unwrap())
    };
    assert_eq!(ends("x"), (Value::from(0), Value::from(99)));
    assert_eq!(ends("a"), (Value::from(901), Value::from(1000)));
    assert_eq!(known[2].null_count, Some(Count::AtMost(100)));

    let first = Array::open_with(&array.uri(), &crate::options().at(1000)).unwrap();
    let scan = first.read().select(["x", "a"]).scan().unwrap();
    assert_eq!((scan.cell_count(), scan.byte_len().unwrap()), (Count::Exact(25), Some(Count::Exact(200))));
    assert!(scan.statistics().unwrap().iter().all(|known| known.is_exact));
    let limited = first.read().limit(7).scan().unwrap();
    assert_eq!(limited.cell_count(), Count::Exact(7));
    assert_eq!(first.read().range("x", ..50).scan().unwrap().cell_count(), Count::AtMost(15));
    let error = limited.splits(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn each_split_gives_as_many_cells_as_the_limit_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path(), &crate::options());
    let expected = numbers(array.read().limit(30).batches().unwrap()).unwrap();
    let splits = array.read().limit(30).scan().unwrap().splits(2).unwrap();
    let mut together = Vec::new();
    for split in &splits {
        let cells = numbers(split.batches().unwrap()).unwrap();
        assert!(cells.len() <= 30);
        together.extend(cells);
    }
    assert_eq!((expected.len(), &together[..30]), (30, &expected[..]));
}

#[test]
fn a_limit_is_refused_where_all_cells_count() {
    let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a"));
    let array =
        Array::create_with(&crate::uri("limits"), &schema.build().unwrap(), &crate::options()).unwrap();
    for error in [
        array.read().limit(3).to_ndarray::<i32>("a").unwrap_err(),
        array.read().limit(3).aggregate([smalti::Aggregate::count()]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("limit"), "{error}");
    }
    assert_eq!(array.read().limit(0).collect().unwrap().num_rows(), 0);
}

#[test]
fn scans_and_splits_are_shared_and_streams_sent() {
    fn is_shared<T: Send + Sync + 'static>() {}
    fn is_sent<T: Send + Unpin + 'static>() {}
    is_shared::<smalti::Scan>();
    is_shared::<Split>();
    is_sent::<BatchStream>();
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut task = TaskContext::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut task) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

async fn next(stream: &mut BatchStream) -> Option<smalti::Result<smalti::arrow_array::RecordBatch>> {
    std::future::poll_fn(|task| Pin::new(&mut *stream).poll_next(task)).await
}

#[test]
fn a_stream_gives_the_batches_of_the_iterator_in_any_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path(), &crate::options());
    let expected: Vec<_> = array.read().batch_cells(9).batches().unwrap().map(Result::unwrap).collect();
    let mut streams: Vec<BatchStream> =
        (0..3).map(|_| array.read().batch_cells(9).batches().unwrap().into_stream()).collect();
    drop(array);
    block_on(async {
        // Several wait beside each other.
        for wanted in &expected {
            for stream in &mut streams {
                assert_eq!(next(stream).await.unwrap().unwrap(), *wanted);
            }
        }
        for stream in &mut streams {
            assert!(next(stream).await.is_none());
            assert!(next(stream).await.is_none());
            assert_eq!(stream.progress().statistics().cell_count, 97);
        }
    });
    let progress = Arc::clone(streams[0].progress());
    drop(streams);
    progress.check().expect("what ended is not stopped");
}

#[test]
fn a_stream_that_is_dropped_or_cancelled_ends() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path(), &crate::options());
    let stream = |progress: &Arc<Progress>| {
        let read = array.read().progress(Arc::clone(progress)).batch_cells(1);
        read.batches().unwrap().into_stream()
    };
    let progress = Arc::new(Progress::new());
    let mut dropped = stream(&progress);
    block_on(next(&mut dropped)).unwrap().unwrap();
    drop(dropped);
    assert_eq!(progress.check().unwrap_err().kind(), ErrorKind::Cancelled);
    // The thread lets go of all that it holds.
    while Arc::strong_count(&progress) > 1 {
        std::thread::yield_now();
    }

    let progress = Arc::new(Progress::new());
    let mut cancelled = stream(&progress);
    progress.cancel();
    assert_eq!(block_on(next(&mut cancelled)).unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(block_on(next(&mut cancelled)).is_none());

    let unpolled = Arc::new(Progress::new());
    drop(stream(&unpolled));
    unpolled.check().expect("what never began is not stopped");
}
