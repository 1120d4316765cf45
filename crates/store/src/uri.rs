//! From what a user types to a store and a path in it.

use crate::local::Handles;
use crate::{DiskCache, LocalStore, MemoryStore, NewFile, NewTree, Store, StoreExt, SyncLevel, check_path};
use smalti_types::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where an array or group is: a store, and its path there.
#[derive(Debug, Clone)]
pub struct Place {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The path of the array or group in the store; never empty.
    pub path: String,
}

/// Opens URIs of schemes that lead to other machines: [`Stores`] know paths and memory themselves.
pub trait Remote: Send + Sync + std::fmt::Debug {
    /// The schemes that it opens, without `://`.
    fn schemes(&self) -> &'static [&'static str];

    /// Finds the store and the path of a URI: of one of its schemes, and what follows `://`. Touches nothing; the array need not exist.
    ///
    /// # Errors
    /// `InvalidArgument` for URIs that name nothing, and settings that are wrong.
    fn open(&self, scheme: &str, rest: &str) -> Result<Place>;

    /// Makes a bucket, or removes an empty one.
    ///
    /// # Errors
    /// `Unsupported` where stores of the scheme have none; `AlreadyExists`, `NotFound`, and what the store reports.
    fn change_bucket(&self, scheme: &str, bucket: &str, is_made: bool) -> Result<()> {
        let what = if is_made { "made" } else { "removed" };
        Err(Error::unsupported(format!("{scheme}://{bucket} is not {what} here")))
    }

    /// The folder on this machine that keeps what is read of these stores; `None` where nobody asked for one.
    fn disk_cache(&self) -> Option<Arc<DiskCache>> {
        None
    }
}

/// Where URIs lead: the stores that a program has. They share the files that they keep open, and memory stores live as long as it.
/// Clones are the same stores.
#[derive(Debug, Clone, Default)]
pub struct Stores {
    /// Files of local stores that are kept open.
    handles: Handles,
    /// Memory stores, by name.
    memory: Arc<Mutex<BTreeMap<String, MemoryStore>>>,
    /// What opens all other schemes.
    remote: Option<Arc<dyn Remote>>,
}

impl Stores {
    /// No stores yet.
    pub fn new() -> Stores {
        Stores::default()
    }

    /// The same stores, with more schemes.
    #[must_use]
    pub fn with_remote(self, remote: Arc<dyn Remote>) -> Stores {
        Stores { remote: Some(remote), ..self }
    }

    /// The folder on this machine that keeps what is read of distant stores; `None` where nobody asked for one.
    pub fn disk_cache(&self) -> Option<Arc<DiskCache>> {
        self.remote.as_ref()?.disk_cache()
    }

    /// Finds the store and the path of a URI. Touches nothing; the array need not exist.
    ///
    /// - A path, or `file:///path` with percent-encoding: a [`LocalStore`] whose root is the folder that holds the array, so that
    ///   the array can be created and deleted by one rename. Symbolic links in the path are resolved here, once: the user
    ///   named them. Links inside the array are another matter (see [`LocalStore`]).
    /// - `mem://name` or `mem://name/path`: a [`MemoryStore`] that these stores have by its `name`. The path in
    ///   the store is `name` or `name/path`, so that `mem://name` alone can be an array.
    ///
    /// Legal: `cities`, `/data/cities/`, `file:///data/my%20cities`, `mem://test/cities`. Illegal: `/`, the empty string,
    /// `file://host/data`, `mem://`.
    ///
    /// # Errors
    /// `Unsupported` for other schemes, `InvalidArgument` for URIs that name nothing.
    pub fn open(&self, uri: &str, sync: SyncLevel) -> Result<Place> {
        match uri.split_once("://") {
            None => self.local(Path::new(uri), sync),
            Some(("file", rest)) => self.local(&file_path(rest)?, sync),
            Some(("mem", rest)) => self.memory(rest),
            Some((scheme, rest)) if is_scheme(scheme) => self.remote(scheme, rest),
            Some(_) => self.local(Path::new(uri), sync),
        }
        .map_err(|error| error.at_uri(uri))
    }

    /// Makes the bucket of a URI, or removes it, if it is empty.
    ///
    /// # Errors
    /// `InvalidArgument` for URIs that name no bucket; as [`Remote::change_bucket`].
    pub(crate) fn change_bucket(&self, uri: &str, is_made: bool) -> Result<()> {
        let named = uri.split_once("://").map(|(scheme, rest)| (scheme, rest.trim_end_matches('/')));
        let named = named.filter(|(_, bucket)| !bucket.is_empty() && !bucket.contains('/'));
        let known = self
            .remote
            .as_ref()
            .filter(|remote| named.is_some_and(|(scheme, _)| remote.schemes().contains(&scheme)));
        match (known, named) {
            (Some(remote), Some((scheme, bucket))) => remote.change_bucket(scheme, bucket, is_made),
            _ => Err(Error::invalid("this is the address of no bucket")),
        }
        .map_err(|error| error.at_uri(uri))
    }

