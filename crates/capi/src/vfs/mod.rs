//! Files on any path: what libtiledb calls a virtual file system. Here that of the machine; files in memory and in buckets say that
//! they are not built yet.

mod entries;
mod open_file;

use crate::boundary::handle::kinds;
use crate::config::Config;
use crate::failure::{Failure, Fallible, fail};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) use open_file::OpenFile;

/// A view of files, with settings.
#[derive(Debug)]
pub(crate) struct VfsHandle {
    pub(super) config: Config,
}

kinds! { VfsHandle => "vfs", OpenFile => "vfs file handle" }

/// What failures of files are told by.
pub(super) const ORIGIN: &str = "VFS";

/// The path of a URI of this machine.
pub(crate) fn path_of(uri: &str) -> Fallible<PathBuf> {
    let path = match uri.split_once("://") {
        Some(("file", path)) => path,
        Some((scheme, _)) => {
            return fail(ORIGIN, format!("files of {scheme}:// are not built yet"));
        }
        None => uri,
    };
    std::path::absolute(path).map_err(|error| Failure::told(ORIGIN, format!("'{uri}': {error}")))
}

/// A failure of the file system.
pub(crate) fn io(what: &str, path: &Path) -> impl Fn(std::io::Error) -> Failure + use<> {
    let words = format!("{what} '{}'", path.display());
    move |error| Failure::told("IOError", format!("{words}; {error}"))
}

/// A file or folder that a listing found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) uri: String,
    pub(super) byte_len: u64,
    pub(super) is_dir: bool,
}

/// What is in a folder, in the order of the names; with `deep` what is in folders in it, too.
pub(super) fn list(dir: &Path, deep: bool, found: &mut Vec<Found>) -> Fallible<()> {
    let told = io("Cannot open directory", dir);
    let mut entries =
        fs::read_dir(dir).and_then(|entries| entries.collect::<Result<Vec<_>, _>>()).map_err(told)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let Ok(meta) = fs::metadata(&path) else { continue };
        let byte_len = if meta.is_dir() { 0 } else { meta.len() };
        found.push(Found { uri: format!("file://{}", path.display()), byte_len, is_dir: meta.is_dir() });
        if deep && meta.is_dir() {
            list(&path, deep, found)?;
        }
    }
    Ok(())
}

/// Copies a folder with all that is in it.
pub(super) fn copy_dir(from: &Path, to: &Path) -> Fallible<()> {
    fs::create_dir_all(to).map_err(io("Cannot create directory", to))?;
    let entries = fs::read_dir(from).map_err(io("Cannot open directory", from))?;
    for entry in entries {
        let entry = entry.map_err(io("Cannot open directory", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_dir(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(io("Cannot copy file", &source))?;
        }
    }
    Ok(())
}

impl VfsHandle {
    /// Gives what was made the permissions of the settings.
    pub(super) fn permit(&self, path: &Path, is_dir: bool) -> Fallible<()> {
        let key =
            if is_dir { "vfs.file.posix_directory_permissions" } else { "vfs.file.posix_file_permissions" };
        if !self.config.differs(key) {
            return Ok(());
        }
        set_mode(path, &self.config.own(key))
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, octal: &str) -> Fallible<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = u32::from_str_radix(octal, 8)
        .map_err(|_| Failure::told(ORIGIN, format!("'{octal}' is no mode of files")))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(io("Cannot set permissions of", path))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: &str) -> Fallible<()> {
    Ok(())
}
