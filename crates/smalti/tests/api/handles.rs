//! What a handle shows, and when.

use crate::line;
use smalti::{Array, Dimension, prelude::*};

fn cells(array: &Array) -> Vec<i32> {
    array.read().to_ndarray::<i32>("a").unwrap().into_raw_vec_and_offset().0
}

#[test]
fn a_handle_sees_its_own_writes_while_older_reads_go_on() {
    let array = line("own-writes", 4, Attribute::of::<i32>("a"));
    array.write().column("a", &[1, 2, 3, 4]).commit().unwrap();
    let mut older = array.read().select(["a"]).batch_cells(2).columns().unwrap();
    let first = older.next().unwrap().unwrap();
    array.write().column("a", &[5, 6, 7, 8]).commit().unwrap();
    assert_eq!(cells(&array), [5, 6, 7, 8]);
    let second = older.next().unwrap().unwrap();
    assert_eq!(
        (first.columns[0].data.values::<i32>(), second.columns[0].data.values::<i32>()),
        (&[1, 2][..], &[3, 4][..])
    );
}

#[test]
fn handles_and_streams_can_be_sent_anywhere() {
    fn is_free<T: Send + 'static>() {}
    is_free::<Array>();
    is_free::<smalti::Batches>();
    is_free::<smalti::RecordBatches>();
    is_free::<smalti::GlobalWriter>();
    is_free::<smalti::BufferedRead>();
}

#[test]
fn handles_can_be_cloned_and_shared() {
    fn is_handle<T: Clone + Send + Sync + 'static>() {}
    is_handle::<smalti::Context>();
    is_handle::<Array>();
    is_handle::<smalti::Group>();
    is_handle::<smalti::Object>();
    is_handle::<smalti::Fragment>();
    is_handle::<smalti::ReadBuilder>();
    is_handle::<smalti::Scan>();
    is_handle::<smalti::Split>();
}

#[test]
fn clones_of_a_handle_show_the_same() {
    let array = line("clones", 2, Attribute::of::<i32>("a"));
    let clone = array.clone();
    let written = std::thread::spawn(move || {
        clone.write().column("a", &[7, 8]).commit().unwrap();
        clone
    });
    let clone = written.join().unwrap();
    assert_eq!((cells(&array), cells(&clone)), (vec![7, 8], vec![7, 8]));
}

#[test]
fn many_writes_and_reads_through_one_handle_leave_it_whole() {
    let array = line("many-views", 2, Attribute::of::<i32>("a"));
    for round in 0..200 {
        array.write().column("a", &[round, round]).at(1000 + round as u64).commit().unwrap();
        if round % 50 == 0 {
            assert_eq!(cells(&array), [round, round]);
        }
    }
    assert_eq!(array.fragments().unwrap().len(), 200);
}

