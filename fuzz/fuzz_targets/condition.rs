//! See `smalti_format::fuzzing::fuzz_condition`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_format::fuzzing::fuzz_condition(input));
