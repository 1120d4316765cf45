//! The trait that every backend implements, and the words of its contracts.

use crate::ext::ends_early;
use crate::{ByteRange, Coalescing, Pending, Request, check_path, join};
use bytes::Bytes;
use smalti_types::{Error, ErrorKind, Result};
use std::fmt::Debug;

/// What a listing found under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder; on object stores, a common prefix.
    Folder,
}

/// One row of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name in the listed folder; in a recursive listing, the path from the listed folder.
    pub name: String,
    /// File or folder.
    pub kind: EntryKind,
    /// The size of a file in bytes; 0 for folders.
    pub byte_len: u64,
}

impl Entry {
    /// In the place of a size that the store would have to ask for. Only [answers](crate::Answer::Entries) to requests have it: a listing that
    /// is waited for tells all sizes.
    pub const UNKNOWN_BYTE_LEN: u64 = u64::MAX;

    /// Whether this is a file.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }

    /// Whether this is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == EntryKind::Folder
    }
}

/// One read of a batch: fills `dest` with the bytes of a file from `offset` on.
#[derive(Debug)]
pub struct ReadInto<'a> {
    /// The file.
    pub path: &'a str,
    /// The first byte to read.
    pub offset: u64,
    /// Receives exactly `dest.len()` bytes.
    pub dest: &'a mut [u8],
}

impl ReadInto<'_> {
    /// Fills it from the whole content of the file.
    ///
    /// # Errors
    /// `Corrupt` when the file is too short.
    pub(crate) fn fill_from(&mut self, file: &[u8]) -> Result<()> {
        let source = usize::try_from(self.offset)
            .ok()
            .and_then(|start| file.get(start..start.checked_add(self.dest.len())?));
        let Some(source) = source else {
            let range = ByteRange { start: self.offset, byte_len: self.dest.len() as u64 };
            return Err(ends_early(range, file.len() as u64));
        };
        self.dest.copy_from_slice(source);
        Ok(())
    }
}

/// The end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// The size of the whole file in bytes.
    pub file_byte_len: u64,
    /// Its last bytes.
    pub bytes: Bytes,
}

impl Tail {
    /// The end of a file whose whole content is there: so many bytes at most.
    pub(crate) fn of(file: &Bytes, byte_len: u64) -> Self {
        let byte_len = usize::try_from(byte_len).unwrap_or(usize::MAX).min(file.len());
        Tail { file_byte_len: file.len() as u64, bytes: file.slice(file.len() - byte_len..) }
    }
}

/// What tells the content of a file from any other that the same name may have had or will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileVersion([u64; 4]);

impl FileVersion {
    /// A version out of numbers that no two contents of a name share.
    pub fn new(numbers: [u64; 4]) -> Self {
        FileVersion(numbers)
    }

    /// The numbers.
    pub(crate) fn numbers(self) -> [u64; 4] {
        self.0
    }
}

/// A file to put: its content is the concatenation of `parts`.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// Where to put it.
    pub path: &'a str,
    /// Its content in pieces, so that callers need not join header and body.
    pub parts: &'a [&'a [u8]],
}

impl NewFile<'_> {
    /// Its content in one piece.
    pub fn joined(&self) -> Bytes {
        self.parts.concat().into()
    }
}

/// A folder to create with everything in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewTree<'a> {
    /// Folders, relative to the tree's root. Folders that only hold files of `files` need no mention.
    pub folders: &'a [&'a str],
    /// Files, their paths relative to the tree's root. Stores without an atomic rename put them in this order, so
    /// the file that makes the tree visible goes last.
    pub files: &'a [NewFile<'a>],
}

impl NewTree<'_> {
    /// Checks all paths of a tree that is to be created at a root.
    ///
    /// # Errors
    /// As for [`check_path`].
    pub fn check(&self, root: &str) -> Result<()> {
        check_path(root)?;
        self.folders.iter().try_for_each(|folder| check_path(folder))?;
        self.files.iter().try_for_each(|file| check_path(file.path))
    }

    /// For stores of objects, which have no folders: the files, with their whole paths below a root and their contents; the one that makes the tree
    /// visible by itself. `None` where there are no files.
    pub fn objects(&self, root: &str) -> Option<(Vec<(String, Bytes)>, (String, Bytes))> {
        let files = self.files.iter().map(|file| (join(root, file.path), file.joined()));
        let mut files: Vec<(String, Bytes)> = files.collect();
        let last = files.pop()?;
        Some((files, last))
    }
}

/// Something that an interrupted operation left behind: no reader sees it, and a repair may delete it once it is
/// old enough not to belong to an operation that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its path in the store.
    pub path: String,
    /// File or folder.
    pub kind: EntryKind,
    /// When it last changed, in milliseconds since 1970-01-01T00:00:00Z, where the store knows.
    pub modified_ms: Option<u64>,
}

