//! Repairs: what a check says can be mended, done.
//!
//! No file is deleted. What is in the way goes to a folder `__aside/<time>` in the array's root, where no reader looks, with the
//! path that it had: it is copied there, durable, before it vanishes from its place, or before another takes that place by one
//! rename. At every moment readers see what they saw before a step or what they see after it, and every order of steps adds what
//! counts before it takes away what stood in its place. A repair that is interrupted is done again.
//! It wants the array to itself: writers that are at work are left alone as long as they are young, but a consolidation or a
//! vacuum beside a repair may find its files gone.

use crate::fsck::{
    ASIDE_FOLDER, Finding, FindingKind, FsckOptions, FsckReport, MemberReport, Remedy, Step, check_alone,
    check_members,
};
use smalti_array::{ArrayPlace, ObjectKind};
use smalti_query::{Phase, Unit};
use smalti_store::{ByteRange, StoreExt, UnfinishedUpload, join};
use smalti_types::{ErrorKind, Result};
use std::collections::HashSet;

/// Mending one thing may show another: so many times a repair looks again.
const MAX_ROUNDS: usize = 5;

/// Files are copied in pieces of so many bytes.
const PIECE_BYTE_LEN: u64 = 16 << 20;

/// How a repair goes about.
#[derive(Debug, Clone, Default)]
pub struct RepairOptions {
    /// What is looked at.
    pub check: FsckOptions,
    /// Whether to set aside, too, what is damaged beyond mending, so that the rest can be read.
    pub gives_up: bool,
    /// Whether to do nothing, and only tell.
    pub is_dry_run: bool,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

/// Something that a repair did, or would do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mended {
    /// What for.
    pub finding: Finding,
    /// What, in words.
    pub words: String,
    /// Why it could not be done; `None` when it was.
    pub failure: Option<String>,
}

/// What a repair did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RepairReport {
    /// What was found before.
    pub found: FsckReport,
    /// What was done about it; of a dry run, what would be done first.
    pub mended: Vec<Mended>,
    /// What is left; of a dry run, all.
    pub left: FsckReport,
    /// The folder that holds what was set aside, relative to the array; `None` when nothing was.
    pub aside: Option<String>,
    /// What was done in members of a group, those alone in which something was.
    pub members: Vec<MendedMember>,
}

/// What a repair of a group did in a member.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MendedMember {
    /// Its name behind those of the groups that it is in.
    pub path: String,
    /// Its address.
    pub uri: String,
    /// What was done, or would be.
    pub mended: Vec<Mended>,
    /// The folder that holds what was set aside, relative to the member; `None` when nothing was.
    pub aside: Option<String>,
}

impl RepairReport {
    /// Whether a step failed, in the array, group or a member.
    pub fn has_failed(&self) -> bool {
        let of_members = self.members.iter().flat_map(|member| &member.mended);
        self.mended.iter().chain(of_members).any(|mended| mended.failure.is_some())
    }
}

/// Mends an array or group as far as that is provable. Members in the folder of a group are mended too, unless the check is to be
/// shallow; others are only looked at, as nobody said that they are this group's alone.
///
/// # Errors
/// As [`fsck`](crate::fsck()); `Cancelled` between two steps, too. A step that fails is told in the report; the others are done.
pub fn repair(place: &ArrayPlace, options: &RepairOptions) -> Result<RepairReport> {
    let progress = options.check.progress.clone().unwrap_or_default();
    let _announced = progress.announce(match options.is_dry_run {
        true => &[Phase::Checking],
        false => &[Phase::Checking, Phase::Mending, Phase::Rechecking],
    });
    let mut report = repair_alone(place, options)?;
    let own = report.left.clone();
    let mut known = HashSet::new();
    // The list is mended by now, so that it tells all members. Lists that are mended among these tell more: all of them a level
    // further down, of which a check follows so many, and no group twice.
    loop {
        let is_first = known.is_empty();
        let mut all = own.clone();
        let members = check_members(place, &options.check, &mut all)?;
        if is_first {
            report.found.findings.extend(of_its_list(&all.findings));
        }
        let mut tells_more = false;
        for (member, place) in members {
            let is_new = known.insert(place.identity());
            if is_new {
                report.found.members.push(member.clone());
            }
            let is_due =
                member.report.findings.iter().any(|finding| steps_of(finding, options.gives_up).is_some());
            if !is_new || !is_due || !member.is_inside {
                all.members.push(member);
                continue;
            }
            let RepairReport { mended, left, aside, .. } = repair_alone(&place, options)?;
            let is_changed = mended.iter().any(|mended| mended.failure.is_none());
            tells_more |= is_changed && member.kind != Some(ObjectKind::Array);
            let left_findings = of_its_list(&member.report.findings);
            let mut left = MemberReport { report: left, ..member };
            left.report.findings.extend(left_findings);
            let MemberReport { path, uri, .. } = left.clone();
            report.members.push(MendedMember { path, uri, mended, aside });
            all.members.push(left);
        }
        report.left = all;
        if !tells_more || options.is_dry_run {
            return Ok(report);
        }
    }
}

