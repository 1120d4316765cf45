//! The objects of a bucket: each request as one of the store's. All that waits for the network goes through [`Io`].

use crate::answers::within;
use crate::doubts::Doubts;
use crate::error::{self, Asked};
use crate::io::Io;
use crate::pauses::Pauses;
use crate::reading::short;
use crate::remade::{Client, Clients};
use crate::who::Who;
use crate::whole_bucket::WholeBucket;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ListResult, ObjectMeta, ObjectStore, ObjectStoreExt as _};
use smalti_store::{
    Answer, ByteRange, Coalescing, Entry, EntryKind, LEFTOVER_PREFIX, Page, Request, Tail, Told,
    UNKNOWN_EFFECT, Versions, check_path, join,
};
use smalti_types::{Error, ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
/// The objects of a bucket. Clones are the same.
#[derive(Clone)]
pub(crate) struct Objects(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    /// Sends requests again that failed for a while.
    pub(crate) client: Arc<dyn Client>,
    /// Sends each request once.
    pub(crate) once: Arc<dyn Client>,
    /// Knows uploads that are not finished.
    pub(crate) whole: Option<Arc<dyn WholeBucket>>,
    pub(crate) doubts: Doubts,
    pub(crate) io: Io,
    /// Scheme and bucket: `s3://bucket`.
    pub(crate) address: String,
    /// Whose credentials are sent along, for messages.
    pub(crate) who: Who,
    pub(crate) manners: Manners,
    /// What answers and listings said of objects, by their keys.
    pub(crate) versions: Versions,
    /// Whether it was seen that listings know no delimiter but the slash.
    pub(crate) lists_by_slashes: AtomicBool,
}

/// What stores do differently, and what was set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    /// Whether the end of an object can be asked for without its length.
    pub(crate) reads_tails: bool,
    /// Whether a put can be refused where something has the name.
    pub(crate) puts_if_absent: bool,
    pub(crate) part_byte_len: u64,
    pub(crate) coalescing: Coalescing,
    /// Listings have no more bytes.
    pub(crate) listing_byte_len: u64,
    /// How often a put is tried whose effect is unknown, and how long after the first try.
    pub(crate) retries: u64,
    pub(crate) retry_time: Duration,
    /// The first pause before it is tried again.
    pub(crate) retry_pause: Duration,
}

/// The key of a path.
///
/// # Errors
/// `InvalidArgument` for paths that are none of a store, or have characters that stores do not take.
pub(crate) fn key_of(path: &str) -> Result<Path> {
    check_path(path)?;
    Path::parse(path).map_err(|_| {
        Error::invalid(format!(
            "the storage path {path:?} has control characters, which object stores do not take"
        ))
    })
}

pub(crate) fn prefix_of(folder: &str) -> Result<Option<Path>> {
    if folder.is_empty() { Ok(None) } else { key_of(folder).map(Some) }
}

impl Objects {
    pub(crate) fn new(
        clients: Clients,
        doubts: Doubts,
        io: Io,
        address: String,
        who: Who,
        manners: Manners,
    ) -> Objects {
        let Clients { patient: client, once, whole } = clients;
        let versions = Versions::new();
        Objects(Arc::new(Inner {
            client,
            once,
            whole,
            doubts,
            io,
            address,
            who,
            manners,
            versions,
            lists_by_slashes: AtomicBool::new(false),
        }))
    }

    pub(crate) fn client(&self) -> Arc<dyn Client> {
        self.0.client.clone()
    }

    pub(crate) fn io(&self) -> &Io {
        &self.0.io
    }

    /// How many uploads may have been begun whose names got lost.
    pub(crate) fn doubts(&self) -> u64 {
        self.0.doubts.count()
    }

    /// Gives up all uploads of an object, of which this process alone writes. Best effort: what stays is found by a check of the array.
    pub(crate) async fn sweep_uploads(&self, path: &str) {
        let (Some(uploads), Ok(key)) = (&self.0.whole, key_of(path)) else { return };
        for upload in uploads.unfinished(key.as_ref()).await.unwrap_or_default() {
            if upload.key == key.as_ref() {
                let _ = uploads.abort(&key, &upload.id).await;
            }
        }
    }