    fn remote(&self, scheme: &str, rest: &str) -> Result<Place> {
        let known = self.remote.as_ref().map(|remote| remote.schemes()).unwrap_or_default();
        match self.remote.as_ref().filter(|_| known.contains(&scheme)) {
            Some(remote) => remote.open(scheme, rest),
            None => {
                let more: String = known.iter().map(|scheme| format!(", {scheme}://")).collect();
                Err(Error::unsupported(format!(
                    "storage of scheme {scheme:?}; supported are paths, file://, mem://{more}"
                )))
            }
        }
    }

    fn local(&self, path: &Path, sync: SyncLevel) -> Result<Place> {
        if path.as_os_str().is_empty() {
            return Err(Error::invalid("the URI is empty"));
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(Error::invalid("the path contains a NUL byte"));
        }
        let path = resolved(&std::path::absolute(path)?);
        let (Some(root), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::invalid("the root of the file system can be no array or group"));
        };
        let name =
            name.to_str().ok_or_else(|| Error::invalid("the last component of the path is no UTF-8"))?;
        check_path(name)?;
        Ok(Place { store: Arc::new(self.local_store(root, sync)?), path: name.to_owned() })
    }

    fn local_store(&self, root: impl AsRef<Path>, sync: SyncLevel) -> Result<LocalStore> {
        LocalStore::sharing(root, sync, self.handles.clone())
    }

    /// The symbolic link that a URI names, as a place of its own, where [`open`](Stores::open) finds what the link leads to; `None` where its
    /// last part is no link. Links further up are resolved.
    ///
    /// # Errors
    /// As [`open`](Stores::open).
    pub fn link(&self, uri: &str, sync: SyncLevel) -> Result<Option<Place>> {
        self.open(uri, sync)?;
        let path = match uri.split_once("://") {
            Some(("file", rest)) => file_path(rest)?,
            Some((scheme, _)) if is_scheme(scheme) => return Ok(None),
            _ => PathBuf::from(uri),
        };
        let path: PathBuf = std::path::absolute(path)?.components().collect();
        let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
            return Ok(None);
        };
        let folder = resolved(folder);
        if !folder.join(name).is_symlink() {
            return Ok(None);
        }
        check_path(name)?;
        Ok(Some(Place { store: Arc::new(self.local_store(folder, sync)?), path: name.to_owned() }))
    }

    /// Moves a folder from one place to another: a rename on the local file system and inside one memory store, elsewhere a
    /// copy that appears at once, then a deletion.
    ///
    /// # Errors
    /// As [`Store::move_folder`]; what reading, creating and deleting report.
    pub fn move_place(&self, from: &Place, to: &Place, sync: SyncLevel) -> Result<()> {
        if Arc::ptr_eq(&from.store, &to.store) {
            return from.store.move_folder(&from.path, &to.path);
        }
        let (source, target) = (from.store.address(&from.path), to.store.address(&to.path));
        if [&source, &target].iter().all(|address| is_local(address)) {
            let shared = source.split('/').zip(target.split('/')).take_while(|(a, b)| a == b).count();
            // One component less than both have, so that each has a path left below the shared folder.
            let shared = shared.min(source.split('/').count() - 1).min(target.split('/').count() - 1);
            let below = |address: &str| address.split('/').skip(shared).collect::<Vec<_>>().join("/");
            let root = source.split('/').take(shared).collect::<Vec<_>>().join("/");
            let root = if root.is_empty() { "/".to_owned() } else { root };
            return self.local_store(root, sync)?.move_folder(&below(&source), &below(&target));
        }
        let is_inside = |below: &str| below.is_empty() || below.starts_with('/');
        if target.strip_prefix(&source).is_some_and(is_inside) {
            return Err(Error::invalid("a folder cannot be moved into itself").at_uri(source));
        }
        copy(from, to)?;
        from.store.delete_folders(&[&from.path])
    }

    fn memory(&self, rest: &str) -> Result<Place> {
        let path = rest.trim_end_matches('/');
        check_path(path)?;
        let name = path.split('/').next().unwrap_or(path);
        let mut stores = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let store = stores.entry(name.to_owned()).or_default().clone();
        Ok(Place { store: Arc::new(store), path: path.to_owned() })
    }

    /// Drops the memory store of a name: `mem://name` is empty for whoever opens it next. Returns whether there was one.
    pub fn forget_memory(&self, name: &str) -> bool {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).remove(name).is_some()
    }
}

