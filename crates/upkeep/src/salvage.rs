//! Salvage: every cell of a damaged array that can be read, and a list of those that cannot.
//!
//! The array itself is not touched. What a repair would do, giving up what is lost, is done to a view of the array; then every
//! tile is decoded, and where one cannot be, its fragment is shown without it: a tile whose coordinates are lost is left out, one
//! of an attribute is shown with nulls or fill values in its place. Reads of the view are reads like any other, with the order
//! of fragments, duplicates, deletes and times that the array has. Arrays of dimension labels are treated alike.

mod fragment;
mod older;
mod overlay;
mod target;

use crate::fsck::{Class, Finding, FindingKind, FsckOptions, FsckReport, Remedy, Step, fields_of, fsck};
use crate::repair::steps_of;
use older::{LostPlace, hide_older, older_cells};
use overlay::{Overlay, Segment};
use smalti_array::{ArrayPlace, DeleteCommit, Fragment, Snapshot};
use smalti_format::names::{
    CommitKind, FRAGMENT_META_FOLDER, FRAGMENT_METADATA_FILE, LABELS_FOLDER, META_ENDING, TimestampedName,
    commit_file_name, last_part, parse_commit_file,
};
use smalti_format::{ConditionNode, DimensionLabel};
use smalti_query::{Phase, Progress, Unit};
use smalti_store::split;
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

pub use older::{Older, OlderCells};

/// Giving up one thing may show another: so many times a salvage looks again.
const MAX_ROUNDS: usize = 6;

/// Cells that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// What of it shows an older value, because a newer one is lost or may be among what is lost.
    pub older: Older,
    /// What was found in the array.
    pub found: FsckReport,
    overlay: Overlay,
    lost_places: Vec<LostPlace>,
    /// Whether cells that show an older value are left out.
    leaves_out_older: bool,
    /// Names of dimension labels that nothing is left of, or not enough.
    lost_labels: BTreeSet<String>,
    progress: Arc<Progress>,
}

/// Makes a view of an array with all that can be read. All data is read once for that.
///
/// # Errors
/// `NotFound` when no array is there; `Permission` without the key; `Corrupt` when no schema can be read, or something is
/// damaged that cannot be left out; `Cancelled`.
pub fn salvage(place: &ArrayPlace, progress: Option<Arc<Progress>>) -> Result<Salvage> {
    let place = &place.fresh();
    let progress = progress.unwrap_or_default();
    let _announced = progress.announce(&[Phase::Checking, Phase::Decoding]);
    let options = FsckOptions { progress: Some(Arc::clone(&progress)), ..FsckOptions::default() };
    let mut view = View {
        place,
        overlay: Overlay::new(Arc::clone(place.store())),
        lost: Vec::new(),
        lost_places: Vec::new(),
        given_up: Vec::new(),
    };
    let mut found = fsck(place, &options)?;
    if found.findings.iter().any(asks_for_data) {
        found = fsck(place, &FsckOptions { reads_data: true, ..options.clone() })?;
    }
    let mut left = found.clone();
    for _ in 0..MAX_ROUNDS {
        if !view.give_up(&left) {
            break;
        }
        left = fsck(&view.place(), &options)?;
    }
    let snapshot = view.patch_array("", &options)?;
    let mut lost_labels = BTreeSet::new();
    let labels = &snapshot.schema().dimension_labels;
    for (number, label) in (2..).zip(labels) {
        progress.part(number, 1 + labels.len() as u64);
        let before = view.lost.len();
        let is_given_up = label.path().is_ok_and(|path| {
            let below = format!("{path}/");
            view.given_up.iter().any(|file| file.starts_with(&below))
        });
        let labels = label.path().and_then(|path| view.patch_array(path, &options));
        let labels = labels.and_then(|labels| {
            snapshot.schema().check_label_array(label, labels.schema()).map(|()| labels.schema().is_dense())
        });
        let failure = match labels {
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => Some(error.message().to_owned()),
            // Fill values are in the gaps, or older labels, with which labels are not in order: searches among the others would fail.
            Ok(true) if is_given_up || view.lost.len() > before => {
                Some("values of it are lost, and the others cannot be searched without them".to_owned())
            }
            Ok(_) => None,
        };
        if let Some(failure) = failure {
            view.lost.push(lost_label(label, &failure));
            lost_labels.insert(label.name.clone());
        }
    }
    let older = older_cells(&snapshot, &view.lost_places)?;
    let place = view.place();
    let View { overlay, lost, lost_places, .. } = view;
    let leaves_out_older = false;
    Ok(Salvage { place, lost, older, found, overlay, lost_places, leaves_out_older, lost_labels, progress })
}

