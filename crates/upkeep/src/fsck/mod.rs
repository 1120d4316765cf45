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
mod manifest;
mod members;
mod offsets;
mod rebuild;
mod schemas;
mod sections;
mod survey;
mod tile_file;
mod unlisted;
mod vacuum;

pub use finding::{Class, Finding, FindingKind, Remedy, Step};
pub use members::MemberReport;

pub(crate) use data::TileSource;
pub(crate) use files::fields_of;
pub(crate) use fragment::Examined;
pub(crate) use rebuild::{Mending, assemble};
pub(crate) use survey::ASIDE_FOLDER;

use smalti_array::{ArrayPlace, ObjectKind};
use smalti_query::{Phase, Progress};
use smalti_types::Result;
use std::sync::Arc;
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
    /// Whether a group is checked without its members.
    pub is_shallow: bool,
    /// Where the check tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl Default for FsckOptions {
    /// Metadata alone, of a group its members too; writers have a day.
    fn default() -> Self {
        FsckOptions {
            reads_data: false,
            young_ms: 24 * 60 * 60 * 1000,
            is_shallow: false,
            progress: None,
            more: (),
        }
    }
}

/// What a check found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FsckReport {
    /// All findings, the worst first, then by file.
    pub findings: Vec<Finding>,
    /// The fragments that were looked at.
    pub fragment_count: u64,
    /// The tiles that were read back; each counts for every field.
    pub tile_count: u64,
    /// Of a group: what was found in its members, and in theirs, each group before its members.
    pub members: Vec<MemberReport>,
}

impl FsckReport {
    /// The worst class of all findings, those in members included; `None` without any.
    pub fn worst(&self) -> Option<Class> {
        self.all_findings().map(|finding| finding.class).max()
    }

    /// The findings, then those in members.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        let of_members = self.members.iter().flat_map(|member| &member.report.findings);
        self.findings.iter().chain(of_members)
    }

    /// Whether nothing was found that concerns readers.
    pub fn is_sound(&self) -> bool {
        self.worst().is_none_or(|class| class == Class::Harmless)
    }
}

/// Checks an array or group, and unless that is to be shallow, the members of the group wherever they are, those of groups among
/// them too, each once.
///
/// # Errors
/// `NotFound` when nothing is there; `Permission` when no schema opens with the key, or without one; `Cancelled`; `Io` when a
/// folder cannot be listed. Damage is no error.
pub fn fsck(place: &ArrayPlace, options: &FsckOptions) -> Result<FsckReport> {
    let place = &place.fresh();
    let progress = options.progress.clone().unwrap_or_default();
    let _announced = progress.announce(&[Phase::Checking]);
    let mut report = check_alone(place, options, Phase::Checking)?;
    let members = check_members(place, options, &mut report)?;
    report.members = members.into_iter().map(|(member, _)| member).collect();
    Ok(report)
}

/// Checks the members of a group, each with its place; there are none of an array, or where the check is shallow.
///
/// # Errors
/// `Cancelled`.
pub(crate) fn check_members(
    place: &ArrayPlace,
    options: &FsckOptions,
    own: &mut FsckReport,
) -> Result<Vec<(MemberReport, ArrayPlace)>> {
    let has_members = !options.is_shallow && place.object_kind().unwrap_or(None) == Some(ObjectKind::Group);
    if has_members { members::check_members(place, options, own) } else { Ok(Vec::new()) }
}

/// Checks an array or group without members, in a phase of other work.
///
/// # Errors
/// As [`fsck`].
pub(crate) fn check_alone(place: &ArrayPlace, options: &FsckOptions, phase: Phase) -> Result<FsckReport> {
    let progress = options.progress.clone().unwrap_or_default();
    let _announced = progress.announce(&[phase]);
    let mut report = FsckReport::default();
    let work = Watched { progress: &progress, phase };
    check_at(place, options, &work, "", 0, &mut report)?;
    sort(&mut report.findings);
    Ok(report)
}

/// The worst findings first, then by file.
fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        b.class.cmp(&a.class).then_with(|| a.file.cmp(&b.file)).then_with(|| a.kind.cmp(&b.kind))
    });
}

/// Where a check tells how far it is.
struct Watched<'a> {
    progress: &'a Progress,
    phase: Phase,
}

/// Checks an array, and the arrays of its labels; `prefix` is its path below the one that was asked for.
fn check_at(
    place: &ArrayPlace,
    options: &FsckOptions,
    work: &Watched<'_>,
    prefix: &str,
    depth: usize,
    report: &mut FsckReport,
) -> Result<()> {
    let survey = Survey::read(place)?;
    let labels = if depth < MAX_DEPTH { survey.labels.clone() } else { Vec::new() };
    if depth == 0 {
        work.progress.part(1, 1 + labels.len() as u64);
    }
    let mut check = Check {
        place,
        options,
        work,
        survey: &survey,
        findings: Vec::new(),
        tile_count: 0,
        checked_byte_len: 0,
    };
    check.names();
    check.manifest();
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
    report.findings.extend(check.findings.into_iter().map(|finding| finding.below(prefix)));
    for (number, label) in (2..).zip(&labels) {
        if depth == 0 {
            work.progress.part(number, 1 + labels.len() as u64);
        }
        let key = place.cipher().map(|cipher| cipher.key.clone());
        let inner = ArrayPlace::in_store(place.store().clone(), place.join(label), key, place.env().clone());
        check_at(&inner, options, work, &smalti_store::join(prefix, label), depth + 1, report)?;
    }
    Ok(())
}

/// A check of one array.
struct Check<'a> {
    place: &'a ArrayPlace,
    options: &'a FsckOptions,
    work: &'a Watched<'a>,
    survey: &'a Survey,
    findings: Vec<Finding>,
    tile_count: u64,
    /// The bytes of the fragments that were looked at.
    checked_byte_len: u64,
}

impl Check<'_> {
    fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn now_ms(&self) -> u64 {
        self.place.env().clock.now_ms()
    }

    fn check_cancelled(&self) -> Result<()> {
        self.work.progress.check()
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
                let (Step::Put { path, .. }
                | Step::SetFileAside(path)
                | Step::SetFolderAside(path)
                | Step::AbortUpload { path, .. }) = step;
                *path = joined(path);
            }
        }
        self
    }
}
