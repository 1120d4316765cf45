//! The files of a folder, written down: the manifest of an array, for readers whose server lists no folders.

use crate::{Entry, EntryKind, check_path};
use serde::Deserialize;
use smalti_types::{Error, Result};
use std::fmt::Write as _;

/// The name of the manifest in the folder of the array or group. No reader of the format looks at it.
pub const MANIFEST_FILE: &str = "__smalti_manifest.json";

/// What a folder holds at a time: the paths of all files below it, and their sizes.
///
/// As a file it is JSON: the version of this layout, the time in milliseconds since 1970-01-01T00:00:00Z, and the files, sorted, a line each.
///
/// ```json
/// {"smalti_manifest": 1, "written_ms": 1732446000000, "files": [
/// ["__commits/__1_1_0123456789abcdef0123456789abcdef_22.wrt", 0],
/// ["__schema/__1_1_0123456789abcdef0123456789abcdef", 312]
/// ]}
/// ```
///
/// Members of other names are passed over; a layout that readers of this one must not read has another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    written_ms: u64,
    /// Sorted by the bytes of the paths, each once.
    files: Vec<(String, u64)>,
}

/// The layout that is written.
const VERSION: u64 = 1;

#[derive(Deserialize)]
struct OfAnyVersion {
    smalti_manifest: u64,
}

#[derive(Deserialize)]
struct Stored {
    written_ms: u64,
    files: Vec<(String, u64)>,
}

impl FileList {
    /// The longest manifest that is read or written, in bytes: there is room for half a million files.
    pub const MAX_BYTE_LEN: u64 = 64 << 20;

    /// A list of files, by their paths from the folder, in any order.
    ///
    /// # Errors
    /// `InvalidArgument` for paths that are none; `Corrupt` when a path is there twice, or is a file and a folder.
    pub fn new(written_ms: u64, mut files: Vec<(String, u64)>) -> Result<FileList> {
        files.iter().try_for_each(|(path, _)| check_path(path))?;
        files.sort_unstable();
        let list = FileList { written_ms, files };
        let mut last: Option<&str> = None;
        for (path, _) in &list.files {
            if last == Some(path) {
                return Err(Error::corrupt(format!("the file {path:?} is listed twice")));
            }
            let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
            if let Some(folder) = folders.into_iter().find(|folder| list.byte_len(folder).is_some()) {
                return Err(Error::corrupt(format!("{folder:?} is listed as a file, and has files in it")));
            }
            last = Some(path);
        }
        Ok(list)
    }

    /// Reads a manifest. What it takes in memory is bounded by the length of the bytes.
    ///
    /// # Errors
    /// `Corrupt`, with what is wrong; `Unsupported` for a version that this release does not know.
    pub fn decode(bytes: &[u8]) -> Result<FileList> {
        let damaged = |problem: &dyn std::fmt::Display| Error::corrupt(format!("no manifest: {problem}"));
        if bytes.len() as u64 > FileList::MAX_BYTE_LEN {
            return Err(damaged(&format_args!("{} bytes are too many", bytes.len())));
        }
        let of_any: OfAnyVersion = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        if of_any.smalti_manifest != VERSION {
            return Err(Error::unsupported(format!(
                "a manifest of version {}; this release reads version {VERSION}, write it anew with `smalti manifest`",
                of_any.smalti_manifest
            )));
        }
        let stored: Stored = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        FileList::new(stored.written_ms, stored.files).map_err(|error| damaged(&error.message()))
    }