    /// Makes the bucket, or removes it.
    pub(crate) fn change_bucket(&self, is_made: bool) -> Result<()> {
        let asked = self.asked("");
        let Some(uploads) = self.0.whole.clone() else {
            return Err(Error::unsupported("nothing is known of the bucket").at_uri(asked.uri));
        };
        self.0.io.wait(async move {
            let changed = if is_made { uploads.create_bucket().await } else { uploads.remove_bucket().await };
            changed.map_err(|failed| match failed {
                object_store::Error::AlreadyExists { .. } => {
                    Error::new(ErrorKind::AlreadyExists, "there is a bucket of that name").at_uri(&asked.uri)
                }
                object_store::Error::Precondition { source, .. } => {
                    Error::invalid(source.to_string()).at_uri(&asked.uri)
                }
                failed => error::told_of_change(&failed, &asked),
            })
        })
    }

    pub(crate) fn part_byte_len(&self) -> u64 {
        self.0.manners.part_byte_len
    }

    pub(crate) fn address_of(&self, path: &str) -> String {
        join(&self.0.address, path)
    }

    pub(crate) fn asked(&self, path: &str) -> Asked {
        Asked { uri: self.address_of(path), who: self.0.who.to_string() }
    }

    /// Remembers what an answer says of an object.
    pub(crate) fn told(&self, meta: &ObjectMeta) {
        let told = Told {
            entity_tag: meta.e_tag.as_deref(),
            byte_len: meta.size,
            modified_s: Some(meta.last_modified.timestamp()),
        };
        self.0.versions.told(meta.location.as_ref(), told);
    }

    /// The length of an object; `None` where there is none.
    pub(crate) fn byte_len_of(&self, path: &str) -> Result<Option<u64>> {
        let (objects, path) = (self.clone(), path.to_owned());
        self.0.io.wait(async move { objects.head(&path).await })
    }

