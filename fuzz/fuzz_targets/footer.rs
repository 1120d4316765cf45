//! See `smalti_format::fuzzing::fuzz_footer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_format::fuzzing::fuzz_footer(input));
