//! When the threads of a context start, how many they are, and when they end. Counted in a process of its own, because other tests
//! have threads too.

use smalti::{Array, Context, Dimension, Layout, Options, ReadRequest, prelude::*};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn threads_start_with_large_work_and_end_with_their_context() {
    let program = std::env::current_exe().unwrap();
    let args =
        ["--exact", "threads::of_a_process_of_its_own", "--ignored", "--test-threads=1", "--nocapture"];
    let done = Command::new(program).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn of_a_process_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("array").to_str().unwrap().to_owned();
    let before = thread_count();
    let of_threads = |count| Options::new().context(&Context::new().threads(count));

    let alone = of_threads(1);
    let dimension = Dimension::new("x", 0..=999_999).tile(10_000);
    let schema = Schema::dense().dimension(dimension).attribute(Attribute::of::<i32>("a")).build().unwrap();
    let array = Array::create_with(&uri, &schema, &alone).unwrap();
    array.write().column("a", &(0..1_000_000).collect::<Vec<i32>>()).commit().unwrap();
    assert_eq!(cells(&array, 0..=999_999).len(), 1_000_000);
    assert_eq!(thread_count(), before, "one thread is the caller's");

    let array = Array::open(&uri).unwrap();
    assert_eq!(cells(&array, 10_000..=10_099), (10_000..10_100).collect::<Vec<i32>>());
    assert_eq!(array.read().range("x", 7..=9).batches().unwrap().count(), 1);
    assert_eq!(thread_count(), before, "a small read needs none");

    let array = Array::open_with(&uri, &of_threads(2)).unwrap();
    assert_eq!(cells(&array, 5..=9), [5, 6, 7, 8, 9]);
    assert_eq!(thread_count(), before);
    assert_eq!(cells(&array, 0..=999_999), (0..1_000_000).collect::<Vec<i32>>());
    assert_eq!(thread_count(), before + 2, "no more than asked for");

    // A tile of 62 chunks that do not shrink much, of which each read meets two.
    let (large, in_memory) = ("mem://large", Context::new());
    let (dimension, zstd) = (Dimension::new("x", 0..=999_999).tile(1_000_000), [Filter::Zstd { level: 1 }]);
    let attribute = Attribute::of::<i32>("a").filters(zstd);
    let schema = Schema::dense().dimension(dimension).attribute(attribute).build().unwrap();
    let values: Vec<i32> = (0..1_000_000).map(|cell: i32| cell.wrapping_mul(-1_640_531_535) >> 8).collect();
    let [one, two] = [1, 2].map(|count| Options::new().context(&in_memory.clone().threads(count)));
    Array::create_with(large, &schema, &one).unwrap().write().column("a", &values).commit().unwrap();
    let boxes = |array: &Array| {
        for border in (1..40).step_by(2).map(|chunk| chunk * 16_384) {
            assert_eq!(
                cells(array, border - 5..=border + 5),
                values[border as usize - 5..=border as usize + 5]
            );
            let is_first = border == 16_384;
            assert!(!is_first || thread_count() == before + 2, "one small read starts none");
        }
    };
    boxes(&Array::open_with(large, &two).unwrap());
    assert_eq!(thread_count(), before + 3, "one that helps, from the second such read on");
    drop((one, two));
    let stream = array.read().batches().unwrap();
    drop(array);
    assert_eq!(stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1_000_000);

    // They end by themselves, soon after their context; the limit is for what never ends.
    let start = Instant::now();
    while thread_count() > before && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(thread_count(), before);
}

#[test]
fn the_end_of_a_large_read_is_told_without_workers() {
    const CELL_COUNT: usize = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new().context(&Context::new().threads(2));
    let here = std::thread::current().id();
    for is_dense in [true, false] {
        let uri = folder.path().join(format!("dense-{is_dense}")).to_str().unwrap().to_owned();
        let schema = if is_dense { Schema::dense() } else { Schema::sparse() };
        let dimension = Dimension::new("x", 0..=CELL_COUNT as i32 - 1).tile(10_000);
        let schema = schema.dimension(dimension).attribute(Attribute::of::<i32>("a")).build().unwrap();
        let array = Array::create_with(&uri, &schema, &options).unwrap();
        let values: Vec<i32> = (0..CELL_COUNT as i32).collect();
        let write = array.write().column("a", &values);
        if is_dense { write } else { write.column("x", &values) }.commit().unwrap();
        for layout in [Layout::RowMajor, Layout::GlobalOrder, Layout::Unordered] {
            let layout = Some(layout).filter(|layout| !is_dense || *layout != Layout::Unordered);
            for batch_cell_count in [20_000, usize::MAX] {
                let batch_cell_count = Some(batch_cell_count);
                let request = ReadRequest { layout, batch_cell_count, ..ReadRequest::default() };
                let mut batches = array.read_raw(&request).unwrap();
                let mut left = CELL_COUNT;
                while left > 0 {
                    assert_ne!(batches.run_next(|_| std::thread::current().id()), here, "{layout:?}: {left}");
                    left -= batches.next().unwrap().unwrap().cell_count;
                }
                assert_eq!(batches.run_next(|_| std::thread::current().id()), here, "{layout:?}");
                assert!(batches.next().is_none());
            }
        }
    }
}