/// What an error of a mutating call says where something may have happened all the same.
pub const UNKNOWN_EFFECT: &str = "the operation's effect is unknown";

/// An upload in parts that was begun and neither completed nor given up: nobody can read it, no listing shows it, and where stores are paid for its parts
/// cost what objects cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedUpload {
    /// The path in the store that the file would have had.
    pub path: String,
    /// What the store calls the upload.
    pub id: String,
    /// When it was begun, in milliseconds since 1970-01-01T00:00:00Z, where the store knows.
    pub begun_ms: Option<u64>,
}

/// How much a local store does to survive a power cut. Crashes of the process alone are survived at every level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SyncLevel {
    /// Files and the folders that name them are made durable: an acknowledged operation survives.
    #[default]
    Full,
    /// Only the content of files is made durable: a power cut may undo acknowledged operations, but a file
    /// that is there is whole.
    File,
    /// Nothing is made durable: a power cut may leave anything. For scratch data.
    None,
}

impl std::str::FromStr for SyncLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "full" => Ok(SyncLevel::Full),
            "file" => Ok(SyncLevel::File),
            "none" => Ok(SyncLevel::None),
            _ => Err(Error::invalid(format!("sync level {text:?} is none of full, file, none"))),
        }
    }
}

/// A store of immutable files in folders.
///
/// Paths are relative to the store's root and pass [`check_path`](crate::check_path); every method refuses others with
/// `InvalidArgument` before it does anything. The trait is shaped for object stores: there is no append, no
/// rename, and no overwrite but for repairs; calls are batches where a remote store would need a round trip each. Implementations
/// may be asynchronous inside; calls block, and come from any thread.
///
/// An error of a mutating call says that nothing happened, or that its effect is unknown, in these words. What may be
/// left after an error or a crash is invisible to every reading method (see [`leftovers`](Store::leftovers)).
pub trait Store: Send + Sync + Debug {
    /// The files and folders directly in a folder, sorted by the bytes of their names; the empty path is the root.
    /// A folder that does not exist is empty, and so is a file. Whether folders without files are listed is
    /// the store's affair: nothing may hang on it.
    ///
    /// Legal: `list("a/__fragments")`. Illegal: `list("a/__fragments/")`, a trailing slash.
    ///
    /// # Errors
    /// `Permission`, `Io`.
    fn list(&self, folder: &str) -> Result<Vec<Entry>>;

    /// The size of a file in bytes.
    ///
    /// # Errors
    /// `NotFound`, also when the path is a folder.
    fn byte_len(&self, path: &str) -> Result<u64>;

    /// Whether there is a file of that name.
    ///
    /// # Errors
    /// As for [`byte_len`](Store::byte_len), but for `NotFound`.
    fn has_file(&self, path: &str) -> Result<bool> {
        match self.byte_len(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What tells the content of a file from others of the same name; `None` where the store cannot say, or not yet, and where
    /// there is no such file. Takes no round trip. What is known of a file that has no version may be out of date.
    ///
    /// A [distant](Store::is_distant) store may know no more than what its last answer about the file said, be it a listing or bytes: a file that another
    /// client replaces has its old version until then. Whoever asks for a file first and then for its version gets that of the answer,
    /// or none if there were others meanwhile.
    fn version(&self, path: &str) -> Option<FileVersion> {
        let _ = path;
        None
    }

    /// Performs all reads of a batch, in any order and in parallel; an empty `dest` reads nothing.
    ///
    /// Legal: reads of one file that overlap, in any order. Illegal: a range that ends beyond the file.
    ///
    /// # Errors
    /// `NotFound` when a file is missing, `Corrupt` when a file ends before a range does (callers take ranges from
    /// metadata, so one of the two is damaged). The destinations hold unspecified bytes then.
    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()>;

    /// The size and the last `byte_len` bytes of a file, or all its bytes if it is shorter: one request, made for
    /// footers and for small files as a whole. Allocates no more than the file is long.
    ///
    /// # Errors
    /// `NotFound`, `OutOfMemory`.
    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail>;

    /// The ends of many files below a folder, of each as [`read_tail`](Store::read_tail) gives it, in the order of `paths`, which
    /// are relative to the folder. What is read together may share memory. For those who open thousands of small
    /// files; a call is one thread's work, so that callers decide how many calls go side by side.
    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        paths.iter().map(|path| self.read_tail(&crate::join(folder, path), byte_len)).collect()
    }

    /// Sends requests, and returns at once: what is returned, one for each in their order, waits for its answer. How many go
    /// side by side is the store's to say. Stores that are not [distant](Store::is_distant) answer before they return.
    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        requests.iter().map(|request| Pending::ready(request.ask(self))).collect()
    }

