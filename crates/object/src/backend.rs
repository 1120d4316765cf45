//! A store over a bucket. All that waits for the network goes through [`Io`]; the rest is what files and folders mean where there are objects alone.

use crate::answers::within;
use crate::doubts::Doubts;
use crate::error::{self, Asked};
use crate::io::Io;
use crate::reading::{self, Reading, check_folder, short};
use crate::remade::Clients;
use crate::upload::Upload;
use crate::uploads::{Unfinished, Uploads};
use crate::who::Who;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutOptions, PutPayload,
};
use smalti_store::{
    Answer, ByteRange, Coalescing, Entry, EntryKind, FileWriter, LEFTOVER_PREFIX, Leftover, NewFile, NewTree,
    Pending, ReadInto, Request, Store, SystemEntropy, Tail, UNKNOWN_EFFECT, UnfinishedUpload, check_path,
    join,
};
use smalti_types::{Entropy as _, Error, ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// The objects of a bucket. Clones are the same.
#[derive(Clone)]
pub(crate) struct Objects(Arc<Inner>);

struct Inner {
    /// Sends requests again that failed for a while.
    client: Arc<dyn ObjectStore>,
    /// Sends each request once.
    once: Arc<dyn ObjectStore>,
    uploads: Option<Arc<dyn Uploads>>,
    doubts: Doubts,
    io: Io,
    /// Scheme and bucket: `s3://bucket`.
    address: String,
    /// Whose credentials are sent along, for messages.
    who: Who,
    manners: Manners,
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

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(10);

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

fn prefix_of(folder: &str) -> Result<Option<Path>> {
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
        let Clients { patient: client, once, uploads } = clients;
        Objects(Arc::new(Inner { client, once, uploads, doubts, io, address, who, manners }))
    }

    pub(crate) fn client(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.0.client)
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
        let (Some(uploads), Ok(key)) = (&self.0.uploads, key_of(path)) else { return };
        for upload in uploads.unfinished(key.as_ref()).await.unwrap_or_default() {
            if upload.key == key.as_ref() {
                let _ = uploads.abort(&key, &upload.id).await;
            }
        }
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

    /// The length of an object; `None` where there is none.
    pub(crate) fn byte_len_of(&self, path: &str) -> Result<Option<u64>> {
        let (objects, path) = (self.clone(), path.to_owned());
        self.0.io.wait(async move { objects.head(&path).await })
    }

    async fn head(&self, path: &str) -> Result<Option<u64>> {
        match self.0.client.head(&key_of(path)?).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(failed) => Err(error::told(&self.with_reason(failed, path).await, &self.asked(path))),
        }
    }

    /// The error of a question about an object, with the store's reason: answers without a body have none, and so something else is asked
    /// that has.
    async fn with_reason(&self, failed: object_store::Error, path: &str) -> object_store::Error {
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
    async fn has_content(&self, path: &str, content: &Bytes) -> Result<Option<bool>> {
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
    async fn within<T>(&self, listing: impl Future<Output = T>) -> T {
        within(self.0.manners.listing_byte_len, listing).await
    }

    /// Puts an object that may replace another.
    async fn put_over(&self, path: &str, content: Bytes) -> Result<()> {
        let asked = self.asked(path);
        let (key, payload) = (key_of(path)?, PutPayload::from(content.clone()));
        let put = self.0.client.put_opts(&key, payload, PutOptions::from(PutMode::Overwrite)).await;
        let Err(failed) = put else { return Ok(()) };
        if error::is_uncertain(&failed)
            && self.has_content(path, &content).await.is_ok_and(|found| found == Some(true))
        {
            return Ok(());
        }
        Err(error::told_of_change(&failed, &asked))
    }

    /// Puts an object that is not to replace anything. It is sent once at a time: what its effect was is looked up before it is sent again, so
    /// that a lost acknowledgement is neither reported as a failure nor as somebody else's object.
    async fn put_new(&self, path: &str, content: Bytes, mark: &Mark) -> Result<()> {
        let key = key_of(path)?;
        let asked = self.asked(path);
        if !self.0.manners.puts_if_absent {
            return Err(Error::unsupported(
                "this store replaces objects without asking, so that two writers may undo each other: keep the array elsewhere, or read only",
            )
            .at_uri(&asked.uri));
        }
        let mut pauses = self.pauses();
        let mut may_be_done = false;
        loop {
            let options = PutOptions { attributes: mark.attributes(), ..PutOptions::from(PutMode::Create) };
            let payload = PutPayload::from(content.clone());
            let Err(failed) = self.0.once.put_opts(&key, payload, options).await else { return Ok(()) };
            let is_uncertain = error::is_uncertain(&failed);
            may_be_done |= is_uncertain;
            let mut is_known_absent = false;
            if is_uncertain || matches!(failed, object_store::Error::AlreadyExists { .. }) {
                // A program in between may have sent it twice, and the second answer arrived: so who put it is always asked.
                match self.whose(path, &content, mark, may_be_done).await {
                    Ok(Whose::Ours) => return Ok(()),
                    Ok(Whose::Others) => {
                        let taken = Error::new(ErrorKind::AlreadyExists, "an object of that name exists");
                        return Err(taken.at_uri(&asked.uri));
                    }
                    Ok(Whose::Nobodys) => is_known_absent = !error::may_be_under_way(&failed),
                    // What happened cannot be found out: the next try tells.
                    Err(_) => {}
                }
            }
            if !is_uncertain || !pauses.wait().await {
                let told = error::told(&failed, &asked);
                return Err(if may_be_done && !is_known_absent {
                    told.context(UNKNOWN_EFFECT)
                } else {
                    told
                });
            }
        }
    }

    /// Who put an object. Stores that keep no marks have the content compared, where one's own may be there.
    async fn whose(&self, path: &str, content: &Bytes, mark: &Mark, may_be_ours: bool) -> Result<Whose> {
        let told = |failed| error::told(&failed, &self.asked(path));
        let options = GetOptions { head: true, ..GetOptions::default() };
        let found = match self.0.client.get_opts(&key_of(path)?, options).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(Whose::Nobodys),
            Err(failed) => return Err(told(failed)),
        };
        match Mark::of(&found.attributes) {
            Some(found) if found == mark.0 => return Ok(Whose::Ours),
            Some(_) => return Ok(Whose::Others),
            None => {}
        }
        if !may_be_ours || found.meta.size != content.len() as u64 {
            return Ok(Whose::Others);
        }
        Ok(match self.has_content(path, content).await? {
            Some(true) => Whose::Ours,
            Some(false) => Whose::Others,
            None => Whose::Nobodys,
        })
    }

    /// The pauses between tries.
    pub(crate) fn pauses(&self) -> Pauses {
        let Manners { retries, retry_time, retry_pause, .. } = self.0.manners;
        Pauses { left: retries, rest: retry_time, next: retry_pause }
    }

    /// Puts an object from its whole content, which is not to replace anything.
    pub(crate) fn put_whole(&self, path: &str, content: Bytes) -> Result<()> {
        let (objects, path) = (self.clone(), path.to_owned());
        self.0.io.wait(async move { objects.put_new(&path, content, &Mark::new()?).await })
    }

    /// Bytes of an object.
    async fn range(&self, path: &str, range: ByteRange) -> Result<Bytes> {
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
        let file_byte_len = found.meta.size;
        let bytes = found.bytes().await.map_err(told)?;
        if bytes.len() as u64 != range.byte_len {
            return Err(short(range, file_byte_len).at_uri(self.address_of(path)));
        }
        Ok(bytes)
    }

    /// The error of a range that is not in its object, if it is so.
    async fn ends_early(&self, path: &str, range: ByteRange) -> Option<Error> {
        let file_byte_len = self.head(path).await.ok()??;
        (range.end() > file_byte_len).then(|| short(range, file_byte_len).at_uri(self.address_of(path)))
    }

    /// The end of an object.
    async fn tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
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
        let file_byte_len = found.meta.size;
        let bytes = found.bytes().await.map_err(told)?;
        if bytes.len() as u64 != byte_len.min(file_byte_len) {
            let problem = format!("the store sent {} of the last {byte_len} bytes", bytes.len());
            return Err(Error::new(ErrorKind::Io, problem).at_uri(self.address_of(path)));
        }
        Ok(Tail { file_byte_len, bytes })
    }

    /// What is directly in a folder, sorted.
    async fn listed(&self, folder: &str) -> Result<Vec<Entry>> {
        let prefix = prefix_of(folder)?;
        let listed = self.within(self.0.client.list_with_delimiter(prefix.as_ref())).await;
        let listed = listed.map_err(|failed| error::told(&failed, &self.asked(folder)))?;
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
        Ok(entries)
    }

    /// Every object below a folder.
    async fn all_below(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let found: Vec<ObjectMeta> = self
            .within(self.0.client.list(prefix_of(folder)?.as_ref()).try_collect())
            .await
            .map_err(|failed| error::told(&failed, &self.asked(folder)))?;
        Ok(found.into_iter().filter(|meta| is_below(folder, &meta.location)).collect())
    }

    /// Deletes objects; those that are not there are fine. What may be deleted or not is deleted again.
    async fn delete(&self, keys: Vec<Path>) -> Result<()> {
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
    async fn is_taken(&self, folder: &str) -> Result<bool> {
        let found = self.0.client.list(prefix_of(folder)?.as_ref());
        let first = found.try_filter(|meta| std::future::ready(is_below(folder, &meta.location)));
        let first = self.within(std::pin::pin!(first).next()).await.transpose();
        let is_taken = first.map_err(|failed| error::told(&failed, &self.asked(folder)))?.is_some();
        Ok(is_taken || self.head(folder).await?.is_some())
    }

    async fn answer(&self, request: Request) -> Result<Answer> {
        Ok(match request {
            Request::List { folder } => Answer::Entries(without_leftovers(self.listed(&folder).await?)),
            Request::Range { path, range } => Answer::Bytes(self.range(&path, range).await?),
            Request::Tail { path, byte_len } => Answer::Tail(self.tail(&path, byte_len).await?),
        })
    }

    /// Puts files side by side; those that were put, or may have been, are deleted again where one fails.
    fn put_all(&self, files: Vec<(String, Bytes)>) -> Result<()> {
        let files = files.into_iter().map(|(path, content)| Ok((path, content, Mark::new()?)));
        let files = files.collect::<Result<Vec<(String, Bytes, Mark)>>>()?;
        let puts = files.iter().cloned().map(|(path, content, mark)| {
            let objects = self.clone();
            async move { objects.put_new(&path, content, &mark).await }
        });
        let puts = self.0.io.wait_all(puts);
        let Some(failed) = puts.iter().find_map(|put| put.as_ref().err()).cloned() else { return Ok(()) };
        let is_unknown =
            |put: &Result<()>| put.as_ref().is_err_and(|error| error.to_string().contains(UNKNOWN_EFFECT));
        let (mut done, mut unknown) = (Vec::new(), Vec::new());
        for (file, put) in files.into_iter().zip(&puts) {
            match put {
                Ok(()) => done.push(key_of(&file.0)?),
                put if is_unknown(put) => unknown.push(file),
                Err(_) => {}
            }
        }
        let objects = self.clone();
        // The first error tells more.
        let _ = self.0.io.wait(async move {
            for (path, content, mark) in unknown {
                if let Ok(Whose::Ours) = objects.whose(&path, &content, &mark, true).await {
                    done.push(key_of(&path)?);
                }
            }
            objects.delete(done).await
        });
        Err(failed)
    }
}

/// Whose an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    Others,
    Nobodys,
}

