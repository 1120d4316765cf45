//! Where the bytes of arrays are kept: local folders, memory, and later object stores, behind one blocking trait.
//!
//! [`Store`] is the small surface that a backend implements; [`StoreExt`] adds what follows from it. A backend
//! proves itself with [`conformance::run`]. Tests break stores on purpose with [`FaultStore`] (any store) and
//! with [`LocalStore`] over a [`SimDisk`] or a [`FaultDisk`] (single steps of the local write protocol), and have a bucket in [`BucketStore`];
//! [`crash_states`] rebuilds every state that a power cut may leave.
//!
//! This crate knows no file layout, but for two facts: in which folders a foreign reader trips over a stray file
//! (see [`LocalStore`]), and the name of the [list](FileList) of an array's files, for those who cannot list them.
#![forbid(unsafe_code)]
// This crate meets bytes of strangers: whatever could panic or lose bits, outside tests, says why it does not.
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

mod ahead;
mod bucket;
mod cache_entry;
mod cache_folder;
mod cached;
mod claim_file;
mod coalesce;
#[expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests say what they miss by a panic"
)]
pub mod conformance;
mod crash;
mod distant;
mod env;
mod ext;
mod fault;
mod fault_disk;
mod file_list;
mod files;
mod forward;
mod free;
mod kept;
mod lease;
mod local;
mod memory;
mod metered;
mod path;
mod request;
mod sim;
mod store;
mod through;
mod uri;
mod versions;

pub use ahead::AheadStore;
pub use bucket::{BucketImage, BucketStep, BucketStore};
pub use cache_entry::{fuzz_cache_entry, fuzz_cache_entry_seeds};
pub use cache_folder::DiskCache;
pub use cached::CachedStore;
pub use claim_file::{ClaimFile, Claiming, StandingClaim, claim_end_ms};
pub use coalesce::{ByteRange, Coalescing, MergedRange, coalesce};
pub use crash::{CrashLimits, CrashState, DiskOp, FileId, Image, Tear, crash_states};
pub use distant::DistantStore;
pub use env::{ManualClock, SeededEntropy, SystemClock, SystemEntropy, system_env};
pub use ext::StoreExt;
pub use fault::{FaultEffect, FaultPlan, FaultScope, FaultStore};
pub use fault_disk::FaultDisk;
pub use file_list::{FileList, MANIFEST_FILE};
pub use files::{Files, FoundFile, OpenFile};
pub use free::free_byte_len;
pub use kept::{KeptBytes, KeptStore};
pub use lease::{Claim, Lease};
pub use local::{Disk, DiskEntry, LEFTOVER_PREFIX, LocalStore, OsDisk};
pub use memory::MemoryStore;
pub use metered::{MeteredStore, Traffic};
pub use path::{check_move, check_path, join, split};
pub use request::{Answer, Page, Pending, Request};
pub use sim::{SimDisk, SimWriter};
pub use store::{
    Entry, EntryKind, FileVersion, FileWriter, Leftover, NewFile, NewTree, ReadInto, Store, SyncLevel, Tail,
    UNKNOWN_EFFECT, UnfinishedUpload, finish_all,
};
pub use uri::{Place, Remote, Stores, percent_decoded};
pub use versions::{Told, Versions};