    pub(crate) async fn head(&self, path: &str) -> Result<Option<u64>> {
        match self.0.client.head(&key_of(path)?).await {
            Ok(meta) => {
                self.told(&meta);
                Ok(Some(meta.size))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(failed) => Err(error::told(&self.with_reason(failed, path).await, &self.asked(path))),
        }
    }

    /// The error of a question about an object, with the store's reason: answers without a body have none, and so something else is asked
    /// that has.
    pub(crate) async fn with_reason(&self, failed: object_store::Error, path: &str) -> object_store::Error {
        let Ok(key) = key_of(path) else { return failed };
        if !error::is_mute(&failed) {
            return failed;
        }
        let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        if let Err(telling) = self.0.client.get_opts(&key, options).await
            && !error::is_mute(&telling)
        {
            return telling;
        }
        let mut listed = self.0.client.list(Some(&key));
        match self.within(listed.next()).await {
            Some(Err(telling)) if !error::is_mute(&telling) => telling,
            _ => failed,
        }
    }

    /// Whether an object has this content; `None` where there is none.
    pub(crate) async fn has_content(&self, path: &str, content: &Bytes) -> Result<Option<bool>> {
        let told = |failed| error::told(&failed, &self.asked(path));
        let mut found = match self.0.client.get(&key_of(path)?).await {
            Ok(found) => found.into_stream(),
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(failed) => return Err(told(failed)),
        };
        let mut rest = content.as_ref();
        while let Some(piece) = found.next().await {
            match rest.strip_prefix(piece.map_err(told)?.as_ref()) {
                Some(behind) => rest = behind,
                None => return Ok(Some(false)),
            }
        }
        Ok(Some(rest.is_empty()))
    }

    /// What a listing gives, if it has an end.
    pub(crate) async fn within<T>(&self, listing: impl Future<Output = T>) -> T {
        within(self.0.manners.listing_byte_len, listing).await
    }

    /// The pauses between tries.
    pub(crate) fn pauses(&self) -> Pauses {
        let Manners { retries, retry_time, retry_pause, .. } = self.0.manners;
        Pauses::new(retries, retry_time, retry_pause)
    }

    /// Bytes of an object.
    pub(crate) async fn range(&self, path: &str, range: ByteRange) -> Result<Bytes> {
        let Some(bounds) = (range.byte_len > 0).then_some(range.start..range.end()) else {
            return Ok(Bytes::new());
        };
        let options = GetOptions { range: Some(GetRange::Bounded(bounds)), ..GetOptions::default() };
        let told = |failed| error::told(&failed, &self.asked(path));
        let found = match self.0.client.get_opts(&key_of(path)?, options).await {
            Ok(found) => found,
            // Stores say in many ways that a range lies behind the end.
            Err(failed) => return Err(self.ends_early(path, range).await.unwrap_or_else(|| told(failed))),
        };
        self.told(&found.meta);
        let file_byte_len = found.meta.size;
        let bytes = found.bytes().await.map_err(told)?;
        if bytes.len() as u64 != range.byte_len {
            return Err(short(range, file_byte_len).at_uri(self.address_of(path)));
        }
        Ok(bytes)
    }

    /// The error of a range that is not in its object, if it is so.
    pub(crate) async fn ends_early(&self, path: &str, range: ByteRange) -> Option<Error> {
        let file_byte_len = self.head(path).await.ok()??;
        (range.end() > file_byte_len).then(|| short(range, file_byte_len).at_uri(self.address_of(path)))
    }

    /// The end of an object.
    pub(crate) async fn tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        let missing = || Error::not_found("no such object").at_uri(self.address_of(path));
        let told = |failed| error::told(&failed, &self.asked(path));
        let key = key_of(path)?;
        if byte_len == 0 || !self.0.manners.reads_tails {
            let file_byte_len = self.head(path).await?.ok_or_else(missing)?;
            let byte_len = byte_len.min(file_byte_len);
            let bytes = self.range(path, ByteRange { start: file_byte_len - byte_len, byte_len }).await?;
            return Ok(Tail { file_byte_len, bytes });
        }
        let options = GetOptions { range: Some(GetRange::Suffix(byte_len)), ..GetOptions::default() };
        let found = match self.0.client.get_opts(&key, options).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Err(missing()),
            // An empty object has no range at all.
            Err(failed) => {
                return match self.head(path).await {
                    Ok(Some(0)) => Ok(Tail { file_byte_len: 0, bytes: Bytes::new() }),
                    _ => Err(told(failed)),
                };
            }
        };
        self.told(&found.meta);
        let file_byte_len = found.meta.size;
        let bytes = found.bytes().await.map_err(told)?;
        if bytes.len() as u64 != byte_len.min(file_byte_len) {
            let problem = format!("the store sent {} of the last {byte_len} bytes", bytes.len());
            return Err(Error::new(ErrorKind::Io, problem).at_uri(self.address_of(path)));
        }
        Ok(Tail { file_byte_len, bytes })
    }

    /// What is directly in a folder, sorted.
    pub(crate) async fn listed(&self, folder: &str) -> Result<Vec<Entry>> {
        let prefix = prefix_of(folder)?;
        let listed = self.within(self.0.client.list_with_delimiter(prefix.as_ref())).await;
        let listed = listed.map_err(|failed| error::told(&failed, &self.asked(folder)))?;
        Ok(self.entries(folder, &listed))
    }

    /// What is directly in a folder, as far as one answer says, sorted.
    async fn page(&self, folder: &str) -> Result<Page> {
        let prefix = prefix_of(folder)?.map(|prefix| format!("{prefix}/"));
        let options = PaginatedListOptions { delimiter: Some("/".into()), ..PaginatedListOptions::default() };
        let listed = self.within(self.0.client.list_paginated(prefix.as_deref(), options)).await;
        let listed = listed.map_err(|failed| error::told(&failed, &self.asked(folder)))?;
        Ok(Page { entries: self.entries(folder, &listed.result), is_whole: listed.page_token.is_none() })
    }

    /// The entries of a folder that a listing of it names, sorted.
    fn entries(&self, folder: &str, listed: &ListResult) -> Vec<Entry> {
        listed.objects.iter().for_each(|meta| self.told(meta));
        let name = |path: &Path| path.filename().map(str::to_owned);
        let folders = listed
            .common_prefixes
            .iter()
            .filter_map(|path| Some(Entry { name: name(path)?, kind: EntryKind::Folder, byte_len: 0 }));
        let files =
            listed.objects.iter().filter(|meta| is_below(folder, &meta.location)).filter_map(|meta| {
                Some(Entry { name: name(&meta.location)?, kind: EntryKind::File, byte_len: meta.size })
            });
        let mut entries: Vec<Entry> = folders.chain(files).collect();
        entries.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
        entries
    }

    /// Every object below a folder.
    pub(crate) async fn all_below(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let found: Vec<ObjectMeta> = self
            .within(self.0.client.list(prefix_of(folder)?.as_ref()).try_collect())
            .await
            .map_err(|failed| error::told(&failed, &self.asked(folder)))?;
        found.iter().for_each(|meta| self.told(meta));
        Ok(found.into_iter().filter(|meta| is_below(folder, &meta.location)).collect())
    }

    /// Deletes objects; those that are not there are fine. What may be deleted or not is deleted again.
    pub(crate) async fn delete(&self, keys: Vec<Path>) -> Result<()> {
        keys.iter().for_each(|key| self.0.versions.deleted(key.as_ref()));
        let first = keys.first().map(|key| key.to_string()).unwrap_or_default();
        let mut pauses = self.pauses();
        loop {
            let mut deleted =
                self.0.client.delete_stream(futures_util::stream::iter(keys.clone()).map(Ok).boxed());
            let mut failure = None;
            while let Some(one) = deleted.next().await {
                match one {
                    Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(failed) => drop(failure.get_or_insert(failed)),
                }
            }
            let Some(failed) = failure else { return Ok(()) };
            if !error::is_uncertain(&failed) || !pauses.wait().await {
                let told = error::told(&failed, &self.asked(&first));
                // Of several some may be gone.
                return Err(match error::is_uncertain(&failed) || keys.len() > 1 {
                    true => told.context(UNKNOWN_EFFECT),
                    false => told,
                });
            }
        }
    }

    /// Whether something is in a folder, or a file has its name.
    pub(crate) async fn is_taken(&self, folder: &str) -> Result<bool> {
        let found = self.0.client.list(prefix_of(folder)?.as_ref());
        let first = found.try_filter(|meta| std::future::ready(is_below(folder, &meta.location)));
        let first = self.within(std::pin::pin!(first).next()).await.transpose();
        let is_taken = first.map_err(|failed| error::told(&failed, &self.asked(folder)))?.is_some();
        Ok(is_taken || self.head(folder).await?.is_some())
    }

    pub(crate) async fn answer(&self, request: Request) -> Result<Answer> {
        Ok(match request {
            Request::List { folder } => Answer::Entries(without_leftovers(self.listed(&folder).await?)),
            Request::Lists { folder, below, without } => {
                let lists = self.lists(&folder, &below, &without).await?;
                Answer::Lists(lists.into_iter().map(without_leftovers).collect())
            }
            Request::Page { folder } => {
                let Page { entries, is_whole } = self.page(&folder).await?;
                Answer::Page(Page { entries: without_leftovers(entries), is_whole })
            }
            Request::Range { path, range } => Answer::Bytes(self.range(&path, range).await?),
            Request::Tail { path, byte_len } => Answer::Tail(self.tail(&path, byte_len).await?),
        })
    }
}

/// Whether a key is in a folder: not the folder's own name, as some programs mark folders.
pub(crate) fn is_below(folder: &str, key: &Path) -> bool {
    folder.is_empty()
        || key.as_ref().strip_prefix(folder).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}

pub(crate) fn without_leftovers(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.retain(|entry| !entry.name.starts_with(LEFTOVER_PREFIX));
    entries
}

pub(crate) fn joined(parts: &[&[u8]]) -> Bytes {
    Bytes::from(parts.concat())
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({})", self.0.address)
    }
}
