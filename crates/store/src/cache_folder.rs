//! A folder that keeps what came from far away, for this process, later ones, and others at the same time.
//!
//! Each entry is a file of its own, put under a temporary name and renamed: it is there whole, or not, and nobody locks anything. What is read is checked, its
//! length, its name and its checksums ([entry](crate::cache_entry)): whatever a crash, a full disk or another program made of a file, it is either what
//! was put, or none, and goes. Any process deletes what was used least recently when there is more than allowed; that a file is gone is never an error.
//!
//! See `docs/decisions/0019`.

use crate::cache_entry::{CacheEntry, ENTRY_SUFFIX, EntryName};
use crate::versions::Versions;
use bytes::Bytes;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fmt;
use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// How the names of files begin that are being written.
const TEMPORARY: &str = "smalti-tmp-";

/// A file that was being written so long ago will never be finished.
const TEMPORARY_LIFE: Duration = Duration::from_secs(3600);

/// One entry takes no more of the folder: one part of so many.
const ENTRY_SHARE: u64 = 4;

/// When there is too much, so much more is deleted: one part of so many.
const SPARE_SHARE: u64 = 8;

/// What other processes put is counted when this one has put one part of so many.
const RECOUNT_SHARE: u64 = 16;

/// Folders below which files are not known by their names are remembered up to this number; then none are.
const MAX_DISTRUSTED_COUNT: usize = 4096;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder of a bounded size with parts of files of distant stores. Touches nothing before it is first asked.
pub struct DiskCache {
    path: PathBuf,
    limit: u64,
    /// What tells stores apart that have the same addresses.
    realm: String,
    folder: OnceLock<Option<OwnedFd>>,
    room: Mutex<Room>,
    is_full: AtomicBool,
    trouble: Mutex<Trouble>,
    /// Versions that entries told, by the addresses of their files.
    versions: Versions,
    distrusted: Mutex<HashSet<String>>,
    #[cfg(test)]
    fails: AtomicBool,
}

/// What is thought to be in the folder.
#[derive(Default)]
struct Room {
    /// `None` before it was counted.
    byte_len: Option<u64>,
    /// What was put since.
    added_byte_len: u64,
}

#[derive(Default)]
struct Trouble {
    is_known: bool,
    message: Option<String>,
}

/// A file in the folder.
struct Found {
    modified: (i64, i64),
    byte_len: u64,
    folder: String,
    name: String,
    /// It is being written.
    is_temporary: bool,
}

impl DiskCache {
    /// The cache in a folder, which comes into being when it is first used, and holds no more than so many bytes. `realm` is what tells stores
    /// apart whose files have the same addresses: the endpoint.
    pub fn new(folder: impl Into<PathBuf>, byte_len: u64, realm: impl Into<String>) -> Self {
        DiskCache {
            path: folder.into(),
            limit: byte_len,
            realm: realm.into(),
            folder: OnceLock::new(),
            room: Mutex::default(),
            is_full: AtomicBool::new(false),
            trouble: Mutex::default(),
            versions: Versions::new(),
            distrusted: Mutex::default(),
            #[cfg(test)]
            fails: AtomicBool::new(false),
        }
    }

