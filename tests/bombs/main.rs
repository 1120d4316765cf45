//! Arrays and groups made by hand to hurt who opens them: one module for each of the threats T1 to T12.
//!
//! Each bomb is opened through the public crate and must end in an error, or in the right answer where it is legal: with little work (see
//! [`blast::MOST_ASKED_BYTES`]) and little memory (see [`blast::MOST_BYTES`]), which a counting allocator measures. The tests take turns,
//! for the allocator counts for the whole process.
#![forbid(unsafe_code)]

mod arrays;
mod blast;
mod t01_counts;
mod t02_decompression;
mod t03_schemas;
mod t04_offsets;
mod t05_nesting;
mod t06_groups;
mod t07_names;
mod t08_links;
mod t09_encoded_names;
mod t10_loops;
mod t11_values;
mod t12_times;

use smalti_tests::counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