/// What an object is marked with when it is put, so that who put it knows it again.
#[derive(Debug, Clone)]
struct Mark(String);

impl Mark {
    /// The name of the mark in the metadata of objects: one that all stores and what is between take.
    const NAME: &'static str = "smaltiput";

    fn new() -> Result<Mark> {
        let mut bytes = [0; 16];
        SystemEntropy.fill(&mut bytes)?;
        Ok(Mark(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::Metadata(Mark::NAME.into()), self.0.clone().into());
        attributes
    }

    fn of(attributes: &Attributes) -> Option<&str> {
        attributes.get(&Attribute::Metadata(Mark::NAME.into())).map(AsRef::as_ref)
    }
}

/// Pauses between tries, each longer than the one before, until there were enough of them.
pub(crate) struct Pauses {
    left: u64,
    rest: Duration,
    next: Duration,
}

impl Pauses {
    /// Pauses; false where there have been enough.
    pub(crate) async fn wait(&mut self) -> bool {
        if self.left == 0 || self.rest.is_zero() {
            return false;
        }
        tokio::time::sleep(jittered(self.next)).await;
        self.left -= 1;
        self.rest = self.rest.saturating_sub(self.next);
        self.next = (self.next * 2).min(MAX_PAUSE);
        true
    }
}

/// Whether a key is in a folder: not the folder's own name, as some programs mark folders.
fn is_below(folder: &str, key: &Path) -> bool {
    folder.is_empty()
        || key.as_ref().strip_prefix(folder).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}

/// Half to one and a half times as long, so that those who failed together do not come again together.
fn jittered(pause: Duration) -> Duration {
    // What tables of hashes are seeded with is as random as this has to be.
    let percent = 50 + RandomState::new().hash_one(()) % 101;
    pause * u32::try_from(percent).unwrap_or(100) / 100
}

fn without_leftovers(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.retain(|entry| !entry.name.starts_with(LEFTOVER_PREFIX));
    entries
}

fn joined(parts: &[&[u8]]) -> Bytes {
    Bytes::from(parts.concat())
}

impl Reading for Objects {
    fn io(&self) -> &Io {
        &self.0.io
    }

