//! Commits: which fragments and deletes count, in files of their own and in consolidated ones.

use super::Check;
use super::finding::{Class, Finding, FindingKind, Step};
use super::tile_file::{Flaw, open_tile};
use smalti_format::names::{
    self, COMMITS_FOLDER, CommitKind, TimestampedName, commit_file_name, commit_path, parse_commit_file,
};
use smalti_format::{ConditionTree, NameList, Rule};
use smalti_store::join;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use twox_hash::XxHash3_128;

/// Which fragments count.
#[derive(Debug, Default)]
pub(super) struct Commits {
    /// Committed fragments, each with the commit file, or the consolidated one, that names it.
    pub(super) committed: BTreeMap<String, String>,
    /// Fragments that another took the place of.
    pub(super) replaced: BTreeSet<String>,
    /// Vacuum files that could be read: path, the fragment that they belong to, and what they list.
    pub(super) vacuums: Vec<(String, TimestampedName, NameList)>,
    /// As `vacuums`, of consolidations that smalti has not finished.
    pub(super) pending: Vec<(String, TimestampedName, NameList)>,
}

/// A commit in a consolidated file.
struct Entry {
    name: TimestampedName,
    kind: CommitKind,
    /// Its bytes in the file.
    range: Range<usize>,
    /// Of a delete: its generic tile.
    tile: Option<Range<usize>>,
}