    /// What is wrong with the folder, once: the cache does without it from then on.
    pub fn take_trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).message.take()
    }

    fn note(&self, what: &str, error: &io::Error) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if !trouble.is_known {
            trouble.is_known = true;
            let path = self.path.display();
            trouble.message = Some(format!("the cache in {path} is not used any more, {what}: {error}"));
        }
    }

    pub(crate) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// From now on no file below a folder is known by its name alone; the address is that of the folder.
    pub(crate) fn distrust(&self, folder: String) {
        let mut distrusted = self.distrusted();
        if distrusted.len() < MAX_DISTRUSTED_COUNT {
            distrusted.insert(folder);
        }
    }

    pub(crate) fn trusts(&self, address: &str) -> bool {
        let distrusted = self.distrusted();
        let is_below =
            |folder: &String| address.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        distrusted.len() < MAX_DISTRUSTED_COUNT && (distrusted.is_empty() || !distrusted.iter().any(is_below))
    }

    fn distrusted(&self) -> MutexGuard<'_, HashSet<String>> {
        self.distrusted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn name<'a>(&'a self, address: &'a str, part: crate::through::Part) -> EntryName<'a> {
        EntryName { realm: &self.realm, address, part }
    }

    /// The folder, if it is ours alone.
    fn folder(&self) -> Option<&OwnedFd> {
        let opened = || {
            let open = || -> io::Result<OwnedFd> {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
                let folder = rustix::fs::open(&self.path, FOLDER, Mode::empty())?;
                let stat = rustix::fs::fstat(&folder)?;
                let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
                let mode = Mode::from_raw_mode(stat.st_mode);
                if !is_ours || mode.intersects(Mode::WGRP | Mode::WOTH) {
                    let why = "others may write there; take a folder that is yours alone";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
                }
                Ok(folder)
            };
            open().inspect_err(|error| self.note("it cannot be opened", error)).ok()
        };
        self.folder.get_or_init(opened).as_ref()
    }

    /// The folder of entries whose names begin alike.
    fn below(&self, name: &str) -> io::Result<OwnedFd> {
        let folder = self.folder().ok_or(io::ErrorKind::NotFound)?;
        let prefix = name.get(..2).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(rustix::fs::openat(folder, prefix, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
    }

    /// Whether there seems to be an entry.
    pub(crate) fn has(&self, name: &EntryName<'_>) -> bool {
        let file_name = name.file_name();
        let found = self
            .below(&file_name)
            .ok()
            .and_then(|below| rustix::fs::statat(below, &file_name, AtFlags::SYMLINK_NOFOLLOW).ok());
        found.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// What is kept under a name. What is there, but is no entry of that name, is deleted.
    pub(crate) fn find(&self, name: &EntryName<'_>) -> Option<CacheEntry> {
        let file_name = name.file_name();
        let below = self.below(&file_name).ok()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&below, &file_name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return None,
            // A link, or what cannot be opened.
            Err(_) => {
                let _ = rustix::fs::unlinkat(&below, &file_name, AtFlags::empty());
                return None;
            }
        };
        let read = || -> Option<CacheEntry> {
            let stat = rustix::fs::fstat(&file).ok()?;
            let byte_len = u64::try_from(stat.st_size).ok()?;
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            if !is_file || byte_len > name.max_byte_len() {
                return None;
            }
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(usize::try_from(byte_len).ok()?.saturating_add(1)).ok()?;
            File::from(file.try_clone().ok()?)
                .take(byte_len.saturating_add(1))
                .read_to_end(&mut bytes)
                .ok()?;
            CacheEntry::decode(name, Bytes::from(bytes))
        };
        let entry = read();
        match entry {
            Some(_) => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                // What cannot be marked as used goes sooner.
                let _ = rustix::fs::futimens(&file, &times);
            }
            None => {
                let _ = rustix::fs::unlinkat(&below, &file_name, AtFlags::empty());
            }
        }
        entry
    }

    /// Keeps something under a name, in the place of what was kept before.
    pub(crate) fn keep(&self, name: &EntryName<'_>, entry: &CacheEntry) {
        let head = entry.head(name);
        let byte_len = (head.len() as u64).saturating_add(entry.bytes.len() as u64);
        if byte_len > self.limit / ENTRY_SHARE
            || self.is_full.load(Ordering::Relaxed)
            || self.folder().is_none()
        {
            return;
        }
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        self.make_room(&mut room, byte_len);
        room.added_byte_len = room.added_byte_len.saturating_add(byte_len);
        room.byte_len = room.byte_len.map(|all| all.saturating_add(byte_len));
        drop(room);
        if let Err(error) = self.put(&name.file_name(), &head, &entry.bytes) {
            self.is_full.store(true, Ordering::Relaxed);
            self.note("nothing more can be written there", &error);
        }
    }

    fn put(&self, file_name: &str, head: &[u8], content: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let below = match self.below(file_name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.folder().ok_or(io::ErrorKind::NotFound)?;
                let prefix = file_name.get(..2).ok_or(io::ErrorKind::InvalidInput)?;
                match rustix::fs::mkdirat(folder, prefix, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                self.below(file_name)?
            }
            below => below?,
        };
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut dice = [0; 8];
        getrandom::fill(&mut dice).map_err(io::Error::other)?;
        let temporary = format!("{TEMPORARY}{process}-{count}-{:016x}", u64::from_le_bytes(dice));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&below, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let written = || -> io::Result<()> {
            let mut file = File::from(file);
            #[cfg(test)]
            if self.fails.load(Ordering::Relaxed) {
                return Err(Errno::NOSPC.into());
            }
            file.write_all(head)?;
            file.write_all(content)?;
            Ok(rustix::fs::renameat(&below, &temporary, &below, file_name)?)
        };
        written().inspect_err(|_| {
            let _ = rustix::fs::unlinkat(&below, &temporary, AtFlags::empty());
        })
    }

    /// Deletes what was used least recently, if so many bytes more would be too many.
    fn make_room(&self, room: &mut Room, byte_len: u64) {
        let is_too_much = |all: u64| all.saturating_add(byte_len) > self.limit;
        let is_counted = room.byte_len.is_some_and(|all| !is_too_much(all))
            && room.added_byte_len <= self.limit / RECOUNT_SHARE;
        if is_counted {
            return;
        }
        let mut found = self.files();
        let mut all = found.iter().fold(0_u64, |all, file| all.saturating_add(file.byte_len));
        if is_too_much(all) {
            let goal = (self.limit - self.limit / SPARE_SHARE).saturating_sub(byte_len);
            found.sort_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
            for file in found.into_iter().filter(|file| !file.is_temporary) {
                if all <= goal {
                    break;
                }
                // Another process may have been faster.
                let _ = self.remove(&file);
                all = all.saturating_sub(file.byte_len);
            }
        }
        *room = Room { byte_len: Some(all), added_byte_len: 0 };
    }

    fn remove(&self, file: &Found) -> io::Result<()> {
        let below = self.below(&file.folder)?;
        Ok(rustix::fs::unlinkat(below, &file.name, AtFlags::empty())?)
    }

    /// The entries, and files that are being written. Those that nobody will finish are deleted. What has other names is not ours.
    fn files(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for prefix in 0..=u8::MAX {
            let folder = format!("{prefix:02x}");
            let Ok(below) = self.below(&folder) else { continue };
            let Ok(names) = Dir::read_from(&below) else { continue };
            for name in names.flatten() {
                let Ok(name) = name.file_name().to_str().map(str::to_owned) else { continue };
                let is_temporary = name.starts_with(TEMPORARY);
                let is_hash =
                    |hash: &str| hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
                let is_entry = name.strip_suffix(ENTRY_SUFFIX).is_some_and(is_hash);
                if !is_temporary && !is_entry {
                    continue;
                }
                let Ok(stat) = rustix::fs::statat(&below, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                let file = Found {
                    #[allow(
                        clippy::useless_conversion,
                        reason = "the types of times differ between platforms"
                    )]
                    modified: (
                        i64::from(stat.st_mtime),
                        i64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
                    ),
                    byte_len: u64::try_from(stat.st_size).unwrap_or_default(),
                    folder: folder.clone(),
                    name,
                    is_temporary,
                };
                let age = i64::try_from(now.as_secs()).unwrap_or_default().saturating_sub(file.modified.0);
                let is_left =
                    is_temporary && u64::try_from(age).is_ok_and(|age| age > TEMPORARY_LIFE.as_secs());
                if is_left && self.remove(&file).is_ok() {
                    continue;
                }
                found.push(file);
            }
        }
        found
    }
}

