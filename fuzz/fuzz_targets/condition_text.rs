//! See `smalti_tests::fuzz::condition::fuzz_condition_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::condition::fuzz_condition_text(input));
