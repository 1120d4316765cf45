//! Splits: parts of a read that can be written down, and carried out elsewhere.

mod stored;

use crate::progress::Progress;
use crate::read::{Batches, read};
use crate::request::ReadRequest;
use smalti_array::{ArrayPlace, Manifest, Snapshot};
use smalti_types::Result;
use std::sync::Arc;

/// A part of a read, with all that it takes to carry it out: the fragments by their names, the conditions of deletes, and the part
/// itself. Nothing is listed for it, and what is written to the array since makes no difference.
///
/// A split that is carried out twice gives the same cells twice.
#[derive(Debug, Clone)]
pub struct Split {
    pub(crate) uri: String,
    pub(crate) manifest: Manifest,
    /// Without progress, and with ranges of dimensions alone.
    pub(crate) request: ReadRequest,
    pub(crate) number: u32,
    pub(crate) count: u32,
    pub(crate) byte_len: u64,
    /// In the process that made it: what it is a part of.
    pub(crate) snapshot: Option<Snapshot>,
}

impl Split {
    /// The array's address where the split was made.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Its place among the splits of the read, 1 for the first.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How many splits the read has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// About how many bytes its cells take.
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }

    /// The names of the fragments that the read sees, oldest first.
    pub fn fragments(&self) -> &[String] {
        &self.manifest.fragments
    }

    /// What is read.
    pub fn request(&self) -> &ReadRequest {
        &self.request
    }

    /// What the split is a part of, in this process or opened by name.
    ///
    /// # Errors
    /// As [`Snapshot::of_manifest`].
    pub fn snapshot(&self, place: &ArrayPlace) -> Result<Snapshot> {
        match &self.snapshot {
            Some(snapshot) => Ok(snapshot.clone()),
            None => Snapshot::of_manifest(place.clone(), &self.manifest),
        }
    }

    /// Carries the split out.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self, snapshot: &Snapshot, progress: Option<Arc<Progress>>) -> Result<Batches> {
        read(snapshot, &ReadRequest { progress, ..self.request.clone() })
    }
}
