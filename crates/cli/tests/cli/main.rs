//! The real program, run in temporary folders. What it prints is compared with the files in `tests/snapshots`, character by
//! character; `SMALTI_UPDATE_SNAPSHOTS=1 cargo test -p smalti-cli --test cli` writes these files anew, to be read before
//! they are kept.

mod bad_input;
mod cache;
mod check;
mod config;
mod damage;
mod demo;
mod draw;
#[cfg(target_os = "linux")]
mod drop_in;
mod evolve;
mod fixtures;
mod formats;
mod fragments;
mod group;
mod history;
mod import;
mod input;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod install;
mod interrupt;
mod keys;
mod look;
mod manual;
mod memory;
mod meta;
mod object;
mod options;
#[cfg(unix)]
mod pages;
mod query;
mod read;
mod scan;
mod schema;
mod session;
mod times;
mod upkeep;
mod usage;
mod values;
mod write;
