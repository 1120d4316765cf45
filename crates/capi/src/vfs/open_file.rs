//! Files that are open.

use super::{ORIGIN, VfsHandle, io, path_of};
use crate::failure::{Failure, Fallible, fail};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
}

/// A file that is open, or was.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    mode: Mode,
    file: Option<File>,
}

impl OpenFile {
    /// Opens a file to read (0), to write anew (1) or to append to (2).
    pub(super) fn open(vfs: &VfsHandle, uri: &str, mode: i32) -> Fallible<OpenFile> {
        let path = path_of(uri)?;
        let told = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Failure::told(ORIGIN, format!("Cannot open file '{uri}'; File does not exist"))
            }
            _ => Failure::told(ORIGIN, format!("Cannot open file '{uri}'; {error}")),
        };
        if mode == 0 {
            if path.is_dir() {
                return fail(ORIGIN, format!("Cannot open file '{uri}'; it is a directory"));
            }
            let file = File::open(&path).map_err(told)?;
            return Ok(OpenFile { path, mode: Mode::Read, file: Some(file) });
        }
        let mut options = OpenOptions::new();
        match mode {
            1 => options.write(true).create(true).truncate(true),
            2 => options.append(true).create(true),
            _ => return fail("C API", format!("Invalid VFS mode ({mode})")),
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(io("Cannot create directory", parent))?;
        }
        let file = options.open(&path).map_err(told)?;
        vfs.permit(&path, false)?;
        Ok(OpenFile { path, mode: Mode::Write, file: Some(file) })
    }

    fn file(&mut self, mode: Mode, what: &str) -> Fallible<&mut File> {
        if self.mode != mode {
            return fail(
                "VFSFileHandle",
                format!("Cannot {what} file '{}'; it is open for something else", self.path.display()),
            );
        }
        let path = self.path.display().to_string();
        let closed =
            || Failure::told("VFSFileHandle", format!("Cannot {what} file '{path}'; File is not open"));
        self.file.as_mut().ok_or_else(closed)
    }

    /// Reads bytes from a place.
    pub(super) fn read(&mut self, offset: u64, place: &mut [u8]) -> Fallible<()> {
        let told = io("Cannot read from file", &self.path);
        let path = self.path.display().to_string();
        let file = self.file(Mode::Read, "read from")?;
        file.seek(SeekFrom::Start(offset)).map_err(&told)?;
        file.read_exact(place).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Failure::told("IOError", format!("Cannot read from file; Read exceeds file size: offset {offset}, nbytes {}, URI file://{path}", place.len()))
            }
            _ => told(error),
        })
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Fallible<()> {
        let told = io("Cannot write to file", &self.path);
        self.file(Mode::Write, "write to")?.write_all(bytes).map_err(told)
    }

    /// Makes durable what was written.
    pub(super) fn sync(&mut self) -> Fallible<()> {
        if self.mode == Mode::Read {
            return Ok(());
        }
        let told = io("Cannot sync file", &self.path);
        self.file(Mode::Write, "sync")?.sync_all().map_err(told)
    }

    /// Closes the file.
    pub(super) fn close(&mut self) -> Fallible<()> {
        match self.file.take() {
            Some(_) => Ok(()),
            None => {
                let path = self.path.display();
                fail("VFSFileHandle", format!("Cannot close file '{path}'; File is not open"))
            }
        }
    }

    /// Whether it is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.file.is_none()
    }
}
