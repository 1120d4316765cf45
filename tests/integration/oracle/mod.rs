//! Random arrays, written and read, against a naive model in memory.

pub mod arrays;
mod dense;
mod sparse;