    /// Whether reads of late had to wait for something slower than memory, so that it pays to say
    /// [what will be needed](Store::will_need). A guess that costs next to nothing; distant stores, which are asked
    /// [early](Store::submit), need none.
    fn has_waited(&self) -> bool {
        false
    }

    /// Says which bytes of a file will be read soon, so that the store may fetch them meanwhile; returns before they are there. It
    /// is advice: what is wrong with it shows when the bytes are read.
    fn will_need(&self, path: &str, ranges: &[ByteRange]) {
        let _ = (path, ranges);
    }

    /// Whether a request takes so long that it is worth asking for what will be needed later, and for more than
    /// is needed.
    fn is_distant(&self) -> bool {
        false
    }

    /// Puts one file: atomic (readers see all of it or nothing), never replacing, durable on return. Missing folders
    /// come into being. Commits, schemas, metadata: what makes other files visible goes through here.
    ///
    /// Legal: `put("a/__commits/x.wrt", &[])`, an empty file. Illegal: putting to a name to change its content.
    ///
    /// # Errors
    /// `AlreadyExists` when anything has that name; it is left as it was.
    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()>;

    /// Puts one file in the place of the one that has its name, or of none: atomic (readers see all of the old or all of the new
    /// one), durable on return. For repairs alone: whoever opened the old file may go on with it.
    ///
    /// # Errors
    /// `AlreadyExists` when a folder has that name.
    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()>;

    /// Puts many files in parallel, never replacing, all durable on return with the folders that name them. It is not
    /// atomic: before it returns, readers may see some files, or parts of files.
    ///
    /// Legal: the files of a fragment that no commit names yet. Illegal: a folder whose listing alone makes files
    /// count, such as array metadata; a path given twice.
    ///
    /// # Errors
    /// `AlreadyExists` when anything has one of the names. Files that the call made are removed again as far as possible.
    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()>;

    /// Starts a file that is written piece by piece; it appears under its name when it is finished, and never when the
    /// writer is dropped before.
    ///
    /// # Errors
    /// `AlreadyExists` may come here or from [`FileWriter::finish`].
    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>>;

    /// Makes the name of every finished file of a folder durable. Nothing to do on stores where finishing does that.
    ///
    /// # Errors
    /// `Io`; whether the names are durable is unknown then. `NotFound` when the folder is missing.
    fn sync_folder(&self, folder: &str) -> Result<()>;

    /// Creates a folder and those above it, durable on return; one that exists is left as it is. Does nothing
    /// on stores without folders.
    ///
    /// # Errors
    /// `AlreadyExists` when a file has the name.
    fn create_folder(&self, folder: &str) -> Result<()>;

    /// Creates a folder with everything in it, atomically where the store can rename, otherwise in the order of
    /// [`NewTree::files`]. An existing empty folder counts as absent. Durable on return.
    ///
    /// # Errors
    /// `AlreadyExists` when the path is a file or a folder that is not empty.
    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()>;

    /// Deletes files, durably on return; one that is missing is fine. A symbolic link is deleted itself.
    ///
    /// # Errors
    /// After an error any subset is deleted. `InvalidArgument` for a folder.
    fn delete_files(&self, paths: &[&str]) -> Result<()>;

    /// Deletes folders with all they hold, durably on return; one that is missing is fine. Each vanishes at once
    /// where the store can rename. Symbolic links are deleted, never followed. The root cannot be deleted.
    ///
    /// # Errors
    /// After an error any subset is deleted.
    fn delete_folders(&self, folders: &[&str]) -> Result<()>;

    /// Gives a folder another name with all it holds, at once, durable on return. Folders above the new name come into
    /// being; an existing empty folder counts as absent. A symbolic link is renamed itself, and takes the place of nothing.
    ///
    /// Legal: `move_folder("a/x", "b/y")`. Illegal: `move_folder("a", "a/b")`, a folder into itself.
    ///
    /// # Errors
    /// `NotFound` when there is no such folder, or it is a file; `AlreadyExists` when the new name is a file's or that of
    /// a folder that is not empty; `InvalidArgument` for a folder into itself; `Unsupported` where the two
    /// are on different file systems.
    fn move_folder(&self, from: &str, to: &str) -> Result<()>;

    /// The address of a path for people and for messages, in a form that [`Stores::open`](crate::Stores::open) understands.
    fn address(&self, path: &str) -> String;

