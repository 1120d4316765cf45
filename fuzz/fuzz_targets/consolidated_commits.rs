//! See `smalti_format::fuzzing::fuzz_consolidated_commits`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_format::fuzzing::fuzz_consolidated_commits(input));