impl Check<'_> {
    /// Reads all commits.
    pub(super) fn commits(&mut self) -> Commits {
        let mut commits = Commits::default();
        self.read_vacuums(&mut commits);
        let ignored = self.ignored();
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        let mut idle_ignores = ignored.clone();
        for path in self.files_of(CommitKind::Consolidated) {
            self.consolidated(&path, &ignored, &mut idle_ignores, &mut known, &mut commits);
        }
        self.idle_ignores(&ignored, &idle_ignores);
        let listed: BTreeSet<&str> = known
            .keys()
            .chain(ignored.keys().filter(|name| !idle_ignores.contains_key(*name)))
            .map(String::as_str)
            .collect();
        for path in self.files_of(CommitKind::Ignore) {
            let of_file: Vec<String> =
                ignored.iter().filter(|(_, file)| **file == path).map(|(name, _)| name.clone()).collect();
            self.note_near_names(&path, &of_file, &listed);
        }
        for (path, (name, kind)) in &self.survey.commits {
            match kind {
                CommitKind::Write => {
                    if !self.is_known_version(path, name) {
                        continue;
                    }
                    if let Some(list) = known.get(names::last_part(path)) {
                        self.note_twice(list.clone(), path);
                    }
                    commits.committed.entry(name.to_string()).or_insert_with(|| path.clone());
                }
                CommitKind::Delete => {
                    if let Some(list) = known.get(names::last_part(path)) {
                        self.note_twice(list.clone(), path);
                    }
                    self.delete(path);
                }
                _ => {}
            }
        }
        for (name, (parsed, path)) in &self.survey.fragments {
            let is_old = parsed.fragment_version().is_ok_and(|version| !version.has(Rule::CommitFiles));
            if is_old {
                commits.committed.insert(name.clone(), path.clone());
            }
        }
        self.missing_fragments(&commits);
        commits
    }

    pub(super) fn files_of(&self, kind: CommitKind) -> Vec<String> {
        let files = self.survey.commits.iter().filter(|(_, (_, found))| *found == kind);
        files.map(|(path, _)| path.clone()).collect()
    }

    fn is_known_version(&mut self, path: &str, name: &TimestampedName) -> bool {
        let Err(error) = name.fragment_version() else { return true };
        self.add(
            Finding::of_error(FindingKind::Unknown, Class::Hidden, path, &error)
                .not_mended("a newer release may know this version"),
        );
        false
    }

    fn read_vacuums(&mut self, commits: &mut Commits) {
        for (path, (name, _)) in self.survey.commits.clone() {
            if path.ends_with(names::VACUUM_ENDING)
                && let Some(list) = self.name_list(&path)
            {
                commits.vacuums.push((path, name, list));
            }
        }
        let pending = self.survey.commits_folder.iter().filter_map(|entry| {
            let stem = entry.name.strip_suffix(names::PENDING_VACUUM_ENDING).filter(|_| entry.is_file())?;
            Some((join(COMMITS_FOLDER, &entry.name), TimestampedName::parse(stem).ok()?))
        });
        for (path, name) in pending.collect::<Vec<_>>() {
            if let Some(list) = self.name_list(&path) {
                commits.pending.push((path, name, list));
            }
        }
    }

    /// The commits that ignore files take out of consolidated ones, each with the ignore file.
    fn ignored(&mut self) -> BTreeMap<String, String> {
        let mut ignored = BTreeMap::new();
        for path in self.files_of(CommitKind::Ignore) {
            let list = self.name_list(&path).unwrap_or_default();
            ignored.extend(list.names.into_iter().map(|name| (name, path.clone())));
        }
        ignored
    }

    /// Ignore files of which no line is in a consolidated file.
    fn idle_ignores(&mut self, ignored: &BTreeMap<String, String>, idle: &BTreeMap<String, String>) {
        let used: BTreeSet<&String> =
            ignored.iter().filter(|(name, _)| !idle.contains_key(*name)).map(|(_, path)| path).collect();
        for path in self.files_of(CommitKind::Ignore) {
            if !used.contains(&path) {
                let message = "no consolidated commits file has what it takes back";
                self.add(Finding::new(FindingKind::ListIdle, Class::Harmless, path, message).set_aside());
            }
        }
    }

    /// Reads a file of consolidated commits, and what is whole of a damaged one.
    fn consolidated(
        &mut self,
        path: &str,
        ignored: &BTreeMap<String, String>,
        idle_ignores: &mut BTreeMap<String, String>,
        known: &mut BTreeMap<String, String>,
        commits: &mut Commits,
    ) {
        let bytes = match self.bytes(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let finding = self.flawed(&Flaw::of(error), Class::Hidden, path);
                return self.add(finding);
            }
        };
        let (entries, bad) = scan(&bytes);
        if let Some((offset, message)) = bad.first() {
            self.torn_list(path, &bytes, &entries, *offset, message);
        }
        let mut overlaps = 0;
        let mut first_overlap = None;
        for entry in &entries {
            if !self.is_known_version(path, &entry.name) {
                continue;
            }
            let Ok(version) = entry.name.fragment_version() else { continue };
            let file_name = commit_file_name(&entry.name, entry.kind, version);
            idle_ignores.remove(&file_name);
            if ignored.contains_key(&file_name) {
                continue;
            }
            if known.insert(file_name.clone(), path.to_owned()).is_some() {
                overlaps += 1;
                first_overlap.get_or_insert((entry.range.start, file_name));
            }
            match (&entry.tile, entry.kind) {
                (Some(tile), _) => self.inline_delete(path, entry, &bytes[tile.clone()]),
                (None, CommitKind::Write) => {
                    commits.committed.insert(entry.name.to_string(), path.to_owned());
                }
                (None, _) => {}
            }
        }
        if let Some((offset, name)) = first_overlap {
            let message = format!("{overlaps} of its commits are in another such file too, first {name}");
            let finding = Finding::new(FindingKind::ListsOverlap, Class::Harmless, path, message);
            self.add(finding.at("consolidated commits", "line", Some(offset as u64)));
        }
    }

    fn torn_list(&mut self, path: &str, bytes: &[u8], entries: &[Entry], offset: usize, message: &str) {
        let mut good = Vec::new();
        for entry in entries {
            good.extend(&bytes[entry.range.clone()]);
            if entry.tile.is_none() && !good.ends_with(b"\n") {
                good.push(b'\n');
            }
        }
        let message = format!(
            "{message}; {} commits in the file are whole. Fragments that it named behind that have no commit, unless a file \
             of their own is left",
            entries.len()
        );
        let finding = Finding::new(FindingKind::Torn, Class::Hidden, path, message).at(
            "consolidated commits",
            "line",
            Some(offset as u64),
        );
        let Some((name, _)) = self.survey.commits.get(path) else { return };
        let put = self.new_list(name, CommitKind::Consolidated, good);
        let mut steps: Vec<Step> = put.into_iter().filter(|_| !entries.is_empty()).collect();
        steps.push(Step::SetFileAside(path.to_owned()));
        self.add(finding.mended_by("puts its whole commits in a new file and sets it aside", steps));
    }

    /// A list beside others of its kind: at the times of another, named after its bytes.
    pub(super) fn new_list(
        &self,
        beside: &TimestampedName,
        kind: CommitKind,
        bytes: Vec<u8>,
    ) -> Option<Step> {
        let version = beside.fragment_version().ok()?;
        let id = XxHash3_128::oneshot(&bytes).to_be_bytes();
        let name = TimestampedName::new(beside.range(), id, Some(version));
        Some(Step::Put { path: commit_path(&name, kind, version), bytes })
    }

    fn inline_delete(&mut self, path: &str, entry: &Entry, tile: &[u8]) {
        let decoded = open_tile(self.place, tile)
            .and_then(|(tile, _)| ConditionTree::decode(tile.as_slice()).map_err(Flaw::of));
        let Err(flaw) = decoded else { return };
        let mut finding = Finding::of_error(flaw.kind(), Class::Misleading, path, flaw.error());
        finding.message = format!("the condition of the delete {}: {}", entry.name, finding.message);
        let finding = finding.at("inline tile", "tile", Some(entry.range.start as u64));
        let ignore = entry.name.fragment_version().ok().and_then(|version| {
            let line = NameList::encode_ignore([(&entry.name, CommitKind::Delete, version)]);
            self.new_list(&entry.name, CommitKind::Ignore, line)
        });
        self.add(finding.given_up_by(
            "takes the delete back with an ignore file: what it deleted comes back",
            ignore.into_iter().collect(),
        ));
    }

    fn delete(&mut self, path: &str) {
        let flaw = match self.tile_file(path, ConditionTree::decode) {
            Ok((_, trailing)) => return self.note_trailing(path, trailing),
            Err(flaw) => flaw,
        };
        let is_torn = matches!(flaw, Flaw::Torn(_));
        let finding = self.flawed(&flaw, if is_torn { Class::Hidden } else { Class::Lost }, path);
        self.add(if is_torn {
            finding.set_aside()
        } else if flaw.is_provable() {
            finding.given_up_by(
                "sets the delete aside: what it deleted comes back",
                vec![Step::SetFileAside(path.to_owned())],
            )
        } else {
            finding
        });
    }

    fn note_twice(&mut self, list: String, path: &str) {
        let is_noted = self
            .findings
            .iter()
            .any(|finding| finding.kind == FindingKind::CommitTwice && finding.file == list);
        if !is_noted {
            let message = format!("it names commits that have files of their own too, such as {path}");
            self.add(Finding::new(FindingKind::CommitTwice, Class::Harmless, list, message));
        }
    }

    /// Commits whose fragments are not there.
    fn missing_fragments(&mut self, commits: &Commits) {
        let mut listed: BTreeMap<&String, Vec<TimestampedName>> = BTreeMap::new();
        for (name, source) in &commits.committed {
            if self.survey.fragments.contains_key(name) {
                continue;
            }
            let Ok(name) = TimestampedName::parse(name) else { continue };
            let is_own = parse_commit_file(names::last_part(source))
                .is_some_and(|(_, kind)| kind == CommitKind::Write);
            if !is_own {
                listed.entry(source).or_default().push(name);
                continue;
            }
            let is_replaced = self.is_listed(commits, name.as_str());
            let message = match is_replaced {
                true => {
                    "the fragment is gone, which another took the place of; libtiledb refuses to open the array"
                }
                false => "the fragment is gone with its cells; libtiledb refuses to open the array",
            };
            let class = if is_replaced { Class::Hidden } else { Class::Lost };
            let finding = Finding::new(FindingKind::FragmentMissing, class, source.clone(), message);
            self.add(finding.set_aside());
        }
        for (source, names) in listed {
            let is_replaced = names.iter().all(|name| self.is_listed(commits, name.as_str()));
            let class = if is_replaced { Class::Hidden } else { Class::Lost };
            let message = format!(
                "{} of its fragments are gone, first {}; libtiledb refuses to open the array",
                names.len(),
                names[0]
            );
            let finding = Finding::new(FindingKind::FragmentMissing, class, source.clone(), message);
            let entries = names
                .iter()
                .filter_map(|name| Some((name, CommitKind::Write, name.fragment_version().ok()?)));
            let ignore = NameList::encode_ignore(entries);
            let beside = self.survey.commits.get(source).map(|(name, _)| name);
            let step = beside.and_then(|name| self.new_list(name, CommitKind::Ignore, ignore));
            self.add(finding.mended_by("takes them back with an ignore file", step.into_iter().collect()));
        }
    }

    fn is_listed(&self, commits: &Commits, name: &str) -> bool {
        commits.vacuums.iter().any(|(_, _, list)| list.names.iter().any(|listed| listed == name))
    }
}