    async fn range(self, path: String, range: ByteRange) -> Result<Bytes> {
        Objects::range(&self, &path, range).await
    }

    async fn tail(self, path: String, byte_len: u64) -> Result<Tail> {
        Objects::tail(&self, &path, byte_len).await
    }
}

impl Store for Objects {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        check_folder(folder)?;
        let (objects, folder) = (self.clone(), folder.to_owned());
        self.0.io.wait(async move { objects.listed(&folder).await }).map(without_leftovers)
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        check_path(path)?;
        let found = self.byte_len_of(path)?;
        found.ok_or_else(|| Error::not_found("no such object").at_uri(self.address_of(path)))
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        reading::read_into(self, self.0.manners.coalescing, reads)
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        check_path(path)?;
        let (objects, path) = (self.clone(), path.to_owned());
        self.0.io.wait(async move { objects.tail(path, byte_len).await })
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        reading::read_tails(self, folder, paths, byte_len)
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        let of_request = |request| {
            let objects = self.clone();
            async move { objects.answer(request).await }
        };
        reading::submit(&self.0.io, requests, of_request)
    }

    fn is_distant(&self) -> bool {
        true
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        self.put_whole(path, joined(parts))
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        let (objects, path, content) = (self.clone(), path.to_owned(), joined(parts));
        self.0.io.wait(async move { objects.put_over(&path, content).await })
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        files.iter().try_for_each(|file| check_path(file.path))?;
        let (mut short, mut done) = (Vec::new(), Vec::new());
        let undo = |done: &[&str], failed| {
            // The first error tells more.
            let _ = self.delete_files(done);
            Err(failed)
        };
        for file in files {
            let byte_len = file.parts.iter().fold(0_u64, |len, part| len.saturating_add(part.len() as u64));
            if byte_len <= 2 * self.part_byte_len() {
                short.push((file.path.to_owned(), joined(file.parts)));
                continue;
            }
            let mut upload = Box::new(Upload::new(self.clone(), file.path.to_owned()));
            let written = file.parts.iter().try_for_each(|part| upload.write(part));
            if let Err(failed) = written.and_then(|()| upload.finish()) {
                return undo(&done, failed);
            }
            done.push(file.path);
        }
        match self.put_all(short) {
            Ok(()) => Ok(()),
            Err(failed) => undo(&done, failed),
        }
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        check_path(path)?;
        Ok(Box::new(Upload::new(self.clone(), path.to_owned())))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        check_path(root)?;
        tree.folders.iter().try_for_each(|folder| check_path(folder))?;
        tree.files.iter().try_for_each(|file| check_path(file.path))?;
        let (objects, folder) = (self.clone(), root.to_owned());
        if self.0.io.wait(async move { objects.is_taken(&folder).await })? {
            let taken = Error::new(ErrorKind::AlreadyExists, "something of that name exists");
            return Err(taken.at_uri(self.address_of(root)));
        }
        let files = tree.files.iter().map(|file| (join(root, file.path), joined(file.parts)));
        let mut files: Vec<(String, Bytes)> = files.collect();
        // The last one makes the tree visible.
        let Some((path, content)) = files.pop() else { return Ok(()) };
        self.put_all(files)?;
        self.put_whole(&path, content)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        let keys = paths.iter().map(|path| key_of(path)).collect::<Result<Vec<_>>>()?;
        let objects = self.clone();
        self.0.io.wait(async move { objects.delete(keys).await })
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        folders.iter().try_for_each(|folder| check_path(folder))?;
        let folders: Vec<String> = folders.iter().map(|&folder| folder.to_owned()).collect();
        let objects = self.clone();
        self.0.io.wait(async move {
            for folder in folders {
                let found = objects.all_below(&folder).await?;
                objects.delete(found.into_iter().map(|meta| meta.location).collect()).await?;
            }
            Ok(())
        })
    }

