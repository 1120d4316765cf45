//! Creating, opening and closing arrays, and what is known of them.

use super::{ArrayHandle, ORIGIN, READ, STATUS};
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::changed;
use crate::boundary::memory::Texts;
use crate::boundary::{In, New, Out, OutText, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::schema::{EnumerationHandle, EvolutionHandle, SchemaHandle};
use crate::uris;
use crate::values::count;
use smalti::upkeep::{FragmentChoice, FragmentDeletion};
use smalti::{Array, ErrorKind, Object, TimeRange};
use std::sync::Arc;

/// Opens an array for work on the whole of it.
pub(super) fn open(ctx: &crate::context::Context, uri: &str, config: Option<&Config>) -> Fallible<Array> {
    Array::open_with(&uris::inner(uri), &ctx.options(config)?).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::told(ORIGIN, format!("Array does not exist. ({uri})")),
        _ => Failure::told(ORIGIN, error),
    })
}

fn delete_fragments(ctx: &crate::context::Context, uri: &str, choice: FragmentChoice) -> Fallible<()> {
    let mut array = open(ctx, uri, None)?;
    let mut deletion = FragmentDeletion::of(choice);
    // Readers do not hold back deletions in libtiledb.
    deletion.ignores_readers = true;
    array.delete_fragments(&deletion).map(|_| ()).map_err(Failure::of(ORIGIN))
}

/// That the enumerations of a new array are as small as the settings want them.
fn check_enumerations(config: &Config, schema: &SchemaHandle) -> Fallible<()> {
    let byte_len = |item: &EnumerationHandle| count(item.data.len()) + 8 * count(item.offsets.len());
    let (each, all): (u64, u64) =
        (config.parse("sm.enumerations_max_size")?, config.parse("sm.enumerations_max_total_size")?);
    if let Some(item) = schema.enumerations.iter().find(|item| byte_len(item) > each) {
        let words = format!("Invalid enumeration '{}' has a size exceeding {each} bytes.", item.name);
        return fail("ArraySchema", words);
    }
    match schema.enumerations.iter().map(byte_len).sum::<u64>() > all {
        true => {
            fail("ArraySchema", format!("Total enumeration size for the entire schema exceeds {all} bytes."))
        }
        false => Ok(()),
    }
}

/// The name of a fragment, of its URI.
pub(super) fn fragment_name(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri)
}

