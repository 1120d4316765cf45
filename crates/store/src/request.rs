//! What is asked of a store, as data: a list of requests goes out at once, and each answer is waited for when it is needed.
//!
//! [`Store::submit`] is how a reader of a distant store has many requests under way with few threads: how many go side by side is
//! the store's to say, and nobody who could work waits for one that is not needed yet.

use crate::{ByteRange, Entry, Store, StoreExt, Tail, join};
use bytes::Bytes;
use smalti_types::{Error, Result};
use std::fmt;

/// Something to ask of a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// The entries of a folder; see [`Store::list`]. The sizes of files may be [unknown](Entry::UNKNOWN_BYTE_LEN).
    List {
        /// The folder.
        folder: String,
    },
    /// The entries of a folder, and of some of those in it: one request where the store can list them together, and each asked for
    /// by itself, side by side, where it cannot.
    Lists {
        /// The folder.
        folder: String,
        /// The names of folders in it whose entries are wanted too. They need not be there.
        below: Vec<String>,
        /// The names of folders in it that hold much of which nothing is wanted here.
        without: Vec<String>,
    },
    /// Entries of a folder, as many as come in one answer of the server, whichever they are: the time that this takes does not grow with the folder.
    Page {
        /// The folder.
        folder: String,
    },
    /// Bytes of a file; see [`Store::read_into`]. No more is allocated than the file has.
    Range {
        /// The file.
        path: String,
        /// Which of its bytes.
        range: ByteRange,
    },
    /// The end of a file; see [`Store::read_tail`].
    Tail {
        /// The file.
        path: String,
        /// How many bytes at most.
        byte_len: u64,
    },
}

/// What a store answers: of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The entries of a folder.
    Entries(Vec<Entry>),
    /// The entries of a folder and of some of those in it, in the order in which they were asked for.
    Lists(Vec<Vec<Entry>>),
    /// Entries of a folder.
    Page(Page),
    /// Bytes of a file.
    Bytes(Bytes),
    /// The end of a file.
    Tail(Tail),
}

/// Entries of a folder that came in one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The entries. Their order says nothing about those that are missing.
    pub entries: Vec<Entry>,
    /// Whether these are all.
    pub is_whole: bool,
}

impl Request {
    /// Asks a store, and waits for the answer.
    ///
    /// # Errors
    /// What the store reports.
    pub fn ask<S: Store + ?Sized>(&self, store: &S) -> Result<Answer> {
        Ok(match self {
            Request::List { folder } => Answer::Entries(store.list(folder)?),
            Request::Lists { .. } => {
                Answer::Lists(self.folders().iter().map(|folder| store.list(folder)).collect::<Result<_>>()?)
            }
            Request::Page { folder } => Answer::Page(Page { entries: store.list(folder)?, is_whole: true }),
            Request::Range { path, range } => Answer::Bytes(store.read_at(path, *range)?),
            Request::Tail { path, byte_len } => Answer::Tail(store.read_tail(path, *byte_len)?),
        })
    }

    /// Whether entries of folders are asked for, not bytes of files.
    pub fn is_list(&self) -> bool {
        match self {
            Request::List { .. } | Request::Lists { .. } | Request::Page { .. } => true,
            Request::Range { .. } | Request::Tail { .. } => false,
        }
    }

    /// The folders whose entries are asked for, in the order of the answer.
    pub fn folders(&self) -> Vec<String> {
        match self {
            Request::List { folder } | Request::Page { folder } => vec![folder.clone()],
            Request::Lists { folder, below, .. } => {
                std::iter::once(folder.clone()).chain(below.iter().map(|name| join(folder, name))).collect()
            }
            Request::Range { .. } | Request::Tail { .. } => Vec::new(),
        }
    }

    /// The bytes that an answer is known to have at most, before it is there.
    pub fn byte_len(&self) -> u64 {
        match self {
            Request::List { .. } | Request::Lists { .. } | Request::Page { .. } => 0,
            Request::Range { range, .. } => range.byte_len,
            Request::Tail { byte_len, .. } => *byte_len,
        }
    }
}

impl Answer {
    /// The entries of a folder.
    ///
    /// # Errors
    /// `Io` for another kind of answer.
    pub fn entries(self) -> Result<Vec<Entry>> {
        match self {
            Answer::Entries(entries) => Ok(entries),
            _ => Err(other_kind()),
        }
    }

    /// All entries of one of the folders that were asked for, by its place among [`Request::folders`].
    ///
    /// # Errors
    /// `Io` for another kind of answer, and for a page of a folder that has more.
    pub fn list(self, at: usize) -> Result<Vec<Entry>> {
        match self {
            Answer::Entries(entries) | Answer::Page(Page { entries, is_whole: true }) if at == 0 => {
                Ok(entries)
            }
            Answer::Lists(mut lists) if at < lists.len() => Ok(lists.swap_remove(at)),
            _ => Err(other_kind()),
        }
    }

    /// Entries of a folder.
    ///
    /// # Errors
    /// `Io` for another kind of answer.
    pub fn page(self) -> Result<Page> {
        match self {
            Answer::Page(page) => Ok(page),
            _ => Err(other_kind()),
        }
    }

    /// Bytes of a file.
    ///
    /// # Errors
    /// `Io` for another kind of answer.
    pub fn bytes(self) -> Result<Bytes> {
        match self {
            Answer::Bytes(bytes) => Ok(bytes),
            _ => Err(other_kind()),
        }
    }

    /// The end of a file.
    ///
    /// # Errors
    /// `Io` for another kind of answer.
    pub fn tail(self) -> Result<Tail> {
        match self {
            Answer::Tail(tail) => Ok(tail),
            _ => Err(other_kind()),
        }
    }
}

fn other_kind() -> Error {
    Error::new(smalti_types::ErrorKind::Io, "the store answered something else than was asked")
}

/// An answer that is under way.
pub struct Pending(Box<dyn FnOnce() -> Result<Answer> + Send>);

impl Pending {
    /// An answer that a function waits for.
    pub fn new(wait: impl FnOnce() -> Result<Answer> + Send + 'static) -> Self {
        Pending(Box::new(wait))
    }

    /// An answer that is there.
    pub fn ready(answer: Result<Answer>) -> Self {
        Pending::new(move || answer)
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// What the store reports.
    pub fn wait(self) -> Result<Answer> {
        (self.0)()
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}
