//! T12: times that are inverted, the largest, or far away; and very many commits.

use crate::arrays::{Ground, array, maintain, one_fragment, options, put, read, schema};
use crate::blast::{answered, light, turn};
use smalti::{Array, prelude::*};
use std::fs;

/// Renames the only fragment so that its name has other times.
fn rename(ground: &Ground, start: &str, end: &str) {
    let name = ground.open().unwrap().fragments().unwrap()[0].name().to_owned();
    let id = name.splitn(5, '_').nth(4).unwrap();
    let new = format!("__{start}_{end}_{id}");
    let (fragments, commits) = (ground.thing().join("__fragments"), ground.thing().join("__commits"));
    fs::rename(fragments.join(&name), fragments.join(&new)).unwrap();
    fs::rename(commits.join(format!("{name}.wrt")), commits.join(format!("{new}.wrt"))).unwrap();
}

#[test]
fn t12_fragments_of_strange_times_are_read_or_passed_over() {
    let _turn = turn();
    let max = u64::MAX.to_string();
    let whole = read(&one_fragment(&schema(false, false))).unwrap();
    for (start, end) in [
        ("20", "10"),
        (max.as_str(), max.as_str()),
        ("0", max.as_str()),
        ("0", "0"),
        (max.as_str(), "0"),
        ("18446744073709551616", "18446744073709551616"),
        ("99999999999999999999999999", "1"),
        ("-1", "5"),
        ("+5", "5"),
        ("0x10", "0x10"),
        ("", ""),
        ("253402300800000", "253402300800000"),
    ] {
        for is_dense in [false, true] {
            let ground = one_fragment(&schema(is_dense, false));
            rename(&ground, start, end);
            let what = format!("times {start:?} to {end:?}");
            if let Ok(cell_count) = light(&what, || read(&ground)) {
                assert!(is_dense || cell_count == 0 || cell_count == whole, "{what}: {cell_count}");
            }
            put_later(&ground);
            let _ = light(&what, || maintain(&ground));
            let _ = light(&what, || read(&ground));
        }
    }
}

/// Another write, where the array can be opened.
fn put_later(ground: &Ground) {
    if let Ok(array) = ground.open() {
        let columns = array.write().column("n", &[1_u32]).column("s", &[Some("s")]).column("kind", &[0_u8]);
        let _ = match array.schema().is_dense() {
            true => columns.range("x", 50..=50).commit(),
            false => columns.column("x", &[50]).commit(),
        };
    }
}

#[test]
fn t12_times_to_read_at_are_checked() {
    let _turn = turn();
    let ground = array(false, false);
    let at = |since, at| Array::open_with(&ground.uri(), &options().since(since).at(at));
    assert_eq!(light("inverted", || at(20, 10)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let everything = read(&ground).unwrap();
    for (since, until) in [(0, u64::MAX), (u64::MAX, u64::MAX), (0, 0), (1 << 60, u64::MAX), (10, 10)] {
        let cell_count = answered("a range of times", || crate::arrays::read_cells(&at(since, until)?));
        assert!(cell_count <= everything);
        assert_eq!(cell_count == everything, (since, until) == (0, u64::MAX), "{since} to {until}");
    }
}

#[test]
fn t12_writes_at_the_largest_time_are_kept_or_refused() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, false));
    let before = read(&ground).unwrap();
    for at in [u64::MAX, u64::MAX - 1, 1 << 63] {
        let array = ground.open().unwrap();
        let write = || {
            let write = array.write().column("x", &[60]).column("n", &[1_u32]).column("s", &[Some("s")]);
            write.column("kind", &[0_u8]).at(at).commit()
        };
        let _ = light("a late write", write);
        let _ = light("late metadata", || array.write_metadata().put("k", 1_i32).at(at).commit());
        let _ = light("a late delete", || array.delete(field("n").eq(987_i64)).at(at).commit());
    }
    assert!(answered("late times", || read(&ground)) >= before);
    // Later writes find a time of their own.
    let array = ground.open().unwrap();
    let _ = light("a write behind them", || {
        let write = array.write().column("x", &[61]).column("n", &[2_u32]).column("s", &[Some("s")]);
        write.column("kind", &[0_u8]).commit()
    });
    let _ = light("upkeep", || maintain(&ground));
    assert!(answered("after upkeep", || read(&ground)) >= before);
}

#[test]
fn t12_100_000_commits_without_fragments_are_passed_over() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, false));
    let whole = read(&ground).unwrap();
    let name = |at: u32| format!("__{at}_{at}_{at:032x}_22");
    let lines: String = (1000..101_000).map(|at| format!("__commits/{}.wrt\n", name(at))).collect();
    fs::write(ground.thing().join("__commits").join(name(1) + ".con"), lines).unwrap();
    assert_eq!(answered("100,000 in one file", || read(&ground)), whole);
    for at in 0..20_000 {
        fs::write(ground.thing().join("__commits").join(name(at + 200_000) + ".wrt"), []).unwrap();
    }
    assert_eq!(answered("20,000 files more", || read(&ground)), whole);
    put(&ground.open().unwrap(), 20, 500_000);
    assert!(answered("a write behind them", || read(&ground)) > whole);
}