    /// All files below a folder, with their paths from it, sorted. One request on object stores.
    ///
    /// # Errors
    /// As for [`list`](Store::list); `Corrupt` when folders nest deeper than 64 levels.
    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        let mut files = Vec::new();
        let mut pending = vec![(String::new(), 0_u8)];
        while let Some((below, depth)) = pending.pop() {
            let path = if below.is_empty() { folder.to_owned() } else { crate::join(folder, &below) };
            if depth > 64 {
                return Err(Error::corrupt("folders nest deeper than 64 levels").at_uri(self.address(&path)));
            }
            for mut entry in self.list(&path)? {
                entry.name = crate::join(&below, &entry.name);
                match entry.kind {
                    EntryKind::File => files.push(entry),
                    EntryKind::Folder => pending.push((entry.name, depth + 1)),
                }
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// The names directly in a folder, files and folders alike, sorted: cheaper than [`list`](Store::list) by a question to
    /// the disk for each file, which tells in folders of many thousand commits. It may hold names that `list`
    /// leaves out because nothing readable is behind them.
    ///
    /// # Errors
    /// As for [`list`](Store::list).
    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        Ok(self.list(folder)?.into_iter().map(|entry| entry.name).collect())
    }

    /// Whether a folder holds so much that listing it is worth a thread of its own: a guess, which costs next to nothing.
    fn is_long(&self, folder: &str) -> bool {
        let _ = folder;
        false
    }

    /// What interrupted operations left directly in a folder. Deleting is the caller's decision, with
    /// [`delete_files`](Store::delete_files) and [`delete_folders`](Store::delete_folders).
    ///
    /// # Errors
    /// As for [`list`](Store::list).
    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        crate::path::check_folder(folder)?;
        Ok(Vec::new())
    }

    /// Uploads of files in a folder or further below that were begun and are not finished. Some may be under way. Stores that have no such thing, or do not tell,
    /// have none.
    ///
    /// # Errors
    /// As for [`list`](Store::list); `Permission` where the credentials may not ask for it, `Unsupported` where the store does not answer.
    fn unfinished_uploads(&self, folder: &str) -> Result<Vec<UnfinishedUpload>> {
        crate::path::check_folder(folder)?;
        Ok(Vec::new())
    }

    /// Gives an upload up, and with it the parts that were sent. One that is not there any more is fine.
    ///
    /// # Errors
    /// `Permission`, `Io`; `Unsupported` where there are no uploads.
    fn abort_upload(&self, upload: &UnfinishedUpload) -> Result<()> {
        crate::path::check_path(&upload.path)?;
        Err(smalti_types::Error::unsupported("there are no uploads in parts here")
            .at_uri(self.address(&upload.path)))
    }

    /// Claims a file or folder against other users of the store, in this process and in others where the store can; `None`
    /// when somebody holds a claim that stands against it. Does not wait.
    ///
    /// # Errors
    /// `Unsupported` where nothing can be locked: exclusive claims are [files](crate::ClaimFile) there. `NotFound` when nothing has
    /// the name; `Permission`, `Io`.
    fn lease(&self, path: &str, claim: crate::Claim) -> Result<Option<crate::Lease>> {
        let _ = claim;
        crate::path::check_folder(path)?;
        Err(Error::unsupported("nothing can be locked here").at_uri(self.address(path)))
    }

    /// When the folder, or a file directly in it, last changed, in milliseconds since 1970-01-01T00:00:00Z: what decides
    /// whether somebody may still be writing there. `None` where the store does not know, or there is no such folder.
    ///
    /// # Errors
    /// As for [`list`](Store::list).
    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        crate::path::check_folder(folder)?;
        Ok(None)
    }

    /// How reads are best merged on this store.
    fn coalescing(&self) -> Coalescing {
        Coalescing::default()
    }
}

/// A file that is being written; see [`Store::create`]. Dropping it without finishing leaves no file.
pub trait FileWriter: Send + Debug {
    /// Appends bytes.
    ///
    /// # Errors
    /// `Io`, for example on a full disk; the writer can only be dropped then.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// How many bytes were written so far.
    fn byte_len(&self) -> u64;

    /// Makes the content durable and gives the file its name. The name is durable after [`Store::sync_folder`].
    ///
    /// # Errors
    /// `AlreadyExists` when anything has the name; it is left as it was.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Finishes several writers at once: waiting for the disk overlaps.
///
/// # Errors
/// The first error in the order of the writers; the others are finished all the same.
pub fn finish_all(writers: Vec<Box<dyn FileWriter>>) -> Result<()> {
    if writers.len() < 2 {
        return writers.into_iter().try_for_each(FileWriter::finish);
    }
    let mut queue: Vec<_> = writers.into_iter().map(Some).collect();
    let mut results = vec![Ok(()); queue.len()];
    // More threads than processors on purpose: they wait for the disk, and it writes its journal once for all of them.
    let share_len = queue.len().div_ceil(8);
    std::thread::scope(|scope| {
        for (writers, results) in queue.chunks_mut(share_len).zip(results.chunks_mut(share_len)) {
            scope.spawn(move || {
                for (writer, result) in writers.iter_mut().zip(results) {
                    *result = writer.take().map_or(Ok(()), FileWriter::finish);
                }
            });
        }
    });
    results.into_iter().collect()
}
