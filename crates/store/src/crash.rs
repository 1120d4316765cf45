//! What a disk may hold after a crash: the states between, and instead of, what a program asked for.

use crate::{EntryKind, SeededEntropy};
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// Identifies a file of a [`SimDisk`](crate::SimDisk) whatever its name is at the time.
pub type FileId = u64;

/// One step that a disk was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskOp {
    /// A folder comes into being.
    CreateFolder {
        /// Its path.
        path: PathBuf,
    },
    /// An empty file comes into being.
    CreateFile {
        /// Its path.
        path: PathBuf,
        /// What later steps call it.
        file: FileId,
    },
    /// Bytes are added to a file.
    Append {
        /// The file.
        file: FileId,
        /// The bytes.
        bytes: Bytes,
    },
    /// The content of a file becomes durable.
    SyncFile {
        /// The file.
        file: FileId,
    },
    /// The names in a folder become durable.
    SyncFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file or a folder takes another name at once.
    Rename {
        /// The old path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
    },
    /// A file's name goes.
    RemoveFile {
        /// The path.
        path: PathBuf,
    },
    /// An empty folder goes.
    RemoveFolder {
        /// The path.
        path: PathBuf,
    },
}

/// All folders and files of a disk. Paths are relative and joined by `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Image {
    /// The folders, without the root.
    pub folders: BTreeSet<String>,
    /// The files with their content.
    pub files: BTreeMap<String, Bytes>,
}

/// How many crash states to enumerate.
#[derive(Debug, Clone, Copy)]
pub struct CrashLimits {
    /// Random choices of lost steps for every prefix, on top of the systematic ones.
    pub random_count: usize,
    /// Seeds the random choices.
    pub seed: u64,
}

impl Default for CrashLimits {
    fn default() -> Self {
        CrashLimits { random_count: 4, seed: 1 }
    }
}

/// What became of an appended piece that was not durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tear {
    /// Only the first bytes arrived.
    Cut(usize),
    /// The file grew, but its bytes never arrived.
    Zeros,
}

/// One state that a crash may leave.
#[derive(Debug, Clone)]
pub struct CrashState {
    /// How many steps were asked for before the crash. Every operation that was acknowledged by then must be in the
    /// state: compare with the number of steps when it returned.
    pub op_count: usize,
    /// Indices of steps that were asked for and not made durable, and are lost.
    pub lost: Vec<usize>,
    /// An append that arrived in part.
    pub torn: Option<(usize, Tear)>,
    /// What the disk holds.
    pub image: Image,
}

impl fmt::Display for CrashState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crash after {} steps, lost {:?}, torn {:?}", self.op_count, self.lost, self.torn)
    }
}

/// Visits every distinct state that a crash during `ops` may leave on a disk that held `base`; returns their number.
///
/// For every prefix of the steps: all of them arrived (the process died); none of those arrived that were not yet made
/// durable (the strictest power cut); each single one of these alone is lost, or alone arrives (reordering); appends
/// arrive in part or as zeros; and random choices of `limits`. A name is durable once its folder was synced after the
/// step, content once its file was. A rename is one step: never both names, never neither.
pub fn crash_states(
    base: &Image,
    ops: &[DiskOp],
    limits: CrashLimits,
    mut visit: impl FnMut(&CrashState),
) -> usize {
    let entropy = SeededEntropy::new(limits.seed);
    let mut pending: Vec<Pending> = Vec::new();
    let mut seen = HashSet::new();
    for op_count in 0..=ops.len() {
        let done = ops.get(..op_count).unwrap_or(ops);
        if let Some((op, earlier)) = done.split_last() {
            advance(&mut pending, earlier, op);
        }
        for (lost, torn) in fates(&pending, done, limits.random_count, &entropy) {
            let image = replay(base, done, &lost, torn);
            // The same image later means more: operations acknowledged since must be in it.
            let mut hasher = DefaultHasher::new();
            (op_count, &image).hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                visit(&CrashState { op_count, lost, torn, image });
            }
        }
    }
    seen.len()
}

/// A step that is not durable yet.
struct Pending {
    op_idx: usize,
    until: Until,
}

/// The sync that makes a step durable.
enum Until {
    FileSynced(FileId),
    /// The folder's path as it is now: renames move it.
    FolderSynced(PathBuf),
}

fn advance(pending: &mut Vec<Pending>, earlier: &[DiskOp], op: &DiskOp) {
    let folder_of = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
    let until = match op {
        DiskOp::SyncFile { file } => {
            return pending.retain(|p| !matches!(&p.until, Until::FileSynced(f) if f == file));
        }
        DiskOp::SyncFolder { path } => {
            let (durable, rest) = std::mem::take(pending)
                .into_iter()
                .partition(|p| matches!(&p.until, Until::FolderSynced(f) if f == path));
            *pending = rest;
            return durable.iter().for_each(|p: &Pending| settle_sources(pending, earlier, p.op_idx));
        }
        DiskOp::Append { file, .. } => Until::FileSynced(*file),
        DiskOp::Rename { from, to } => {
            for p in pending.iter_mut() {
                if let Until::FolderSynced(folder) = &mut p.until
                    && let Ok(below) = folder.strip_prefix(from)
                {
                    *folder = moved(to, below);
                }
            }
            Until::FolderSynced(folder_of(to))
        }
        DiskOp::CreateFolder { path }
        | DiskOp::CreateFile { path, .. }
        | DiskOp::RemoveFile { path }
        | DiskOp::RemoveFolder { path } => Until::FolderSynced(folder_of(path)),
    };
    pending.push(Pending { op_idx: earlier.len(), until });
}

