//! Salvage: every cell of a damaged array that can be read, and a list of those that cannot.
//!
//! The array itself is not touched. What a repair would do, giving up what is lost, is done to a view of the array; then every
//! tile is decoded, and where one cannot be, its fragment is shown without it: a tile whose coordinates are lost is left out, one
//! of an attribute is shown with nulls or fill values in its place. Reads of the view are reads like any other, with the order
//! of fragments, duplicates, deletes and times that the array has.

mod fragment;
mod overlay;
mod target;

use crate::fsck::{Class, FsckOptions, FsckProgress, FsckReport, Step, fsck};
use crate::repair::steps_of;
use overlay::{Overlay, Segment};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::names::last_part;
use smalti_types::{Result, TimeRange};
use std::sync::Arc;

/// Giving up one thing may show another: so many times a salvage looks again.
const MAX_ROUNDS: usize = 6;

/// Cells that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostCells {
    /// The fragment, or another file of the array.
    pub name: String,
    /// The tile; `None` for all.
    pub tile: Option<u64>,
    /// The field whose values are lost; `None` when whole cells are.
    pub field: Option<String>,
    /// How many cells, where that can be told.
    pub cell_count: Option<u64>,
    /// Why.
    pub reason: String,
}

/// A view of an array with all that can be read.
#[derive(Debug)]
pub struct Salvage {
    /// Where the view is. It cannot be written.
    pub place: ArrayPlace,
    /// What is not in it.
    pub lost: Vec<LostCells>,
    /// What was found in the array.
    pub found: FsckReport,
}

/// Makes a view of an array with all that can be read. All data is read once for that.
///
/// # Errors
/// `NotFound` when no array is there; `Permission` without the key; `Corrupt` when no schema can be read, or something is
/// damaged that cannot be left out; `Cancelled`.
pub fn salvage(place: &ArrayPlace, progress: Option<Arc<FsckProgress>>) -> Result<Salvage> {
    let options = FsckOptions { progress, ..FsckOptions::default() };
    let mut view = View { place, overlay: Overlay::new(Arc::clone(place.store())), lost: Vec::new() };
    let found = fsck(place, &options)?;
    let mut left = found.clone();
    for _ in 0..MAX_ROUNDS {
        if !view.give_up(&left) {
            break;
        }
        left = fsck(&view.place(), &options)?;
    }
    for _ in 0..2 {
        let shown = view.place();
        let snapshot = Snapshot::open(shown.clone(), TimeRange::ALL)?;
        let mut is_changed = false;
        for fragment in snapshot.fragments() {
            is_changed |= view.patch(&shown, fragment, &options)?;
        }
        if !is_changed {
            break;
        }
    }
    Ok(Salvage { place: view.place(), lost: view.lost, found })
}

/// A view that grows.
struct View<'a> {
    place: &'a ArrayPlace,
    overlay: Overlay,
    lost: Vec<LostCells>,
}

impl View<'_> {
    fn place(&self) -> ArrayPlace {
        let key = self.place.cipher().map(|cipher| cipher.key.clone());
        let store = Arc::new(self.overlay.clone());
        ArrayPlace::in_store(store, self.place.path().to_owned(), key, self.place.env().clone())
    }

    /// Does what a repair would do; whether there was anything.
    fn give_up(&mut self, report: &FsckReport) -> bool {
        let mut is_changed = false;
        for finding in &report.findings {
            let Some((_, steps)) = steps_of(finding, true) else { continue };
            for step in steps {
                is_changed = true;
                match step {
                    Step::Put { path, bytes } => {
                        let segment = Segment::Bytes(bytes.clone().into());
                        self.overlay.show(self.place.join(path), vec![segment]);
                    }
                    Step::SetFileAside(path) | Step::SetFolderAside(path) => {
                        self.overlay.hide(self.place.join(path));
                    }
                }
            }
            if finding.class == Class::Lost {
                let folder = finding.file.rsplit_once('/').map_or("", |(folder, _)| folder);
                let is_fragment = last_part(folder) != "__commits" && folder.contains("__fragments/");
                let name = if is_fragment { last_part(folder) } else { last_part(&finding.file) };
                self.lost.push(LostCells {
                    name: name.to_owned(),
                    tile: None,
                    field: None,
                    cell_count: None,
                    reason: finding.message.clone(),
                });
            }
        }
        is_changed
    }
}
