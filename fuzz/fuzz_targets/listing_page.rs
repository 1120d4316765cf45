//! See `smalti_tests::fuzz::manifest::fuzz_listing_page`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| smalti_tests::fuzz::manifest::fuzz_listing_page(input));
