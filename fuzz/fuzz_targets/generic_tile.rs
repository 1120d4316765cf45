//! See `smalti_format::fuzzing::fuzz_generic_tile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_format::fuzzing::fuzz_generic_tile(input));
