//! See `smalti_tests::fuzz::settings::fuzz_settings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::settings::fuzz_settings(input));