    /// Copies, then deletes: a store of objects cannot rename. Schemas are copied last and deleted first, so that no reader finds an array that is not
    /// whole.
    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        check_path(from)?;
        check_path(to)?;
        if to.strip_prefix(from).is_some_and(|below| below.is_empty() || below.starts_with('/')) {
            return Err(Error::invalid(format!(
                "{from:?} cannot be moved to {to:?}, which is itself or inside it"
            )));
        }
        let (objects, from, to) = (self.clone(), from.to_owned(), to.to_owned());
        let found = self.0.io.wait({
            let (objects, from, to) = (objects.clone(), from.clone(), to.clone());
            async move {
                if objects.is_taken(&to).await? {
                    let taken = Error::new(ErrorKind::AlreadyExists, "something of that name exists");
                    return Err(taken.at_uri(objects.address_of(&to)));
                }
                objects.all_below(&from).await
            }
        })?;
        if found.is_empty() {
            return Err(Error::not_found("no such folder").at_uri(self.address_of(&from)));
        }
        let keys = found.into_iter().map(|meta| meta.location);
        let (schemas, others): (Vec<Path>, Vec<Path>) =
            keys.partition(|key| key.parts().any(|part| part.as_ref() == "__schema"));
        let mut targets = Vec::new();
        for keys in [&others, &schemas] {
            let mut copies = Vec::new();
            for source in keys {
                let rest = source.as_ref().strip_prefix(from.as_str()).unwrap_or_default();
                let (target, objects, source) = (format!("{to}{rest}"), objects.clone(), source.clone());
                targets.push(key_of(&target)?);
                copies.push(async move {
                    let copied = objects.0.client.copy(&source, &key_of(&target)?).await;
                    copied.map_err(|failed| error::told(&failed, &objects.asked(&target)))
                });
            }
            let copied: Result<Vec<()>> = self.0.io.wait_all(copies).into_iter().collect();
            if let Err(failed) = copied {
                // Nothing was there before. Schemas, which came last, go first.
                targets.reverse();
                let undone = self.0.io.wait(async move { objects.delete(targets).await });
                return Err(if undone.is_err() { failed.context(UNKNOWN_EFFECT) } else { failed });
            }
        }
        self.0.io.wait(async move {
            objects.delete(schemas).await?;
            // From here on the folder is moved, and what is left of it at its old place no array.
            objects.delete(others).await.map_err(|failed| match failed.to_string().contains(UNKNOWN_EFFECT) {
                true => failed,
                false => failed.context(UNKNOWN_EFFECT),
            })
        })
    }

    fn address(&self, path: &str) -> String {
        self.address_of(path)
    }

    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        check_folder(folder)?;
        let (objects, of_folder) = (self.clone(), folder.to_owned());
        let found = self.0.io.wait(async move { objects.all_below(&of_folder).await })?;
        let cut = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let entries = found.into_iter().filter_map(|meta| {
            let name = meta.location.as_ref().get(cut..)?.to_owned();
            let is_shown = !name.split('/').any(|part| part.starts_with(LEFTOVER_PREFIX));
            is_shown.then_some(Entry { name, kind: EntryKind::File, byte_len: meta.size })
        });
        let mut entries: Vec<Entry> = entries.collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        check_folder(folder)?;
        let (objects, of_folder) = (self.clone(), folder.to_owned());
        let found = self.0.io.wait(async move {
            let prefix = prefix_of(&of_folder)?;
            let listed = objects.within(objects.0.client.list_with_delimiter(prefix.as_ref())).await;
            listed.map_err(|failed| error::told(&failed, &objects.asked(&of_folder)))
        })?;
        let leftover = |meta: ObjectMeta| {
            let is_one = meta.location.filename()?.starts_with(LEFTOVER_PREFIX);
            let modified_ms = u64::try_from(meta.last_modified.timestamp_millis()).ok();
            is_one.then(|| Leftover { path: meta.location.to_string(), kind: EntryKind::File, modified_ms })
        };
        Ok(found.objects.into_iter().filter_map(leftover).collect())
    }

    fn unfinished_uploads(&self, folder: &str) -> Result<Vec<UnfinishedUpload>> {
        check_folder(folder)?;
        let Some(uploads) = self.0.uploads.clone() else { return Ok(Vec::new()) };
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let (objects, folder) = (self.clone(), folder.to_owned());
        let found = self.0.io.wait(async move {
            let found = uploads.unfinished(&prefix).await;
            found.map_err(|failed| error::told(&failed, &objects.asked(&folder)))
        })?;
        // What no path of a store is was not begun here.
        let found = found.into_iter().filter(|upload| key_of(&upload.key).is_ok());
        let upload = |upload: Unfinished| UnfinishedUpload {
            path: upload.key,
            id: upload.id,
            begun_ms: upload.begun_ms,
        };
        Ok(found.map(upload).collect())
    }

    fn abort_upload(&self, upload: &UnfinishedUpload) -> Result<()> {
        let (key, asked) = (key_of(&upload.path)?, self.asked(&upload.path));
        let Some(uploads) = self.0.uploads.clone() else {
            return Err(Error::unsupported("the store has no uploads to give up").at_uri(asked.uri));
        };
        let id = upload.id.clone();
        self.0.io.wait(async move {
            uploads.abort(&key, &id).await.map_err(|failed| error::told_of_change(&failed, &asked))
        })
    }

    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        check_folder(folder)?;
        let (objects, of_folder) = (self.clone(), folder.to_owned());
        let found = self.0.io.wait(async move { objects.all_below(&of_folder).await })?;
        let times = found.iter().filter_map(|meta| u64::try_from(meta.last_modified.timestamp_millis()).ok());
        Ok(times.max())
    }

    fn coalescing(&self) -> Coalescing {
        self.0.manners.coalescing
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({})", self.0.address)
    }
}
