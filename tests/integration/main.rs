//! Integration tests over whole arrays: one binary, a folder a topic.
#![forbid(unsafe_code)]

mod bad_input;
mod batches;
mod buffers;
mod bytes;
mod cells;
mod corpus;
mod digest;
mod evolution;
mod explain;
mod forks;
mod fsck;
mod gather;
mod groups;
mod huge;
mod images;
mod inspect;
mod many_tiles;
mod mutation;
mod old_arrays;
mod oracle;
mod pieces;
mod rounds;
mod splits;
mod upkeep;

use smalti_tests::counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
