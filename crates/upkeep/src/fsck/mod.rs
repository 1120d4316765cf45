//! Checks of arrays: everything that is wrong with one, named and classified, with what a repair would do.
//!
//! A check never stops at the first damage. It walks over the array's folders with the decoders of the format, and opens nothing
//! that needs the whole array to be right. It changes nothing, and can run beside readers and writers: what young writers have
//! not finished is left alone.

mod commits;
mod consolidated;
mod data;
mod files;
mod finding;
mod fragment;
mod histories;
mod offsets;
mod rebuild;
mod schemas;
mod sections;
mod survey;
mod tile_file;
mod unlisted;
mod vacuum;

pub use finding::{Class, Finding, FindingKind, Remedy, Step};

pub(crate) use data::TileSource;
pub(crate) use files::fields_of;
pub(crate) use fragment::Examined;
pub(crate) use rebuild::{Mending, assemble};
pub(crate) use survey::ASIDE_FOLDER;

use smalti_array::ArrayPlace;
use smalti_types::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use survey::Survey;

/// Arrays of dimension labels lie inside arrays, and have no labels themselves.
const MAX_DEPTH: usize = 2;

/// What a check looks at.
#[derive(Debug, Clone)]
pub struct FsckOptions {
    /// Whether all data is read back: tiles decoded, cells compared with rectangles, statistics and orders.
    pub reads_data: bool,
    /// What no commit names is left alone until it is so old, in milliseconds: somebody may be writing it.
    pub young_ms: u64,
    /// Where the check tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<FsckProgress>>,
}

impl Default for FsckOptions {
    /// Metadata alone; writers have a day.
    fn default() -> Self {
        FsckOptions { reads_data: false, young_ms: 24 * 60 * 60 * 1000, progress: None }
    }
}

/// How far a check, a repair or a salvage is. Other threads may look at it, and stop the work.
#[derive(Debug, Default)]
pub struct FsckProgress {
    is_cancelled: AtomicBool,
    fragments: AtomicU64,
    fragment_count: AtomicU64,
    tiles: AtomicU64,
}

impl FsckProgress {
    /// Stops the work: a check or a salvage before the next tiles, a repair before the next step.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    /// The fragments that were looked at.
    pub fn checked_fragment_count(&self) -> u64 {
        self.fragments.load(Relaxed)
    }

    /// All fragments, as far as they are known.
    pub fn fragment_count(&self) -> u64 {
        self.fragment_count.load(Relaxed)
    }

    /// The tiles that were read back.
    pub fn tile_count(&self) -> u64 {
        self.tiles.load(Relaxed)
    }

    /// Counts tiles that were read back.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn count_tiles(&self, count: u64) -> Result<()> {
        self.tiles.fetch_add(count, Relaxed);
        self.check()
    }

    /// # Errors
    /// `Cancelled`.
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_cancelled.load(Relaxed) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Cancelled, "the work was stopped")),
        }
    }
}

/// What a check found.
#[derive(Debug, Clone, Default)]
pub struct FsckReport {
    /// All findings, the worst first, then by file.
    pub findings: Vec<Finding>,
    /// The fragments that were looked at.
    pub fragment_count: u64,
    /// The tiles that were read back; each counts for every field.
    pub tile_count: u64,
}

impl FsckReport {
    /// The worst class of all findings; `None` without any.
    pub fn worst(&self) -> Option<Class> {
        self.findings.iter().map(|finding| finding.class).max()
    }

    /// Whether nothing was found that concerns readers.
    pub fn is_sound(&self) -> bool {
        self.worst().is_none_or(|class| class == Class::Harmless)
    }
}

/// Checks an array or group.
///
/// # Errors
/// `NotFound` when nothing is there; `Permission` when no schema opens with the key, or without one; `Cancelled`; `Io` when a
/// folder cannot be listed. Damage is no error.
pub fn fsck(place: &ArrayPlace, options: &FsckOptions) -> Result<FsckReport> {
    let mut report = FsckReport::default();
    check_at(place, options, "", 0, &mut report)?;
    report.findings.sort_by(|a, b| {
        b.class.cmp(&a.class).then_with(|| a.file.cmp(&b.file)).then_with(|| a.kind.cmp(&b.kind))
    });
    Ok(report)
}

/// Checks an array, and the arrays of its labels; `prefix` is its path below the one that was asked for.
fn check_at(
    place: &ArrayPlace,
    options: &FsckOptions,
    prefix: &str,
    depth: usize,
    report: &mut FsckReport,
) -> Result<()> {
    let survey = Survey::read(place)?;
    let mut check = Check { place, options, survey: &survey, findings: Vec::new(), tile_count: 0 };
    check.names();
    check.histories();
    if survey.is_array() {
        let schemas = check.schemas()?;
        let mut commits = check.commits();
        check.vacuums(&mut commits);
        let fragments = check.fragments(&schemas, &commits)?;
        if options.reads_data {
            check.unlisted(&fragments, &commits)?;
        }
        check.footers(&fragments);
        report.fragment_count += fragments.len() as u64;
        report.tile_count += check.tile_count;
    }
    let labels = survey.labels.clone();
    report.findings.extend(check.findings.into_iter().map(|finding| finding.below(prefix)));
    for label in labels.iter().filter(|_| depth < MAX_DEPTH) {
        let key = place.cipher().map(|cipher| cipher.key.clone());
        let inner = ArrayPlace::in_store(place.store().clone(), place.join(label), key, place.env().clone());
        check_at(&inner, options, &smalti_store::join(prefix, label), depth + 1, report)?;
    }
    Ok(())
}

/// A check of one array.
struct Check<'a> {
    place: &'a ArrayPlace,
    options: &'a FsckOptions,
    survey: &'a Survey,
    findings: Vec<Finding>,
    tile_count: u64,
}

impl Check<'_> {
    fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn now_ms(&self) -> u64 {
        self.place.env().clock.now_ms()
    }

    fn check_cancelled(&self) -> Result<()> {
        self.options.progress.as_ref().map_or(Ok(()), |progress| progress.check())
    }
}

impl Finding {
    /// The finding as the array above names its files.
    fn below(mut self, prefix: &str) -> Finding {
        if prefix.is_empty() {
            return self;
        }
        let joined = |path: &str| smalti_store::join(prefix, path);
        self.file = joined(&self.file);
        if let Remedy::Steps { steps, .. } | Remedy::GiveUp { steps, .. } = &mut self.remedy {
            for step in steps {
                let (Step::Put { path, .. } | Step::SetFileAside(path) | Step::SetFolderAside(path)) = step;
                *path = joined(path);
            }
        }
        self
    }
}
