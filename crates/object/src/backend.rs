//! A store over a bucket: what files and folders mean where there are objects alone.

use crate::error;
use crate::io::Io;
use crate::objects::{Objects, joined, key_of, prefix_of, without_leftovers};
use crate::reading::{self, Reading, check_folder};
use crate::upload::Upload;
use crate::whole_bucket::Unfinished;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _};
use smalti_store::{
    ByteRange, Coalescing, Entry, EntryKind, FileVersion, FileWriter, LEFTOVER_PREFIX, Leftover, NewFile,
    NewTree, Pending, ReadInto, Request, Store, Tail, UNKNOWN_EFFECT, UnfinishedUpload, check_move,
    check_path, split,
};
use smalti_types::{Error, ErrorKind, Result};

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
                short.push((file.path.to_owned(), file.joined()));
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
        tree.check(root)?;
        let (objects, folder) = (self.clone(), root.to_owned());
        if self.0.io.wait(async move { objects.is_taken(&folder).await })? {
            let taken = Error::new(ErrorKind::AlreadyExists, "something of that name exists");
            return Err(taken.at_uri(self.address_of(root)));
        }
        let Some((files, (path, content))) = tree.objects(root) else { return Ok(()) };
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
        check_move(from, to)?;
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
                    objects.0.versions.deleted(&target);
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
        let Some(uploads) = self.0.whole.clone() else { return Ok(Vec::new()) };
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
        let Some(uploads) = self.0.whole.clone() else {
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
