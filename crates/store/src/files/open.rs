//! A file that is open.

use super::local;
use super::stored::Stored;
use crate::{FileWriter, ReadInto, Store};
use smalti_types::{Error, Result};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;

/// A file that is open to be read, or to be written.
#[derive(Debug)]
pub struct OpenFile {
    /// Where it is, for messages.
    shown: String,
    byte_len: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    ReadLocal(File),
    WriteLocal(File),
    Read {
        store: Arc<dyn Store>,
        path: String,
    },
    Write(Box<dyn FileWriter>),
    /// A file in memory, with what was there.
    Append {
        store: Arc<dyn Store>,
        path: String,
        bytes: Vec<u8>,
    },
}

impl OpenFile {
    pub(super) fn read_local(path: &Path) -> Result<OpenFile> {
        let byte_len = local::byte_len(path)?;
        let file = File::open(path).map_err(local::at(path))?;
        Ok(OpenFile { shown: path.display().to_string(), byte_len, state: State::ReadLocal(file) })
    }

    pub(super) fn write_local(path: &Path, appends: bool, mode: Option<u32>) -> Result<OpenFile> {
        local::create_parent(path)?;
        let mut options = File::options();
        let options = if appends { options.append(true) } else { options.write(true).truncate(true) };
        let file = options.create(true).open(path).map_err(local::at(path))?;
        local::permit(path, mode)?;
        let byte_len = file.metadata().map_err(local::at(path))?.len();
        Ok(OpenFile { shown: path.display().to_string(), byte_len, state: State::WriteLocal(file) })
    }

    pub(super) fn read_stored(at: Stored) -> Result<OpenFile> {
        let Stored { store, path } = at;
        let byte_len = store.byte_len(&path)?;
        Ok(OpenFile { shown: store.address(&path), byte_len, state: State::Read { store, path } })
    }

    pub(super) fn write_stored(at: Stored) -> Result<OpenFile> {
        let Stored { store, path } = at;
        store.delete_files(&[&path])?;
        Ok(OpenFile { shown: store.address(&path), byte_len: 0, state: State::Write(store.create(&path)?) })
    }

    pub(super) fn append_stored(at: Stored) -> Result<OpenFile> {
        let shown = at.store.address(&at.path);
        if at.store.is_distant() {
            return Err(Error::unsupported(
                "nothing can be appended to an object of a bucket; write it anew",
            )
            .at_uri(shown));
        }
        if !at.is_file()? {
            return OpenFile::write_stored(at);
        }
        let Stored { store, path } = at;
        let bytes = store.read_tail(&path, u64::MAX)?.bytes.to_vec();
        let byte_len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(OpenFile { shown, byte_len, state: State::Append { store, path, bytes } })
    }

    /// The length of a file that is read when it was opened; of one that is written what it has by now.
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }

    /// Whether it is open to be written.
    pub fn is_written(&self) -> bool {
        !matches!(self.state, State::ReadLocal(_) | State::Read { .. })
    }

    /// Reads bytes from a place on.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes behind the end, and files that are open to be written.
    pub fn read_at(&mut self, offset: u64, dest: &mut [u8]) -> Result<()> {
        let wanted = u64::try_from(dest.len()).unwrap_or(u64::MAX);
        if self.is_written() {
            return Err(Error::invalid("the file is open to be written").at_uri(&self.shown));
        }
        let end = offset.saturating_add(wanted);
        // A file of this machine may have grown.
        let byte_len = match &self.state {
            State::ReadLocal(file) => file.metadata().map_or(self.byte_len, |found| found.len()),
            _ => self.byte_len,
        };
        if end > byte_len {
            return Err(Error::invalid(format!(
                "bytes {offset} to {end} are asked for, but the file has {byte_len}"
            ))
            .at_uri(&self.shown));
        }
        match &mut self.state {
            State::ReadLocal(file) => {
                let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(dest));
                read.map_err(|error| Error::from(error).at_uri(&self.shown))
            }
            State::Read { store, path } => store.read_into(&mut [ReadInto { path, offset, dest }]),
            _ => Ok(()),
        }
    }

    /// Writes bytes behind those that were written.
    ///
    /// # Errors
    /// `InvalidArgument` for files that are open to be read; what the store reports.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.state {
            State::WriteLocal(file) => {
                file.write_all(bytes).map_err(|error| Error::from(error).at_uri(&self.shown))?;
            }
            State::Write(writer) => writer.write(bytes)?,
            State::Append { bytes: all, .. } => all.extend_from_slice(bytes),
            State::ReadLocal(_) | State::Read { .. } => {
                return Err(Error::invalid("the file is open to be read").at_uri(&self.shown));
            }
        }
        self.byte_len = self.byte_len.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Makes durable what was written to a file of this machine. Elsewhere that is so once it is closed.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&mut self) -> Result<()> {
        match &self.state {
            State::WriteLocal(file) => {
                file.sync_all().map_err(|error| Error::from(error).at_uri(&self.shown))
            }
            _ => Ok(()),
        }
    }

    /// Closes the file: what was written appears. A file that is dropped instead is left as it is on this machine, and does not appear elsewhere.
    ///
    /// # Errors
    /// What the store reports.
    pub fn close(self) -> Result<()> {
        match self.state {
            State::Write(writer) => writer.finish(),
            State::Append { store, path, bytes } => store.replace(&path, &[&bytes]),
            State::ReadLocal(_) | State::WriteLocal(_) | State::Read { .. } => Ok(()),
        }
    }
}
