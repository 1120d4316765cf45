//! See `smalti_store::fuzz_cache_entry`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::fuzz_cache_entry(input));
