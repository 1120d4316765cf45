//! `libtiledb.so`: the C interface of libtiledb 2.30, on smalti.
//!
//! Thin by construction: handles, error slots, argument checks, configuration and texts are here; what arrays are is the engine's.
//! An entry is a function that C calls; all of them are made by the macros of `boundary::entry`, and go through one guard. What C
//! passes is wrapped in types of `boundary` before anything looks at it: these modules alone have `unsafe` code.
#![deny(unsafe_code)]

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
mod unbuilt;
mod uris;
mod values;
mod vfs;
