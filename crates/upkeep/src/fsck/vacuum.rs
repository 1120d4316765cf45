//! Vacuum files: what they hide, and whether something took its place.

use super::Check;
use super::commits::Commits;
use super::finding::{Class, Finding, FindingKind};
use smalti_format::NameList;
use smalti_format::names::TimestampedName;
use std::collections::BTreeSet;

impl Check<'_> {
    /// Looks at all vacuum files, and says which fragments are replaced.
    pub(super) fn vacuums(&mut self, commits: &mut Commits) {
        for (_, name, list) in commits.vacuums.iter().chain(&commits.pending) {
            if commits.committed.contains_key(name.as_str()) {
                commits.replaced.extend(list.names.iter().cloned());
            }
        }
        for (path, name, list) in &commits.vacuums {
            self.vacuum(path, name, list, commits);
        }
        for (path, name, _) in &commits.pending {
            self.pending(path, name, commits);
        }
    }

    fn vacuum(&mut self, path: &str, name: &TimestampedName, list: &NameList, commits: &Commits) {
        let has_bad_lines = !list.bad_lines.is_empty();
        if list.names.is_empty() {
            if commits.committed.contains_key(name.as_str()) {
                let message = "it lists nothing: if its fragment was merged from others that are still here, their cells are \
                               read twice where duplicates are allowed";
                let finding = Finding::new(FindingKind::VacuumEmpty, Class::Misleading, path, message);
                self.add(finding.not_mended(
                    "which fragments were merged is not written anywhere else; compare `smalti fragments`",
                ));
            } else if !has_bad_lines {
                let message = "it lists nothing, and its fragment is not there";
                self.add(Finding::new(FindingKind::ListIdle, Class::Harmless, path, message).set_aside());
            }
            return;
        }
        let hidden: Vec<&String> =
            list.names.iter().filter(|listed| commits.committed.contains_key(*listed)).collect();
        let committed: BTreeSet<&str> = commits.committed.keys().map(String::as_str).collect();
        self.note_near_names(path, &list.names, &committed);
        let is_present = |listed: &&String| self.survey.fragments.contains_key(*listed);
        if hidden.is_empty() && !list.names.iter().any(|listed| is_present(&listed)) {
            let message = "nothing that it lists is there any more";
            let finding = Finding::new(FindingKind::ListIdle, Class::Harmless, path, message);
            return self.add(if has_bad_lines { finding } else { finding.set_aside() });
        }
        if commits.committed.contains_key(name.as_str()) || hidden.is_empty() {
            return;
        }
        if commits.replaced.contains(name.as_str()) {
            let message =
                "its fragment was replaced by another, and its files were removed: a vacuum was interrupted";
            return self.add(Finding::new(FindingKind::ListIdle, Class::Harmless, path, message));
        }
        // What a purge that left no cell puts in the place of fragments is nothing but these two files.
        let gone = self.survey.gone_file(name);
        if gone.is_some_and(|gone| matches!(smalti_array::purged_at(self.place, &gone), Ok(Some(_)))) {
            return;
        }
        let message = format!(
            "it hides {} fragments, but no commit names {name}, which took their place",
            hidden.len()
        );
        let finding = Finding::new(FindingKind::VacuumWithoutFragment, Class::Hidden, path, message);
        // A later merge may have taken in the one that is missing.
        let merged = commits.committed.keys().filter_map(|other| TimestampedName::parse(other).ok());
        let is_covered = merged
            .filter(|other| other.range().start < other.range().end)
            .any(|other| other.range().contains(name.range()));
        self.add(if is_covered {
            finding.not_mended("a later consolidation may hold the cells; vacuum, or ask `smalti diff` first")
        } else {
            finding.set_aside()
        });
    }

    fn pending(&mut self, path: &str, name: &TimestampedName, commits: &Commits) {
        let is_committed = commits.committed.contains_key(name.as_str());
        let message = match is_committed {
            true => {
                "its consolidation was committed and not finished; smalti takes it for the vacuum file that it was to be"
            }
            false => "its consolidation is under way, or was interrupted; it hides nothing",
        };
        let finding = Finding::new(FindingKind::VacuumPending, Class::Harmless, path, message);
        let folder = smalti_store::split(path).0;
        let is_old = !is_committed && !self.is_young(name.range().end, folder);
        self.add(if is_old { finding.set_aside() } else { finding });
    }
}
