//! See `smalti_codecs::fuzz::TARGETS`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_codecs::fuzz::fuzz_family(&[6, 18], input));
