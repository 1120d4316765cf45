//! A store over a bucket. All that waits for the network goes through [`Io`]; the rest is what files and folders mean where there are objects alone.

use crate::error::{self, Asked};
use crate::io::Io;
use crate::reading::{self, Reading, check_folder, short};
use crate::upload::Upload;
use crate::who::Who;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};
use smalti_store::{
    Answer, ByteRange, Coalescing, Entry, EntryKind, FileVersion, FileWriter, LEFTOVER_PREFIX, Leftover,
    NewFile, NewTree, Pending, ReadInto, Request, Store, Tail, Told, Versions, check_path, join, split,
};
use smalti_types::{Error, ErrorKind, Result};
use std::fmt;
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
    io: Io,
    /// Scheme and bucket: `s3://bucket`.
    address: String,
    /// Whose credentials are sent along, for messages.
    who: Who,
    manners: Manners,
    /// What answers and listings said of objects, by their keys.
    versions: Versions,
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
    /// How often a put is tried whose effect is unknown, and how long after the first try.
    pub(crate) retries: u64,
    pub(crate) retry_time: Duration,
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

fn prefix_of(folder: &str) -> Result<Option<Path>> {
    if folder.is_empty() { Ok(None) } else { key_of(folder).map(Some) }
}

impl Objects {
    pub(crate) fn new(
        client: Arc<dyn ObjectStore>,
        once: Arc<dyn ObjectStore>,
        io: Io,
        address: String,
        who: Who,
        manners: Manners,
    ) -> Objects {
        let versions = Versions::new();
        Objects(Arc::new(Inner { client, once, io, address, who, manners, versions }))
    }