#[test]
fn a_chunk_that_no_thread_can_decode_is_told_with_its_number() {
    let context = Context::new().threads(2);
    let options = Options::new().context(&context);
    let dimension = Dimension::new("x", 0..=999_999).tile(1_000_000);
    let attribute = Attribute::of::<i32>("a").filters([Filter::Md5]);
    let schema = Schema::dense().dimension(dimension).attribute(attribute).build().unwrap();
    let array = Array::create_with("mem://damaged", &schema, &options).unwrap();
    array.write().column("a", &(0..1_000_000).collect::<Vec<i32>>()).commit().unwrap();
    // A bit of every eighth chunk is another one.
    let files = context.files();
    let fragments = array.fragments().unwrap();
    let path = format!("mem://damaged/__fragments/{}/a0.tdb", fragments[0].name());
    let mut bytes = vec![0; files.byte_len(&path).unwrap() as usize];
    files.open(&path).unwrap().read_at(0, &mut bytes).unwrap();
    bytes.chunks_mut(8 * (1 << 16)).for_each(|chunks| chunks[1 << 17] ^= 1);
    let mut changed = files.create(&path).unwrap();
    changed.write(&bytes).unwrap();
    changed.close().unwrap();
    let array = Array::open_with("mem://damaged", &options).unwrap();
    for chunk in (1..60).step_by(2) {
        let border = chunk * 16_384;
        let read = array.read().range("x", border - 5..=border + 5).to_ndarray::<i32>("a");
        match read.map_err(|error| error.to_string()) {
            Err(told) => {
                let place = format!("{path}: chunk.checksum: corrupt: tile 0: chunk {chunk}: filter md5");
                assert!(chunk % 8 == 1 && told.starts_with(&place), "{chunk}: {told}");
            }
            Ok(values) => {
                assert_ne!(chunk % 8, 1);
                assert!(values.into_iter().eq(border - 5..=border + 5), "{chunk}");
            }
        }
    }
}

#[test]
fn files_are_the_same_however_many_threads_filter_their_tiles() {
    const CELL_COUNT: i32 = 1_000_000;
    let numbers: Vec<i32> = (0..CELL_COUNT).map(|cell| cell.wrapping_mul(-1_640_531_535) >> 8).collect();
    let texts: Vec<String> = numbers.iter().map(|number| format!("{}", number % 1000)).collect();
    let flags: Vec<Option<u8>> =
        numbers.iter().map(|number| (number % 3 != 0).then_some(*number as u8)).collect();
    // Tiles of numbers of 400 kB go to their file alone, those of flags wait for each other, and few texts never fill a piece of a file.
    let files = |thread_count: usize, is_dense: bool| {
        let folder = tempfile::tempdir().unwrap();
        let uri = folder.path().join("array").to_str().unwrap().to_owned();
        let schema = if is_dense { Schema::dense() } else { Schema::sparse().capacity(100_000) };
        let schema = schema
            .dimension(Dimension::new("x", 0..=CELL_COUNT - 1).tile(100_000))
            .attribute(Attribute::of::<i32>("numbers"))
            .attribute(Attribute::utf8("texts").filters([Filter::Zstd { level: 1 }]))
            .attribute(Attribute::of::<u8>("flags").nullable());
        let options = Options::new().context(&Context::new().threads(thread_count));
        let array = Array::create_with(&uri, &schema.build().unwrap(), &options).unwrap();
        let write = array.write().column("numbers", &numbers).column("texts", &texts).column("flags", &flags);
        let coordinates: Vec<i32> = (0..CELL_COUNT).rev().collect();
        if is_dense { write } else { write.column("x", &coordinates) }.commit().unwrap();
        let fragments = folder.path().join("array/__fragments");
        let fragment = std::fs::read_dir(fragments).unwrap().next().unwrap().unwrap().path();
        let files = std::fs::read_dir(fragment).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = files
            .filter(|file| file.file_name() != "__fragment_metadata.tdb")
            .map(|file| (file.file_name(), std::fs::read(file.path()).unwrap()))
            .collect();
        files.sort();
        files
    };
    for is_dense in [true, false] {
        let alone = files(1, is_dense);
        assert_eq!(alone.len(), if is_dense { 5 } else { 6 });
        for thread_count in [2, 5] {
            assert!(files(thread_count, is_dense) == alone, "{thread_count} threads, dense: {is_dense}");
        }
    }
}

fn cells(array: &Array, range: std::ops::RangeInclusive<i32>) -> Vec<i32> {
    array.read().range("x", range).to_ndarray::<i32>("a").unwrap().into_raw_vec_and_offset().0
}

fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}
