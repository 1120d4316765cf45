//! The entries of files and folders.

use super::{Found, ORIGIN, OpenFile, VfsHandle, copy_dir, io, list, path_of};
use crate::boundary::entry::{callback_entries, entries, free_entries};
use crate::boundary::memory::{
    EntryCallback, FileCallback, Opaque, PathCallback, call_entry, call_file, call_path,
};
use crate::boundary::{Data, DataOut, In, New, Out, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Fallible, fail};
use std::fs;

/// Buckets are something that this machine does not have.
fn no_bucket<T>(uri: Text) -> Fallible<T> {
    let uri = uri.get("uri")?;
    path_of(uri)?;
    fail(ORIGIN, format!("'{uri}' is not in a store that has buckets"))
}

fn listing(path: Text, deep: bool) -> Fallible<Vec<Found>> {
    let mut found = Vec::new();
    list(&path_of(path.get("path")?)?, deep, &mut found)?;
    Ok(found)
}

entries! {
    fn tiledb_vfs_alloc(ctx, config: In<Config>, vfs: New<VfsHandle>) {
        vfs.check()?;
        let config = if config.is_null() { ctx.config.clone() } else { config.read()?.over(&ctx.config) };
        vfs.put(VfsHandle { config })
    }

    fn tiledb_vfs_get_config(ctx, vfs: In<VfsHandle>, config: New<Config>) {
        config.put(vfs.read()?.config.clone())
    }

    fn tiledb_vfs_create_bucket(ctx, vfs: In<VfsHandle>, uri: Text) {
        vfs.slot()?;
        no_bucket(uri)
    }

    fn tiledb_vfs_remove_bucket(ctx, vfs: In<VfsHandle>, uri: Text) {
        vfs.slot()?;
        no_bucket(uri)
    }

    fn tiledb_vfs_empty_bucket(ctx, vfs: In<VfsHandle>, uri: Text) {
        vfs.slot()?;
        no_bucket(uri)
    }

    fn tiledb_vfs_is_empty_bucket(ctx, vfs: In<VfsHandle>, uri: Text, is_empty: Out<i32>) {
        let _ = (vfs.slot()?, is_empty);
        no_bucket(uri)
    }

    fn tiledb_vfs_is_bucket(ctx, vfs: In<VfsHandle>, uri: Text, is_bucket: Out<i32>) {
        let _ = (vfs.slot()?, path_of(uri.get("uri")?)?);
        is_bucket.put(0)
    }

    fn tiledb_vfs_create_dir(ctx, vfs: In<VfsHandle>, uri: Text) {
        let vfs = vfs.read()?;
        let path = path_of(uri.get("uri")?)?;
        if path.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&path).map_err(io("Cannot create directory", &path))?;
        vfs.permit(&path, true)
    }

    fn tiledb_vfs_is_dir(ctx, vfs: In<VfsHandle>, uri: Text, is_dir: Out<i32>) {
        vfs.slot()?;
        is_dir.put(path_of(uri.get("uri")?)?.is_dir().into())
    }

    fn tiledb_vfs_remove_dir(ctx, vfs: In<VfsHandle>, uri: Text) {
        vfs.slot()?;
        let uri = uri.get("uri")?;
        let path = path_of(uri)?;
        if !path.is_dir() {
            return fail("IOError", format!("Failed to delete path '{uri}';  No such file or directory"));
        }
        fs::remove_dir_all(&path).map_err(io("Failed to delete path", &path))
    }

    fn tiledb_vfs_is_file(ctx, vfs: In<VfsHandle>, uri: Text, is_file: Out<i32>) {
        vfs.slot()?;
        is_file.put(path_of(uri.get("uri")?)?.is_file().into())
    }

    fn tiledb_vfs_remove_file(ctx, vfs: In<VfsHandle>, uri: Text) {
        vfs.slot()?;
        let path = path_of(uri.get("uri")?)?;
        fs::remove_file(&path).map_err(io("Cannot delete file", &path))
    }

    fn tiledb_vfs_dir_size(ctx, vfs: In<VfsHandle>, uri: Text, size: Out<u64>) {
        vfs.slot()?;
        let uri = uri.get("uri")?;
        let path = path_of(uri)?;
        if !path.is_dir() {
            return fail(ORIGIN, format!("Cannot get directory size; Input '{uri}' is not a directory"));
        }
        let mut found = Vec::new();
        list(&path, true, &mut found)?;
        size.put(found.iter().map(|found| found.byte_len).sum())
    }

    fn tiledb_vfs_file_size(ctx, vfs: In<VfsHandle>, uri: Text, size: Out<u64>) {
        vfs.slot()?;
        let path = path_of(uri.get("uri")?)?;
        size.put(fs::metadata(&path).map_err(io("Cannot get file size of", &path))?.len())
    }

    fn tiledb_vfs_move_file(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        vfs.slot()?;
        let (old, new) = (path_of(old_uri.get("old_uri")?)?, path_of(new_uri.get("new_uri")?)?);
        fs::rename(&old, new).map_err(io("Cannot move path", &old))
    }

    fn tiledb_vfs_move_dir(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        vfs.slot()?;
        let (old, new) = (path_of(old_uri.get("old_uri")?)?, path_of(new_uri.get("new_uri")?)?);
        fs::rename(&old, new).map_err(io("Cannot move path", &old))
    }

    fn tiledb_vfs_copy_file(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        vfs.slot()?;
        let (old, new) = (path_of(old_uri.get("old_uri")?)?, path_of(new_uri.get("new_uri")?)?);
        if let Some(parent) = new.parent() {
            fs::create_dir_all(parent).map_err(io("Cannot create directory", parent))?;
        }
        fs::copy(&old, new).map(|_| ()).map_err(io("Cannot copy file", &old))
    }

    fn tiledb_vfs_copy_dir(ctx, vfs: In<VfsHandle>, old_uri: Text, new_uri: Text) {
        vfs.slot()?;
        copy_dir(&path_of(old_uri.get("old_uri")?)?, &path_of(new_uri.get("new_uri")?)?)
    }

    fn tiledb_vfs_touch(ctx, vfs: In<VfsHandle>, uri: Text) {
        let vfs = vfs.read()?;
        let path = path_of(uri.get("uri")?)?;
        if path.exists() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io("Cannot create directory", parent))?;
        }
        fs::File::create(&path).map_err(io("Failed to create file", &path))?;
        vfs.permit(&path, false)
    }

    fn tiledb_vfs_open(ctx, vfs: In<VfsHandle>, uri: Text, mode: i32, fh: New<OpenFile>) {
        fh.check()?;
        fh.put(OpenFile::open(&*vfs.read()?, uri.get("uri")?, mode)?)
    }

    fn tiledb_vfs_close(ctx, fh: In<OpenFile>) {
        fh.write()?.close()
    }

    fn tiledb_vfs_read(ctx, fh: In<OpenFile>, offset: u64, buffer: DataOut, nbytes: u64) {
        fh.write()?.read(offset, buffer.place(nbytes)?)
    }

    fn tiledb_vfs_write(ctx, fh: In<OpenFile>, buffer: Data, nbytes: u64) {
        fh.write()?.write(buffer.bytes(nbytes, "buffer")?)
    }

    fn tiledb_vfs_sync(ctx, fh: In<OpenFile>) {
        fh.write()?.sync()
    }

    fn tiledb_vfs_fh_is_closed(ctx, fh: In<OpenFile>, is_closed: Out<i32>) {
        is_closed.put(fh.read()?.is_closed().into())
    }
}

