//! Whole folders: built beside their place and renamed, renamed away and then emptied.

use super::protocol::{UNKNOWN_EFFECT, create_folders, folder_of, is_absent, put, put_batch, sync_folder};
use super::{Disk, failed, staging};
use crate::{NewFile, NewTree, SyncLevel};
use rayon::prelude::*;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Creates a folder with everything in it by one rename.
pub(super) fn create<D: Disk>(disk: &Arc<D>, sync: SyncLevel, root: &Path, tree: &NewTree<'_>) -> Result<()> {
    let exists = is_empty_folder(&**disk, root)?;
    create_folders(&**disk, sync, folder_of(root))?;
    let staged = staged_path(&**disk, root)?;
    match disk.create_folder(&staged) {
        // A folder that was made for us in a place where we may not write.
        Err(error) if exists && error.kind() == io::ErrorKind::PermissionDenied => {
            return create_in_place(disk, sync, root, tree);
        }
        result => result.map_err(|error| failed(&**disk, error, &staged))?,
    }
    let mut is_fixed = false;
    let built = build(&**disk, sync, &staged, tree).and_then(|()| {
        disk.rename_folder(&staged, root).map_err(|error| {
            is_fixed = exists && is_refused(&error);
            match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    exists_already(&**disk, root, "the folder exists and is not empty")
                }
                // A time-out of a network file system may hide a success.
                _ => failed(&**disk, error, root).context(UNKNOWN_EFFECT),
            }
        })
    });
    if let Err(error) = built {
        let _ = remove_tree(&**disk, &staged);
        // An existing empty folder may be a mount point, which cannot be renamed over.
        return if is_fixed { create_in_place(disk, sync, root, tree) } else { Err(error) };
    }
    sync_folder(&**disk, sync, folder_of(root)).map_err(|error| error.context(UNKNOWN_EFFECT))
}

/// Whether a disk will not rename a folder: a mount point, or one that is ours in a folder that is not.
fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

/// Whether an empty folder is at a place where a new one is to be: `false` if nothing is, an error if anything else.
fn is_empty_folder<D: Disk>(disk: &D, root: &Path) -> Result<bool> {
    match disk.raw_entries(root) {
        Ok(entries) if !entries.is_empty() => {
            Err(exists_already(disk, root, "the folder exists and is not empty"))
        }
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(exists_already(disk, root, "a file of that name exists"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(disk, error, root)),
    }
}

/// Gives a folder another name by one rename.
pub(super) fn rename<D: Disk>(disk: &D, sync: SyncLevel, from: &Path, to: &Path) -> Result<()> {
    let is_link = match disk.is_folder(from) {
        Ok(true) => false,
        Ok(false) => return Err(Error::not_found("no such folder").at_uri(disk.address(from))),
        // A link in place of the folder is renamed itself; one on the way to it is refused by the rename.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => true,
        Err(error) => return Err(failed(disk, error, from)),
    };
    is_empty_folder(disk, to)?;
    create_folders(disk, sync, folder_of(to))?;
    let renamed = if is_link { disk.rename_file(from, to) } else { disk.rename_folder(from, to) };
    renamed.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists if is_link => exists_already(disk, to, "something of that name exists"),
        io::ErrorKind::AlreadyExists => exists_already(disk, to, "the folder exists and is not empty"),
        io::ErrorKind::CrossesDevices => Error::unsupported(format!(
            "{} is on another file system, where a rename cannot reach; copy the folder, then delete it",
            disk.address(to)
        ))
        .at_uri(disk.address(from)),
        _ => failed(disk, error, from).context(UNKNOWN_EFFECT),
    })?;
    // The new name first: a power cut between the two may leave both names, never none.
    for folder in [folder_of(to), folder_of(from)] {
        sync_folder(disk, sync, folder).map_err(|error| error.context(UNKNOWN_EFFECT))?;
    }
    Ok(())
}

/// Creates the content of an existing empty folder, in order.
fn create_in_place<D: Disk>(disk: &Arc<D>, sync: SyncLevel, root: &Path, tree: &NewTree<'_>) -> Result<()> {
    tree.folders.iter().try_for_each(|folder| create_folders(&**disk, sync, &root.join(folder)))?;
    tree.files.iter().try_for_each(|file| put(disk, sync, &root.join(file.path), file.parts))
}

