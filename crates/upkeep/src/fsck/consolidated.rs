//! Consolidated fragment metadata: copies of footers, which are never needed to read.

use super::Check;
use super::finding::{Class, Finding, FindingKind};
use super::fragment::Fragments;
use super::tile_file::{Flaw, open_tile};
use smalti_format::Reader;
use smalti_format::fragment::{ConsolidatedFooters, Footer, FooterIndex};
use smalti_format::names::{self, FRAGMENT_META_FOLDER, META_ENDING, TimestampedName};
use smalti_store::join;
use smalti_types::AlignedBuf;
use std::collections::BTreeMap;

impl Check<'_> {
    fn footer_files(&self) -> Vec<String> {
        let survey = self.survey;
        let inside = survey.footers.iter().map(|entry| (FRAGMENT_META_FOLDER, entry));
        let files = inside.chain(survey.root.iter().map(|entry| ("", entry)));
        let files = files.filter(|(_, entry)| entry.is_file() && entry.name.ends_with(META_ENDING));
        files.map(|(folder, entry)| join(folder, &entry.name)).collect()
    }

    /// What such a file says of its footers, and these.
    fn footers_in(&self, path: &str) -> Result<(ConsolidatedFooters, FooterIndex<AlignedBuf>), Flaw> {
        let bytes = self.bytes(path).map_err(Flaw::of)?;
        let (tile, _) = open_tile(self.place, &bytes)?;
        let footers = ConsolidatedFooters::decode(tile.as_slice()).map_err(Flaw::of)?;
        Ok((footers, FooterIndex::decode(tile).map_err(Flaw::of)?))
    }

    /// The footer of every fragment that such a file keeps one of.
    pub(super) fn footer_copies(&self) -> BTreeMap<String, Vec<u8>> {
        let mut copies = BTreeMap::new();
        for path in self.footer_files() {
            let Ok((footers, index)) = self.footers_in(&path) else { continue };
            let footer = |name: &str| index.footer(&TimestampedName::parse(name).ok()?);
            for entry in &footers.entries {
                let name = names::last_part(&entry.name);
                if let Some(footer) = footer(name) {
                    copies.insert(name.to_owned(), footer.to_vec());
                }
            }
        }
        copies
    }

    /// Compares copies of footers with the fragments' own.
    pub(super) fn footers(&mut self, fragments: &Fragments) {
        for path in self.footer_files() {
            let (footers, index) = match self.footers_in(&path) {
                Ok(read) => read,
                Err(flaw) => {
                    let mut finding = self.flawed(&flaw, Class::Hidden, &path);
                    finding.message +=
                        "; the fragments have it all themselves, but libtiledb refuses to open the array";
                    self.add(if flaw.is_provable() { finding.set_aside() } else { finding });
                    continue;
                }
            };
            let footer = |name: &str| index.footer(&TimestampedName::parse(name).ok()?);
            let (mut gone, mut different) = (Vec::new(), Vec::new());
            for entry in &footers.entries {
                let name = names::last_part(&entry.name);
                match (fragments.get(name), footer(name)) {
                    (None, _) => gone.push((name, entry.footer_offset)),
                    (Some(Some(fragment)), Some(copy)) => {
                        let shape = fragment.schema().shape();
                        let read = Footer::decode_from(&mut Reader::new(copy), &shape);
                        if !read.is_ok_and(|footer| footer == *fragment.footer()) {
                            different.push((name, entry.footer_offset));
                        }
                    }
                    // Where the fragment's own metadata is damaged, the copy is worth more than nothing.
                    _ => {}
                }
            }
            if let Some((name, offset)) = different.first() {
                let message = format!(
                    "{} of its footers are not those of the fragments themselves, first that of {name}; libtiledb goes by them",
                    different.len()
                );
                let finding = Finding::new(FindingKind::FooterStale, Class::Misleading, &path, message);
                let finding = finding.at("consolidated footer", "footer", Some(*offset));
                self.add(finding.set_aside());
            } else if let Some((name, offset)) = gone.first() {
                let message = format!("{} of its fragments are gone, first {name}", gone.len());
                let finding = Finding::new(FindingKind::FooterStale, Class::Harmless, &path, message);
                self.add(finding.at("consolidated footer", "name", Some(*offset)));
            }
        }
    }
}
