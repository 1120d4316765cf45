//! Folders whose files each tell of one change: metadata, and members of groups.

use super::Check;
use super::finding::{Class, Finding, FindingKind, Step};
use super::tile_file::Flaw;
use smalti_format::names::{GROUP_FOLDER, METADATA_FOLDER, TimestampedName, VACUUM_ENDING};
use smalti_format::{GroupFile, MetadataFile, NameList};
use smalti_store::{Entry, join};
use std::collections::BTreeSet;

impl Check<'_> {
    /// Looks at metadata and members.
    pub(super) fn histories(&mut self) {
        let survey = self.survey;
        self.history(METADATA_FOLDER, &survey.metadata, |tile| MetadataFile::decode(tile).map(drop));
        self.history(GROUP_FOLDER, &survey.members, |tile| GroupFile::decode(tile).map(drop));
    }

    fn history(&mut self, folder: &str, entries: &[Entry], decode: fn(&[u8]) -> smalti_types::Result<()>) {
        let is_named = |name: &str| TimestampedName::parse(name).is_ok();
        let files = entries.iter().filter(|entry| entry.is_file());
        let (lists, changes): (Vec<&Entry>, Vec<&Entry>) = files
            .filter(|entry| is_named(entry.name.strip_suffix(VACUUM_ENDING).unwrap_or(&entry.name)))
            .partition(|entry| entry.name.ends_with(VACUUM_ENDING));
        let mut whole: BTreeSet<&str> = BTreeSet::new();
        for entry in changes {
            let path = join(folder, &entry.name);
            match self.tile_file(&path, decode) {
                Ok(((), trailing)) => {
                    whole.insert(&entry.name);
                    self.note_trailing(&path, trailing);
                }
                Err(flaw) => {
                    let class = if matches!(flaw, Flaw::Torn(_)) { Class::Hidden } else { Class::Lost };
                    let finding = self.flawed(&flaw, class, &path);
                    self.add(if flaw.is_provable() { finding.set_aside() } else { finding });
                }
            }
        }
        for entry in lists {
            self.vacuum_of_history(folder, entry, &whole);
        }
    }

    fn vacuum_of_history(&mut self, folder: &str, entry: &Entry, whole: &BTreeSet<&str>) {
        let path = join(folder, &entry.name);
        let Some(list) = self.name_list(&path) else { return };
        let stem = entry.name.strip_suffix(VACUUM_ENDING).unwrap_or(&entry.name);
        self.note_near_names(&path, &list.names, whole);
        let is_listed = |name: &&String| whole.contains(name.as_str());
        let present = list.names.iter().filter(is_listed).count();
        if present == 0 {
            let message = "nothing that it lists is there any more";
            self.add(Finding::new(FindingKind::ListIdle, Class::Harmless, path, message).set_aside());
        } else if !whole.contains(stem) {
            let message =
                format!("it hides {present} files, but {stem}, which took their place, cannot be read");
            let finding = Finding::new(FindingKind::VacuumWithoutFragment, Class::Hidden, path, message);
            self.add(finding.set_aside());
        }
    }

    /// Notes a line that names nothing that is there, but nearly something that is, and that no other line names: a flipped bit
    /// makes no other difference.
    pub(super) fn note_near_names(&mut self, path: &str, listed: &[String], present: &BTreeSet<&str>) {
        let is_gone = |name: &&String| !present.contains(name.as_str());
        let near_of = |name: &String| {
            let is_near = |other: &&&str| !listed.iter().any(|name| name == *other) && is_near(name, other);
            present.iter().find(is_near).copied()
        };
        let found = listed.iter().filter(is_gone).find_map(|name| Some((name, near_of(name)?)));
        let Some((name, near)) = found else { return };
        let bytes = self.bytes(path).unwrap_or_default();
        let offset = bytes.windows(name.len()).position(|window| window == name.as_bytes());
        let message = format!(
            "{name} is not there, but {near} is, which is the same but for a letter or two, or its end: if that was listed, it counts again"
        );
        let finding = Finding::new(FindingKind::NearName, Class::Misleading, path, message);
        self.add(finding.at("list of names", "line", offset.map(|offset| offset as u64)).not_mended(
            "which of the two was listed is not written anywhere else; if it was the second, correct the line in the file",
        ));
    }

    /// Reads a list of names, and reports its bad lines.
    pub(super) fn name_list(&mut self, path: &str) -> Option<NameList> {
        let bytes = match self.bytes(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let finding = self.flawed(&Flaw::of(error), Class::Hidden, path);
                self.add(finding);
                return None;
            }
        };
        let list = NameList::decode(&bytes);
        let mut offset = 0;
        let (mut good, mut first_bad) = (Vec::new(), None);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let read = NameList::decode(line);
            let is_empty_line = line == b"\n";
            if read.names.is_empty() {
                first_bad.get_or_insert((offset, is_empty_line));
            } else {
                good.extend(line.strip_suffix(b"\n").unwrap_or(line));
                good.push(b'\n');
            }
            offset += line.len() as u64;
        }
        if let Some((offset, _)) = first_bad {
            let message = match list.bad_lines.first() {
                Some(line) => {
                    format!(
                        "{} of its lines name nothing, first {line:?}; libtiledb trips over them",
                        list.bad_lines.len()
                    )
                }
                None => "it has empty lines, over which libtiledb trips".to_owned(),
            };
            let class = if list.names.is_empty() { Class::Harmless } else { Class::Misleading };
            let finding = Finding::new(FindingKind::BadLine, class, path, message).at(
                "list of names",
                "line",
                Some(offset),
            );
            let step = Step::Put { path: path.to_owned(), bytes: good };
            self.add(if list.names.is_empty() {
                finding.set_aside()
            } else {
                finding.mended_by("puts the lines that name something in a file of the same name", vec![step])
            });
        }
        Some(list)
    }
}

/// Letters of a name that leave no doubt which one it is the start of.
const TELLING_LEN: usize = 12;

/// Whether a name differs from another in one or two letters, or is the start of it.
fn is_near(name: &str, other: &str) -> bool {
    let differences = name.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count();
    match name.len() == other.len() {
        true => (1..=2).contains(&differences),
        false => name.len() >= TELLING_LEN && name.len() < other.len() && differences == 0,
    }
}
