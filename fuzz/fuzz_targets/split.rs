//! See `smalti_tests::fuzz::split::fuzz_split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::split::fuzz_split(input));
