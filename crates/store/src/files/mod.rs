//! Files on any path: what programs keep beside their arrays, which libtiledb calls a virtual file system.
//!
//! A [`Store`] has immutable files that appear at once, which is what arrays are made of. Here files are opened, appended to, copied and moved, on this machine, in
//! memory and in buckets alike. What a bucket cannot do says so: nothing is appended to objects.

mod found;
mod local;
mod open;
mod stored;

use crate::{Stores, SyncLevel, join};
use smalti_types::{Error, ErrorKind, Result};
use std::path::PathBuf;

use stored::Stored;

pub use found::FoundFile;
pub use open::OpenFile;

/// Bytes that are copied at once from one store to another.
const COPY_BYTE_LEN: u64 = 8 << 20;

/// Files on any path of some stores. Clones are the same.
#[derive(Debug, Clone)]
pub struct Files {
    stores: Stores,
    file_mode: Option<u32>,
    folder_mode: Option<u32>,
}

/// Where a URI leads.
enum Spot {
    Local(PathBuf),
    Stored(Stored),
}

impl Files {
    /// The files of some stores.
    pub fn new(stores: &Stores) -> Files {
        Files { stores: stores.clone(), file_mode: None, folder_mode: None }
    }

    /// The same, with permissions for files and folders that are made on this machine, as `chmod` takes them.
    #[must_use]
    pub fn with_modes(self, file: Option<u32>, folder: Option<u32>) -> Files {
        Files { file_mode: file, folder_mode: folder, ..self }
    }

    fn spot(&self, uri: &str) -> Result<Spot> {
        if let Some(path) = crate::uri::local_path(uri)? {
            let path = std::path::absolute(&path).map_err(|error| Error::from(error).at_uri(uri))?;
            return Ok(Spot::Local(path));
        }
        let is_bucket = uri
            .split_once("://")
            .is_some_and(|(scheme, rest)| scheme != "mem" && !rest.trim_end_matches('/').contains('/'));
        if is_bucket {
            // A file that nobody asks for leads to the bucket.
            let place = self.stores.open(&format!("{}/file", uri.trim_end_matches('/')), SyncLevel::Full)?;
            return Ok(Spot::Stored(Stored { store: place.store, path: String::new() }));
        }
        let place = self.stores.open(uri, SyncLevel::Full)?;
        Ok(Spot::Stored(Stored { store: place.store, path: place.path }))
    }

    /// Makes a bucket: `s3://NAME`, `gs://NAME`.
    ///
    /// # Errors
    /// `AlreadyExists`; `InvalidArgument` for what is the address of no bucket.
    pub fn create_bucket(&self, uri: &str) -> Result<()> {
        self.stores.change_bucket(uri, true)
    }

    /// Removes a bucket, which has to be empty.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` where it is not empty; as [`create_bucket`](Files::create_bucket).
    pub fn remove_bucket(&self, uri: &str) -> Result<()> {
        self.stores.change_bucket(uri, false)
    }

    /// Whether there is a file.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported` for URIs that lead nowhere; what the store reports. So it is everywhere below.
    pub fn is_file(&self, uri: &str) -> Result<bool> {
        match self.spot(uri)? {
            Spot::Local(path) => Ok(path.is_file()),
            Spot::Stored(at) => at.is_file(),
        }
    }

    /// Whether there is a folder: in a bucket, whether names of objects go on behind this one and a slash.
    ///
    /// # Errors
    /// What the store reports.
    pub fn is_folder(&self, uri: &str) -> Result<bool> {
        match self.spot(uri)? {
            Spot::Local(path) => Ok(path.is_dir()),
            Spot::Stored(at) => at.is_folder(),
        }
    }

