//! A handle holds the snapshot that it shows, and none of those before.

use super::TURN;
use smalti::upkeep::{FragmentOptions, VacuumOptions};
use smalti::{Array, Attribute, Dimension, Schema};
use smalti_tests::counting::live_byte_len;
use std::sync::PoisonError;

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
