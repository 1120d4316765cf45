//! What is in the folders of an array, as one look shows it; and names that mean nothing where they stand.

use super::Check;
use super::finding::{Class, Finding, FindingKind, Step};
use crate::grace;
pub(crate) use smalti_array::ASIDE_FOLDER;
use smalti_array::ArrayPlace;
use smalti_format::names::{
    self, COMMITS_FOLDER, CommitKind, ENUMERATIONS_FOLDER, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER,
    GROUP_FILE, GROUP_FOLDER, LABELS_FOLDER, META_ENDING, METADATA_FOLDER, OLD_SCHEMA_FILE, SCHEMA_FOLDER,
    TimestampedName, VACUUM_ENDING, commit_stem, parse_commit_file,
};
use smalti_store::{Entry, EntryKind, Leftover, MANIFEST_FILE, StoreExt, UnfinishedUpload, join};
use smalti_types::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Clocks of several machines differ by so much: times that lie less ahead are not in the future.
const CLOCK_SLACK_MS: u64 = 60_000;

/// The folders of an array or group at one moment. Paths are relative to it.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) root: Vec<Entry>,
    pub(super) schemas: Vec<Entry>,
    pub(super) enumerations: Vec<Entry>,
    pub(super) metadata: Vec<Entry>,
    pub(super) members: Vec<Entry>,
    pub(super) footers: Vec<Entry>,
    /// Files among the commits, those of versions that keep them in the root included: by path.
    pub(super) commits: BTreeMap<String, (TimestampedName, CommitKind)>,
    /// Everything in the folder of commits.
    pub(super) commits_folder: Vec<Entry>,
    /// Folders of fragments, by name.
    pub(super) fragments: BTreeMap<String, (TimestampedName, String)>,
    /// Everything in the folder of fragments.
    pub(super) fragments_folder: Vec<Entry>,
    /// Arrays of dimension labels.
    pub(super) labels: Vec<String>,
    leftovers: Vec<Leftover>,
    uploads: Vec<UnfinishedUpload>,
    /// Fragments that nobody finds any more, and whose files stay for readers.
    pub(super) retired: BTreeSet<String>,
}

impl Survey {
    /// The path of the file that says what is gone of a fragment's history, relative to the array.
    pub(super) fn gone_file(&self, fragment: &TimestampedName) -> Option<String> {
        let is_its = |entry: &&Entry| names::parse_gone(&entry.name).is_some_and(|name| name == *fragment);
        let files = [("", &self.root), (COMMITS_FOLDER, &self.commits_folder)];
        files
            .iter()
            .find_map(|(folder, entries)| entries.iter().find(is_its).map(|entry| join(folder, &entry.name)))
    }

    pub(super) fn read(place: &ArrayPlace) -> Result<Survey> {
        let store = place.store();
        let list = |folder: &str| store.list(&place.join(folder));
        let root = store.list(place.path())?;
        let commits_folder = list(COMMITS_FOLDER)?;
        let fragments_folder = list(FRAGMENTS_FOLDER)?;
        let mut commits = BTreeMap::new();
        for (folder, entries) in [("", &root), (COMMITS_FOLDER, &commits_folder)] {
            for entry in entries.iter().filter(|entry| entry.is_file()) {
                if let Some(parsed) = parse_commit_file(&entry.name) {
                    commits.insert(join(folder, &entry.name), parsed);
                }
            }
        }
        let mut fragments = BTreeMap::new();
        for (folder, entries) in [("", &root), (FRAGMENTS_FOLDER, &fragments_folder)] {
            for entry in entries.iter().filter(|entry| entry.is_folder()) {
                if let Ok(name) = TimestampedName::parse(&entry.name) {
                    fragments.insert(entry.name.clone(), (name, join(folder, &entry.name)));
                }
            }
        }
        let mut leftovers = Vec::new();
        for folder in ["", SCHEMA_FOLDER, FRAGMENTS_FOLDER, COMMITS_FOLDER, METADATA_FOLDER] {
            let folder = if folder.is_empty() { place.path().to_owned() } else { place.join(folder) };
            leftovers.extend(store.leftovers(&folder)?);
        }
        let mut retired = BTreeSet::new();
        for list in leftovers.iter().filter(|leftover| grace::is_list(leftover)) {
            // One that cannot be read is told of with the other leftovers.
            let names = grace::names_on(place, &list.path).unwrap_or_default();
            retired.extend(names.iter().map(ToString::to_string));
        }
        let uploads = match store.unfinished_uploads(place.path()) {
            // Who may read and write may still not be allowed to ask for these, and not every store tells.
            Err(error) if matches!(error.kind(), ErrorKind::Permission | ErrorKind::Unsupported) => {
                Vec::new()
            }
            uploads => uploads?,
        };
        let labels = list(LABELS_FOLDER)?.into_iter().filter(Entry::is_folder);
        let survey = Survey {
            schemas: list(SCHEMA_FOLDER)?,
            enumerations: list(&join(SCHEMA_FOLDER, ENUMERATIONS_FOLDER))?,
            metadata: list(METADATA_FOLDER)?,
            members: list(GROUP_FOLDER)?,
            footers: list(FRAGMENT_META_FOLDER)?,
            labels: labels.map(|entry| join(LABELS_FOLDER, &entry.name)).collect(),
            commits,
            commits_folder,
            fragments,
            fragments_folder,
            leftovers,
            uploads,
            retired,
            root,
        };
        if !survey.is_array() && !survey.is_group() {
            return Err(Error::not_found("no array or group is here; check the path").at_uri(place.uri()));
        }
        Ok(survey)
    }

