//! Arrays and groups as things in folders.

use crate::boundary::entry::{callback_entries, entries};
use crate::boundary::memory::{ObjectCallback, Opaque, call_object};
use crate::boundary::{Out, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::group::kind_number;
use crate::uris;
use smalti::{Object, WalkOrder};

const ORIGIN: &str = "Object";

/// What is called back with: URIs and kinds.
fn shown(objects: Vec<Object>, callback: ObjectCallback) -> Fallible<Vec<(String, i32)>> {
    if callback.is_none() {
        return fail(ORIGIN, "Cannot initiate object iteration; Invalid callback function");
    }
    let uri = |object: &Object| uris::shown(&object.uri()).trim_end_matches('/').to_owned();
    Ok(objects.iter().map(|object| (uri(object), kind_number(Some(object.kind())))).collect())
}

entries! {
    fn tiledb_object_type(ctx, path: Text, kind: Out<i32>) {
        let found = Object::at_with(&uris::inner(path.get("path")?), &ctx.options(None)?)?;
        kind.put(kind_number(found.map(|found| found.kind())))
    }

    fn tiledb_object_remove(ctx, path: Text) {
        let path = path.get("path")?;
        match Object::at_with(&uris::inner(path), &ctx.options(None)?)? {
            Some(found) => found.remove().map_err(Failure::of(ORIGIN)),
            None => fail(ORIGIN, format!("Cannot remove object '{path}'; Invalid TileDB object")),
        }
    }

    fn tiledb_object_move(ctx, old_path: Text, new_path: Text) {
        let old = old_path.get("old_path")?;
        match Object::at_with(&uris::inner(old), &ctx.options(None)?)? {
            Some(found) => found.move_to(&uris::inner(new_path.get("new_path")?)).map(|_| ()).map_err(Failure::of(ORIGIN)),
            None => fail(ORIGIN, format!("Cannot move object '{old}'; Invalid TileDB object")),
        }
    }
}

callback_entries! {
    fn tiledb_object_walk(
        ctx,
        path: Text,
        order: i32,
        callback: ObjectCallback,
        data: Opaque,
    ) {
        let order = if order == 0 { WalkOrder::Pre } else { WalkOrder::Post };
        let found = Object::walk_with(&uris::inner(path.get("path")?), order, &ctx.options(None)?)?;
        shown(found, callback)
    } each |found| {
        call_object(callback, &found.0, found.1, data)
    }

    fn tiledb_object_ls(ctx, path: Text, callback: ObjectCallback, data: Opaque) {
        match Object::children_with(&uris::inner(path.get("path")?), &ctx.options(None)?) {
            Err(error) if error.kind() == smalti::ErrorKind::NotFound => shown(Vec::new(), callback),
            listed => shown(listed?, callback),
        }
    } each |found| {
        call_object(callback, &found.0, found.1, data)
    }
}
