//! What all stores of this crate do alike when they read: which requests a call becomes, all of them under way together.

use crate::io::Io;
use bytes::Bytes;
use smalti_store::{
    Answer, ByteRange, Coalescing, Pending, ReadInto, Request, Tail, check_path, coalesce, join,
};
use smalti_types::{Error, Result};
use std::collections::BTreeMap;
use std::future::Future;

/// Files that are read by requests. Clones are the same.
pub(crate) trait Reading: Clone + Send + Sync + 'static {
    /// What waits for the requests.
    fn io(&self) -> &Io;

    /// Bytes of a file: as many as are asked for, or an error.
    fn range(self, path: String, range: ByteRange) -> impl Future<Output = Result<Bytes>> + Send;

    /// The end of a file.
    fn tail(self, path: String, byte_len: u64) -> impl Future<Output = Result<Tail>> + Send;
}

/// Fills all reads of a batch, with the requests that the ranges of each file are joined to.
pub(crate) fn read_into<R: Reading>(files: &R, joined: Coalescing, reads: &mut [ReadInto<'_>]) -> Result<()> {
    let mut by_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (idx, read) in reads.iter().enumerate() {
        check_path(read.path)?;
        by_path.entry(read.path).or_default().push(idx);
    }
    let mut asked = Vec::new();
    for (path, places) in by_path {
        let wanted = |&idx: &usize| {
            reads.get(idx).map(|read| ByteRange { start: read.offset, byte_len: read.dest.len() as u64 })
        };
        let wanted: Vec<ByteRange> = places.iter().filter_map(wanted).collect();
        for merged in coalesce(&wanted, joined) {
            let members: Vec<usize> =
                merged.members.iter().filter_map(|&member| places.get(member).copied()).collect();
            asked.push((path.to_owned(), merged.range, members));
        }
    }
    let requests = asked.iter().map(|(path, range, _)| files.clone().range(path.clone(), *range));
    let answers = files.io().wait_all(requests);
    for ((_, range, members), bytes) in asked.into_iter().zip(answers) {
        let bytes = bytes?;
        for member in members {
            let Some(read) = reads.get_mut(member) else { continue };
            let start = usize::try_from(read.offset - range.start).unwrap_or(usize::MAX);
            if let Some(source) = bytes.get(start..).and_then(|rest| rest.get(..read.dest.len())) {
                read.dest.copy_from_slice(source);
            }
        }
    }
    Ok(())
}

/// The ends of many files below a folder.
pub(crate) fn read_tails<R: Reading>(
    files: &R,
    folder: &str,
    paths: &[String],
    byte_len: u64,
) -> Vec<Result<Tail>> {
    let requests = paths.iter().map(|path| {
        let (files, path) = (files.clone(), join(folder, path));
        async move {
            check_path(&path)?;
            files.tail(path, byte_len).await
        }
    });
    files.io().wait_all(requests)
}

/// Begins requests, each by what a function makes of it.
pub(crate) fn submit<F: Future<Output = Result<Answer>> + Send + 'static>(
    io: &Io,
    requests: Vec<Request>,
    of_request: impl Fn(Request) -> F,
) -> Vec<Pending> {
    let begin = |request| {
        let begun = io.begin(of_request(request));
        Pending::new(move || begun.wait())
    };
    requests.into_iter().map(begin).collect()
}

/// The error of a range that is not in its file.
pub(crate) fn short(range: ByteRange, file_byte_len: u64) -> Error {
    let (start, end) = (range.start, range.end());
    Error::corrupt(format!("bytes {start}..{end} were expected, but the object has {file_byte_len}"))
}

/// Checks a path where the empty one, the store's root, is legal too.
pub(crate) fn check_folder(folder: &str) -> Result<()> {
    if folder.is_empty() { Ok(()) } else { check_path(folder) }
}