/// A durable rename is durable whatever became of the old name: the steps that gave the file its old names cannot be
/// lost any more.
fn settle_sources(pending: &mut Vec<Pending>, earlier: &[DiskOp], mut op_idx: usize) {
    while let Some(DiskOp::Rename { from, .. }) = earlier.get(op_idx) {
        let made_source = |op: &DiskOp| match op {
            DiskOp::CreateFile { path, .. } | DiskOp::CreateFolder { path } => path == from,
            DiskOp::Rename { to, .. } => to == from,
            _ => false,
        };
        let source_idx = earlier.get(..op_idx).and_then(|before| before.iter().rposition(made_source));
        let Some(source_idx) = source_idx else { return };
        pending.retain(|p| p.op_idx != source_idx);
        op_idx = source_idx;
    }
}

type Fate = (Vec<usize>, Option<(usize, Tear)>);

fn fates(pending: &[Pending], done: &[DiskOp], random_count: usize, entropy: &SeededEntropy) -> Vec<Fate> {
    let all: Vec<usize> = pending.iter().map(|p| p.op_idx).collect();
    let mut fates: Vec<Fate> = vec![(Vec::new(), None), (all.clone(), None)];
    for &op_idx in &all {
        fates.push((vec![op_idx], None));
        fates.push((all.iter().copied().filter(|&other| other != op_idx).collect(), None));
        if let Some(DiskOp::Append { bytes, .. }) = done.get(op_idx) {
            for cut in [1, bytes.len() / 2, bytes.len().saturating_sub(1)] {
                if (1..bytes.len()).contains(&cut) {
                    fates.push((Vec::new(), Some((op_idx, Tear::Cut(cut)))));
                }
            }
            fates.push((Vec::new(), Some((op_idx, Tear::Zeros))));
        }
    }
    for _ in 0..if all.len() > 2 { random_count } else { 0 } {
        let lost = all.iter().copied().filter(|_| entropy.next_u64() & 1 == 1).collect();
        fates.push((lost, None));
    }
    fates
}

fn replay(base: &Image, done: &[DiskOp], lost: &[usize], torn: Option<(usize, Tear)>) -> Image {
    let mut layout = Layout::of(base);
    for (idx, op) in done.iter().enumerate() {
        let result = match (op, torn) {
            _ if lost.contains(&idx) => Ok(()),
            (DiskOp::Append { file, bytes }, Some((torn_idx, tear))) if torn_idx == idx => {
                let bytes = match tear {
                    Tear::Cut(byte_len) => bytes.slice(..byte_len.min(bytes.len())),
                    Tear::Zeros => Bytes::from(vec![0; bytes.len()]),
                };
                layout.apply(&DiskOp::Append { file: *file, bytes })
            }
            _ => layout.apply(op),
        };
        // A step that depends on a lost one is lost with it.
        drop(result);
    }
    layout.image()
}

/// A tree of folders and files, changed step by step. Paths are text, joined by `/` as in an [`Image`]: tests replay millions of
/// steps, and paths compared by their parts would take most of the time.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    folders: BTreeSet<String>,
    files: BTreeMap<String, FileId>,
    /// Content outlives names: a file can be written to after its removal.
    contents: BTreeMap<FileId, Bytes>,
    file_count: FileId,
}

impl Layout {
    pub(crate) fn of(image: &Image) -> Self {
        let mut layout = Layout::default();
        for folder in &image.folders {
            layout.add_folders(folder);
        }
        for (path, bytes) in &image.files {
            // Files of the base get numbers from the top, out of the way of those that ops name.
            let file = FileId::MAX - layout.contents.len() as FileId;
            layout.add_folders(parent(path));
            layout.files.insert(path.clone(), file);
            layout.contents.insert(file, bytes.clone());
        }
        layout
    }

    /// A folder and those above it.
    fn add_folders(&mut self, mut folder: &str) {
        while !folder.is_empty() && self.folders.insert(folder.to_owned()) {
            folder = parent(folder);
        }
    }

    pub(crate) fn image(&self) -> Image {
        let content = |file| self.contents.get(file).cloned().unwrap_or_default();
        Image {
            folders: self.folders.clone(),
            files: self.files.iter().map(|(path, file)| (path.clone(), content(file))).collect(),
        }
    }

