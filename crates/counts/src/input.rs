//! Inputs that are the same in every run.

use smalti_store::SeededEntropy;

/// Random numbers that depend on the seed alone.
pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
    let source = SeededEntropy::new(seed);
    move || source.next_u64()
}

/// Numbers below a limit.
pub(crate) fn numbers(seed: u64, count: usize, limit: u64) -> Vec<u64> {
    let mut random = random(seed);
    (0..count).map(|_| random() % limit).collect()
}

/// A measured quantity: each value is near the one before.
pub(crate) fn walk(seed: u64, count: usize) -> Vec<i32> {
    let mut value = 1000;
    let step = |number| {
        value += number as i32 - 8;
        value
    };
    numbers(seed, count, 17).into_iter().map(step).collect()
}

/// Times of about one measurement a second, in milliseconds.
pub(crate) fn times(seed: u64, count: usize) -> Vec<i64> {
    let mut time = 1_700_000_000_000;
    let step = |number| {
        time += 990 + number as i64;
        time
    };
    numbers(seed, count, 20).into_iter().map(step).collect()
}

/// Measured floats with two decimals.
pub(crate) fn floats(seed: u64, count: usize) -> Vec<f64> {
    walk(seed, count).into_iter().map(|value| f64::from(value) / 100.0).collect()
}

/// Values that come in runs.
pub(crate) fn runs(seed: u64, count: usize) -> Vec<i32> {
    let mut random = random(seed);
    let mut values = Vec::with_capacity(count);
    while values.len() < count {
        let (value, len) = (random() % 50, random() % 30 + 1);
        values.extend((0..len).map(|_| value as i32));
    }
    values.truncate(count);
    values
}

/// Names of stations, a few of which come again and again: their bytes, where each starts, and behind the last start the end.
pub(crate) fn names(seed: u64, count: usize) -> (Vec<u8>, Vec<u64>) {
    let mut bytes = Vec::new();
    let mut offsets = vec![0];
    for number in numbers(seed, count, 60) {
        bytes.extend_from_slice(
            format!("station-{}-{}", number * number, ["north", "east"][number as usize % 2]).as_bytes(),
        );
        offsets.push(bytes.len() as u64);
    }
    (bytes, offsets)
}

/// One byte a cell, 0 for about every tenth.
pub(crate) fn validity(seed: u64, count: usize) -> Vec<u8> {
    numbers(seed, count, 10).into_iter().map(|number| u8::from(number > 0)).collect()
}

/// The bytes of values as they are stored.
pub(crate) fn bytes<T, const N: usize>(values: &[T], to_bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(to_bytes).collect()
}
