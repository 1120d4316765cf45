//! Fragments: whether a commit names them, and everything in their folders.

use super::Check;
use super::commits::Commits;
use super::finding::{Class, Finding, FindingKind, Remedy, Step};
use super::rebuild::{self, Mending};
use super::schemas::Schemas;
use super::tile_file::Flaw;
use bytes::Bytes;
use smalti_array::{Fragment, ListedFragment};
use smalti_format::fragment::Footer;
use smalti_format::names::{self, CommitKind, FRAGMENT_METADATA_FILE, TimestampedName, commit_path};
use smalti_format::{NameList, Rule};
use smalti_query::Unit;
use smalti_store::{Entry, join};
use smalti_types::{ErrorKind, Result};
use std::collections::BTreeMap;

/// The fragments that could be opened, by name.
pub(super) type Fragments = BTreeMap<String, Option<Fragment>>;

/// A fragment under examination.
pub(crate) struct Examined<'a> {
    pub(crate) fragment: &'a Fragment,
    /// The path of its folder.
    pub(crate) folder: &'a str,
    /// What is in it.
    pub(crate) entries: &'a [Entry],
    /// Its metadata file.
    pub(crate) bytes: &'a Bytes,
}

impl Examined<'_> {
    pub(super) fn metadata_file(&self) -> String {
        join(self.folder, FRAGMENT_METADATA_FILE)
    }
}

