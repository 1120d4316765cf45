//! The file system of the operating system.

use super::handles::Handles;
use super::waits::Waits;
use super::{Disk, DiskEntry};
use crate::{ByteRange, Claim, Entry, EntryKind, FileVersion, Lease};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The real file system below a root folder.
///
/// The root itself may be reached through symbolic links. Below it, mutating steps open folder after folder without
/// following links, so that a link planted in an array can neither redirect a write nor a deletion, not even when
/// it appears during the call. Reading follows links: arrays in caches and on several disks are made of them.
#[derive(Debug)]
pub struct OsDisk {
    root: PathBuf,
    handles: Handles,
    waits: Waits,
}

/// A file open for reading, with its size when it was opened: files do not change once they are named.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    byte_len: u64,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// No file is longer; some folders say so of themselves.
const MAX_FILE_BYTE_LEN: u64 = 1 << 62;

/// Opening a pipe would block for ever without the second flag; regular files do not mind it.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

impl OpenFile {
    /// The file that `open` opens, if it is a regular one.
    fn new(handles: &Handles, open: impl Fn() -> rustix::io::Result<OwnedFd>) -> io::Result<OpenFile> {
        let file = opened(handles, open)?;
        OpenFile::checked(file)
    }

    /// As [`new`](OpenFile::new), for files that are opened by the thousand: it asks for the size, which only files have, and
    /// leaves it to a read to find that a folder was opened.
    fn sized(handles: &Handles, open: impl Fn() -> rustix::io::Result<OwnedFd>) -> io::Result<OpenFile> {
        let file = opened(handles, open)?;
        match rustix::fs::seek(&file, SeekFrom::End(0)) {
            Ok(byte_len @ 1..=MAX_FILE_BYTE_LEN) => Ok(OpenFile { file: File::from(file), byte_len }),
            // Empty files, pipes, devices, and folders whose end is a number of its own.
            _ => OpenFile::checked(file),
        }
    }

    fn checked(file: OwnedFd) -> io::Result<OpenFile> {
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(is_folder()),
            _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "it is no regular file")),
        }
        Ok(OpenFile { file: File::from(file), byte_len: u64::try_from(stat.st_size).unwrap_or_default() })
    }
}

/// Opens a file, once more if the process has run out of handles.
fn opened(handles: &Handles, open: impl Fn() -> rustix::io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let open = || rustix::io::retry_on_intr(&open);
    match open() {
        Err(Errno::MFILE | Errno::NFILE) => {
            handles.forget_all();
            Ok(open()?)
        }
        result => Ok(result?),
    }
}

fn is_folder() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it is a folder, not a file")
}

impl OsDisk {
    /// The disk below a folder, which need not exist yet.
    ///
    /// # Errors
    /// When the path is relative and the working directory is gone.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        OsDisk::sharing(root, Handles::default())
    }

    /// As [`new`](OsDisk::new), with the open files of other disks.
    pub(crate) fn sharing(root: impl AsRef<Path>, handles: Handles) -> io::Result<Self> {
        Ok(OsDisk { root: std::path::absolute(root)?, handles, waits: Waits::default() })
    }

    /// The absolute path of one below the root, in memory that is taken once.
    fn absolute(&self, path: &Path) -> PathBuf {
        let mut absolute = PathBuf::with_capacity(self.root.as_os_str().len() + 1 + path.as_os_str().len());
        absolute.push(&self.root);
        absolute.push(path);
        absolute
    }

    /// Opens a folder step by step, refusing symbolic links.
    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut folder = rustix::fs::open(&self.root, FOLDER, Mode::empty())?;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
            folder = match rustix::fs::openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => next,
                // Linux says ENOTDIR for a link that is not to be followed, others say ELOOP.
                Err(Errno::NOTDIR | Errno::LOOP) if is_link(&folder, name) => {
                    return Err(io::Error::new(
                        io::ErrorKind::Unsupported,
                        format!(
                            "{} is a symbolic link below the storage root, and nothing is written or deleted through those",
                            name.display()
                        ),
                    ));
                }
                Err(error) => return Err(error.into()),
            };
        }
        Ok(folder)
    }

    /// Opens a folder to list it, following links as reading does.
    fn listable(&self, folder: &Path) -> io::Result<OwnedFd> {
        let path = self.absolute(folder);
        opened(&self.handles, || rustix::fs::open(&path, FOLDER, Mode::empty()))
    }

    /// The opened folder of a path, and its name there.
    fn parent<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.folder(path.parent().unwrap_or(Path::new("")))?, name))
    }
}

