//! Creating, opening and closing groups.

use super::{GroupHandle, ORIGIN};
use crate::array::{MODIFY_EXCLUSIVE, READ};
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::{In, New, Out, OutText, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::uris::inner;
use smalti::upkeep::UpkeepOptions;
use smalti::{ErrorKind, Group};

fn upkeep(ctx: &Context, uri: Text, config: In<Config>, what: &str) -> Fallible<Group> {
    let config = if config.is_null() { None } else { Some(config.read()?) };
    let options = ctx.options(config.as_deref())?;
    let told = |_| Failure::told(ORIGIN, format!("Cannot {what} group metadata; Group does not exist"));
    Group::open_with(&inner(uri.get("group_uri")?), &options).map_err(told)
}

entries! {
    fn tiledb_group_create(ctx, group_uri: Text) {
        let uri = group_uri.get("group_uri")?;
        let made = Group::create_with(&inner(uri), &ctx.options(None)?);
        made.map(|_| ()).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                Failure::told(ORIGIN, format!("Cannot create group; Group '{uri}' already exists"))
            }
            _ => Failure::told(ORIGIN, format!("Cannot create group; {error}")),
        })
    }

    fn tiledb_group_alloc(ctx, group_uri: Text, group: New<GroupHandle>) {
        group.check()?;
        group.put(GroupHandle::new(group_uri.get("group_uri")?, ctx.config.clone()))
    }

    fn tiledb_group_open(ctx, group: In<GroupHandle>, query_type: i32) {
        group.write()?.open(ctx, query_type)
    }

    fn tiledb_group_close(ctx, group: In<GroupHandle>) {
        group.write()?.close()
    }

    fn tiledb_group_set_config(ctx, group: In<GroupHandle>, config: In<Config>) {
        let config = config.read()?.clone();
        let mut group = group.write()?;
        if group.open.is_some() {
            return fail(ORIGIN, "[set_config] Cannot set config; Group is open");
        }
        group.config = config.over(&group.config);
        Ok(())
    }

    fn tiledb_group_get_config(ctx, group: In<GroupHandle>, config: New<Config>) {
        config.put(group.read()?.config.clone())
    }

    fn tiledb_group_delete_group(ctx, group: In<GroupHandle>, uri: Text, recursive: u8) {
        let mut group = group.write()?;
        let uri = uri.get("uri")?;
        match &group.open {
            None => return fail(ORIGIN, "[delete_group] Group is not open"),
            Some(open) if open.mode != MODIFY_EXCLUSIVE => {
                return fail(ORIGIN, "[delete_group] Query type must be MODIFY_EXCLUSIVE");
            }
            Some(_) => {}
        }
        let found = Group::open_with(&inner(uri), &ctx.options(Some(&group.config))?).map_err(Failure::of(ORIGIN))?;
        let done = if recursive != 0 { found.delete_with_members() } else { found.delete() };
        done.map_err(Failure::of(ORIGIN))?;
        group.open = None;
        Ok(())
    }

    fn tiledb_group_is_open(ctx, group: In<GroupHandle>, is_open: Out<i32>) {
        is_open.put(group.read()?.open.is_some().into())
    }

    fn tiledb_group_get_uri(ctx, group: In<GroupHandle>, group_uri: OutText) {
        let slot = group.slot()?;
        let uri = crate::uris::shown(&slot.read().uri);
        group_uri.put(slot.lend_text(&uri))
    }

    fn tiledb_group_get_query_type(ctx, group: In<GroupHandle>, query_type: Out<i32>) {
        match &group.read()?.open {
            Some(open) => query_type.put(open.mode),
            None => {
                query_type.put(READ)?;
                fail(ORIGIN, "Cannot get query_type; Group is not open")
            }
        }
    }

    fn tiledb_group_consolidate_metadata(ctx, group_uri: Text, config: In<Config>) {
        let group = upkeep(ctx, group_uri, config, "consolidate")?;
        group.consolidate_metadata(&UpkeepOptions::default()).map(|_| ()).map_err(Failure::of(ORIGIN))
    }

    fn tiledb_group_vacuum_metadata(ctx, group_uri: Text, config: In<Config>) {
        let group = upkeep(ctx, group_uri, config, "vacuum")?;
        group.vacuum_metadata(&UpkeepOptions::default()).map(|_| ()).map_err(Failure::of(ORIGIN))
    }
}

free_entries! { tiledb_group_free: GroupHandle }
