//! Metadata of arrays: what is put is kept until the array is closed.

use super::{ArrayHandle, MODIFY_EXCLUSIVE, ORIGIN, READ, WRITE};
use crate::boundary::entry::entries;
use crate::boundary::{Data, In, Out, OutText, Text};
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::metadata::{EntryOut, ValueOut, put_presence, stored_value};
use crate::values::count;
use smalti::Metadata;
use std::ffi::c_void;

fn written(handle: &mut ArrayHandle, what: &str) -> Fallible<()> {
    match &handle.open {
        None => fail(ORIGIN, format!("{what}; Array is not open")),
        Some(open) if !matches!(open.mode, WRITE | MODIFY_EXCLUSIVE) => {
            fail(ORIGIN, format!("{what}; Array was not opened in write or modify_exclusive mode"))
        }
        Some(_) => Ok(()),
    }
}

fn metadata<'a>(handle: &'a ArrayHandle, what: &str) -> Fallible<&'a Metadata> {
    match &handle.open {
        None => fail(ORIGIN, format!("{what}; Array is not open")),
        Some(open) if open.mode != READ => fail(ORIGIN, format!("{what}; Array was not opened in read mode")),
        Some(open) => match open.metadata.get() {
            Some(found) => Ok(found),
            None => {
                let found = open.array.metadata()?;
                Ok(open.metadata.get_or_init(|| found))
            }
        },
    }
}

const GET: &str = "Cannot get metadata";

entries! {
    fn tiledb_array_put_metadata(
        ctx,
        array: In<ArrayHandle>,
        key: Text,
        value_type: i32,
        value_num: u32,
        value: Data,
    ) {
        let mut array = array.write()?;
        written(&mut array, "Cannot put metadata")?;
        let Some(key) = key.optional()? else { return fail(ORIGIN, "Cannot put metadata; Key cannot be null") };
        let value = stored_value(value_type, value_num, value)?;
        if let Some(open) = &mut array.open {
            open.pending.note(key, Some(value));
        }
        Ok(())
    }

    fn tiledb_array_delete_metadata(ctx, array: In<ArrayHandle>, key: Text) {
        let mut array = array.write()?;
        written(&mut array, "Cannot delete metadata")?;
        let Some(key) = key.optional()? else {
            return fail(ORIGIN, "Cannot delete metadata. Key cannot be null");
        };
        if let Some(open) = &mut array.open {
            open.pending.note(key, None);
        }
        Ok(())
    }

    fn tiledb_array_get_metadata(
        ctx,
        array: In<ArrayHandle>,
        key: Text,
        kind: Out<i32>,
        num: Out<u32>,
        value: Out<*const c_void>,
    ) {
        let slot = array.slot()?;
        let array = slot.read();
        let found = metadata(&array, GET)?;
        let Some(key) = key.optional()? else { return fail(ORIGIN, "Cannot get metadata; Key cannot be null") };
        ValueOut { kind, num, value }.put(slot, found.get(key))
    }

    fn tiledb_array_get_metadata_num(ctx, array: In<ArrayHandle>, num: Out<u64>) {
        let array = array.read()?;
        let found = metadata(&array, "Cannot get number of metadata")?;
        num.put(count(found.len()))
    }

    fn tiledb_array_get_metadata_from_index(
        ctx,
        array: In<ArrayHandle>,
        number: u64,
        key: OutText,
        key_len: Out<u32>,
        kind: Out<i32>,
        num: Out<u32>,
        value: Out<*const c_void>,
    ) {
        let slot = array.slot()?;
        let array = slot.read();
        let found = metadata(&array, GET)?;
        EntryOut { key, key_len, value: ValueOut { kind, num, value } }.put(slot, found, number)
    }

    fn tiledb_array_has_metadata_key(
        ctx,
        array: In<ArrayHandle>,
        key: Text,
        kind: Out<i32>,
        has_key: Out<i32>,
    ) {
        let array = array.read()?;
        let found = metadata(&array, GET)?;
        let Some(key) = key.optional()? else { return fail(ORIGIN, "Cannot get metadata; Key cannot be null") };
        put_presence(found, key, kind, has_key)
    }
}
