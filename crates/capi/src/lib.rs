//! `libtiledb.so`: the C interface of libtiledb 2.30, on smalti.
//!
//! Thin by construction: handles, error slots, argument checks, configuration and texts are here; what arrays are is the engine's.
//! An entry is a function that C calls; all of them are made by the macros of `boundary::entry`, and go through one guard. What C
//! passes is wrapped in types of `boundary` before anything looks at it: these modules alone have `unsafe` code.
#![deny(unsafe_code)]
// What C passes is not trusted: whatever could panic or lose bits, outside tests, says why it does not.
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap
    )
)]

mod array;
mod boundary;
mod buffers;
mod config;
mod context;
mod encryption;
mod failure;
mod filestore;
mod filters;
mod fragments;
mod group;
mod library;
mod metadata;
mod names;
mod objects;
mod profile;
mod query;
mod schema;
mod serialization;
mod statistics;
mod stores;
mod text;
mod uris;
mod values;
mod vfs;