impl Check<'_> {
    /// Looks at every fragment.
    ///
    /// # Errors
    /// `Cancelled`; `Io` when a folder cannot be listed.
    pub(super) fn fragments(&mut self, schemas: &Schemas, commits: &Commits) -> Result<Fragments> {
        let copies = self.footer_copies();
        let mut fragments = Fragments::new();
        let mut listed = Vec::with_capacity(self.survey.fragments.len());
        for (_, folder) in self.survey.fragments.values() {
            self.check_cancelled()?;
            listed.push(self.place.store().list(&self.place.join(folder))?);
        }
        let byte_len_of = |entries: &[Entry]| entries.iter().map(|entry| entry.byte_len).sum::<u64>();
        let byte_len = listed.iter().map(|entries| byte_len_of(entries)).sum();
        self.work.progress.enter(self.work.phase, Unit::Bytes, Some(byte_len));
        self.checked_byte_len = 0;
        for ((name, (parsed, folder)), entries) in self.survey.fragments.iter().zip(listed) {
            self.check_cancelled()?;
            let before = self.findings.len();
            let is_committed = commits.committed.contains_key(name);
            let fragment = if parsed.fragment_version().is_err() {
                let message = "its format version is not known";
                self.add(
                    Finding::new(FindingKind::Unknown, Class::Hidden, folder, message)
                        .not_mended("a newer release may know this version"),
                );
                None
            } else if is_committed {
                self.fragment(parsed, folder, &entries, schemas, commits, copies.get(name))
            } else {
                self.orphan(parsed, folder, &entries, schemas, commits);
                None
            };
            if commits.replaced.contains(name) {
                self.soften(before);
            }
            fragments.insert(name.clone(), fragment);
            self.checked_byte_len += byte_len_of(&entries);
            self.work.progress.reach(self.work.phase, Unit::Bytes, self.checked_byte_len);
        }
        self.check_cancelled()?;
        Ok(fragments)
    }

    /// What is wrong with a fragment that another took the place of concerns nobody but travellers in time.
    fn soften(&mut self, from: usize) {
        for finding in self.findings.iter_mut().skip(from) {
            if finding.class > Class::Harmless {
                finding.class = Class::Harmless;
                finding.message +=
                    "; a consolidation took the fragment's place, only times before it want it";
            }
        }
    }

    fn open(&self, name: &TimestampedName, schemas: &Schemas) -> Result<Fragment> {
        let listed = ListedFragment::named(name.clone())?;
        Fragment::open_alone(self.place, &listed, |wanted| schemas.find(wanted))
    }

    fn orphan(
        &mut self,
        name: &TimestampedName,
        folder: &str,
        entries: &[Entry],
        schemas: &Schemas,
        commits: &Commits,
    ) {
        if self.survey.retired.contains(name.as_str()) {
            let message = "a vacuum or deletion took its commit back; its files stay for readers that have them open, and a later vacuum removes them";
            return self.add(Finding::new(FindingKind::Orphan, Class::Harmless, folder, message));
        }
        if commits.replaced.contains(name.as_str()) {
            let message =
                "a consolidation took its place and its commit was removed: a vacuum was interrupted";
            return self.add(Finding::new(FindingKind::Orphan, Class::Harmless, folder, message));
        }
        let is_young = self.is_young(name.range().end, folder);
        let is_pending = commits.pending.iter().any(|(_, pending, _)| pending == name);
        let is_whole = entries.iter().any(|entry| entry.name == FRAGMENT_METADATA_FILE)
            && self.open(name, schemas).is_ok_and(|fragment| self.is_complete(&fragment, entries));
        let commit = name.fragment_version().map(|version| commit_path(name, CommitKind::Write, version));
        let finding = |class, message: String| Finding::new(FindingKind::Orphan, class, folder, message);
        let found = match (is_young, is_whole && !is_pending) {
            (true, _) => finding(
                Class::Harmless,
                "no commit names it: it is being written, or its write was interrupted a short time ago".into(),
            ),
            (false, true) => finding(
                Class::Hidden,
                "it is whole, but no commit names it: its write ended before the last step, or its commit is lost".into(),
            )
            .not_mended(format!(
                "whether the write was acknowledged is not written anywhere; an empty file {} brings it back",
                commit.unwrap_or_default()
            )),
            (false, false) => finding(
                Class::Harmless,
                "no commit names it and it is not whole: its write was interrupted".into(),
            )
            .mended_by("sets the folder aside", vec![Step::SetFolderAside(folder.to_owned())]),
        };
        self.add(found);
    }

    fn fragment(
        &mut self,
        name: &TimestampedName,
        folder: &str,
        entries: &[Entry],
        schemas: &Schemas,
        commits: &Commits,
        copy: Option<&Vec<u8>>,
    ) -> Option<Fragment> {
        let path = join(folder, FRAGMENT_METADATA_FILE);
        let give_up = self.give_up(name, folder, commits);
        if !entries.iter().any(|entry| entry.is_file() && entry.name == FRAGMENT_METADATA_FILE) {
            let message = "the fragment's metadata is not there; nothing else says where its tiles are";
            let finding = Finding::new(FindingKind::MetadataMissing, Class::Lost, path, message);
            self.add(finding.given_up_by("sets the fragment and its commit aside", give_up));
            return None;
        }
        let bytes = match self.bytes(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let finding = self.flawed(&Flaw::of(error), Class::Lost, &path);
                self.add(finding);
                return None;
            }
        };
        let fragment = match self.open(name, schemas) {
            Ok(fragment) => fragment,
            Err(error) => {
                let mended = copy.and_then(|copy| self.with_footer(name, folder, &bytes, copy, schemas));
                self.unopenable(&path, &bytes, error, mended, give_up);
                return None;
            }
        };
        let examined = Examined { fragment: &fragment, folder, entries, bytes: &bytes };
        let mut mending = Mending::new(&fragment);
        self.sections(&examined, &mut mending);
        self.data_files(&examined, &mut mending);
        self.offsets(&examined, &mut mending);
        self.rectangles(&examined, &mut mending);
        if self.options.reads_data {
            self.data(&examined, &mut mending);
        }
        let mended = mending.wants_change().then(|| {
            let rebuilt = rebuild::assemble(&examined, &mending, self.place)?;
            rebuild::verify(self.place, name, folder, &rebuilt, schemas).then_some(rebuilt)
        });
        let by_copy = || copy.and_then(|copy| self.with_footer(name, folder, &bytes, copy, schemas));
        let bytes = mended.flatten().or_else(|| {
            let has_failed = mending.candidates().chain(mending.open()).next().is_some();
            if has_failed { by_copy() } else { None }
        });
        if let Some(bytes) = bytes {
            let indices: Vec<usize> = mending.candidates().chain(mending.open()).collect();
            for idx in indices {
                self.findings[idx].remedy = Remedy::Steps {
                    words: "puts the fragment's metadata anew, from what other parts and the data say".into(),
                    steps: vec![Step::Put { path: path.clone(), bytes: bytes.clone() }],
                };
            }
        }
        Some(fragment)
    }

    /// The steps that let the rest of the array be read without a fragment: its commit goes first.
    fn give_up(&self, name: &TimestampedName, folder: &str, commits: &Commits) -> Vec<Step> {
        let mut steps = Vec::new();
        let Some(source) = commits.committed.get(name.as_str()) else { return steps };
        if let (Some((list, CommitKind::Consolidated)), Ok(version)) =
            (self.survey.commits.get(source), name.fragment_version())
        {
            let line = NameList::encode_ignore([(name, CommitKind::Write, version)]);
            steps.extend(self.new_list(list, CommitKind::Ignore, line));
        }
        let own = self
            .survey
            .commits
            .iter()
            .filter(|(_, (other, kind))| *kind == CommitKind::Write && other == name);
        steps.extend(own.map(|(path, _)| Step::SetFileAside(path.clone())));
        steps.push(Step::SetFolderAside(folder.to_owned()));
        steps
    }

    fn unopenable(
        &mut self,
        path: &str,
        bytes: &[u8],
        error: smalti_types::Error,
        mended: Option<Vec<u8>>,
        give_up: Vec<Step>,
    ) {
        let is_missing_schema =
            error.kind() == ErrorKind::NotFound && error.location().field.as_deref() == Some("schema_name");
        let is_torn = bytes.len() < 16 || bytes.iter().all(|byte| *byte == 0);
        let kind = match error.kind() {
            _ if is_missing_schema => FindingKind::SchemaMissing,
            _ if is_torn => FindingKind::Torn,
            _ => Flaw::of(error.clone()).kind(),
        };
        let is_provable =
            matches!(kind, FindingKind::SchemaMissing | FindingKind::Torn | FindingKind::Damaged);
        let mut finding = Finding::of_error(kind, Class::Lost, path, &error);
        if finding.structure.is_none() {
            let offset = finding.byte_offset;
            finding = finding.at("footer", "end", offset.or(Some(bytes.len() as u64)));
        }
        self.add(match mended {
            Some(bytes) => {
                finding.class = Class::Hidden;
                finding.mended_by(
                    "puts the fragment's metadata anew, with the footer that consolidated metadata keeps",
                    vec![Step::Put { path: path.to_owned(), bytes }],
                )
            }
            None if is_provable => finding.given_up_by("sets the fragment and its commit aside", give_up),
            None => finding,
        });
    }

    /// The metadata file with the footer of a copy, where that is right for the sections that are there.
    fn with_footer(
        &self,
        name: &TimestampedName,
        folder: &str,
        bytes: &Bytes,
        copy: &[u8],
        schemas: &Schemas,
    ) -> Option<Vec<u8>> {
        let version = name.fragment_version().ok()?;
        let schema_name = match version.has(Rule::FooterLength) {
            true => Footer::schema_name_of(copy).ok()?,
            false => names::OLD_SCHEMA_FILE.to_owned(),
        };
        let schema = schemas.find(&schema_name).ok()?;
        let rebuilt = rebuild::with_footer(bytes, copy, &schema.shape())?;
        (rebuilt != bytes[..] && rebuild::verify(self.place, name, folder, &rebuilt, schemas))
            .then_some(rebuilt)
    }
}
