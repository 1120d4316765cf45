//! See `smalti_codecs::fuzz::fuzz_pipeline`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_codecs::fuzz::fuzz_pipeline(input));