impl Salvage {
    /// Leaves out the cells that show an older value: a sparse view is without them from now on; of a dense one a [new
    /// array](Salvage::write_to) gets fill values there.
    ///
    /// # Errors
    /// `Unsupported` when they cannot all be left out; what reads report.
    pub fn leave_out_older(&mut self) -> Result<()> {
        if self.leaves_out_older || self.older.cell_count == 0 {
            return Ok(());
        }
        let snapshot = Snapshot::open(self.place.clone(), TimeRange::ALL)?;
        let refused = |what: &str| {
            let message = format!(
                "cells with older values cannot be left out: {what}; salvage all of them, and see which they are"
            );
            Error::unsupported(message).at_uri(self.place.uri())
        };
        if snapshot.schema().is_dense() {
            if self.older.are_cut() {
                return Err(refused("they are in too many places"));
            }
        } else {
            hide_older(&mut self.overlay, &self.place, &snapshot, &self.lost_places)?;
            let key = self.place.cipher().map(|cipher| cipher.key.clone());
            let (path, env) = (self.place.path().to_owned(), self.place.env().clone());
            let shown = ArrayPlace::in_store(Arc::new(self.overlay.clone()), path, key, env);
            let left = Snapshot::open(shown.clone(), TimeRange::ALL)?;
            if older_cells(&left, &self.lost_places)?.cell_count > 0 {
                return Err(refused("the array's format version has no deletes"));
            }
            self.place = shown;
        }
        self.leaves_out_older = true;
        Ok(())
    }
}

/// The tiles of a fragment, each for every field.
fn decoded_tile_count(fragment: &Fragment) -> u64 {
    fragment.tile_count().saturating_mul(fields_of(fragment).len() as u64)
}

/// Whether more may be known of a fragment's metadata when its data is read.
fn asks_for_data(finding: &Finding) -> bool {
    let is_metadata = finding.file.ends_with(FRAGMENT_METADATA_FILE) && finding.class > Class::Harmless;
    is_metadata && matches!(finding.remedy, Remedy::None(_))
}

fn lost_label(label: &DimensionLabel, failure: &str) -> LostCells {
    LostCells {
        name: format!("dimension label {:?}", label.name),
        tile: None,
        field: None,
        cell_count: None,
        reason: format!("the label is left out: {failure}"),
    }
}

/// The fields that deletes of a fragment's cells ask for: without their values nobody knows which cells are deleted.
///
/// # Errors
/// `Corrupt` when the fragment does not say which deletes it has seen.
fn asked_by_deletes(snapshot: &Snapshot, fragment: &Fragment) -> Result<BTreeSet<String>> {
    let (start, processed) = (fragment.name().range().start, fragment.processed_deletes()?);
    let is_to_come = |delete: &&DeleteCommit| {
        let path = delete
            .name
            .fragment_version()
            .map(|version| commit_file_name(&delete.name, CommitKind::Delete, version));
        delete.at() >= start && !path.is_ok_and(|path| processed.contains(&path))
    };
    let deletes = snapshot.deletes()?.iter().filter(is_to_come);
    let fields = deletes.flat_map(|delete| delete.stays.nodes()).filter_map(|node| match node {
        ConditionNode::Comparison { field, .. } => Some(field.clone()),
        ConditionNode::Combination { .. } => None,
    });
    Ok(fields.collect())
}

/// What keeps the array from being read although nothing proves that it is damaged, such as a file that the disk does not
/// give: a repair leaves it alone, a salvage goes on without it.
fn shut_out(finding: &Finding) -> Option<Step> {
    let is_shut =
        matches!(finding.kind, FindingKind::Unreadable | FindingKind::Unknown | FindingKind::Locked);
    let is_shut = is_shut && finding.class > Class::Harmless && matches!(finding.remedy, Remedy::None(_));
    let folder =
        finding.file.strip_suffix(FRAGMENT_METADATA_FILE).and_then(|folder| folder.strip_suffix('/'));
    is_shut.then(|| Step::SetFileAside(folder.unwrap_or(&finding.file).to_owned()))
}

fn given_up(finding: &Finding) -> LostCells {
    let (folder, file) = split(&finding.file);
    let name = if folder.contains("__fragments/") { last_part(folder) } else { file };
    let words = match &finding.remedy {
        Remedy::GiveUp { words, .. } => format!(" (salvage {words})"),
        _ => String::new(),
    };
    let reason = finding.message.clone() + &words;
    LostCells { name: name.to_owned(), tile: None, field: None, cell_count: None, reason }
}

