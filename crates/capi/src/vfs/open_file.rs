//! Files that are open.

use super::{ORIGIN, VfsHandle, inner, told};
use crate::boundary::handle::locked;
use crate::failure::{Failure, Fallible, fail};
use smalti::ErrorKind;
use smalti::storage::OpenFile;
use std::sync::{Mutex, PoisonError};

/// A file that is open, or was.
#[derive(Debug)]
pub(crate) struct OpenFileHandle {
    uri: String,
    /// What writes parts of an object may go from thread to thread, and is used by one at a time.
    file: Mutex<Option<OpenFile>>,
}

impl OpenFileHandle {
    /// Opens a file to read (0), to write anew (1) or to append to (2).
    pub(super) fn open(vfs: &VfsHandle, uri: &str, mode: i32) -> Fallible<OpenFileHandle> {
        let path = inner(uri);
        let file = match mode {
            0 => vfs.files.open(&path),
            1 => vfs.files.create(&path),
            2 => vfs.files.append(&path),
            _ => return fail("C API", format!("Invalid VFS mode ({mode})")),
        };
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Failure::told(ORIGIN, format!("Cannot open file '{uri}'; File does not exist"))
            }
            _ => Failure::told(ORIGIN, format!("Cannot open file '{uri}'; {}", error.message())),
        })?;
        Ok(OpenFileHandle { uri: uri.to_owned(), file: Mutex::new(Some(file)) })
    }

    fn file(&mut self, what: &str) -> Fallible<&mut OpenFile> {
        let uri = &self.uri;
        let closed =
            || Failure::told("VFSFileHandle", format!("Cannot {what} file '{uri}'; File is not open"));
        unlocked(&mut self.file).as_mut().ok_or_else(closed)
    }

    /// Reads bytes from a place.
    pub(super) fn read(&mut self, offset: u64, place: &mut [u8]) -> Fallible<()> {
        let uri = self.uri.clone();
        let file = self.file("read from")?;
        if file.is_written() {
            return fail(
                "VFSFileHandle",
                format!("Cannot read from file '{uri}'; it is open for something else"),
            );
        }
        file.read_at(offset, place).map_err(|error| match error.kind() {
            ErrorKind::InvalidArgument => Failure::told(
                "IO Error",
                format!(
                    "Cannot read from file; Read exceeds file size: offset {offset}, nbytes {}, URI {}",
                    place.len(),
                    crate::uris::shown(&uri)
                ),
            ),
            _ => told("Cannot read from file", &uri)(error),
        })
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Fallible<()> {
        let uri = self.uri.clone();
        let file = self.file("write to")?;
        if !file.is_written() {
            return fail(
                "VFSFileHandle",
                format!("Cannot write to file '{uri}'; it is open for something else"),
            );
        }
        file.write(bytes).map_err(told("Cannot write to file", &uri))
    }

    /// Makes durable what was written.
    pub(super) fn sync(&mut self) -> Fallible<()> {
        let uri = self.uri.clone();
        self.file("sync")?.sync().map_err(told("Cannot sync file", &uri))
    }

    /// Closes the file.
    pub(super) fn close(&mut self) -> Fallible<()> {
        match unlocked(&mut self.file).take() {
            Some(file) => file.close().map_err(told("Cannot close file", &self.uri)),
            None => fail("VFSFileHandle", format!("Cannot close file '{}'; File is not open", self.uri)),
        }
    }

    /// Whether it is closed.
    pub(super) fn is_closed(&self) -> bool {
        locked(&self.file).is_none()
    }
}

fn unlocked(file: &mut Mutex<Option<OpenFile>>) -> &mut Option<OpenFile> {
    file.get_mut().unwrap_or_else(PoisonError::into_inner)
}