    /// Whether anything of an array is here; the schema may be lost.
    pub(super) fn is_array(&self) -> bool {
        let folders = [SCHEMA_FOLDER, FRAGMENTS_FOLDER, COMMITS_FOLDER];
        let is_of_array = |entry: &Entry| match entry.kind {
            EntryKind::Folder => folders.contains(&entry.name.as_str()),
            EntryKind::File => entry.name == OLD_SCHEMA_FILE,
        };
        self.root.iter().any(is_of_array) || !self.fragments.is_empty()
    }

    fn is_group(&self) -> bool {
        self.root.iter().any(|entry| entry.name == GROUP_FILE || entry.name == GROUP_FOLDER)
    }
}

impl Check<'_> {
    /// Looks at names alone.
    pub(super) fn names(&mut self) {
        let survey = self.survey;
        // In these folders libtiledb reads every file: one of another name keeps it from opening the array.
        let read_whole = [
            (SCHEMA_FOLDER, &survey.schemas, ""),
            (METADATA_FOLDER, &survey.metadata, VACUUM_ENDING),
            (GROUP_FOLDER, &survey.members, VACUUM_ENDING),
            (FRAGMENT_META_FOLDER, &survey.footers, META_ENDING),
        ];
        for (folder, entries, ending) in read_whole {
            for entry in entries.iter() {
                let is_ours = match folder {
                    FRAGMENT_META_FOLDER => entry.name.ends_with(ending),
                    _ => true,
                };
                let stem = entry.name.strip_suffix(ending).unwrap_or(&entry.name);
                let parsed = TimestampedName::parse(stem).ok().filter(|_| is_ours);
                match entry.kind {
                    EntryKind::Folder if folder == SCHEMA_FOLDER && entry.name == ENUMERATIONS_FOLDER => {}
                    EntryKind::Folder => self.stray(folder, entry, Class::Harmless),
                    EntryKind::File if parsed.is_none() => self.stray(folder, entry, Class::Hidden),
                    EntryKind::File => self.note_future(folder, entry, parsed.as_ref()),
                }
            }
        }
        for entry in &survey.commits_folder {
            let parsed = parse_commit_file(&entry.name).map(|(name, _)| name);
            if entry.is_file() && parsed.is_some() {
                self.note_future(COMMITS_FOLDER, entry, parsed.as_ref());
            } else if !entry.name.ends_with(names::PENDING_VACUUM_ENDING)
                && names::parse_gone(&entry.name).is_none()
            {
                let kind = commit_stem(&entry.name).map(|(_, kind)| kind).filter(|_| entry.is_file());
                let is_read = kind.is_some_and(|kind| kind != CommitKind::Update);
                self.stray(COMMITS_FOLDER, entry, if is_read { Class::Hidden } else { Class::Harmless });
            }
        }
        for entry in &survey.fragments_folder {
            if entry.is_file() || TimestampedName::parse(&entry.name).is_err() {
                self.stray(FRAGMENTS_FOLDER, entry, Class::Harmless);
            }
        }
        self.stray_in_root();
        self.note_leftovers();
        self.note_uploads();
    }

    fn stray_in_root(&mut self) {
        let survey = self.survey;
        for entry in survey.root.iter().filter(|entry| entry.name.starts_with(names::RESERVED_PREFIX)) {
            let is_known = match entry.kind {
                EntryKind::Folder => {
                    names::FOLDERS.contains(&entry.name.as_str())
                        || entry.name == ASIDE_FOLDER
                        || survey.fragments.contains_key(&entry.name)
                }
                EntryKind::File => {
                    [OLD_SCHEMA_FILE, names::LOCK_FILE, GROUP_FILE, MANIFEST_FILE]
                        .contains(&entry.name.as_str())
                        || survey.commits.contains_key(&entry.name)
                        || entry.name.ends_with(META_ENDING)
                }
            };
            let is_commit = entry.is_file() && names::is_impossible_commit_in_root(&entry.name);
            if !is_known {
                self.stray("", entry, if is_commit { Class::Hidden } else { Class::Harmless });
            }
        }
    }

    fn stray(&mut self, folder: &str, entry: &Entry, class: Class) {
        if self.is_of_impossible_name(folder, entry) {
            return;
        }
        let path = join(folder, &entry.name);
        let message = match class {
            Class::Harmless => "readers pass over this name".to_owned(),
            _ if folder.is_empty() => {
                "it is named as a commit is, but with a time or version that none can have: what it says is not read".to_owned()
            }
            _ => "no reader knows what to do with a file of this name here; libtiledb refuses to open the array"
                .to_owned(),
        };
        let finding = Finding::new(FindingKind::Stray, class, path.clone(), message);
        self.add(match (class, entry.kind) {
            (Class::Harmless, _) => finding,
            (_, EntryKind::File) => finding.set_aside(),
            (_, EntryKind::Folder) => {
                finding.mended_by("sets the folder aside", vec![Step::SetFolderAside(path)])
            }
        });
    }

    /// Whether a folder holds a fragment whose name no fragment can have, which is told then, or a file is the commit of such a one.
    fn is_of_impossible_name(&mut self, folder: &str, entry: &Entry) -> bool {
        let survey = self.survey;
        let is_prefixed = entry.name.starts_with(names::RESERVED_PREFIX);
        let commit = commit_stem(&entry.name).filter(|_| entry.is_file() && is_prefixed);
        if let Some((stem, CommitKind::Write)) = commit {
            return [&survey.root, &survey.fragments_folder]
                .iter()
                .any(|entries| entries.iter().any(|other| other.is_folder() && other.name == stem));
        }
        let may_be_one = entry.is_folder() && is_prefixed && ["", FRAGMENTS_FOLDER].contains(&folder);
        let path = join(folder, &entry.name);
        let metadata = self.place.join(&join(&path, names::FRAGMENT_METADATA_FILE));
        let Some(error) = TimestampedName::parse(&entry.name).err().filter(|_| may_be_one) else {
            return false;
        };
        let commits: Vec<String> = [("", &survey.root), (COMMITS_FOLDER, &survey.commits_folder)]
            .iter()
            .flat_map(|(folder, entries)| entries.iter().map(|entry| (*folder, entry)))
            .filter(|(_, other)| {
                other.is_file() && commit_stem(&other.name) == Some((&entry.name, CommitKind::Write))
            })
            .map(|(folder, other)| join(folder, &other.name))
            .collect();
        if commits.is_empty() && !self.place.store().file_exists(&metadata).unwrap_or(false) {
            return false;
        }
        let is_committed = !commits.is_empty() || !TimestampedName::ends_in_version(&entry.name);
        let message = format!(
            "{}; the cells of this fragment{} are not read. Nothing else tells its times: if you know them, give the folder{} a name \
             with them",
            error.message(),
            if is_committed { "" } else { ", which no commit names," },
            if commits.is_empty() { "" } else { " and its commit" },
        );
        let mut steps: Vec<Step> = commits.into_iter().map(Step::SetFileAside).collect();
        steps.push(Step::SetFolderAside(path.clone()));
        self.add(
            Finding::new(FindingKind::NameImpossible, Class::Hidden, path, message)
                .given_up_by("sets the fragment and its commit aside", steps),
        );
        true
    }

    fn note_future(&mut self, folder: &str, entry: &Entry, name: Option<&TimestampedName>) {
        let (Some(name), now) = (name, self.now_ms()) else { return };
        let end = name.range().end;
        if end > now.saturating_add(CLOCK_SLACK_MS) && self.is_clock_set() {
            let message = format!(
                "its time {end} lies {} s ahead of the clock; until then libtiledb does not see it",
                (end - now) / 1000
            );
            let path = join(folder, &entry.name);
            self.add(Finding::new(FindingKind::FutureTime, Class::Harmless, path, message));
        }
    }

    /// Clocks that were never set tell nothing about times: this is before the format was thought of.
    fn is_clock_set(&self) -> bool {
        const YEAR_2015_MS: u64 = 1_420_070_400_000;
        self.now_ms() >= YEAR_2015_MS
    }

    fn note_leftovers(&mut self) {
        let root = self.place.path().to_owned();
        for leftover in &self.survey.leftovers {
            let path = leftover.path.strip_prefix(&root).unwrap_or(&leftover.path).trim_start_matches('/');
            if grace::is_list(leftover) {
                let message = "it lists fragments that nobody finds any more, and whose files stay for readers that have them open; a later vacuum \
                               removes them";
                self.findings.push(Finding::new(FindingKind::Leftover, Class::Harmless, path, message));
                continue;
            }
            match smalti_store::claim_end_ms(&**self.place.store(), leftover) {
                Ok(None) => {}
                Ok(Some(end_ms)) => {
                    let is_over = self.now_ms() >= end_ms;
                    let message = match is_over {
                        true => {
                            "a consolidation, vacuum or change of the schema was interrupted that claimed the array with this"
                        }
                        false => {
                            "a consolidation, vacuum or change of the schema is under way, or was interrupted a minute ago"
                        }
                    };
                    let finding = Finding::new(FindingKind::Leftover, Class::Harmless, path, message);
                    self.findings.push(if is_over { finding.set_aside() } else { finding });
                    continue;
                }
                Err(error) => {
                    let finding =
                        Finding::new(FindingKind::Leftover, Class::Harmless, path, error.to_string());
                    self.findings.push(finding);
                    continue;
                }
            }
            let age_ms = leftover.modified_ms.map(|at| self.now_ms().saturating_sub(at));
            let is_old = age_ms.is_some_and(|age| age >= self.options.young_ms);
            let message = match is_old {
                true => "an operation was interrupted before it gave this its name; no reader sees it",
                false => "an operation is under way, or was interrupted a short time ago; no reader sees it",
            };
            let finding = Finding::new(FindingKind::Leftover, Class::Harmless, path, message);
            self.findings.push(match (is_old, leftover.kind) {
                (false, _) => finding,
                (true, EntryKind::File) => finding.set_aside(),
                (true, EntryKind::Folder) => {
                    finding.mended_by("sets the folder aside", vec![Step::SetFolderAside(path.to_owned())])
                }
            });
        }
    }

    pub(super) fn note_uploads(&mut self) {
        let root = self.place.path().to_owned();
        for upload in &self.survey.uploads {
            let path = upload.path.strip_prefix(&root).unwrap_or(&upload.path).trim_start_matches('/');
            let of_another = match self.survey.is_array() {
                true => path.starts_with(LABELS_FOLDER),
                false => path.contains('/') && !path.starts_with("__"),
            };
            if of_another {
                // The check of that array tells of it.
                continue;
            }
            let age_ms = upload.begun_ms.map(|at| self.now_ms().saturating_sub(at));
            let is_old = age_ms.is_some_and(|age| age >= self.options.young_ms);
            let message = match is_old {
                true => {
                    "an upload in parts was begun and not finished; nobody can read its parts, which take up room"
                }
                false => "an upload in parts is under way, or was interrupted a short time ago",
            };
            let finding = Finding::new(FindingKind::Upload, Class::Harmless, path, message);
            let steps = vec![Step::AbortUpload { path: path.to_owned(), id: upload.id.clone() }];
            self.findings.push(if is_old {
                finding.mended_by("gives the upload up", steps)
            } else {
                finding
            });
        }
    }

    /// Whether somebody may still be writing something of a time, in a folder.
    pub(super) fn is_young(&self, end_ms: u64, folder: &str) -> bool {
        let changed = self.place.store().last_change_ms(&self.place.join(folder));
        let Ok(changed) = changed else { return true };
        let latest = changed.map_or(end_ms, |changed| changed.max(end_ms));
        self.now_ms().saturating_sub(latest) < self.options.young_ms
    }
}