/// Tells of each name in an opened folder, and of its kind as far as the folder knows it, until one is refused.
///
/// Opening an array lists five folders, most of them of a few names: the system writes these onto the stack, and nothing else is asked of it.
#[cfg(target_os = "linux")]
fn each_name(folder: &OwnedFd, mut told: impl FnMut(&[u8], FileType) -> io::Result<()>) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); 32 << 10];
    let mut entries = rustix::fs::RawDir::new(folder, &mut room);
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) if is_own(entry.file_name()) => {}
            Ok(entry) => told(entry.file_name().to_bytes(), entry.file_type())?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each_name(folder: &OwnedFd, mut told: impl FnMut(&[u8], FileType) -> io::Result<()>) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        if !is_own(entry.file_name()) {
            told(entry.file_name().to_bytes(), entry.file_type())?;
        }
    }
    Ok(())
}

/// Whether this is how a folder names itself or the one above.
fn is_own(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

#[allow(clippy::useless_conversion, reason = "the type of the nanoseconds differs between platforms")]
fn modified_ms(stat: &Stat) -> Option<u64> {
    let seconds = u64::try_from(stat.st_mtime).ok()?;
    seconds.checked_mul(1000)?.checked_add(u64::try_from(stat.st_mtime_nsec).ok()? / 1_000_000)
}

/// An error of a lock; of the kind `Unsupported` where it says that the file system has no locks, or none on what is open for
/// reading alone.
fn lock_error(error: io::Error) -> io::Error {
    // Of some of these the numbers are the same on some systems.
    const WITHOUT: [Errno; 6] =
        [Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOLCK, Errno::BADF, Errno::INVAL];
    match Errno::from_io_error(&error) {
        Some(errno) if WITHOUT.contains(&errno) => io::Error::new(io::ErrorKind::Unsupported, error),
        _ => error,
    }
}

/// File systems without an atomic rename that does not replace.
fn lacks_rename_flags(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

impl Disk for OsDisk {
    type Writer = File;
    type Reader = Arc<OpenFile>;

    fn create_file(&self, path: &Path) -> io::Result<File> {
        let (folder, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o666))?))
    }

    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    #[cfg(target_os = "linux")]
    fn will_sync(&self, file: &File, range: ByteRange) {
        if let Some(byte_len) = std::num::NonZeroU64::new(range.byte_len) {
            // The kernel begins to write the pages that are dirty, and lets go of others. These are all dirty: they stay in memory.
            let _ = rustix::fs::fadvise(file, range.start, Some(byte_len), rustix::fs::Advice::DontNeed);
        }
    }

    fn sync_file(&self, file: &mut File) -> io::Result<()> {
        file.sync_all()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match rustix::fs::fsync(self.folder(folder)?) {
            // Some network file systems cannot sync folders: there is nothing more to do there.
            Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            result => Ok(result?),
        }
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().is_empty() {
            return std::fs::create_dir_all(&self.root);
        }
        let (parent, name) = self.parent(folder)?;
        Ok(rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777))?)
    }

    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from_folder, from_name) = self.parent(from)?;
        let (to_folder, to_name) = self.parent(to)?;
        self.handles.forget_file(&self.root.join(to));
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match rustix::fs::renameat_with(
            &from_folder,
            from_name,
            &to_folder,
            to_name,
            rustix::fs::RenameFlags::NOREPLACE,
        ) {
            Err(error) if lacks_rename_flags(error) => {}
            result => return Ok(result?),
        }
        link_and_unlink(&from_folder, from_name, &to_folder, to_name)
    }

    fn replace_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from_folder, from_name) = self.parent(from)?;
        let (to_folder, to_name) = self.parent(to)?;
        let renamed = rustix::fs::renameat(from_folder, from_name, to_folder, to_name);
        // Afterwards: a reader that opened the old file in between must not keep it for those that come later.
        self.handles.forget_file(&self.root.join(to));
        match renamed {
            Err(Errno::ISDIR | Errno::EXIST) => Err(io::ErrorKind::AlreadyExists.into()),
            result => Ok(result?),
        }
    }

    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from_folder, from_name) = self.parent(from)?;
        let (to_folder, to_name) = self.parent(to)?;
        // A plain rename of a folder replaces an empty folder and refuses everything else.
        let renamed = rustix::fs::renameat(from_folder, from_name, to_folder, to_name);
        self.handles.forget(&self.root.join(from));
        self.handles.forget(&self.root.join(to));
        match renamed {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Err(io::ErrorKind::AlreadyExists.into()),
            result => Ok(result?),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let result = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        // Afterwards: a reader that opened the file in between must not keep it for those that come later.
        self.handles.forget_file(&self.root.join(path));
        Ok(result?)
    }

    fn remove_files(&self, path: &Path, names: &[OsString]) -> io::Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let folder = match self.folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        let on_disk = self.root.join(path);
        names.iter().try_for_each(|name| {
            let result = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
            self.handles.forget_file(&on_disk.join(name));
            match result {
                Err(Errno::NOENT) => Ok(()),
                result => Ok(result?),
            }
        })
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
    }

    fn raw_entries(&self, folder: &Path) -> io::Result<Vec<DiskEntry>> {
        let folder = self.folder(folder)?;
        let mut entries = Vec::new();
        each_name(&folder, |name, _| {
            let name = OsStr::from_bytes(name);
            let stat = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(()),
                stat => stat?,
            };
            entries.push(DiskEntry {
                name: OsString::from(name),
                is_folder: FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
                modified_ms: modified_ms(&stat),
            });
            Ok(())
        })?;
        Ok(entries)
    }

    fn is_folder(&self, folder: &Path) -> io::Result<bool> {
        match self.folder(folder) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let folder = self.listable(folder)?;
        let mut entries = Vec::new();
        each_name(&folder, |name, file_type| {
            let Ok(name) = str::from_utf8(name) else { return Ok(()) };
            let (file_type, byte_len) = match file_type {
                FileType::Directory => (FileType::Directory, 0),
                _ => {
                    let is_file = file_type == FileType::RegularFile;
                    let flags = if is_file { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
                    let stat = match rustix::fs::statat(&folder, name, flags) {
                        // A file may vanish while its folder is listed, and a link may lead nowhere.
                        Err(Errno::NOENT) => return Ok(()),
                        stat => stat?,
                    };
                    let byte_len = u64::try_from(stat.st_size).unwrap_or_default();
                    (FileType::from_raw_mode(stat.st_mode), byte_len)
                }
            };
            let (kind, byte_len) = match file_type {
                FileType::Directory => (EntryKind::Folder, 0),
                FileType::RegularFile => (EntryKind::File, byte_len),
                // Pipes and devices hold no array data.
                _ => return Ok(()),
            };
            entries.push(Entry { name: name.to_owned(), kind, byte_len });
            Ok(())
        })?;
        Ok(entries)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        each_name(&self.listable(folder)?, |name, _| {
            names.extend(str::from_utf8(name).map(str::to_owned));
            Ok(())
        })?;
        Ok(names)
    }

    /// By the size of the folder itself, which file systems that give one let grow with the names.
    fn is_long(&self, folder: &Path) -> bool {
        const LONG_BYTE_LEN: u64 = 32 << 10;
        let stat = rustix::fs::stat(self.root.join(folder));
        stat.is_ok_and(|stat| u64::try_from(stat.st_size).is_ok_and(|byte_len| byte_len >= LONG_BYTE_LEN))
    }

    fn open(&self, path: &Path, reuse: bool) -> io::Result<Arc<OpenFile>> {
        let path = self.absolute(path);
        if reuse && let Some(file) = self.handles.find(&path) {
            return Ok(file);
        }
        let file = Arc::new(OpenFile::new(&self.handles, || rustix::fs::open(&path, FILE, Mode::empty()))?);
        if reuse {
            self.handles.keep(path, Arc::clone(&file));
        }
        Ok(file)
    }

    /// From the opened folder on: the way to it is gone once, unless for few files opening it takes longer.
    fn open_each(&self, folder: &Path, paths: &[String], opened: &mut dyn FnMut(io::Result<Arc<OpenFile>>)) {
        const FEW: usize = 3;
        let folder = self.absolute(folder);
        // A folder that is not to be listed may still let those through who know a name in it.
        let start =
            (paths.len() > FEW).then(|| rustix::fs::open(&folder, FOLDER, Mode::empty()).ok()).flatten();
        for path in paths {
            let file = OpenFile::sized(&self.handles, || match &start {
                Some(start) => rustix::fs::openat(start, path.as_str(), FILE, Mode::empty()),
                None => rustix::fs::open(folder.join(path), FILE, Mode::empty()),
            });
            opened(file.map(Arc::new));
        }
    }

    fn byte_len(&self, file: &Arc<OpenFile>) -> io::Result<u64> {
        Ok(file.byte_len)
    }

    /// Asked of the file each time: somebody may have written into it. The times of file systems are coarse, so that what changed
    /// just now may change again and keep its time.
    fn version(&self, file: &Arc<OpenFile>) -> Option<FileVersion> {
        const UNSETTLED: Duration = Duration::from_millis(100);
        let stat = rustix::fs::fstat(&file.file).ok()?;
        let since_epoch = |seconds, nanos| {
            let seconds = Duration::from_secs(u64::try_from(seconds).ok()?);
            Some(seconds.saturating_add(Duration::from_nanos(nanos)))
        };
        #[allow(clippy::useless_conversion, reason = "of another type on other systems")]
        let changed = since_epoch(stat.st_mtime, u64::try_from(stat.st_mtime_nsec).ok()?)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        if now.checked_sub(changed).is_some_and(|age| age < UNSETTLED) {
            return None;
        }
        let numbers = [stat.st_dev, stat.st_ino, u64::try_from(changed.as_nanos()).ok()?];
        let [device, inode, changed] = numbers;
        Some(FileVersion::new([device, inode, changed, file.byte_len]))
    }

    fn read_exact_at(&self, file: &Arc<OpenFile>, dest: &mut [u8], offset: u64) -> io::Result<()> {
        // Without the standard library's way over a cancellation point, which tells in thousands of short reads.
        let at_once = self.waits.read_at_once(&file.file, dest, offset);
        let mut left = dest.get_mut(at_once..).unwrap_or_default();
        let mut offset = offset.saturating_add(at_once as u64);
        while !left.is_empty() {
            match rustix::io::retry_on_intr(|| rustix::io::pread(&file.file, &mut *left, offset)) {
                Err(Errno::ISDIR) => return Err(is_folder()),
                Err(error) => return Err(error.into()),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(byte_len) => {
                    left = left.get_mut(byte_len..).unwrap_or_default();
                    offset = offset.saturating_add(byte_len as u64);
                }
            }
        }
        Ok(())
    }

    fn has_waited(&self) -> bool {
        self.waits.has_waited()
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, file: &Arc<OpenFile>, range: ByteRange) {
        let byte_len = range.end().min(file.byte_len).checked_sub(range.start);
        if let Some(byte_len) = byte_len.and_then(std::num::NonZeroU64::new) {
            // What the kernel makes of it is its own affair.
            let _ =
                rustix::fs::fadvise(&file.file, range.start, Some(byte_len), rustix::fs::Advice::WillNeed);
        }
    }

    fn lease(&self, path: &Path, claim: Claim) -> io::Result<Option<Lease>> {
        // A lock on the open file or folder itself: it needs no right to write, and leaves nothing behind.
        let path = self.root.join(path);
        let file = File::from(opened(&self.handles, || rustix::fs::open(&path, FILE, Mode::empty()))?);
        let locked = match claim {
            Claim::Shared => file.try_lock_shared(),
            Claim::Exclusive => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(Some(Lease::held_by(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(lock_error(error)),
        }
    }

    fn unique(&self) -> io::Result<u64> {
        getrandom::u64().map_err(|error| io::Error::other(error.to_string()))
    }

    fn write_parallelism(&self) -> usize {
        8
    }

    fn reads_in_parallel(&self) -> bool {
        true
    }

    fn address(&self, path: &Path) -> String {
        let whole = if path.as_os_str().is_empty() { self.root.clone() } else { self.absolute(path) };
        let readable = whole.into_os_string().into_string();
        readable.unwrap_or_else(|other| other.to_string_lossy().into_owned())
    }
}

/// The oldest way to name a file without replacing another: link the new name, then remove the old one.
fn link_and_unlink(from_folder: &OwnedFd, from: &OsStr, to_folder: &OwnedFd, to: &OsStr) -> io::Result<()> {
    rustix::fs::linkat(from_folder, from, to_folder, to, AtFlags::empty())?;
    // The file has its final name now. Failing to remove the other one leaves a leftover, no damage.
    let _ = rustix::fs::unlinkat(from_folder, from, AtFlags::empty());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linking_is_a_rename_that_does_not_replace() {
        let folder = tempfile::tempdir().unwrap();
        let disk = OsDisk::new(folder.path()).unwrap();
        disk.append(&mut disk.create_file(Path::new("a")).unwrap(), b"new").unwrap();
        disk.append(&mut disk.create_file(Path::new("taken")).unwrap(), b"old").unwrap();
        let fd = disk.folder(Path::new("")).unwrap();
        let error = link_and_unlink(&fd, OsStr::new("a"), &fd, OsStr::new("taken")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(folder.path().join("taken")).unwrap(), b"old");
        link_and_unlink(&fd, OsStr::new("a"), &fd, OsStr::new("b")).unwrap();
        assert_eq!(std::fs::read(folder.path().join("b")).unwrap(), b"new");
        assert!(!folder.path().join("a").exists());
    }

    #[test]
    fn only_what_says_that_there_are_no_locks_counts_as_that() {
        for (errno, is_without) in [
            (Errno::NOTSUP, true),
            (Errno::NOSYS, true),
            (Errno::NOLCK, true),
            (Errno::IO, false),
            (Errno::INTR, false),
            (Errno::ACCESS, false),
        ] {
            let error = lock_error(io::Error::from(errno));
            assert_eq!(error.kind() == io::ErrorKind::Unsupported, is_without, "{errno}");
        }
    }

    #[test]
    fn files_and_folders_are_opened_once_more_when_what_is_kept_has_taken_all_handles() {
        let folder = tempfile::tempdir().unwrap();
        let disk = OsDisk::new(folder.path()).unwrap();
        disk.append(&mut disk.create_file(Path::new("a")).unwrap(), b"a").unwrap();
        disk.open(Path::new("a"), true).unwrap();
        let path = disk.absolute(Path::new("a"));
        assert!(disk.handles.find(&path).is_some());
        let is_full = || disk.handles.find(&path).is_some();
        let open =
            || if is_full() { Err(Errno::MFILE) } else { rustix::fs::open(&path, FILE, Mode::empty()) };
        opened(&disk.handles, open).unwrap();
        assert!(disk.handles.find(&path).is_none());
        // Others have taken them all.
        let error = opened(&disk.handles, || Err(Errno::NFILE)).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::NFILE));
    }

    #[test]
    fn a_pipe_is_an_error_and_no_hang() {
        let folder = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        if !status.is_ok_and(|status| status.success()) {
            return;
        }
        let disk = OsDisk::new(folder.path()).unwrap();
        assert_eq!(disk.open(Path::new("pipe"), true).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert!(disk.entries(Path::new("")).unwrap().is_empty());
    }

    #[test]
    fn a_folder_of_more_names_than_fit_into_one_answer_is_listed_whole() {
        let folder = tempfile::tempdir().unwrap();
        let disk = OsDisk::new(folder.path()).unwrap();
        let name = |idx: usize| format!("{idx:0>200}");
        for idx in 0..500 {
            match idx % 2 {
                0 => std::fs::write(folder.path().join(name(idx)), vec![0; idx]).unwrap(),
                _ => std::fs::create_dir(folder.path().join(name(idx))).unwrap(),
            }
        }
        let mut names = disk.names(Path::new("")).unwrap();
        names.sort_unstable();
        assert_eq!(names, (0..500).map(name).collect::<Vec<_>>());
        let mut entries = disk.entries(Path::new("")).unwrap();
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for (idx, entry) in entries.iter().enumerate() {
            let expected = match idx % 2 {
                0 => Entry { name: name(idx), kind: EntryKind::File, byte_len: idx as u64 },
                _ => Entry { name: name(idx), kind: EntryKind::Folder, byte_len: 0 },
            };
            assert_eq!(*entry, expected);
        }
        let raw = disk.raw_entries(Path::new("")).unwrap();
        assert_eq!(raw.iter().filter(|entry| entry.is_folder).count(), 250);
        assert_eq!((entries.len(), raw.len()), (500, 500));
        assert_eq!(disk.names(Path::new("absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(disk.names(Path::new(&name(0))).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn more_files_than_handles_are_read_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let disk = OsDisk::new(folder.path()).unwrap();
        for turn in 0..2 {
            for idx in 0..600_u32 {
                let path = PathBuf::from(idx.to_string());
                if turn == 0 {
                    disk.append(&mut disk.create_file(&path).unwrap(), &idx.to_le_bytes()).unwrap();
                }
                let mut dest = [0; 4];
                disk.read_exact_at(&disk.open(&path, true).unwrap(), &mut dest, 0).unwrap();
                assert_eq!(dest, idx.to_le_bytes());
            }
        }
    }
}