/// What a check of members says of a group's list, which a check of the group alone does not.
fn of_its_list(findings: &[Finding]) -> Vec<Finding> {
    let is_of_list = |finding: &&Finding| {
        matches!(finding.kind, FindingKind::MemberMissing | FindingKind::MemberUnchecked)
    };
    findings.iter().filter(is_of_list).cloned().collect()
}

fn repair_alone(place: &ArrayPlace, options: &RepairOptions) -> Result<RepairReport> {
    let progress = options.check.progress.clone().unwrap_or_default();
    let found = check_alone(place, &options.check, Phase::Checking)?;
    let (left, members) = (found.clone(), Vec::new());
    let mut report = RepairReport { left, found, mended: Vec::new(), aside: None, members };
    let mut bench = Bench { place, folder: None, done: Vec::new() };
    for _ in 0..MAX_ROUNDS {
        let is_first = report.mended.is_empty();
        let mut did_any = false;
        let steps =
            report.left.findings.iter().filter(|finding| steps_of(finding, options.gives_up).is_some());
        progress.enter(Phase::Mending, Unit::Steps, Some(steps.count() as u64));
        for finding in report.left.findings.clone() {
            let Some((words, steps)) = steps_of(&finding, options.gives_up) else { continue };
            let is_new = steps.iter().any(|step| !bench.done.contains(step));
            progress.check()?;
            progress.advance(Phase::Mending, Unit::Steps, 1);
            if !is_new && !is_first {
                continue;
            }
            let failure = match options.is_dry_run {
                true => None,
                false => bench.apply(steps).err().map(|error| error.to_string()),
            };
            did_any |= failure.is_none();
            report.mended.push(Mended { words: words.to_owned(), finding, failure });
        }
        if !did_any || options.is_dry_run {
            break;
        }
        report.left = check_alone(place, &options.check, Phase::Rechecking)?;
    }
    report.aside = bench.folder;
    Ok(report)
}

/// The steps of a finding's remedy.
pub(crate) fn steps_of(finding: &Finding, gives_up: bool) -> Option<(&str, &[Step])> {
    match &finding.remedy {
        Remedy::Steps { words, steps } => Some((words, steps)),
        Remedy::GiveUp { words, steps } if gives_up => Some((words, steps)),
        _ => None,
    }
}

/// Where steps are carried out.
struct Bench<'a> {
    place: &'a ArrayPlace,
    /// The folder of what is set aside, once there is one.
    folder: Option<String>,
    done: Vec<Step>,
}

impl Bench<'_> {
    fn apply(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            if self.done.contains(step) {
                continue;
            }
            match step {
                Step::SetFileAside(path) => self.set_file_aside(path)?,
                Step::SetFolderAside(path) => self.set_folder_aside(path)?,
                Step::Put { path, bytes } => self.put(path, bytes)?,
                Step::AbortUpload { path, id } => {
                    let (path, id) = (self.place.join(path), id.clone());
                    self.place.store().abort_upload(&UnfinishedUpload { path, id, begun_ms: None })?;
                }
            }
            self.done.push(step.clone());
        }
        Ok(())
    }

    /// Puts a file in the place of one of which there is a copy.
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        self.copy_aside(path)?;
        self.place.store().replace(&self.place.join(path), &[bytes])
    }

    /// Copies a file and deletes it where it was; one that is not there is fine.
    fn set_file_aside(&mut self, path: &str) -> Result<()> {
        self.copy_aside(path)?;
        self.place.store().delete_files(&[&self.place.join(path)])
    }

    /// Copies a file to what is set aside, durably; one that is not there is fine.
    fn copy_aside(&mut self, path: &str) -> Result<()> {
        let store = self.place.store();
        let from = self.place.join(path);
        let byte_len = match store.byte_len(&from) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            byte_len => byte_len?,
        };
        let to = self.free_path(path)?;
        if byte_len <= PIECE_BYTE_LEN {
            let bytes = store.read_all(&from, PIECE_BYTE_LEN)?;
            store.put(&to, &[&bytes])?;
        } else {
            let mut writer = store.create(&to)?;
            let mut start = 0;
            while start < byte_len {
                let range = ByteRange { start, byte_len: PIECE_BYTE_LEN.min(byte_len - start) };
                writer.write(&store.read_at(&from, range)?)?;
                start = range.end();
            }
            writer.finish()?;
            store.sync_folder(smalti_store::split(&to).0)?;
        }
        Ok(())
    }

    fn set_folder_aside(&mut self, path: &str) -> Result<()> {
        let to = self.free_path(path)?;
        match self.place.store().move_folder(&self.place.join(path), &to) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            moved => moved,
        }
    }

    /// A path among what is set aside that nothing has.
    fn free_path(&mut self, path: &str) -> Result<String> {
        let store = self.place.store();
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => {
                let mut at = self.place.env().clock.now_ms();
                let mut folder = format!("{ASIDE_FOLDER}/{at}");
                while !store.list(&self.place.join(&folder))?.is_empty() {
                    at += 1;
                    folder = format!("{ASIDE_FOLDER}/{at}");
                }
                self.folder.insert(folder).clone()
            }
        };
        let wanted = self.place.join(&join(&folder, path));
        let mut free = wanted.clone();
        let mut number = 1;
        while store.file_exists(&free)? || !store.list(&free)?.is_empty() {
            free = format!("{wanted}.{number}");
            number += 1;
        }
        Ok(free)
    }
}