/// The whole commits of a consolidated file, and where something else is, with what is wrong with it.
fn scan(bytes: &[u8]) -> (Vec<Entry>, Vec<(usize, String)>) {
    let (mut entries, mut bad) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let line_len = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (start, line) = (at, &rest[..line_len]);
        at = (at + line_len + 1).min(bytes.len());
        if line.is_empty() {
            continue;
        }
        let parsed = std::str::from_utf8(line).ok().map(names::last_part).and_then(parse_commit_file);
        let shown = || String::from_utf8_lossy(line).chars().take(100).collect::<String>();
        match parsed {
            Some((name, kind @ CommitKind::Write)) => {
                entries.push(Entry { name, kind, range: start..at, tile: None });
            }
            Some((name, kind @ (CommitKind::Delete | CommitKind::Update))) => {
                let behind = &bytes[at..];
                let len = behind.first_chunk::<8>().map(|len| u64::from_le_bytes(*len));
                match len.filter(|len| *len <= behind.len() as u64 - 8) {
                    Some(len) => {
                        let tile = at + 8..at + 8 + len as usize;
                        at = tile.end;
                        entries.push(Entry { name, kind, range: start..at, tile: Some(tile) });
                    }
                    None => {
                        bad.push((start, format!("the tile of {:?} is cut short", shown())));
                        at = bytes.len();
                    }
                }
            }
            _ => bad.push((start, format!("the line {:?} is no commit", shown()))),
        }
    }
    (entries, bad)
}