/// Writes a tree in a folder that nobody knows yet; everything below it is durable on return.
fn build<D: Disk>(disk: &D, sync: SyncLevel, staged: &Path, tree: &NewTree<'_>) -> Result<()> {
    let mut folders = BTreeSet::new();
    for folder in
        tree.folders.iter().map(Path::new).chain(tree.files.iter().map(|f| folder_of(Path::new(f.path))))
    {
        folders.extend(folder.ancestors());
    }
    // Ascending order creates a folder before those in it. Names are synced below, each folder once.
    for folder in folders.iter().filter(|folder| !folder.as_os_str().is_empty()) {
        let path = staged.join(folder);
        disk.create_folder(&path).map_err(|error| failed(disk, error, &path))?;
    }
    let paths = tree.files.iter().map(|file| utf8(&staged.join(file.path))).collect::<Result<Vec<_>>>()?;
    let files: Vec<_> =
        tree.files.iter().zip(&paths).map(|(file, path)| NewFile { path, parts: file.parts }).collect();
    put_batch(disk, sync, &files)?;
    let with_files: BTreeSet<_> =
        files.iter().map(|file| folder_of(Path::new(file.path)).to_owned()).collect();
    let rest = folders.iter().map(|folder| staged.join(folder)).chain([staged.to_owned()]);
    let rest: BTreeSet<PathBuf> = rest.map(|path| path.components().collect()).collect();
    rest.difference(&with_files).try_for_each(|folder| sync_folder(disk, sync, folder))
}

/// Deletes folders: each vanishes with one rename, then its content is removed.
pub(super) fn delete<D: Disk>(disk: &D, sync: SyncLevel, folders: &[&str]) -> Result<()> {
    let mut doomed = Vec::new();
    let mut parents = BTreeSet::new();
    for path in folders.iter().map(Path::new) {
        match disk.is_folder(path) {
            Ok(true) => {}
            Ok(false) => continue,
            // A link in place of the folder is removed itself; a link on the way to it is refused here too.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                disk.remove_file(path).map_err(|error| failed(disk, error, path))?;
                parents.insert(folder_of(path));
                continue;
            }
            Err(error) => return Err(failed(disk, error, path)),
        }
        let staged = staged_path(disk, path)?;
        match disk.rename_folder(path, &staged) {
            Ok(()) => doomed.push(staged),
            Err(error) if is_absent(&error) => continue,
            // Mount points and places where only the folder itself is ours are emptied where they are.
            Err(error) if is_refused(&error) => doomed.push(path.to_owned()),
            Err(error) => return Err(failed(disk, error, path)),
        }
        parents.insert(folder_of(path));
    }
    parents.iter().try_for_each(|folder| sync_folder(disk, sync, folder))?;
    let empty = |path: &PathBuf| remove_tree(disk, path).map_err(|error| failed(disk, error, path));
    match disk.write_parallelism() {
        1 => doomed.iter().try_for_each(empty),
        _ => doomed.par_iter().shared().try_for_each(empty),
    }
}

/// Removes a folder with all it holds, or a file, or a link, never following links. Takes no stack for depth.
fn remove_tree<D: Disk>(disk: &D, root: &Path) -> io::Result<()> {
    let mut pending = vec![(root.to_owned(), false)];
    while let Some((folder, is_emptied)) = pending.pop() {
        if is_emptied {
            match disk.remove_folder(&folder) {
                Err(error) if !is_absent(&error) => return Err(error),
                _ => continue,
            }
        }
        let entries = match disk.raw_entries(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // Not a folder, or a link to one: what was given is the thing to remove.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::Unsupported) =>
            {
                disk.remove_file(&folder)?;
                continue;
            }
            entries => entries?,
        };
        pending.push((folder.clone(), true));
        let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.is_folder);
        pending.extend(folders.into_iter().map(|entry| (folder.join(&entry.name), false)));
        let files: Vec<OsString> = files.into_iter().map(|entry| entry.name).collect();
        disk.remove_files(&folder, &files)?;
    }
    Ok(())
}

fn staged_path<D: Disk>(disk: &D, target: &Path) -> Result<PathBuf> {
    let unique = disk.unique().map_err(|error| failed(disk, error, target))?;
    Ok(staging::staged_path(target, unique))
}

fn exists_already<D: Disk>(disk: &D, path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, what).at_uri(disk.address(path))
}

fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| Error::invalid("the storage path is no UTF-8"))
}
