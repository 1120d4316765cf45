//! What tests over whole arrays and fuzzers share; the tests themselves are in `integration/` and `replay/`.
#![deny(unsafe_code)]

pub mod counting;
pub mod forked;
pub mod fuzz;
pub mod many_tiles;
#[cfg(feature = "servers")]
pub mod proxy;
#[cfg(feature = "servers")]
pub mod s3_files;
#[cfg(feature = "servers")]
pub mod servers;
#[cfg(feature = "servers")]
pub mod stdin;
