//! The entries of files and folders.

use super::{ORIGIN, OpenFileHandle, VfsHandle, inner, shown, told};
use crate::boundary::entry::{callback_entries, entries, free_entries};
use crate::boundary::memory::{
    EntryCallback, FileCallback, Opaque, PathCallback, call_entry, call_file, call_path,
};
use crate::boundary::{Data, DataOut, In, New, Out, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::statistics::Work;
use smalti::storage::FoundFile;

/// A bucket, where a URI names one.
fn bucket(uri: Text) -> Fallible<String> {
    let uri = uri.get("uri")?;
    let scheme = uri.split_once("://").map_or("file", |(scheme, _)| scheme);
    match scheme {
        "file" | "mem" => fail(ORIGIN, format!("'{uri}' is not in a store that has buckets")),
        _ => Ok(uri.to_owned()),
    }
}

fn listing(vfs: In<VfsHandle>, path: Text, is_deep: bool) -> Fallible<Vec<FoundFile>> {
    let uri = path.get("path")?;
    match vfs.read()?.files.list(&inner(uri), is_deep) {
        // As libtiledb has it, nothing is in a folder that is not there.
        Err(error) if error.kind() == smalti::ErrorKind::NotFound && !is_deep => Ok(Vec::new()),
        listed => listed.map_err(told("Cannot open directory", uri)),
    }
}

/// Counts what is asked of files.
fn count(ctx: &Context, counts: &[(&'static str, u64)]) {
    let mut work = Work::begin();
    for (name, number) in counts {
        work.count(name, *number);
    }
    work.end_untimed(&[&ctx.statistics]);
}

entries! {
    fn tiledb_vfs_alloc(ctx, config: In<Config>, vfs: New<VfsHandle>) {
        vfs.check()?;
        let config = if config.is_null() { ctx.config.clone() } else { config.read()?.over(&ctx.config) };
        vfs.put(VfsHandle::new(ctx, config)?)
    }

    fn tiledb_vfs_get_config(ctx, vfs: In<VfsHandle>, config: New<Config>) {
        config.put(vfs.read()?.config.clone())
    }

    fn tiledb_vfs_create_bucket(ctx, vfs: In<VfsHandle>, uri: Text) {
        let uri = bucket(uri)?;
        vfs.read()?.files.create_bucket(&inner(&uri)).map_err(told("Cannot create bucket", &uri))
    }

    fn tiledb_vfs_remove_bucket(ctx, vfs: In<VfsHandle>, uri: Text) {
        let uri = bucket(uri)?;
        let vfs = vfs.read()?;
        // What is in it goes with it, as in libtiledb.
        vfs.files.remove_folder(&inner(&uri)).or_else(|error| match error.kind() {
            smalti::ErrorKind::NotFound => Ok(()),
            _ => Err(told("Cannot empty bucket", &uri)(error)),
        })?;
        vfs.files.remove_bucket(&inner(&uri)).map_err(told("Cannot remove bucket", &uri))
    }

    fn tiledb_vfs_empty_bucket(ctx, vfs: In<VfsHandle>, uri: Text) {
        let uri = bucket(uri)?;
        vfs.read()?.files.remove_folder(&uri).map_err(told("Cannot empty bucket", &uri))
    }

    fn tiledb_vfs_is_empty_bucket(ctx, vfs: In<VfsHandle>, uri: Text, is_empty: Out<i32>) {
        let uri = bucket(uri)?;
        let has_any = vfs.read()?.files.is_folder(&uri).map_err(told("Cannot list bucket", &uri))?;
        is_empty.put((!has_any).into())
    }

    fn tiledb_vfs_is_bucket(ctx, vfs: In<VfsHandle>, uri: Text, is_bucket: Out<i32>) {
        let vfs = vfs.read()?;
        let has_buckets = bucket(uri);
        match has_buckets {
            Ok(uri) => is_bucket.put(vfs.files.is_folder(&uri).is_ok().into()),
            Err(_) => fail("Filesystem", "is_bucket is not supported on the given filesystem."),
        }
    }

    fn tiledb_vfs_create_dir(ctx, vfs: In<VfsHandle>, uri: Text) {
        let uri = uri.get("uri")?;
        vfs.read()?.files.create_folder(&inner(uri)).map_err(told("Cannot create directory", uri))
    }

    fn tiledb_vfs_is_dir(ctx, vfs: In<VfsHandle>, uri: Text, is_dir: Out<i32>) {
        let uri = uri.get("uri")?;
        is_dir.put(vfs.read()?.files.is_folder(&inner(uri)).map_err(told("Cannot look at", uri))?.into())
    }

    fn tiledb_vfs_remove_dir(ctx, vfs: In<VfsHandle>, uri: Text) {
        let uri = uri.get("uri")?;
        vfs.read()?.files.remove_folder(&inner(uri)).map_err(|error| match error.kind() {
            smalti::ErrorKind::NotFound => {
                crate::failure::Failure::told("IO Error", format!("Failed to delete path '{uri}';  No such file or directory"))
            }
            _ => told("Failed to delete path", uri)(error),
        })
    }

    fn tiledb_vfs_is_file(ctx, vfs: In<VfsHandle>, uri: Text, is_file: Out<i32>) {
        let uri = uri.get("uri")?;
        is_file.put(vfs.read()?.files.is_file(&inner(uri)).map_err(told("Cannot look at", uri))?.into())
    }

    fn tiledb_vfs_remove_file(ctx, vfs: In<VfsHandle>, uri: Text) {
        let uri = uri.get("uri")?;
        vfs.read()?.files.remove_file(&inner(uri)).map_err(told("Cannot delete file", uri))
    }

    fn tiledb_vfs_dir_size(ctx, vfs: In<VfsHandle>, uri: Text, size: Out<u64>) {
        let (vfs, uri) = (vfs.read()?, uri.get("uri")?);
        let told = told("Cannot get directory size;", uri);
        if !vfs.files.is_folder(&inner(uri)).map_err(&told)? {
            return fail(ORIGIN, format!("Cannot get directory size; Input '{uri}' is not a directory"));
        }
        size.put(vfs.files.folder_byte_len(&inner(uri)).map_err(told)?)
    }

    fn tiledb_vfs_file_size(ctx, vfs: In<VfsHandle>, uri: Text, size: Out<u64>) {
        let uri = uri.get("uri")?;
        count(ctx, &[("Context.VFS.file_size_num", 1)]);
        size.put(vfs.read()?.files.byte_len(&inner(uri)).map_err(told("Cannot get file size of", uri))?)
    }

    fn tiledb_vfs_move_file(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        let (old, new) = (old_uri.get("old_uri")?, new_uri.get("new_uri")?);
        vfs.read()?.files.move_file(&inner(old), &inner(new)).map_err(told("Cannot move path", old))
    }

    fn tiledb_vfs_move_dir(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        let (old, new) = (old_uri.get("old_uri")?, new_uri.get("new_uri")?);
        vfs.read()?.files.move_folder(&inner(old), &inner(new)).map_err(told("Cannot move path", old))
    }

    fn tiledb_vfs_copy_file(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        let (old, new) = (old_uri.get("old_uri")?, new_uri.get("new_uri")?);
        vfs.read()?.files.copy_file(&inner(old), &inner(new)).map_err(told("Cannot copy file", old))
    }

    fn tiledb_vfs_copy_dir(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        let (old, new) = (old_uri.get("old_uri")?, new_uri.get("new_uri")?);
        vfs.read()?.files.copy_folder(&inner(old), &inner(new)).map_err(told("Cannot copy directory", old))
    }

    fn tiledb_vfs_touch(ctx, vfs: In<VfsHandle>, uri: Text) {
        let uri = uri.get("uri")?;
        vfs.read()?.files.touch(&inner(uri)).map_err(told("Failed to create file", uri))
    }

    fn tiledb_vfs_open(ctx, vfs: In<VfsHandle>, uri: Text, mode: i32, fh: New<OpenFileHandle>) {
        fh.check()?;
        fh.put(OpenFileHandle::open(&*vfs.read()?, uri.get("uri")?, mode)?)
    }

    fn tiledb_vfs_close(ctx, fh: In<OpenFileHandle>) {
        fh.write()?.close()
    }

    fn tiledb_vfs_read(ctx, fh: In<OpenFileHandle>, offset: u64, buffer: DataOut, nbytes: u64) {
        fh.write()?.read(offset, buffer.place(nbytes)?)?;
        count(ctx, &[("Context.VFS.read_ops_num", 1), ("Context.VFS.read_byte_num", nbytes)]);
        Ok(())
    }

    fn tiledb_vfs_write(ctx, fh: In<OpenFileHandle>, buffer: Data, nbytes: u64) {
        fh.write()?.write(buffer.bytes(nbytes, "buffer")?)?;
        count(ctx, &[("Context.VFS.write_ops_num", 1), ("Context.VFS.write_byte_num", nbytes)]);
        Ok(())
    }

    fn tiledb_vfs_sync(ctx, fh: In<OpenFileHandle>) {
        fh.write()?.sync()
    }

    fn tiledb_vfs_fh_is_closed(ctx, fh: In<OpenFileHandle>, is_closed: Out<i32>) {
        is_closed.put(fh.read()?.is_closed().into())
    }
}

callback_entries! {
    fn tiledb_vfs_ls(ctx, vfs: In<VfsHandle>, path: Text, callback: PathCallback, data: Opaque) {
        vfs.slot()?;
        count(ctx, &[("Context.VFS.ls_num", 1)]);
        if callback.is_none() {
            return fail("C API", "Invalid TileDB object: callback function");
        }
        listing(vfs, path, false)
    } each |found| {
        call_path(callback, &shown(found), data)
    }

    fn tiledb_vfs_ls_recursive(ctx, vfs: In<VfsHandle>, path: Text, callback: FileCallback, data: Opaque) {
        vfs.slot()?;
        count(ctx, &[("Context.VFS.ls_num", 1)]);
        if callback.is_none() {
            return fail("C API", "Invalid TileDB object: Callback function is null.");
        }
        listing(vfs, path, true)
    } each |found| {
        call_file(callback, &shown(found), found.byte_len, data)
    }

    fn tiledb_vfs_ls_recursive_v2(
        ctx,
        vfs: In<VfsHandle>,
        path: Text,
        callback: EntryCallback,
        data: Opaque,
    ) {
        vfs.slot()?;
        count(ctx, &[("Context.VFS.ls_num", 1)]);
        if callback.is_none() {
            return fail("C API", "Invalid TileDB object: Callback function is null.");
        }
        listing(vfs, path, true)
    } each |found| {
        call_entry(callback, &shown(found), found.byte_len, found.is_folder, data)
    }
}

free_entries! { tiledb_vfs_free: VfsHandle, tiledb_vfs_fh_free: OpenFileHandle }
