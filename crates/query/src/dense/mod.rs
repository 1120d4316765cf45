//! Reading dense arrays.

mod boxes;
mod reader;
mod target;
