//! See `smalti_tests::fuzz::array`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::array::fuzz_array(input));