#[test]
fn a_handle_at_a_time_keeps_that_time() {
    let array = line("at-a-time", 2, Attribute::of::<i32>("a"));
    array.write().column("a", &[1, 1]).at(1000).commit().unwrap();
    array.write().column("a", &[2, 2]).at(2000).commit().unwrap();
    let at = |options: Options| Array::open_with(&crate::uri("at-a-time"), &options).unwrap();
    let then = at(crate::options().at(1500));
    assert_eq!(cells(&then), [1, 1]);
    then.write().column("a", &[3, 3]).at(3000).commit().unwrap();
    assert_eq!(cells(&then), [1, 1]);
    assert_eq!(cells(&array.reopen().unwrap()), [3, 3]);
    assert_eq!(cells(&at(crate::options().since(2000).at(2000))), [2, 2]);
    assert_eq!(cells(&at(crate::options().at(999))), [i32::MIN, i32::MIN]);
    let error = Array::open_with(&crate::uri("at-a-time"), &crate::options().since(2).at(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn threads_share_a_handle() {
    let array = line("shared", 1000, Attribute::of::<i32>("a"));
    std::thread::scope(|scope| {
        for part in 0..4 {
            let array = &array;
            scope.spawn(move || {
                let values = vec![part; 250];
                array.write().range("x", part * 250..(part + 1) * 250).column("a", &values).commit().unwrap();
                assert_eq!(cells(array).len(), 1000);
            });
        }
    });
    let all = cells(&array);
    assert!((0..4).all(|part| all[part as usize * 250..][..250].iter().all(|&value| value == part)));
}

#[test]
fn a_handle_with_few_threads_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::dense()
        .dimension(Dimension::new("x", 0..=99))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let array = Array::create_with(folder.path().join("array").to_str().unwrap(), &schema, &crate::options())
        .unwrap();
    array.write().column("a", &(0..100).collect::<Vec<_>>()).commit().unwrap();
    let alone = Array::open_with(
        array.uri().as_str(),
        &crate::options().context(&smalti::Context::default().threads(1)),
    )
    .unwrap();
    assert_eq!(cells(&alone), cells(&array));
}

#[test]
fn arrays_on_disk_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array");
    let path = path.to_str().unwrap();
    let schema = Schema::sparse()
        .dimension(Dimension::string("d"))
        .attribute(Attribute::of::<u64>("n"))
        .build()
        .unwrap();
    let written = Array::create_with(path, &schema, &crate::options())
        .unwrap()
        .write()
        .column("d", &["b", "a"])
        .column("n", &[2_u64, 1])
        .commit()
        .unwrap();
    let array = Array::open_with(path, &crate::options()).unwrap();
    assert_eq!(array.schema(), schema);
    assert_eq!(array.fragments().unwrap()[0].name(), written.name());
    assert_eq!(array.fragments().unwrap()[0].time().end, written.timestamp());
    assert_eq!(array.read().collect().unwrap().num_rows(), 2);
}

#[test]
fn metadata_keeps_types_and_times() {
    let array = line("metadata", 1, Attribute::of::<i32>("a"));
    array
        .write_metadata()
        .put("n", 5_u8)
        .put("t", "x")
        .put("l", [1.5, 2.5])
        .put("e", "")
        .at(10)
        .commit()
        .unwrap();
    array.write_metadata().put("n", 6_i64).delete("t").at(20).commit().unwrap();
    let now = array.metadata().unwrap();
    assert_eq!(now.get("n"), Some(&Value::from(6_i64)));
    assert_eq!(now.get("t"), None);
    assert_eq!(now.get("l").unwrap().to_vec::<f64>(), Some(vec![1.5, 2.5]));
    assert!(now.get("e").unwrap().is_empty());
    let then =
        Array::open_with(&crate::uri("metadata"), &crate::options().at(15)).unwrap().metadata().unwrap();
    assert_eq!(
        then.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>(),
        ["e=\"\"", "l=[1.5, 2.5]", "n=5", "t=\"x\""]
    );
    assert!(array.write_metadata().commit().is_err());
}

#[test]
fn ascii_text_of_metadata_is_ascii() {
    let array = line("metadata-text", 2, Attribute::of::<i32>("a"));
    let group = smalti::Group::create_with(&crate::uri("metadata-text-group"), &crate::options()).unwrap();
    let cases = [
        (Datatype::StringAscii, "caf\u{e9}".as_bytes(), Some("ASCII")),
        (Datatype::StringAscii, b"cafe", None),
        (Datatype::StringUtf8, "caf\u{e9}".as_bytes(), None),
        (Datatype::StringUtf8, &[0xe9], None),
        (Datatype::Char, &[0xe9], None),
        (Datatype::Blob, &[0xe9], None),
    ];
    for (datatype, bytes, fault) in cases {
        let value = || smalti::Value::from_le_bytes(datatype, bytes).unwrap();
        for done in [
            array.write_metadata().put("k", value()).commit(),
            group.write_metadata().put("k", value()).commit(),
        ] {
            let Some(fault) = fault else {
                done.unwrap();
                continue;
            };
            let error = done.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("\"k\"") && error.message().contains(fault), "{error}");
        }
    }
    let cafe = smalti::Value::from_le_bytes(Datatype::StringAscii, "caf\u{e9}".as_bytes()).unwrap();
    array.write_metadata().put("k", cafe.clone()).any_text().commit().unwrap();
    assert_eq!(array.metadata().unwrap().get("k"), Some(&cafe));
}
