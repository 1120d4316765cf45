//! Writes that several processes do together: what is seen of them, and what is refused.

use smalti::{Array, Dimension, SharedWrite, prelude::*};

fn line(uri: &str, is_dense: bool) -> Array {
    let schema = if is_dense { Schema::dense() } else { Schema::sparse() };
    let schema = schema.dimension(Dimension::new("x", 0..=99).tile(10)).attribute(Attribute::of::<i32>("a"));
    Array::create_with(uri, &schema.build().unwrap(), &crate::options()).unwrap()
}

fn put(array: &Array, write: &SharedWrite, start: i32) -> String {
    let (x, a): (Vec<i32>, Vec<i32>) = (start..start + 10).map(|x| (x, 7 * x)).unzip();
    let part = array.write().column("a", &a);
    match array.schema().is_dense() {
        true => part.range("x", start..start + 10).put(write),
        false => part.column("x", &x).put(write),
    }
    .unwrap()
    .name()
    .to_owned()
}

fn folders(uri: &str) -> usize {
    std::fs::read_dir(format!("{uri}/__fragments")).map_or(0, |entries| entries.count())
}

#[test]
fn parts_of_several_are_seen_at_one_moment() {
    for is_dense in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let uri = folder.path().join("shared").display().to_string();
        let mut array = line(&uri, is_dense);
        put(&array, &array.share_write().unwrap(), 90); // of a write that nobody ends
        let write = array.share_write_at(1_000).unwrap();
        let other: SharedWrite = write.to_string().parse().unwrap();
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let uri = uri.clone();
                std::thread::spawn(move || {
                    let array = Array::open_with(&uri, &crate::options()).unwrap();
                    put(&array, &other, 20 * worker); // a part that is lost, and written again
                    put(&array, &other, 20 * worker)
                })
            })
            .collect();
        let names: Vec<String> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
        assert_eq!((array.fragments().unwrap().len(), folders(&uri)), (0, 9));
        let written = array.commit_shared(&write, &names).unwrap();
        assert!(written.iter().map(|fragment| fragment.name()).eq(names.iter()));
        assert!(written.iter().all(|fragment| fragment.timestamp() == 1_000));
        assert_eq!((array.fragments().unwrap().len(), folders(&uri)), (4, 5));
        array = Array::open_with(&uri, &crate::options()).unwrap();
        let read = array.read().range("x", 20..=29).select(["a"]).collect().unwrap();
        assert_eq!(read.num_rows(), 10);
        let before = Options::at(crate::options(), 999);
        assert!(Array::open_with(&uri, &before).unwrap().fragments().unwrap().is_empty());

        let again = array.commit_shared(&write, &names).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::InvalidArgument, "{again}");
        assert!(again.message().contains("committed already"), "{again}");
        let abandoned = array.abandon_shared(&write).unwrap_err();
        assert!(abandoned.message().contains("committed already"), "{abandoned}");
        assert_eq!(array.fragments().unwrap().len(), 4);
    }
}

#[test]
fn what_is_not_there_as_a_whole_is_not_committed() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("torn").display().to_string();
    let array = line(&uri, true);
    let (write, other) = (array.share_write().unwrap(), array.share_write().unwrap());
    let names = [put(&array, &write, 0), put(&array, &write, 10)];
    let of_other = put(&array, &other, 20);
    let refused = |names: &[&str]| array.commit_shared(&write, names).unwrap_err();
    let cases = [
        (vec![names[0].as_str(), &of_other], "is not of the shared write"),
        (vec![&names[0], &names[0]], "twice"),
        (vec!["../x"], "no name of a fragment"),
        (vec!["__1_1_00000000000000000000000000000000_22"], "is not of the shared write"),
    ];
    for (names, told) in cases {
        let error = refused(&names);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(told), "{error}");
    }
    std::fs::remove_file(format!("{uri}/__fragments/{}/__fragment_metadata.tdb", names[1])).unwrap();
    let error = refused(&[&names[0], &names[1]]);
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(
        error.message().contains(&names[1]) && error.message().contains("write its part again"),
        "{error}"
    );
    assert!(array.fragments().unwrap().is_empty());
    assert_eq!(array.abandon_shared(&write).unwrap(), 2);
    assert_eq!((array.abandon_shared(&write).unwrap(), folders(&uri)), (0, 1));
    array.commit_shared(&other, &[of_other]).unwrap();
    assert_eq!(array.fragments().unwrap().len(), 1);
    // Nothing to show is no change.
    assert!(array.commit_shared(&write, &[] as &[&str]).unwrap().is_empty());
}