entries! {
    fn tiledb_array_alloc(ctx, array_uri: Text, array: New<ArrayHandle>) {
        array.check()?;
        array.put(ArrayHandle::new(array_uri.get("array_uri")?, ctx.config.clone()))
    }

    fn tiledb_array_create(ctx, array_uri: Text, array_schema: In<SchemaHandle>) {
        let uri = array_uri.get("array_uri")?;
        let handle = array_schema.read()?;
        check_enumerations(&ctx.config, &handle)?;
        let schema = handle.build()?;
        let mut options = ctx.options(None)?;
        if let Some(timestamp) = handle.timestamp {
            options = options.created_at(timestamp);
        }
        let made = Array::create_with(&uris::inner(uri), &schema, &options);
        made.map(|_| ()).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                Failure::told(ORIGIN, format!("Cannot create array; Array '{uri}' already exists"))
            }
            _ => Failure::told(ORIGIN, format!("Cannot create array; {error}")),
        })
    }

    fn tiledb_array_open(ctx, array: In<ArrayHandle>, query_type: i32) {
        array.write()?.open(ctx, query_type)
    }

    fn tiledb_array_is_open(ctx, array: In<ArrayHandle>, is_open: Out<i32>) {
        is_open.put(array.read()?.open.is_some().into())
    }

    fn tiledb_array_close(ctx, array: In<ArrayHandle>) {
        array.write()?.close()
    }

    fn tiledb_array_reopen(ctx, array: In<ArrayHandle>) {
        array.write()?.reopen(ctx)
    }

    fn tiledb_array_delete(ctx, uri: Text) {
        let uri = uri.get("uri")?;
        match Object::at_with(&uris::inner(uri), &ctx.options(None)?)? {
            Some(found) => found.remove().map_err(Failure::of(ORIGIN)),
            None => fail(ORIGIN, format!("[delete_array] Array does not exist. ({uri})")),
        }
    }

    fn tiledb_array_delete_fragments_v2(
        ctx,
        uri: Text,
        timestamp_start: u64,
        timestamp_end: u64,
    ) {
        let range = TimeRange { start: timestamp_start, end: timestamp_end };
        delete_fragments(ctx, uri.get("uri")?, FragmentChoice::Within(range))
    }

    fn tiledb_array_delete_fragments_list(ctx, uri: Text, fragment_uris: Texts, num_fragments: usize) {
        let uris = fragment_uris.get(crate::values::count(num_fragments), "fragment_uris")?;
        if uris.is_empty() {
            return fail("C API", "Failed to delete fragments list; Invalid input number of fragments");
        }
        let names = uris.iter().map(|uri| fragment_name(uri).to_owned()).collect();
        delete_fragments(ctx, uri.get("uri")?, FragmentChoice::Named(names))
    }

    fn tiledb_array_set_config(ctx, array: In<ArrayHandle>, config: In<Config>) {
        let config = config.read()?.clone();
        let mut array = array.write()?;
        if array.open.is_some() {
            return fail(ORIGIN, "[set_config] Cannot set a config on an open array");
        }
        array.config = config;
        Ok(())
    }

    fn tiledb_array_get_config(ctx, array: In<ArrayHandle>, config: New<Config>) {
        config.put(array.read()?.config.clone())
    }

    fn tiledb_array_set_open_timestamp_start(ctx, array: In<ArrayHandle>, timestamp_start: u64) {
        array.write()?.start = timestamp_start;
        Ok(())
    }

    fn tiledb_array_set_open_timestamp_end(ctx, array: In<ArrayHandle>, timestamp_end: u64) {
        let mut array = array.write()?;
        array.end = Some(timestamp_end);
        array.has_new_end = true;
        Ok(())
    }

    fn tiledb_array_get_open_timestamp_start(ctx, array: In<ArrayHandle>, timestamp_start: Out<u64>) {
        timestamp_start.put(array.read()?.start)
    }

    fn tiledb_array_get_open_timestamp_end(ctx, array: In<ArrayHandle>, timestamp_end: Out<u64>) {
        let array = array.read()?;
        timestamp_end.put(match &array.open {
            Some(open) => open.end,
            None => array.end.unwrap_or(u64::MAX),
        })
    }

    fn tiledb_array_get_schema(ctx, array: In<ArrayHandle>, array_schema: New<SchemaHandle>) {
        let array = array.read()?;
        match &array.open {
            Some(open) => array_schema.put_shared(Arc::clone(&open.schema)),
            None => fail(STATUS, "Cannot get array schema; Array is not open"),
        }
    }

    fn tiledb_array_get_query_type(ctx, array: In<ArrayHandle>, query_type: Out<i32>) {
        query_type.put(array.read()?.open.as_ref().map_or(READ, |open| open.mode))
    }

    fn tiledb_array_get_uri(ctx, array: In<ArrayHandle>, array_uri: OutText) {
        let slot = array.slot()?;
        let uri = slot.read().uri.clone();
        array_uri.put(slot.lend_text(&crate::uris::shown(&uri)))
    }

    fn tiledb_array_encryption_type(ctx, array_uri: Text, encryption_type: Out<i32>) {
        let uri = array_uri.get("array_uri")?;
        let found = open(ctx, uri, None).map(|_| ());
        let is_encrypted = crate::encryption::key_of(&ctx.config)?.is_some();
        found?;
        encryption_type.put(is_encrypted.into())
    }

    fn tiledb_array_evolve(ctx, array_uri: Text, evolution: In<EvolutionHandle>) {
        let evolution = evolution.read()?;
        let uri = array_uri.get("array_uri")?;
        evolution.apply(&open(ctx, uri, None)?)
    }

    fn tiledb_array_upgrade_version(ctx, array_uri: Text, config: In<Config>) {
        let config = if config.is_null() { None } else { Some(config.read()?) };
        let array = open(ctx, array_uri.get("array_uri")?, config.as_deref())?;
        array.upgrade(&smalti::Upgrade::default()).map(|_| ()).map_err(Failure::of(ORIGIN))
    }

    fn tiledb_array_get_enumeration(
        ctx,
        array: In<ArrayHandle>,
        name: Text,
        enumeration: New<EnumerationHandle>,
    ) {
        let array = array.read()?;
        enumeration.check()?;
        let Some(name) = name.optional()? else { return fail("C API", "'attr_name' must not be null") };
        match &array.open {
            Some(open) => enumeration.put(changed(&open.schema).enumeration(name)?.clone()),
            None => fail(ORIGIN, "Unable to load enumerations; Array is not open."),
        }
    }

    fn tiledb_array_load_all_enumerations(ctx, array: In<ArrayHandle>) {
        match &array.read()?.open {
            Some(open) => changed(&open.schema).load_enumerations(),
            None => fail(ORIGIN, "Unable to load all enumerations; Array is not open."),
        }
    }

    fn tiledb_array_load_enumerations_all_schemas(ctx, array: In<ArrayHandle>) {
        match &array.read()?.open {
            Some(open) => changed(&open.schema).load_enumerations(),
            None => fail(ORIGIN, "Unable to load all enumerations; Array is not open."),
        }
    }
}

free_entries! { tiledb_array_free: ArrayHandle }