impl fmt::Debug for DiskCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskCache")
            .field("path", &self.path)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteRange;
    use crate::through::Part;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::Path;

    fn entry(content: &[u8]) -> CacheEntry {
        CacheEntry { version: None, file_byte_len: 0, bytes: Bytes::copy_from_slice(content) }
    }

    fn part(byte_len: usize) -> Part {
        Part::Range(ByteRange { start: 0, byte_len: byte_len as u64 })
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let of = |path: &Path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        let folders: Vec<PathBuf> = of(folder);
        let mut all: Vec<PathBuf> = folders
            .iter()
            .filter(|path| path.is_dir())
            .flat_map(|path| -> Vec<PathBuf> { of(path) })
            .collect();
        all.sort();
        all
    }

    fn byte_len(folder: &Path) -> u64 {
        files(folder).iter().map(|file| file.symlink_metadata().unwrap().len()).sum()
    }

    #[test]
    fn what_is_kept_is_found_by_other_processes_and_nobody_else_may_read_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("deep/cache");
        let [one, two] = [(); 2].map(|()| DiskCache::new(&folder, 1 << 20, "r"));
        let content = b"content".as_slice();
        one.keep(&one.name("a", part(7)), &entry(content));
        assert_eq!(two.find(&two.name("a", part(7))), Some(entry(content)));
        assert!(two.has(&two.name("a", part(7))) && !two.has(&two.name("b", part(7))));
        assert_eq!(two.find(&two.name("a", part(6))), None);
        assert_eq!(
            DiskCache::new(&folder, 1 << 20, "other")
                .find(&EntryName { realm: "other", ..two.name("a", part(7)) }),
            None
        );
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        for file in files(&folder) {
            assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
            assert_eq!(file.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
        }
        assert_eq!(files(&folder).len(), 1, "nothing else is left");
        assert_eq!([one.take_trouble(), two.take_trouble()], [None, None]);
    }

    #[test]
    fn a_damaged_entry_is_a_miss_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(root.path().join("c"), 1 << 20, "r");
        let name = cache.name("s3://b/a", part(5));
        cache.keep(&name, &entry(b"12345"));
        let path = files(&root.path().join("c")).pop().unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(cache.find(&name), None, "byte {at}");
            assert!(!path.exists(), "byte {at}");
        }
        for other in [&[][..], &whole[..whole.len() - 1], &[whole.as_slice(), &[0; 1 << 16]].concat()] {
            std::fs::write(&path, other).unwrap();
            assert_eq!(cache.find(&name), None);
            assert!(!path.exists());
        }
        cache.keep(&name, &entry(b"12345"));
        assert_eq!(cache.find(&name), Some(entry(b"12345")));
    }

    #[test]
    fn links_pipes_and_folders_in_the_place_of_entries_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("c");
        let cache = DiskCache::new(&folder, 1 << 20, "r");
        let name = cache.name("a", part(5));
        cache.keep(&name, &entry(b"12345"));
        let path = files(&folder).pop().unwrap();
        let elsewhere = root.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(cache.find(&name), None);
        assert!(!path.is_symlink() && elsewhere.is_file());
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(cache.find(&name), None, "and nobody waits for a writer");
        assert!(!path.exists());
        std::fs::create_dir(&path).unwrap();
        assert_eq!(cache.find(&name), None);
        std::fs::remove_dir(&path).unwrap();
        // The folder of entries may be a link itself: nothing is read or put there.
        let below = path.parent().unwrap();
        std::fs::remove_dir(below).unwrap();
        std::os::unix::fs::symlink(root.path(), below).unwrap();
        assert_eq!(cache.find(&name), None);
        cache.keep(&name, &entry(b"12345"));
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
        assert!(cache.take_trouble().is_some());
    }

    #[test]
    fn the_bound_holds_and_what_was_used_least_recently_goes_first() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("c");
        let limit = 20_000;
        let cache = DiskCache::new(&folder, limit, "r");
        let age = |idx: u64| {
            let name = cache.name("kept", part(1000)).file_name();
            let path = folder.join(&name[..2]).join(&name);
            let file = File::open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(idx)).unwrap();
        };
        cache.keep(&cache.name("kept", part(1000)), &entry(&[7; 1000]));
        for idx in 0..100_u64 {
            let address = idx.to_string();
            let name = cache.name(&address, part(1000));
            cache.keep(&name, &entry(&[1; 1000]));
            let file_name = name.file_name();
            let file = File::open(folder.join(&file_name[..2]).join(&file_name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(idx)).unwrap();
            age(idx);
            assert!(byte_len(&folder) <= limit, "{idx}");
        }
        assert!(byte_len(&folder) > limit / 2);
        assert_eq!(cache.find(&cache.name("0", part(1000))), None);
        assert!(cache.find(&cache.name("99", part(1000))).is_some());
        assert!(cache.find(&cache.name("kept", part(1000))).is_some());
        // What another process put counts as well, and what is too large for the folder is left out.
        let other = DiskCache::new(&folder, limit / 2, "r");
        other.keep(&other.name("small", part(10)), &entry(&[1; 10]));
        assert!(byte_len(&folder) <= limit / 2);
        cache.keep(&cache.name("large", part(6000)), &entry(&[1; 6000]));
        assert_eq!(cache.find(&cache.name("large", part(6000))), None);
    }

    #[test]
    fn finding_marks_as_used() {
        let root = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(root.path().join("c"), 1 << 20, "r");
        let name = cache.name("a", part(1));
        cache.keep(&name, &entry(b"1"));
        let path = files(&root.path().join("c")).pop().unwrap();
        File::open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(cache.find(&name).is_some());
        assert!(path.metadata().unwrap().modified().unwrap() > SystemTime::UNIX_EPOCH + TEMPORARY_LIFE);
    }

    #[test]
    fn what_a_crash_left_is_counted_and_goes_after_a_while_and_what_is_not_ours_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("c");
        DiskCache::new(&folder, 1 << 20, "r")
            .keep(&EntryName { realm: "r", address: "a", part: part(1) }, &entry(b"1"));
        let below = files(&folder).pop().unwrap().parent().unwrap().to_owned();
        let hash = "0123456789abcdef0123456789abcdef";
        let names = ["smalti-tmp-1-0-0", "smalti-tmp-1-1-1", "notes.txt", "tmp-1-0-0", hash];
        let [old, young, foreign @ ..] = names.map(|name| below.join(name));
        for path in [&old, &young].into_iter().chain(&foreign) {
            std::fs::write(path, [0; 100]).unwrap();
        }
        for path in [&old].into_iter().chain(&foreign) {
            File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let cache = DiskCache::new(&folder, 2000, "r");
        for idx in 0..50 {
            let address = idx.to_string();
            cache.keep(&cache.name(&address, part(100)), &entry(&[1; 100]));
        }
        assert!(!old.exists() && foreign.iter().all(|path| path.exists()));
        assert!(byte_len(&folder) <= 2000 + 300, "what is not ours does not count");
    }

    #[test]
    fn a_full_disk_ends_writing_with_one_warning_and_what_is_there_is_found_still() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("c");
        let cache = DiskCache::new(&folder, 1 << 20, "r");
        cache.keep(&cache.name("a", part(1)), &entry(b"1"));
        cache.fails.store(true, Ordering::Relaxed);
        cache.keep(&cache.name("b", part(1)), &entry(b"1"));
        cache.fails.store(false, Ordering::Relaxed);
        cache.keep(&cache.name("c", part(1)), &entry(b"1"));
        assert!(cache.find(&cache.name("a", part(1))).is_some());
        assert_eq!(cache.find(&cache.name("b", part(1))), None);
        assert_eq!(cache.find(&cache.name("c", part(1))), None, "it does not try again and again");
        assert_eq!(files(&folder).len(), 1, "nothing is left of what could not be written");
        let warning = cache.take_trouble().unwrap();
        assert!(warning.contains(folder.to_str().unwrap()), "{warning}");
        assert_eq!(cache.take_trouble(), None);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("c");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let cache = DiskCache::new(&folder, 1 << 20, "r");
        cache.keep(&cache.name("a", part(1)), &entry(b"1"));
        assert_eq!(cache.find(&cache.name("a", part(1))), None);
        assert!(cache.take_trouble().unwrap().contains("yours alone"));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        // Nor is a file a folder.
        let file = root.path().join("f");
        std::fs::write(&file, "x").unwrap();
        let cache = DiskCache::new(&file, 1 << 20, "r");
        assert!(cache.find(&cache.name("a", part(1))).is_none() && cache.take_trouble().is_some());
    }

    #[test]
    fn several_processes_share_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("c");
        // Two caches know as little of each other as two processes do. Room for a part of what they put.
        let caches = [(); 4].map(|()| DiskCache::new(&folder, 16_000, "r"));
        std::thread::scope(|scope| {
            for cache in &caches {
                scope.spawn(move || {
                    for round in 0..4_u8 {
                        for idx in 0..40_u8 {
                            let address = idx.to_string();
                            let name = cache.name(&address, part(500));
                            match cache.find(&name) {
                                Some(found) => assert_eq!(found, entry(&[idx; 500]), "round {round}"),
                                None => cache.keep(&name, &entry(&[idx; 500])),
                            }
                        }
                    }
                });
            }
        });
        // Each may be off by what the others put since it counted.
        assert!(byte_len(&folder) <= 16_000 + 4 * 16_000 / RECOUNT_SHARE + 4 * 700, "{}", byte_len(&folder));
        assert!(caches.iter().all(|cache| cache.take_trouble().is_none()));
    }
}
