//! No code: one set of features of crates from outside, for the program, the Python package, the benchmarks and the tests (docs/decisions/0024).
//!
//! Cargo compiles a crate anew for each set of features that is asked of it, and with it all crates above it. Tests ask some crates deep
//! down for a little more than the program does; what they ask for is turned on here, so that the program, the Python package and
//! the tests share what is compiled.
#![forbid(unsafe_code)]