callback_entries! {
    fn tiledb_vfs_ls(ctx, vfs: In<VfsHandle>, path: Text, callback: PathCallback, data: Opaque) {
        let _ = (ctx, vfs.slot()?);
        if callback.is_none() {
            return fail("C API", "Invalid TileDB object: callback function");
        }
        listing(path, false)
    } each |found| {
        call_path(callback, &found.uri, data)
    }

    fn tiledb_vfs_ls_recursive(ctx, vfs: In<VfsHandle>, path: Text, callback: FileCallback, data: Opaque) {
        let _ = (ctx, vfs.slot()?);
        if callback.is_none() {
            return fail("C API", "Invalid TileDB object: Callback function is null.");
        }
        listing(path, true)
    } each |found| {
        call_file(callback, &found.uri, found.byte_len, data)
    }

    fn tiledb_vfs_ls_recursive_v2(
        ctx,
        vfs: In<VfsHandle>,
        path: Text,
        callback: EntryCallback,
        data: Opaque,
    ) {
        let _ = (ctx, vfs.slot()?);
        if callback.is_none() {
            return fail("C API", "Invalid TileDB object: Callback function is null.");
        }
        listing(path, true)
    } each |found| {
        call_entry(callback, &found.uri, found.byte_len, found.is_dir, data)
    }
}

free_entries! { tiledb_vfs_free: VfsHandle, tiledb_vfs_fh_free: OpenFile }