    pub(crate) fn client(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.0.client)
    }

    pub(crate) fn io(&self) -> &Io {
        &self.0.io
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
    fn told(&self, meta: &ObjectMeta) {
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

    async fn head(&self, path: &str) -> Result<Option<u64>> {
        match self.0.client.head(&key_of(path)?).await {
            Ok(meta) => {
                self.told(&meta);
                Ok(Some(meta.size))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(failed) => Err(error::told(&failed, &self.asked(path))),
        }
    }

    async fn content(&self, path: &str) -> Result<Option<Bytes>> {
        let told = |failed| error::told(&failed, &self.asked(path));
        match self.0.client.get(&key_of(path)?).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(told)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(failed) => Err(told(failed)),
        }
    }

    /// Puts an object. One that is not to replace anything is sent once at a time: what its effect was is looked up before it is sent again, so
    /// that a lost acknowledgement is neither reported as a failure nor as somebody else's object.
    async fn put_one(&self, path: &str, content: Bytes, mode: PutMode) -> Result<()> {
        let key = key_of(path)?;
        let asked = self.asked(path);
        let payload = || PutPayload::from(content.clone());
        if mode != PutMode::Create {
            // Answers may come from before and after it.
            self.0.versions.replaced(path);
            let put = self.0.client.put_opts(&key, payload(), PutOptions::from(mode)).await;
            return put.map(drop).map_err(|failed| error::told(&failed, &asked));
        }
        if !self.0.manners.puts_if_absent {
            return Err(Error::unsupported(
                "this store replaces objects without asking, so that two writers may undo each other: keep the array elsewhere, or read only",
            )
            .at_uri(&asked.uri));
        }
        self.0.versions.deleted(path);
        let (mut try_idx, mut pause, mut waited) = (0, Duration::from_millis(100), Duration::ZERO);
        let mut may_be_done = false;
        loop {
            let options = PutOptions::from(PutMode::Create);
            let Err(failed) = self.0.once.put_opts(&key, payload(), options).await else { return Ok(()) };
            let is_uncertain = error::is_uncertain(&failed);
            let is_taken = matches!(failed, object_store::Error::AlreadyExists { .. });
            if is_uncertain || (is_taken && may_be_done) {
                match self.content(path).await {
                    Ok(Some(found)) if found == content => return Ok(()),
                    Ok(Some(_)) => {
                        let taken = Error::new(ErrorKind::AlreadyExists, "an object of that name exists");
                        return Err(taken.at_uri(&asked.uri));
                    }
                    Ok(None) => {}
                    // What happened cannot be found out: the next try tells.
                    Err(_) => {}
                }
            }
            may_be_done |= is_uncertain;
            let is_over = try_idx >= self.0.manners.retries || waited >= self.0.manners.retry_time;
            if !is_uncertain || is_over {
                return Err(error::told(&failed, &asked));
            }
            tokio::time::sleep(pause).await;
            waited += pause;
            pause = (pause * 2).min(Duration::from_secs(10));
            try_idx += 1;
        }
    }

    /// Puts an object from its whole content.
    pub(crate) fn put_whole(&self, path: &str, content: Bytes, mode: PutMode) -> Result<()> {
        let (objects, path) = (self.clone(), path.to_owned());
        self.0.io.wait(async move { objects.put_one(&path, content, mode).await })
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
        self.told(&found.meta);
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
    async fn listed(&self, folder: &str) -> Result<Vec<Entry>> {
        let prefix = prefix_of(folder)?;
        let listed = self.0.client.list_with_delimiter(prefix.as_ref()).await;
        let listed = listed.map_err(|failed| error::told(&failed, &self.asked(folder)))?;
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
        Ok(entries)
    }

    /// Every object below a folder.
    async fn all_below(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let found: Vec<ObjectMeta> = self
            .0
            .client
            .list(prefix_of(folder)?.as_ref())
            .try_collect()
            .await
            .map_err(|failed| error::told(&failed, &self.asked(folder)))?;
        found.iter().for_each(|meta| self.told(meta));
        Ok(found.into_iter().filter(|meta| is_below(folder, &meta.location)).collect())
    }

    async fn delete(&self, keys: Vec<Path>) -> Result<()> {
        keys.iter().for_each(|key| self.0.versions.deleted(key.as_ref()));
        let first = keys.first().map(|key| key.to_string()).unwrap_or_default();
        let keys = futures_util::stream::iter(keys.into_iter().map(Ok)).boxed();
        let mut deleted = self.0.client.delete_stream(keys);
        while let Some(one) = deleted.next().await {
            match one {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(failed) => return Err(error::told(&failed, &self.asked(&first))),
            }
        }
        Ok(())
    }

    /// Whether something is in a folder, or a file has its name.
    async fn is_taken(&self, folder: &str) -> Result<bool> {
        let mut found = self.0.client.list(prefix_of(folder)?.as_ref());
        while let Some(one) = found.next().await {
            let meta = one.map_err(|failed| error::told(&failed, &self.asked(folder)))?;
            if is_below(folder, &meta.location) {
                return Ok(true);
            }
        }
        Ok(self.head(folder).await?.is_some())
    }

    async fn answer(&self, request: Request) -> Result<Answer> {
        Ok(match request {
            Request::List { folder } => Answer::Entries(without_leftovers(self.listed(&folder).await?)),
            Request::Range { path, range } => Answer::Bytes(self.range(&path, range).await?),
            Request::Tail { path, byte_len } => Answer::Tail(self.tail(&path, byte_len).await?),
        })
    }

    /// Puts files side by side; those that were put are deleted again where one fails.
    fn put_all(&self, files: Vec<(String, Bytes)>) -> Result<()> {
        let puts = files.iter().map(|(path, content)| {
            let (objects, path, content) = (self.clone(), path.clone(), content.clone());
            async move { objects.put_one(&path, content, PutMode::Create).await }
        });
        let puts = self.0.io.wait_all(puts);
        let Some(failed) = puts.iter().find_map(|put| put.as_ref().err()).cloned() else { return Ok(()) };
        let done = files.iter().zip(&puts).filter(|(_, put)| put.is_ok());
        let done = done.map(|((path, _), _)| key_of(path)).collect::<Result<Vec<_>>>()?;
        let objects = self.clone();
        // The first error tells more.
        let _ = self.0.io.wait(async move { objects.delete(done).await });
        Err(failed)
    }
}

/// Whether a key is in a folder: not the folder's own name, as some programs mark folders.
fn is_below(folder: &str, key: &Path) -> bool {
    folder.is_empty()
        || key.as_ref().strip_prefix(folder).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
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

    /// Nothing is kept of claims, whose names come again and which have to be as they are now.
    fn version(&self, path: &str) -> Option<FileVersion> {
        let is_claim = split(path).1.starts_with(LEFTOVER_PREFIX);
        if is_claim { None } else { self.0.versions.of(path) }
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
        self.put_whole(path, joined(parts), PutMode::Create)
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        self.put_whole(path, joined(parts), PutMode::Overwrite)
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
        self.put_whole(&path, content, PutMode::Create)
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
        for keys in [&others, &schemas] {
            let copies = keys.iter().map(|key| {
                let (objects, source) = (objects.clone(), key.clone());
                let target = key.as_ref().strip_prefix(from.as_str()).map(|rest| format!("{to}{rest}"));
                async move {
                    let target = target.unwrap_or_default();
                    objects.0.versions.deleted(&target);
                    let copied = objects.0.client.copy(&source, &key_of(&target)?).await;
                    copied.map_err(|failed| error::told(&failed, &objects.asked(&target)))
                }
            });
            self.0.io.wait_all(copies).into_iter().collect::<Result<Vec<()>>>()?;
        }
        self.0.io.wait(async move {
            objects.delete(schemas).await?;
            objects.delete(others).await
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
            let listed = objects.0.client.list_with_delimiter(prefix_of(&of_folder)?.as_ref()).await;
            listed.map_err(|failed| error::told(&failed, &objects.asked(&of_folder)))
        })?;
        let leftover = |meta: ObjectMeta| {
            let is_one = meta.location.filename()?.starts_with(LEFTOVER_PREFIX);
            let modified_ms = u64::try_from(meta.last_modified.timestamp_millis()).ok();
            is_one.then(|| Leftover { path: meta.location.to_string(), kind: EntryKind::File, modified_ms })
        };
        Ok(found.objects.into_iter().filter_map(leftover).collect())
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
