//! See `smalti_tests::fuzz::tile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::tile::fuzz_chunked_tile(input));
