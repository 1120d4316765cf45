//! Integration tests over whole arrays: one binary, a folder a topic.
#![forbid(unsafe_code)]

mod bytes;
mod cells;
mod corpus;
mod evolution;
mod explain;
mod groups;
mod images;
mod inspect;
mod mutation;
mod old_arrays;
mod oracle;