    /// A number for the next file.
    pub(crate) fn next_file(&mut self) -> FileId {
        self.file_count += 1;
        self.file_count
    }

    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        self.has_folder(&text(path))
    }

    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.has_any(&text(path))
    }

    fn has_folder(&self, path: &str) -> bool {
        path.is_empty() || self.folders.contains(path)
    }

    fn has_any(&self, path: &str) -> bool {
        self.has_folder(path) || self.files.contains_key(path)
    }

    pub(crate) fn has_name_ending(&self, ending: &str) -> bool {
        let ends = |path: &String| path.ends_with(ending);
        self.folders.iter().any(ends) || self.files.keys().any(ends)
    }

    pub(crate) fn content(&self, path: &Path) -> io::Result<Bytes> {
        let file = self.files.get(text(path).as_ref()).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.contents.get(file).cloned().unwrap_or_default())
    }

    /// The names of files with their sizes, and of folders without one, directly in a folder.
    pub(crate) fn children(&self, folder: &Path) -> io::Result<Vec<(String, Option<u64>)>> {
        let folder = text(folder);
        if self.files.contains_key(folder.as_ref()) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        if !self.has_folder(&folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let name =
            |path: &str| path.strip_prefix(&start).filter(|name| !name.contains('/')).map(str::to_owned);
        let from = (Bound::Included(start.as_str()), Bound::Unbounded);
        let folders = self.folders.range::<str, _>(from).take_while(|path| path.starts_with(&start));
        let files = self.files.range::<str, _>(from).take_while(|(path, _)| path.starts_with(&start));
        let byte_len = |file| self.contents.get(file).map_or(0, |bytes| bytes.len() as u64);
        Ok(folders
            .filter_map(|path| Some((name(path)?, None)))
            .chain(files.filter_map(|(path, file)| Some((name(path)?, Some(byte_len(file))))))
            .collect())
    }

    fn check_parent(&self, path: &str) -> io::Result<()> {
        let parent = parent(path);
        if self.files.contains_key(parent) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        if self.has_folder(parent) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn check_new(&self, path: &str) -> io::Result<()> {
        self.check_parent(path)?;
        if self.has_any(path) { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(()) }
    }

    pub(crate) fn apply(&mut self, op: &DiskOp) -> io::Result<()> {
        match op {
            DiskOp::CreateFolder { path } => {
                let path = text(path);
                self.check_new(&path)?;
                self.folders.insert(path.into_owned());
            }
            DiskOp::CreateFile { path, file } => {
                let path = text(path);
                self.check_new(&path)?;
                self.files.insert(path.into_owned(), *file);
                self.contents.insert(*file, Bytes::new());
            }
            DiskOp::Append { file, bytes } => {
                let content = self.contents.get_mut(file).ok_or(io::ErrorKind::NotFound)?;
                *content = match content.is_empty() {
                    true => bytes.clone(),
                    false => [content.as_ref(), bytes.as_ref()].concat().into(),
                };
            }
            DiskOp::SyncFile { .. } => {}
            DiskOp::SyncFolder { path } => {
                if !self.is_folder(path) {
                    return Err(io::ErrorKind::NotFound.into());
                }
            }
            DiskOp::Rename { from, to } => self.rename(&text(from), &text(to))?,
            DiskOp::RemoveFile { path } => {
                if self.is_folder(path) {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                self.files.remove(text(path).as_ref()).ok_or(io::ErrorKind::NotFound)?;
            }
            DiskOp::RemoveFolder { path } => {
                if !self.children(path)?.is_empty() {
                    return Err(io::ErrorKind::DirectoryNotEmpty.into());
                }
                self.folders.remove(text(path).as_ref());
            }
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.check_parent(to)?;
        if let Some(&file) = self.files.get(from) {
            if self.has_folder(to) {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            self.files.remove(from);
            self.files.insert(to.to_owned(), file);
            return Ok(());
        }
        if !self.folders.contains(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if self.files.contains_key(to) || (self.has_folder(to) && !self.children(Path::new(to))?.is_empty()) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let target = |path: String| match path.strip_prefix(from) {
            Some(below) if below.is_empty() || below.starts_with('/') => format!("{to}{below}"),
            _ => path,
        };
        self.folders = std::mem::take(&mut self.folders).into_iter().map(target).collect();
        self.files =
            std::mem::take(&mut self.files).into_iter().map(|(path, file)| (target(path), file)).collect();
        Ok(())
    }
}

/// A path as an [`Image`] has it.
fn text(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    if cfg!(windows) { Cow::Owned(text.replace('\\', "/")) } else { text }
}

/// The folder that something is in; empty for the root.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The new path of what lies `below` a folder that moved `to`.
fn moved(to: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) }
}

impl Image {
    /// Whether a path is a file or a folder, if it is anything.
    pub fn kind(&self, path: &str) -> Option<EntryKind> {
        if self.files.contains_key(path) {
            Some(EntryKind::File)
        } else {
            self.folders.contains(path).then_some(EntryKind::Folder)
        }
    }
}