/// A scheme is a letter, then letters, digits, `+`, `-` and `.` (RFC 3986, section 3.1).
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// The path of a URI that leads to this machine; `None` for those of other schemes.
///
/// # Errors
/// As [`Stores::open`].
pub(crate) fn local_path(uri: &str) -> Result<Option<PathBuf>> {
    match uri.split_once("://") {
        Some(("file", rest)) => file_path(rest).map(Some).map_err(|error| error.at_uri(uri)),
        Some((scheme, _)) if is_scheme(scheme) => Ok(None),
        _ => Ok(Some(PathBuf::from(uri))),
    }
}

/// The path of a `file` URI: what follows `file://`.
fn file_path(rest: &str) -> Result<PathBuf> {
    let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(Error::unsupported("a file URI names a host; only file:///absolute/path is supported"));
    }
    path.split('/').map(percent_decoded).collect::<Result<Vec<_>>>().map(|parts| parts.join("/").into())
}

/// Decodes one component of a URI's path (RFC 3986, section 2.1). A `/` cannot come out of it, nor a NUL.
///
/// # Errors
/// `InvalidArgument`, with what is wrong.
pub fn percent_decoded(part: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let byte = after
            .split_at_checked(2)
            .and_then(|(digits, after)| {
                rest = after;
                let digits = std::str::from_utf8(digits).ok()?;
                digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(digits)
            })
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            None => {
                return Err(Error::invalid(format!(
                    "`%` in {part:?} is not followed by two hexadecimal digits; a percent sign itself is `%25`"
                )));
            }
            Some(b'/' | 0) => {
                return Err(Error::invalid(format!("{part:?} encodes a slash or a NUL byte")));
            }
            Some(byte) => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{part:?} encodes no UTF-8")))
}

/// An absolute path without links and `..`, as far as it exists; the rest is taken by its words.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(result.pop()),
            Component::CurDir => {}
            other => result.push(other),
        }
        if let Ok(real) = result.canonicalize() {
            result = real;
        }
    }
    result
}

/// Whether an address of a store is a path: all others have a scheme.
fn is_local(address: &str) -> bool {
    !address.contains("://")
}

