//! Data files of a fragment: which there have to be, and how long.

use super::Check;
use super::finding::{Class, Finding, FindingKind};
use super::fragment::Examined;
use super::offsets::walk;
use super::rebuild::Mending;
use smalti_array::{FieldId, Fragment, Plane, field_name};
use smalti_format::names::{FRAGMENT_METADATA_FILE, last_part};
use smalti_store::{Entry, join};
use std::collections::BTreeMap;

/// A data file that a fragment has to have.
#[derive(Debug, Clone)]
pub(super) struct DataFile {
    pub(super) field: FieldId,
    pub(super) plane: Plane,
    pub(super) name: String,
    /// As the footer says.
    pub(super) byte_len: u64,
}

/// The fields of a fragment that can have data files.
pub(crate) fn fields_of(fragment: &Fragment) -> Vec<FieldId> {
    let schema = fragment.schema();
    let attributes = (0..schema.attributes.len()).map(FieldId::Attribute);
    let dimensions = (0..schema.dimensions.len()).map(FieldId::Dimension);
    let others =
        [FieldId::Coordinates, FieldId::Timestamps, FieldId::DeleteTimestamps, FieldId::DeleteConditionIndex];
    attributes.chain(dimensions).chain(others).filter(|field| fragment.has_field(*field)).collect()
}

/// The data files of a fragment that hold anything.
pub(super) fn data_files_of(fragment: &Fragment) -> Vec<DataFile> {
    let (footer, shape) = (fragment.footer(), fragment.schema().shape());
    let mut files = Vec::new();
    for field in fields_of(fragment) {
        let Some(slot) = footer.slot(&shape, field) else { continue };
        let lists = [
            (Plane::Fixed, &footer.file_sizes),
            (Plane::Var, &footer.file_var_sizes),
            (Plane::Validity, &footer.file_validity_sizes),
        ];
        for (plane, list) in lists {
            let byte_len = list.get(slot).copied().unwrap_or_default();
            if let (Ok(path), 1..) = (fragment.data_file(field, plane), byte_len) {
                files.push(DataFile { field, plane, name: last_part(&path).to_owned(), byte_len });
            }
        }
    }
    files
}

impl Check<'_> {
    /// Whether all data files of a fragment are there with the lengths that its metadata says.
    pub(super) fn is_complete(&self, fragment: &Fragment, entries: &[Entry]) -> bool {
        let has = |file: &DataFile| {
            entries.iter().any(|entry| entry.name == file.name && entry.byte_len >= file.byte_len)
        };
        data_files_of(fragment).iter().all(has)
    }

    /// Compares the files in a fragment's folder with its metadata.
    pub(super) fn data_files(&mut self, examined: &Examined<'_>, mending: &mut Mending) {
        let fragment = examined.fragment;
        let files = data_files_of(fragment);
        let present: BTreeMap<&str, &Entry> =
            examined.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        for file in &files {
            let path = join(examined.folder, &file.name);
            let name = field_name(fragment.schema(), file.field);
            match present.get(file.name.as_str()).filter(|entry| entry.is_file()) {
                None => {
                    let message =
                        format!("the data file of {name:?}, of {} bytes, is not there", file.byte_len);
                    let finding = Finding::new(FindingKind::FileMissing, Class::Lost, path, message);
                    self.add(finding.at("data file", name, None));
                }
                Some(entry) if entry.byte_len != file.byte_len => {
                    self.wrong_len(examined, file, entry.byte_len, mending);
                }
                Some(_) => {}
            }
        }
        for entry in examined.entries {
            let is_known = entry.is_file()
                && (entry.name == FRAGMENT_METADATA_FILE
                    || files.iter().any(|file| file.name == entry.name)
                    || entry.byte_len == 0);
            if !is_known {
                let message = "the fragment's metadata knows no such file; readers pass over it";
                let path = join(examined.folder, &entry.name);
                self.add(Finding::new(FindingKind::Stray, Class::Harmless, path, message));
            }
        }
    }

    fn wrong_len(&mut self, examined: &Examined<'_>, file: &DataFile, actual: u64, mending: &mut Mending) {
        let fragment = examined.fragment;
        let name = field_name(fragment.schema(), file.field);
        let path = join(examined.folder, &file.name);
        let message = |what: &str| {
            format!("the file of {name:?} has {actual} bytes, the footer says {}: {what}", file.byte_len)
        };
        let list = match file.plane {
            Plane::Fixed => "file_sizes",
            Plane::Var => "file_var_sizes",
            Plane::Validity => "file_validity_sizes",
        };
        let tiles = walk(self.place, &self.place.join(&path), actual, fragment.tile_count());
        if tiles.is_some_and(|tiles| tiles.len() as u64 == fragment.tile_count()) {
            let what = "its tiles take up the whole file, so the footer is wrong";
            let class = if actual > file.byte_len { Class::Hidden } else { Class::Misleading };
            let finding =
                Finding::new(FindingKind::OffsetsWrong, class, examined.metadata_file(), message(what));
            self.add(finding.at("footer", list, None));
            mending.set_file_len(file.field, file.plane, actual, self.findings.len() - 1);
        } else if actual > file.byte_len {
            let finding = Finding::new(
                FindingKind::FileLong,
                Class::Harmless,
                path,
                message("readers pass over the rest"),
            );
            self.add(finding.at("data file", name, Some(file.byte_len)));
        } else {
            let first = (0..usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX)).find(|tile| {
                let place = fragment.tile_place(file.field, file.plane, *tile);
                place.is_err() || place.is_ok_and(|place| place.end > actual)
            });
            let what = match first {
                Some(tile) => {
                    format!("the tiles from {tile} on, of {}, are lost", fragment.tile_count())
                }
                None => "the end is lost".to_owned(),
            };
            let finding = Finding::new(FindingKind::FileShort, Class::Lost, path, message(&what));
            self.add(finding.at("data file", name, Some(actual)));
        }
    }
}
