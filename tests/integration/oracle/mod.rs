//! Random arrays, written and read, against a naive model in memory.

mod arrays;
mod dense;
mod sparse;
