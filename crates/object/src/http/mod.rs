//! Arrays behind web servers, to be read: `http://` and `https://`.
//!
//! Any server will do that gives files; one that gives parts of them is better. What is in folders it has to list, or a
//! manifest says it: [`folders`].

mod address;
mod files;
mod folders;
mod handle;
mod server;
mod sources;

pub(crate) use address::{Address, parse};
pub(crate) use handle::{Files, Patience};

use crate::io::Io;
use crate::reading::{self, Reading, check_folder};
use bytes::Bytes;
use folders::{Look, missing};
use futures_util::future::try_join_all;
use smalti_store::{
    Answer, ByteRange, Coalescing, Entry, FileWriter, NewFile, NewTree, Page, Pending, ReadInto, Request,
    Store, Tail, check_path, join,
};
use smalti_types::{Error, ErrorKind, Result};
use std::collections::HashMap;

/// Folders of a walk that nest deeper are a circle of links.
const MAX_DEPTH: usize = 64;

impl Files {
    fn read_only<T>(&self, path: &str) -> Result<T> {
        Err(Error::unsupported(
            "http:// is for reading; write to the array where it is, on its disk or in its bucket",
        )
        .at_uri(self.0.server.address_of(path)))
    }

    /// The length of a file: what the manifest says that was read last, or else the server.
    async fn byte_len_of(&self, path: &str) -> Result<Option<u64>> {
        match self.0.folders.byte_len(path) {
            Some(known) => Ok(known),
            None => self.0.server.byte_len(path).await,
        }
    }

    /// Says of a missing file what is known of it.
    fn told<T>(&self, path: &str, read: Result<T>) -> Result<T> {
        read.map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing(self, path),
            _ => error,
        })
    }

    /// A listing without lengths that are not known.
    fn names(&self, folder: &str) -> Result<Vec<Entry>> {
        check_folder(folder)?;
        let (files, folder) = (self.clone(), folder.to_owned());
        self.0.io.wait(async move {
            let look = files.look(&folder);
            files.listed(&folder, look).await
        })
    }

    async fn answer(self, request: Request, look: Option<Look>) -> Result<Answer> {
        Ok(match request {
            Request::List { ref folder } | Request::Page { ref folder } => {
                check_folder(folder)?;
                let look = look.unwrap_or_else(|| self.look(folder));
                let entries = self.listed(folder, look).await?;
                match request {
                    Request::Page { .. } => Answer::Page(Page { entries, is_whole: true }),
                    _ => Answer::Entries(entries),
                }
            }
            Request::Lists { ref folder, .. } => {
                check_folder(folder)?;
                let look = look.unwrap_or_else(|| self.look(folder));
                let folders = request.folders();
                let lists = folders.iter().map(|folder| self.listed(folder, look.clone()));
                Answer::Lists(try_join_all(lists).await?)
            }
            Request::Range { path, range } => Answer::Bytes(Reading::range(self, path, range).await?),
            Request::Tail { path, byte_len } => Answer::Tail(Reading::tail(self, path, byte_len).await?),
        })
    }
}

impl Reading for Files {
    fn io(&self) -> &Io {
        &self.0.io
    }

    async fn range(self, path: String, range: ByteRange) -> Result<Bytes> {
        check_path(&path)?;
        let read = self.0.server.range(&path, range).await;
        self.told(&path, read)
    }

    async fn tail(self, path: String, byte_len: u64) -> Result<Tail> {
        check_path(&path)?;
        let read = self.0.server.tail(&path, byte_len).await;
        self.told(&path, read)
    }
}

impl Store for Files {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        self.with_lengths(folder, self.names(folder)?)
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        check_path(path)?;
        let (files, of) = (self.clone(), path.to_owned());
        let found = self.0.io.wait(async move { files.byte_len_of(&of).await })?;
        found.ok_or_else(|| server::missing(&self.0.server.address_of(path)).error)
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        reading::read_into(self, self.coalescing(), reads)
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        self.0.io.wait(self.clone().tail(path.to_owned(), byte_len))
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        reading::read_tails(self, folder, paths, byte_len)
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        let mut looks: HashMap<String, Look> = HashMap::new();
        let of_lists: Vec<Option<Look>> = requests
            .iter()
            .map(|request| {
                let (Request::List { folder } | Request::Lists { folder, .. } | Request::Page { folder }) =
                    request
                else {
                    return None;
                };
                let root = self.0.folders.root_of(folder);
                Some(looks.entry(root).or_insert_with(|| self.look(folder)).clone())
            })
            .collect();
        let pairs = requests.into_iter().zip(of_lists);
        let begin = |(request, look)| {
            let begun = self.0.io.begin(self.clone().answer(request, look));
            Pending::new(move || begun.wait())
        };
        pairs.map(begin).collect()
    }

    fn is_distant(&self) -> bool {
        true
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        Ok(self.names(folder)?.into_iter().map(|entry| entry.name).collect())
    }

    /// Level by level, all folders of one side by side.
    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        check_folder(folder)?;
        let (files, of) = (self.clone(), folder.to_owned());
        if let Some(listed) = self.0.io.wait(async move { files.listed_below(&of).await })? {
            return Ok(listed);
        }
        let (mut found, mut level) = (Vec::new(), vec![String::new()]);
        for _ in 0..MAX_DEPTH {
            let look = self.look(folder);
            let listings = level.iter().map(|below| {
                let (files, look) = (self.clone(), look.clone());
                let path = if below.is_empty() { folder.to_owned() } else { join(folder, below) };
                async move { files.listed(&path, look).await }
            });
            let listings = self.0.io.wait_all(listings);
            let mut next = Vec::new();
            for (below, listed) in level.iter().zip(listings) {
                for entry in listed? {
                    let name = join(below, &entry.name);
                    match entry.is_folder() {
                        true => next.push(name),
                        false => found.push(Entry { name, ..entry }),
                    }
                }
            }
            if next.is_empty() {
                found.sort_by(|a, b| a.name.cmp(&b.name));
                return self.with_lengths(folder, found);
            }
            level = next;
        }
        let deep = Error::corrupt(format!("folders nest deeper than {MAX_DEPTH} levels"));
        Err(deep.at_uri(self.0.server.address_of(folder)))
    }

    fn address(&self, path: &str) -> String {
        self.0.server.address_of(path)
    }

    /// A server that gives files as a whole gives each once.
    fn coalescing(&self) -> Coalescing {
        match self.0.server.ranges.is_known(false) {
            true => Coalescing {
                max_gap_byte_len: files::MAX_WASTE_BYTE_LEN,
                max_byte_len: files::MAX_WASTE_BYTE_LEN,
                ..self.0.coalescing
            },
            false => self.0.coalescing,
        }
    }

    fn put(&self, path: &str, _: &[&[u8]]) -> Result<()> {
        self.read_only(path)
    }

    fn replace(&self, path: &str, _: &[&[u8]]) -> Result<()> {
        self.read_only(path)
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        self.read_only(files.first().map(|file| file.path).unwrap_or_default())
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        self.read_only(path)
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        self.read_only(folder)
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        self.read_only(folder)
    }

    fn create_tree(&self, root: &str, _: &NewTree<'_>) -> Result<()> {
        self.read_only(root)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        self.read_only(paths.first().copied().unwrap_or_default())
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        self.read_only(folders.first().copied().unwrap_or_default())
    }

    fn move_folder(&self, from: &str, _: &str) -> Result<()> {
        self.read_only(from)
    }
}
