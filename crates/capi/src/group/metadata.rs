//! Metadata of groups.

use super::GroupHandle;
use crate::boundary::entry::entries;
use crate::boundary::{Data, In, Out, OutText, Text};
use crate::context::Context;
use crate::metadata::{EntryOut, ValueOut, put_presence, stored_value};
use crate::values::count;
use std::ffi::c_void;

const GET: &str = "Cannot get metadata";

entries! {
    fn tiledb_group_put_metadata(
        ctx,
        group: In<GroupHandle>,
        key: Text,
        value_type: i32,
        value_num: u32,
        value: Data,
    ) {
        let mut group = group.write()?;
        let open = group.written("Cannot put metadata")?;
        let key = key.get("key")?;
        let value = stored_value(value_type, value_num, value)?;
        open.pending.note(key, Some(value));
        Ok(())
    }

    fn tiledb_group_delete_metadata(ctx, group: In<GroupHandle>, key: Text) {
        let mut group = group.write()?;
        let open = group.written("Cannot delete metadata")?;
        open.pending.note(key.get("key")?, None);
        Ok(())
    }

    fn tiledb_group_get_metadata(
        ctx,
        group: In<GroupHandle>,
        key: Text,
        kind: Out<i32>,
        num: Out<u32>,
        value: Out<*const c_void>,
    ) {
        let slot = group.slot()?;
        let group = slot.read();
        let found = group.metadata(GET)?;
        ValueOut { kind, num, value }.put(slot, found.get(key.get("key")?))
    }

    fn tiledb_group_get_metadata_num(ctx, group: In<GroupHandle>, num: Out<u64>) {
        let group = group.read()?;
        let found = group.metadata("Cannot get number of metadata")?;
        num.put(count(found.len()))
    }

    fn tiledb_group_get_metadata_from_index(
        ctx,
        group: In<GroupHandle>,
        number: u64,
        key: OutText,
        key_len: Out<u32>,
        kind: Out<i32>,
        num: Out<u32>,
        value: Out<*const c_void>,
    ) {
        let slot = group.slot()?;
        let group = slot.read();
        let found = group.metadata(GET)?;
        EntryOut { key, key_len, value: ValueOut { kind, num, value } }.put(slot, found, number)
    }

    fn tiledb_group_has_metadata_key(
        ctx,
        group: In<GroupHandle>,
        key: Text,
        kind: Out<i32>,
        has_key: Out<i32>,
    ) {
        let group = group.read()?;
        let found = group.metadata(GET)?;
        put_presence(found, key.get("key")?, kind, has_key)
    }
}
