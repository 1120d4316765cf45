//! The single steps of a file system that the local write protocol is made of.

use crate::{ByteRange, Claim, FileVersion, Lease};
use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::path::Path;

/// A row of a raw listing, leftovers and foreign names included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskEntry {
    /// The name; it may be no UTF-8.
    pub name: OsString,
    /// Whether it is a folder that can be descended into; never true for symbolic links.
    pub is_folder: bool,
    /// When it last changed, in milliseconds since 1970-01-01T00:00:00Z.
    pub modified_ms: Option<u64>,
}

/// A file system, reduced to what [`LocalStore`](crate::LocalStore) needs. [`OsDisk`](crate::OsDisk) is the real one,
/// [`SimDisk`](crate::SimDisk) a model in memory that records every step, [`FaultDisk`](crate::FaultDisk) breaks any.
///
/// Paths are relative to the disk's root; the empty path is the root. Mutating steps never follow a symbolic
/// link below the root; reading steps do.
pub trait Disk: Send + Sync + Debug + 'static {
    /// A file being written.
    type Writer: Send + Debug + 'static;
    /// A file open for reading. Clones share it.
    type Reader: Clone + Send + Sync + Debug;

    /// Creates an empty file; `AlreadyExists` when anything has the name.
    fn create_file(&self, path: &Path) -> io::Result<Self::Writer>;
    /// Appends all bytes.
    fn append(&self, file: &mut Self::Writer, bytes: &[u8]) -> io::Result<()>;
    /// Advises that bytes that were appended to a file will soon have to be durable, so that a disk may begin with them. Returns before
    /// they are, and says nothing of what is wrong.
    fn will_sync(&self, file: &Self::Writer, range: ByteRange) {
        let _ = (file, range);
    }
    /// Makes the content of a file durable, not its name.
    fn sync_file(&self, file: &mut Self::Writer) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Creates one folder; `AlreadyExists` when anything has the name.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;
    /// Gives a file another name at once; `AlreadyExists` when anything has that name.
    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file another name at once, in the place of a file that has it; `AlreadyExists` when a folder has that name.
    fn replace_file(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a folder another name at once; replaces nothing but an empty folder.
    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file or a symbolic link.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes files or symbolic links directly in a folder; one that is missing is fine.
    fn remove_files(&self, folder: &Path, names: &[OsString]) -> io::Result<()> {
        names.iter().try_for_each(|name| match self.remove_file(&folder.join(name)) {
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(error)
            }
            _ => Ok(()),
        })
    }
    /// Removes an empty folder.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;
    /// Lists a folder without following symbolic links, in any order.
    fn raw_entries(&self, folder: &Path) -> io::Result<Vec<DiskEntry>>;
    /// Whether the path is a folder, reached without following symbolic links below the root.
    fn is_folder(&self, folder: &Path) -> io::Result<bool>;

    /// Lists files and folders of readable names, symbolic links resolved, in any order.
    fn entries(&self, folder: &Path) -> io::Result<Vec<crate::Entry>>;
    /// The readable names in a folder, in any order.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Whether the folder seems to hold many hundreds of names.
    fn is_long(&self, folder: &Path) -> bool {
        let _ = folder;
        false
    }
    /// Opens a file. With `reuse`, a handle of an earlier call may serve although the name is gone by now.
    fn open(&self, path: &Path, reuse: bool) -> io::Result<Self::Reader>;
    /// Opens files below a folder, one after the other in the order of `paths`, which are relative to it, and hands over what
    /// became of each.
    fn open_each(&self, folder: &Path, paths: &[String], opened: &mut dyn FnMut(io::Result<Self::Reader>)) {
        for path in paths {
            opened(self.open(&folder.join(path), false));
        }
    }
    /// The size of an open file in bytes.
    fn byte_len(&self, file: &Self::Reader) -> io::Result<u64>;
    /// What tells the content of an open file from others that its name may have had; `None` where the disk cannot say.
    fn version(&self, file: &Self::Reader) -> Option<FileVersion> {
        let _ = file;
        None
    }
    /// Fills `dest`; `UnexpectedEof` when the file ends before.
    fn read_exact_at(&self, file: &Self::Reader, dest: &mut [u8], offset: u64) -> io::Result<()>;
    /// Whether reads of late had to wait for something slower than memory.
    fn has_waited(&self) -> bool {
        false
    }
    /// Advises that bytes of an open file will be read soon. Returns before they are there, and says nothing of what is wrong.
    fn will_need(&self, file: &Self::Reader, range: ByteRange) {
        let _ = (file, range);
    }

    /// Claims a file or folder; `None` when somebody holds a claim that stands against it, `Unsupported` where nothing can be
    /// locked.
    fn lease(&self, path: &Path, claim: Claim) -> io::Result<Option<Lease>>;

    /// A number that no other leftover name carries.
    fn unique(&self) -> io::Result<u64>;
    /// How many files are worth writing at once; 1 keeps the order of steps replayable.
    fn write_parallelism(&self) -> usize;
    /// Whether reads of a batch may run in parallel.
    fn reads_in_parallel(&self) -> bool;
    /// The address of a path for messages.
    fn address(&self, path: &Path) -> String;
}
