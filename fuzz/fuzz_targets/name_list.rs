//! See `smalti_format::fuzzing::fuzz_name_list`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_format::fuzzing::fuzz_name_list(input));