/// The fragment that a finding says is lost, or the times of the fragments. Those of dimension labels are no cells of the array.
fn lost_fragment(finding: &Finding) -> Option<TimestampedName> {
    let mut parts = finding.file.split('/').filter(|_| !finding.file.starts_with(LABELS_FOLDER));
    parts.find_map(|part| match parse_commit_file(part) {
        Some((name, CommitKind::Write | CommitKind::Consolidated)) => Some(name),
        Some(_) => None,
        None => TimestampedName::parse(part).ok(),
    })
}

/// A view that grows.
struct View<'a> {
    place: &'a ArrayPlace,
    overlay: Overlay,
    lost: Vec<LostCells>,
    /// Where cells of the array itself are lost.
    lost_places: Vec<LostPlace>,
    /// The files that were given up, those of dimension labels among them.
    given_up: Vec<String>,
}

impl View<'_> {
    fn place(&self) -> ArrayPlace {
        self.place_of("")
    }

    /// The place of an array in the view: of that itself, or of a dimension label.
    fn place_of(&self, below: &str) -> ArrayPlace {
        let key = self.place.cipher().map(|cipher| cipher.key.clone());
        let path = if below.is_empty() { self.place.path().to_owned() } else { self.place.join(below) };
        ArrayPlace::in_store(Arc::new(self.overlay.clone()), path, key, self.place.env().clone())
    }

    /// Shows an array of the view without the tiles that cannot be decoded; `below` is its path in the view.
    fn patch_array(&mut self, below: &str, options: &FsckOptions) -> Result<Snapshot> {
        self.hide_footers(below)?;
        // A fragment that is shown in another form is looked at again.
        for _ in 0..2 {
            let shown = self.place_of(below);
            let snapshot = Snapshot::open(shown.clone(), TimeRange::ALL)?;
            let mut is_changed = false;
            if let Some(progress) = &options.progress {
                let tiles = snapshot.fragments().iter().map(|fragment| decoded_tile_count(fragment));
                let tiles = tiles.fold(0, u64::saturating_add);
                progress.enter(Phase::Decoding, Unit::Tiles, Some(tiles));
            }
            for fragment in snapshot.fragments() {
                is_changed |= match asked_by_deletes(&snapshot, fragment) {
                    Ok(asked) => self.patch(&shown, below, fragment, &asked, options)?,
                    Err(error) => self.leave_out(below, fragment, &error).map(|()| true)?,
                };
            }
            if let Some(progress) = &options.progress {
                progress.complete(Phase::Decoding);
            }
            if !is_changed {
                return Ok(snapshot);
            }
        }
        Snapshot::open(self.place_of(below), TimeRange::ALL)
    }

    /// Hides the copies of footers, which contradict fragments that are shown in another form. Nothing else needs them.
    fn hide_footers(&mut self, below: &str) -> Result<()> {
        let shown = self.place_of(below);
        let in_root = shown.store().list(shown.path())?;
        let in_root = in_root.iter().filter(|entry| entry.is_file() && entry.name.ends_with(META_ENDING));
        let files = in_root.map(|entry| shown.join(&entry.name));
        files.chain([shown.join(FRAGMENT_META_FOLDER)]).for_each(|path| self.overlay.hide(path));
        Ok(())
    }

    /// Does what a repair would do; whether there was anything.
    fn give_up(&mut self, report: &FsckReport) -> bool {
        let mut is_changed = false;
        for finding in &report.findings {
            let shut = shut_out(finding);
            let steps = match (steps_of(finding, true), &shut) {
                (Some((_, steps)), _) => steps,
                (None, Some(step)) => std::slice::from_ref(step),
                (None, None) => continue,
            };
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
                    // No reader sees it anyway.
                    Step::AbortUpload { .. } => {}
                }
            }
            // A delete that is given up is a loss too: what it deleted comes back.
            let is_given_up = shut.is_some() || matches!(finding.remedy, Remedy::GiveUp { .. });
            if finding.class == Class::Lost || is_given_up {
                self.lost.push(given_up(finding));
                self.given_up.push(finding.file.clone());
                let name = lost_fragment(finding).filter(|_| finding.class > Class::Harmless);
                self.lost_places.extend(name.map(LostPlace::unknown));
            }
        }
        is_changed
    }
}
