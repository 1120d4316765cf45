//! What tests over whole arrays and fuzzers share; the tests themselves are in `integration/` and `replay/`.
#![deny(unsafe_code)]

pub mod counting;
pub mod forked;
pub mod fuzz;
pub mod many_tiles;
