//! See `smalti_tests::fuzz::condition::fuzz_stored_condition`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::condition::fuzz_stored_condition(input));