/// Copies a folder with all it holds; the copy appears at once where the store can do that.
fn copy(from: &Place, to: &Place) -> Result<()> {
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    let mut pending = vec![String::new()];
    while let Some(below) = pending.pop() {
        let path = if below.is_empty() { from.path.clone() } else { crate::join(&from.path, &below) };
        for entry in from.store.list(&path)? {
            let name = crate::join(&below, &entry.name);
            if entry.is_folder() {
                pending.push(name.clone());
                folders.push(name);
            } else {
                let bytes = from.store.read_all(&crate::join(&from.path, &name), u64::MAX)?;
                files.push((name, bytes));
            }
        }
    }
    if folders.is_empty() && files.is_empty() {
        return Err(Error::not_found("no such folder").at_uri(from.store.address(&from.path)));
    }
    let parts: Vec<[&[u8]; 1]> = files.iter().map(|(_, bytes)| [&bytes[..]]).collect();
    let files: Vec<NewFile<'_>> =
        files.iter().zip(&parts).map(|((path, _), parts)| NewFile { path, parts }).collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    to.store.create_tree(&to.path, &NewTree { folders: &folders, files: &files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::ErrorKind;

    fn address(uri: &str) -> String {
        let place = Stores::new().open(uri, SyncLevel::None).unwrap();
        place.store.address(&place.path)
    }

    #[test]
    fn paths_and_file_uris_meet() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let base = base.to_str().unwrap();
        let expected = format!("{base}/my cities");
        for uri in [
            format!("{base}/my cities"),
            format!("{base}/my cities//"),
            format!("{base}/x/../my cities"),
            format!("file://{base}/my%20cities"),
            format!("file://localhost{base}/my cities"),
        ] {
            assert_eq!(address(&uri), expected, "{uri}");
        }
        assert!(address("relative/array").starts_with('/'));
    }

    #[test]
    fn links_on_the_way_to_an_array_are_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        assert_eq!(address(base.join("link").to_str().unwrap()), base.join("real").to_str().unwrap());
        assert_eq!(address(base.join("link/new").to_str().unwrap()), base.join("real/new").to_str().unwrap());
    }

    #[test]
    fn a_link_is_a_place_of_its_own_that_is_deleted_and_moved_without_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let uri = |name: &str| base.join(name).to_str().unwrap().to_owned();
        std::fs::create_dir_all(base.join("real/inside")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        std::fs::write(base.join("file"), "x").unwrap();
        let link = |name: &str| Stores::new().link(&uri(name), SyncLevel::None).unwrap();
        assert!(link("real").is_none() && link("nothing").is_none() && link("link/inside").is_none());
        assert!(Stores::new().link("mem://links/link", SyncLevel::None).unwrap().is_none());
        for name in ["link", "link/", "./real/../link", "link/."] {
            let place = link(name).unwrap();
            assert_eq!(place.store.address(&place.path), uri("link"), "{name}");
        }
        let to = |name: &str| Stores::new().open(&uri(name), SyncLevel::None).unwrap();
        let taken =
            Stores::new().move_place(&link("link").unwrap(), &to("file"), SyncLevel::None).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
        Stores::new().move_place(&link("link").unwrap(), &to("deep/moved"), SyncLevel::None).unwrap();
        assert!(base.join("deep/moved").is_symlink() && !base.join("link").is_symlink());
        let moved = link("deep/moved").unwrap();
        moved.store.delete_files(&[&moved.path]).unwrap();
        assert!(!base.join("deep/moved").is_symlink() && base.join("real/inside").is_dir());
        assert_eq!(std::fs::read_to_string(base.join("file")).unwrap(), "x");
    }

    #[test]
    fn memory_stores_are_shared_by_name() {
        let stores = Stores::new();
        let a = stores.open("mem://shared-by-name/a", SyncLevel::Full).unwrap();
        assert_eq!(a.path, "shared-by-name/a");
        a.store.put("shared-by-name/a/f", &[b"x"]).unwrap();
        let b = stores.clone().open("mem://shared-by-name", SyncLevel::Full).unwrap();
        assert_eq!(b.store.byte_len("shared-by-name/a/f").unwrap(), 1);
        assert_eq!(b.store.address(&a.path), "mem://shared-by-name/a");
        assert!(
            Stores::new()
                .open("mem://shared-by-name", SyncLevel::Full)
                .unwrap()
                .store
                .list("")
                .unwrap()
                .is_empty()
        );
        assert!(stores.forget_memory("shared-by-name"));
        let c = stores.open("mem://shared-by-name", SyncLevel::Full).unwrap();
        assert!(c.store.list("").unwrap().is_empty());
    }

    #[test]
    fn folders_move_between_places() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let base = base.to_str().unwrap();
        let uris = [
            format!("{base}/a"),
            format!("{base}/b/c"),
            "mem://moves-one/x".to_owned(),
            "mem://moves-two".to_owned(),
            "mem://moves-two-more".to_owned(),
            format!("{base}/d"),
        ];
        let stores = Stores::new();
        let places: Vec<Place> = uris.iter().map(|uri| stores.open(uri, SyncLevel::None).unwrap()).collect();
        places[0].store.put(&crate::join(&places[0].path, "f"), &[b"x"]).unwrap();
        places[0].store.create_folder(&crate::join(&places[0].path, "empty/deep")).unwrap();
        for pair in places.windows(2) {
            Stores::new().move_place(&pair[0], &pair[1], SyncLevel::None).unwrap();
            assert!(pair[0].store.list(&pair[0].path).unwrap().is_empty());
            assert_eq!(pair[1].store.byte_len(&crate::join(&pair[1].path, "f")).unwrap(), 1);
            assert_eq!(pair[1].store.list(&crate::join(&pair[1].path, "empty")).unwrap().len(), 1);
        }
        let inside = Stores::new().open(&format!("{base}/d/e"), SyncLevel::None).unwrap();
        let error = Stores::new().move_place(&places[5], &inside, SyncLevel::None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let error = Stores::new().move_place(&places[5], &places[5].clone(), SyncLevel::None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn other_schemes_name_what_is_supported() {
        let error = Stores::new().open("s3://bucket/array", SyncLevel::Full).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("file://"), "{error}");
        for bad in [
            "",
            "/",
            "mem://",
            "mem:///a",
            "mem://a/../b",
            "file:///a%2Fb",
            "file:///a%0",
            "file:///a%zz",
            "file:///a%00",
            "a\0b",
        ] {
            assert_eq!(
                Stores::new().open(bad, SyncLevel::Full).unwrap_err().kind(),
                ErrorKind::InvalidArgument,
                "{bad:?}"
            );
        }
        assert_eq!(
            Stores::new().open("file://host/a", SyncLevel::Full).unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }
}
