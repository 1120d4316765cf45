//! Where listings come from, as far as it is known: by the folders of arrays and groups.

use reqwest::header::{HeaderName, HeaderValue};
use smalti_store::{FileList, MANIFEST_FILE, join, split};
use smalti_types::text::format_date_time;
use smalti_types::{Datatype, Error};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What is known of where listings come from, by the folders of arrays and groups.
#[derive(Debug, Default)]
pub(super) struct Folders(Mutex<BTreeMap<String, Source>>);

#[derive(Debug, Clone)]
pub(super) enum Source {
    Manifest(Arc<Manifest>),
    Pages,
}

/// A manifest as it was read.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) list: FileList,
    /// What asks whether there is another one.
    pub(super) unless: Option<(HeaderName, HeaderValue)>,
}

impl Folders {
    pub(super) fn source(&self, root: &str) -> Option<Source> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned()
    }

    pub(super) fn learn(&self, root: &str, source: Option<Source>) {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match source {
            Some(source) => drop(sources.insert(root.to_owned(), source)),
            None => drop(sources.remove(root)),
        }
    }

    /// The manifest that was read last for a folder.
    pub(super) fn manifest(&self, root: &str) -> Option<Arc<Manifest>> {
        match self.source(root)? {
            Source::Manifest(manifest) => Some(manifest),
            Source::Pages => None,
        }
    }

    /// Whose manifest counts for a path: that of the array or group that it is part of, or of a group around it that is known to have one, which
    /// then says whether the array has its own.
    pub(super) fn root_of(&self, path: &str) -> String {
        let own = array_of(path);
        let mut above = own;
        while !above.is_empty() {
            above = split(above).0;
            if let Some(manifest) = self.manifest(above) {
                let file = join(below(own, above), MANIFEST_FILE);
                return if manifest.list.byte_len(&file).is_some() { own } else { above }.to_owned();
            }
        }
        own.to_owned()
    }

    /// The length of a file as the manifest says that was read last; `None` without one, or for another file.
    pub(super) fn byte_len(&self, path: &str) -> Option<Option<u64>> {
        let root = self.root_of(path);
        let manifest = self.manifest(&root)?;
        Some(manifest.list.byte_len(below(path, &root)))
    }

    /// The error of a file that has gone although a manifest names it.
    pub(super) fn out_of_date(&self, path: &str, address: String) -> Option<Error> {
        let root = self.root_of(path);
        let manifest = self.manifest(&root)?;
        manifest.list.byte_len(below(path, &root))?;
        let written = i64::try_from(manifest.list.written_ms()).unwrap_or(i64::MAX);
        let written = format_date_time(Datatype::DateTimeMs, written);
        Some(Error::not_found(format!(
            "the manifest is out of date: it was written at {written}, and names this file, which has gone since; \
             `smalti manifest ARRAY` writes it anew"
        ))
        .at_uri(address))
    }
}

/// The folder of the array or group that a path is part of: the names of parts begin with two underscores.
fn array_of(path: &str) -> &str {
    let mut end = 0;
    for part in path.split('/') {
        if part.starts_with("__") {
            return path.get(..end).unwrap_or_default().trim_end_matches('/');
        }
        end += part.len() + 1;
    }
    path
}

/// What a path is from a folder that it is in, or is.
pub(super) fn below<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_array_are_told_from_its_place() {
        for (path, array) in [
            ("data/a", "data/a"),
            ("data/a/__schema", "data/a"),
            ("data/a/__labels/x/__fragments/y", "data/a"),
            ("data/a_/b__/c", "data/a_/b__/c"),
            ("__schema", ""),
            ("", ""),
        ] {
            assert_eq!(array_of(path), array, "{path}");
        }
        assert_eq!((below("a/b/c", "a"), below("a", "a"), below("a/b", "")), ("b/c", "", "a/b"));
    }

    #[test]
    fn the_manifest_of_a_group_counts_for_members_that_have_none() {
        let folders = Folders::default();
        assert_eq!(folders.root_of("g/rain/__schema/x"), "g/rain");
        let files = vec![("rain/__schema/x".to_owned(), 3), (format!("snow/{MANIFEST_FILE}"), 9)];
        let manifest = Manifest { list: FileList::new(0, files).unwrap(), unless: None };
        folders.learn("g", Some(Source::Manifest(Arc::new(manifest))));
        assert_eq!(folders.root_of("g/rain/__schema/x"), "g");
        assert_eq!(folders.root_of("g/snow/__schema/x"), "g/snow");
        assert_eq!(folders.root_of("h/snow"), "h/snow");
        assert_eq!(folders.byte_len("g/rain/__schema/x"), Some(Some(3)));
        assert_eq!(folders.byte_len("g/rain/__schema/y"), Some(None));
        assert_eq!(folders.byte_len("h/rain/__schema/y"), None);
        let error = folders.out_of_date("g/rain/__schema/x", "there".to_owned()).unwrap();
        assert!(
            error.to_string().contains("1970-01-01") && error.to_string().contains("out of date"),
            "{error}"
        );
    }
}
