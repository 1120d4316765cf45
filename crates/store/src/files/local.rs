//! Files and folders of this machine.

use super::found::FoundFile;
use smalti_types::{Error, Result};
use std::fs;
use std::io::ErrorKind as IoKind;
use std::path::Path;

/// An error with the path that it is about.
pub(super) fn at(path: &Path) -> impl Fn(std::io::Error) -> Error + use<> {
    let shown = path.display().to_string();
    move |error| Error::from(error).at_uri(&shown)
}

pub(super) fn byte_len(path: &Path) -> Result<u64> {
    let found = fs::metadata(path).map_err(at(path))?;
    if found.is_dir() {
        return Err(Error::not_found("it is a folder, not a file").at_uri(path.display().to_string()));
    }
    Ok(found.len())
}

/// What is in a folder, and with `is_deep` in those below, each before what is in it.
pub(super) fn list(folder: &Path, is_deep: bool) -> Result<Vec<FoundFile>> {
    let mut found = Vec::new();
    push_entries(folder, is_deep, &mut found)?;
    Ok(found)
}

fn push_entries(folder: &Path, is_deep: bool, found: &mut Vec<FoundFile>) -> Result<()> {
    let mut entries = fs::read_dir(folder)
        .and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>())
        .map_err(at(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // What is gone meanwhile was not found.
        let Ok(meta) = fs::metadata(&path) else { continue };
        let is_folder = meta.is_dir();
        let byte_len = if is_folder { 0 } else { meta.len() };
        found.push(FoundFile { uri: path.display().to_string(), byte_len, is_folder });
        // A link to a folder is told, and not followed: it may lead back.
        if is_deep && is_folder && !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            push_entries(&path, is_deep, found)?;
        }
    }
    Ok(())
}

pub(super) fn create_folder(path: &Path, mode: Option<u32>) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(path).map_err(at(path))?;
    permit(path, mode)
}

pub(super) fn create_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), |parent| fs::create_dir_all(parent).map_err(at(parent)))
}

pub(super) fn remove_folder(path: &Path) -> Result<()> {
    if !path.is_dir() {
        return Err(Error::not_found("there is no such folder").at_uri(path.display().to_string()));
    }
    fs::remove_dir_all(path).map_err(at(path))
}

pub(super) fn remove_file(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(at(path))
}

pub(super) fn touch(path: &Path, mode: Option<u32>) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    create_parent(path)?;
    fs::File::options().write(true).create(true).truncate(false).open(path).map_err(at(path))?;
    permit(path, mode)
}

pub(super) fn copy_file(from: &Path, to: &Path) -> Result<()> {
    create_parent(to)?;
    fs::copy(from, to).map(|_| ()).map_err(at(from))
}

pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).map_err(at(from))?;
    fs::create_dir_all(to).map_err(at(to))?;
    for entry in entries {
        let entry = entry.map_err(at(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(at(&source))?;
        }
    }
    Ok(())
}

/// Gives a file or folder another name; `false` where the two names are of different disks.
pub(super) fn renamed(from: &Path, to: &Path) -> Result<bool> {
    if from.symlink_metadata().is_ok() {
        create_parent(to)?;
    }
    match fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == IoKind::CrossesDevices => Ok(false),
        Err(error) => Err(at(from)(error)),
    }
}

/// Sets the permissions of what was made.
pub(super) fn permit(path: &Path, mode: Option<u32>) -> Result<()> {
    let Some(mode) = mode else { return Ok(()) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(at(path))
    }
    #[cfg(not(unix))]
    {
        let _ = (path, mode);
        Ok(())
    }
}