    /// The length of a file in bytes.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn byte_len(&self, uri: &str) -> Result<u64> {
        match self.spot(uri)? {
            Spot::Local(path) => local::byte_len(&path),
            Spot::Stored(at) => at.store.byte_len(&at.path),
        }
    }

    /// The length of all files below a folder.
    ///
    /// # Errors
    /// `NotFound` where there is no folder.
    pub fn folder_byte_len(&self, uri: &str) -> Result<u64> {
        let found = self.list(uri, true)?;
        Ok(found.iter().map(|found| found.byte_len).fold(0, u64::saturating_add))
    }

    /// What is in a folder, in the order of the names; with `is_deep` what is further below, too: on this machine with the folders on the way, elsewhere the files alone.
    ///
    /// # Errors
    /// `NotFound` where there is no folder; in a bucket that is an empty one.
    pub fn list(&self, uri: &str, is_deep: bool) -> Result<Vec<FoundFile>> {
        let at = match self.spot(uri)? {
            Spot::Local(path) => return local::list(&path, is_deep),
            Spot::Stored(at) => at,
        };
        let entries = if is_deep { at.store.list_recursive(&at.path)? } else { at.store.list(&at.path)? };
        if entries.is_empty() && !at.store.is_distant() && !at.is_folder()? {
            return Err(at.missing("folder"));
        }
        let found = entries.into_iter().map(|entry| FoundFile {
            uri: at.store.address(&join(&at.path, &entry.name)),
            byte_len: entry.byte_len,
            is_folder: entry.is_folder(),
        });
        Ok(found.collect())
    }

    /// Makes a folder and those above it; one that is there is fine, and buckets have none.
    ///
    /// # Errors
    /// `AlreadyExists` where a file has the name.
    pub fn create_folder(&self, uri: &str) -> Result<()> {
        match self.spot(uri)? {
            Spot::Local(path) => local::create_folder(&path, self.folder_mode),
            Spot::Stored(at) => at.store.create_folder(&at.path),
        }
    }

    /// Removes a folder with all that is in it.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn remove_folder(&self, uri: &str) -> Result<()> {
        match self.spot(uri)? {
            Spot::Local(path) => local::remove_folder(&path),
            Spot::Stored(at) if !at.path.is_empty() && !at.is_folder()? => Err(at.missing("folder")),
            Spot::Stored(at) => at.emptied(),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn remove_file(&self, uri: &str) -> Result<()> {
        match self.spot(uri)? {
            Spot::Local(path) => local::remove_file(&path),
            Spot::Stored(at) if !at.is_file()? => Err(at.missing("file")),
            Spot::Stored(at) => at.store.delete_files(&[&at.path]),
        }
    }

    /// Makes an empty file where there is none.
    ///
    /// # Errors
    /// What the store reports.
    pub fn touch(&self, uri: &str) -> Result<()> {
        match self.spot(uri)? {
            Spot::Local(path) => local::touch(&path, self.file_mode),
            Spot::Stored(at) => match at.store.put(&at.path, &[]) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                put => put,
            },
        }
    }

    /// Copies a file, over one that is there. The two may be in stores of different kinds.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn copy_file(&self, from: &str, to: &str) -> Result<()> {
        match (self.spot(from)?, self.spot(to)?) {
            (Spot::Local(from), Spot::Local(to)) => local::copy_file(&from, &to),
            _ => {
                let mut source = self.open(from)?;
                let mut target = self.create(to)?;
                let byte_len = source.byte_len();
                let mut at = 0;
                while at < byte_len {
                    let piece = (byte_len - at).min(COPY_BYTE_LEN);
                    let mut bytes = vec![0; usize::try_from(piece).unwrap_or(0)];
                    source.read_at(at, &mut bytes)?;
                    target.write(&bytes)?;
                    at += piece;
                }
                target.close()
            }
        }
    }

    /// Copies a folder with all that is in it. Files that are there already under the new names are written over.
    ///
    /// # Errors
    /// `NotFound`; an error in the middle leaves what was copied.
    pub fn copy_folder(&self, from: &str, to: &str) -> Result<()> {
        if let (Spot::Local(from), Spot::Local(to)) = (self.spot(from)?, self.spot(to)?) {
            return local::copy_folder(&from, &to);
        }
        let base = self.base(from)?;
        let found = self.list(from, true)?;
        self.create_folder(to)?;
        for FoundFile { uri, is_folder, .. } in found {
            let below = uri.strip_prefix(&base).unwrap_or(&uri).trim_start_matches('/');
            let target = format!("{}/{below}", to.trim_end_matches('/'));
            if is_folder { self.create_folder(&target)? } else { self.copy_file(&uri, &target)? }
        }
        Ok(())
    }

    /// How the names of all that is below a folder begin.
    fn base(&self, uri: &str) -> Result<String> {
        Ok(match self.spot(uri)? {
            Spot::Local(path) => path.display().to_string(),
            Spot::Stored(at) => at.store.address(&at.path),
        })
    }

    /// Gives a file another name, in the place of one that has it. In a bucket, and between stores, it is copied first.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn move_file(&self, from: &str, to: &str) -> Result<()> {
        if let (Spot::Local(from), Spot::Local(to)) = (self.spot(from)?, self.spot(to)?)
            && local::renamed(&from, &to)?
        {
            return Ok(());
        }
        self.copy_file(from, to)?;
        self.remove_file(from)
    }

    /// Gives a folder another name. In a bucket, and between stores, all is copied first.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        if let (Spot::Local(from), Spot::Local(to)) = (self.spot(from)?, self.spot(to)?)
            && local::renamed(&from, &to)?
        {
            return Ok(());
        }
        self.copy_folder(from, to)?;
        self.remove_folder(from)
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    /// `NotFound`, also for folders.
    pub fn open(&self, uri: &str) -> Result<OpenFile> {
        match self.spot(uri)? {
            Spot::Local(path) => OpenFile::read_local(&path),
            Spot::Stored(at) => OpenFile::read_stored(at),
        }
    }

    /// Starts a file, in the place of one that is there. On this machine it is there at once and grows; elsewhere it appears when it is closed.
    ///
    /// # Errors
    /// What the store reports.
    pub fn create(&self, uri: &str) -> Result<OpenFile> {
        match self.spot(uri)? {
            Spot::Local(path) => OpenFile::write_local(&path, false, self.file_mode),
            Spot::Stored(at) => OpenFile::write_stored(at),
        }
    }

    /// Opens a file to write behind its end; one that is not there is started.
    ///
    /// # Errors
    /// `Unsupported` for files in buckets.
    pub fn append(&self, uri: &str) -> Result<OpenFile> {
        match self.spot(uri)? {
            Spot::Local(path) => OpenFile::write_local(&path, true, self.file_mode),
            Spot::Stored(at) => OpenFile::append_stored(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(files: &Files, uri: &str) -> Vec<u8> {
        let mut file = files.open(uri).unwrap();
        let mut bytes = vec![0; usize::try_from(file.byte_len()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    }

    fn written(file: Result<OpenFile>, pieces: &[&[u8]]) {
        let mut file = file.unwrap();
        pieces.iter().try_for_each(|piece| file.write(piece)).unwrap();
        file.sync().unwrap();
        file.close().unwrap();
    }

    fn names(files: &Files, uri: &str, is_deep: bool) -> Vec<(String, u64)> {
        let base = files.base(uri).unwrap();
        let found =
            files.list(uri, is_deep).unwrap().into_iter().filter(|found| !found.is_folder || !is_deep);
        let mut names: Vec<_> =
            found.map(|found| (found.uri.strip_prefix(&base).unwrap().to_owned(), found.byte_len)).collect();
        names.sort();
        names
    }

    /// The life of files in a folder that is not there yet.
    fn check(files: &Files, root: &str) {
        let at = |name: &str| format!("{root}/{name}");
        assert!(!files.is_folder(root).unwrap());
        assert_eq!(files.remove_folder(root).unwrap_err().kind(), ErrorKind::NotFound);
        files.create_folder(root).unwrap();
        files.create_folder(root).unwrap();
        assert!(files.is_folder(root).unwrap());
        assert_eq!(files.list(root, false).unwrap(), []);
        assert_eq!(files.open(&at("a")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(files.remove_file(&at("a")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(files.byte_len(&at("a")).unwrap_err().kind(), ErrorKind::NotFound);

        written(files.create(&at("a")), &[b"one ", b"two"]);
        assert!(files.is_file(&at("a")).unwrap() && !files.is_folder(&at("a")).unwrap());
        assert_eq!((files.byte_len(&at("a")).unwrap(), content(files, &at("a"))), (7, b"one two".to_vec()));
        let (mut file, mut part) = (files.open(&at("a")).unwrap(), [0; 3]);
        file.read_at(4, &mut part).unwrap();
        assert_eq!(&part, b"two");
        assert!(file.read_at(5, &mut part).is_err());
        assert_eq!(file.write(b"x").unwrap_err().kind(), ErrorKind::InvalidArgument);
        written(files.append(&at("a")), &[b", three"]);
        written(files.append(&at("deep/er/b")), &[b"begun"]);
        assert_eq!(content(files, &at("a")), b"one two, three");
        written(files.create(&at("a")), &[b"anew"]);
        assert_eq!(content(files, &at("a")), b"anew");
        let mut file = files.create(&at("c")).unwrap();
        assert_eq!(file.read_at(0, &mut part).unwrap_err().kind(), ErrorKind::InvalidArgument);
        file.close().unwrap();

        files.touch(&at("a")).unwrap();
        files.touch(&at("t")).unwrap();
        assert_eq!(
            names(files, root, false),
            [("/a".into(), 4), ("/c".into(), 0), ("/deep".into(), 0), ("/t".into(), 0)]
        );
        let all = [("/a".to_owned(), 4), ("/c".into(), 0), ("/deep/er/b".into(), 5), ("/t".into(), 0)];
        assert_eq!(names(files, root, true), all);
        assert_eq!(files.folder_byte_len(root).unwrap(), 9);

        files.copy_file(&at("a"), &at("copies/a")).unwrap();
        files.move_file(&at("copies/a"), &at("copies/moved")).unwrap();
        assert!(!files.is_file(&at("copies/a")).unwrap());
        assert_eq!(content(files, &at("copies/moved")), b"anew");
        files.copy_folder(&at("deep"), &at("deep2")).unwrap();
        files.move_folder(&at("deep2"), &at("deep3")).unwrap();
        assert!(!files.is_folder(&at("deep2")).unwrap());
        assert_eq!(names(files, &at("deep3"), true), [("/er/b".into(), 5)]);
        files.remove_folder(&at("deep3")).unwrap();
        assert!(!files.is_folder(&at("deep3")).unwrap());
        files.remove_file(&at("t")).unwrap();
        files.remove_folder(root).unwrap();
        assert!(!files.is_file(&at("a")).unwrap());
    }

    #[test]
    fn files_live_alike_on_this_machine_and_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(&Stores::new());
        check(&files, folder.path().join("files").to_str().unwrap());
        check(&files, &format!("file://{}/files", folder.path().display()));
        check(&files, "mem://files-test");
        check(&files, "mem://files-test-2/below");
    }

    #[test]
    fn what_is_copied_goes_from_store_to_store() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(&Stores::new());
        let local = folder.path().join("one").display().to_string();
        written(files.create(&format!("{local}/a/b")), &[&[7; 100]]);
        files.copy_folder(&local, "mem://copied").unwrap();
        assert_eq!(names(&files, "mem://copied", true), [("/a/b".into(), 100)]);
        let back = folder.path().join("back").display().to_string();
        files.move_folder("mem://copied", &back).unwrap();
        assert_eq!(names(&files, &back, true), [("/a/b".into(), 100)]);
        assert!(!files.is_folder("mem://copied").unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_made_has_the_permissions_that_were_asked_for() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(&Stores::new()).with_modes(Some(0o640), Some(0o750));
        let (made, file) = (folder.path().join("made"), folder.path().join("made/file"));
        files.create_folder(made.to_str().unwrap()).unwrap();
        files.touch(file.to_str().unwrap()).unwrap();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&made), mode(&file)), (0o750, 0o640));
    }

    #[test]
    fn uris_that_lead_nowhere_are_refused() {
        let files = Files::new(&Stores::new());
        for uri in ["nothing://bucket/file", "file://host/file", "mem://"] {
            assert!(files.is_file(uri).is_err(), "{uri}");
        }
    }
}