    /// The manifest as a file.
    ///
    /// # Errors
    /// `Unsupported` when there are too many files for one.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut text =
            format!("{{\"smalti_manifest\": {VERSION}, \"written_ms\": {}, \"files\": [", self.written_ms);
        for (idx, (path, byte_len)) in self.files.iter().enumerate() {
            text.push_str(if idx == 0 { "\n" } else { ",\n" });
            // Writing to memory does not fail.
            let _ = write!(text, "[{}, {byte_len}]", serde_json::Value::from(path.as_str()));
        }
        text.push_str("\n]}\n");
        if text.len() as u64 > FileList::MAX_BYTE_LEN {
            return Err(Error::unsupported(format!(
                "{} files are too many for one manifest; consolidate and vacuum the array",
                self.files.len()
            )));
        }
        Ok(text.into_bytes())
    }

    /// When it was written, in milliseconds since 1970-01-01T00:00:00Z.
    pub fn written_ms(&self) -> u64 {
        self.written_ms
    }

    /// The files, sorted by their paths, with their sizes in bytes.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.files.iter().map(|(path, byte_len)| (path.as_str(), *byte_len))
    }

    /// The size of a file; `None` where the list has none of that path.
    pub fn byte_len(&self, path: &str) -> Option<u64> {
        let at = self.files.binary_search_by(|(known, _)| known.as_str().cmp(path)).ok()?;
        self.files.get(at).map(|(_, byte_len)| *byte_len)
    }

    /// What is directly in a folder, sorted; the empty path is the folder that the list is of.
    pub fn entries(&self, folder: &str) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut rest = self.below(folder);
        while let Some((path, byte_len)) = rest.first() {
            let name = path.get(cut(folder)..).unwrap_or_default();
            let Some((name, _)) = name.split_once('/') else {
                entries.push(Entry { name: name.to_owned(), kind: EntryKind::File, byte_len: *byte_len });
                rest = rest.get(1..).unwrap_or_default();
                continue;
            };
            entries.push(Entry { name: name.to_owned(), kind: EntryKind::Folder, byte_len: 0 });
            let prefix = path.get(..cut(folder) + name.len() + 1).unwrap_or_default();
            let count = rest.partition_point(|(path, _)| path.starts_with(prefix));
            rest = rest.get(count.max(1)..).unwrap_or_default();
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    /// All files below a folder, with their paths from it, sorted.
    pub fn entries_below(&self, folder: &str) -> Vec<Entry> {
        let entry = |(path, byte_len): &(String, u64)| Entry {
            name: path.get(cut(folder)..).unwrap_or_default().to_owned(),
            kind: EntryKind::File,
            byte_len: *byte_len,
        };
        self.below(folder).iter().map(entry).collect()
    }

    /// The files below a folder, which stand together.
    fn below(&self, folder: &str) -> &[(String, u64)] {
        if folder.is_empty() {
            return &self.files;
        }
        let prefix = [folder, "/"].concat();
        let start = self.files.partition_point(|(path, _)| path.as_str() < prefix.as_str());
        let from = self.files.get(start..).unwrap_or_default();
        let count = from.partition_point(|(path, _)| path.starts_with(&prefix));
        from.get(..count).unwrap_or_default()
    }
}

/// What paths of files in a folder have in front of the name.
fn cut(folder: &str) -> usize {
    if folder.is_empty() { 0 } else { folder.len() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::ErrorKind;

    fn list(paths: &[&str]) -> FileList {
        FileList::new(7, paths.iter().zip(1..).map(|(path, len)| ((*path).to_owned(), len)).collect())
            .unwrap()
    }

    fn names(entries: &[Entry]) -> Vec<String> {
        let shown =
            |entry: &Entry| if entry.is_folder() { format!("{}/", entry.name) } else { entry.name.clone() };
        entries.iter().map(shown).collect()
    }

    #[test]
    fn folders_of_a_list_hold_what_its_paths_say() {
        let list = list(&["b/c/d", "b/c.x", "b/c/e/f", "a", "b/\"ü\\", "c"]);
        assert_eq!(names(&list.entries("")), ["a", "b/", "c"]);
        assert_eq!(names(&list.entries("b")), ["\"ü\\", "c/", "c.x"]);
        assert_eq!(names(&list.entries("b/c")), ["d", "e/"]);
        assert!(
            list.entries("b/c/d").is_empty() && list.entries("x").is_empty() && list.entries("b/").is_empty()
        );
        assert_eq!(names(&list.entries_below("b/c")), ["d", "e/f"]);
        assert_eq!(list.entries_below("").len(), 6);
        assert_eq!((list.byte_len("b/c/d"), list.byte_len("b/c")), (Some(1), None));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for list in [list(&[]), list(&["a"]), list(&["b/\n\u{1f600}", "a\\\"", "c/d"])] {
            assert_eq!(FileList::decode(&list.encode().unwrap()).unwrap(), list);
        }
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        for (bytes, part) in [
            (r#"{"smalti_manifest":1,"written_ms":1,"files":[["a/../b",1]]}"#, "component"),
            (r#"{"smalti_manifest":1,"written_ms":1,"files":[["/a",1]]}"#, "empty component"),
            (r#"{"smalti_manifest":1,"written_ms":1,"files":[["a",1],["a",2]]}"#, "twice"),
            (r#"{"smalti_manifest":1,"written_ms":1,"files":[["a/b",1],["a.c",2],["a",3]]}"#, "files in it"),
            (r#"{"smalti_manifest":1,"written_ms":1,"files":[["a",-1]]}"#, "no manifest"),
            (r#"{"smalti_manifest":1,"written_ms":1}"#, "files"),
            ("<html>", "no manifest"),
            ("", "no manifest"),
        ] {
            let error = FileList::decode(bytes.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{bytes}");
            assert!(error.to_string().contains(part), "{bytes}: {error}");
        }
        let deep = format!("{}{}", r#"{"smalti_manifest":1,"x":"#, "[".repeat(100_000));
        assert_eq!(FileList::decode(deep.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn another_version_is_refused_by_name_whatever_else_it_says() {
        let error = FileList::decode(br#"{"files":{"a":1},"smalti_manifest":2}"#).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("version 2"), "{error}");
    }
}
