//! The manifest for readers over HTTP: whether it can be read, and whether what it names is there.

use super::Check;
use super::finding::{Class, Finding, FindingKind};
use smalti_store::{FileList, MANIFEST_FILE, StoreExt};
use smalti_types::ErrorKind;
use std::collections::HashSet;

impl Check<'_> {
    /// Looks at the manifest, if there is one.
    pub(super) fn manifest(&mut self) {
        let is_there =
            |name: &str| self.survey.root.iter().any(|entry| entry.is_file() && entry.name == name);
        if !is_there(MANIFEST_FILE) {
            return;
        }
        let (store, place) = (self.place.store(), self.place);
        let read = store
            .read_all(&place.join(MANIFEST_FILE), FileList::MAX_BYTE_LEN)
            .and_then(|bytes| FileList::decode(&bytes));
        let list = match read {
            Ok(list) => list,
            Err(error) => {
                let kind = match error.kind() {
                    ErrorKind::Unsupported => FindingKind::Unknown,
                    ErrorKind::Corrupt => FindingKind::Damaged,
                    _ => FindingKind::Unreadable,
                };
                let message =
                    format!("{}; readers over http that go by it do not open the array", error.message());
                let finding = Finding::new(kind, Class::Hidden, MANIFEST_FILE, message);
                self.add(match kind {
                    FindingKind::Damaged => finding.set_aside(),
                    _ => finding.not_mended("`smalti manifest` writes it anew"),
                });
                return;
            }
        };
        let Ok(entries) = store.list_recursive(place.path()) else { return };
        let there: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let mut gone = list.files().filter(|(path, _)| !there.contains(path));
        if let Some((first, _)) = gone.next() {
            let count = 1 + gone.count();
            let message = format!(
                "it names {count} files that have gone since it was written, {first:?} first; readers over http that go by it look for them"
            );
            let finding = Finding::new(FindingKind::ManifestStale, Class::Hidden, MANIFEST_FILE, message);
            self.add(finding.not_mended("`smalti manifest` writes it anew"));
        }
    }
}
