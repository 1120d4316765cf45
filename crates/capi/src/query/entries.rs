//! The entries of queries.

use super::buffers::Buffers;
use super::state::{ORIGIN, STATUS, Status};
use super::{Node, QueryHandle, SubarrayHandle};
use crate::array::{ArrayHandle, READ, UPDATE};
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::memory::{Buffer, give_text};
use crate::boundary::{Data, DataOut, In, New, Out, OutText, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::names;
use crate::values::{index, small_count};
use smalti::Layout;
use std::ffi::{c_char, c_void};

/// Sets one of the buffers of a field, which `place` finds among them.
fn set(
    query: In<QueryHandle>,
    name: Text,
    (buffer, buffer_size): (DataOut, Out<u64>),
    place: impl Fn(&mut Buffers) -> &mut Option<Buffer>,
) -> Fallible<()> {
    let mut query = query.write()?;
    if buffer_size.is_null() {
        return fail(ORIGIN, "Cannot set buffer; buffer size is null");
    }
    let name = name.get("name")?;
    if query.shape(name).is_none() && query.aggregates.named(name).is_none() {
        return fail(STATUS, format!("Cannot set buffer; Invalid attribute/dimension/label '{name}'"));
    }
    match query.fields.iter_mut().find(|(known, _)| known == name) {
        Some((_, buffers)) => *place(buffers) = Some(Buffer::new(buffer, buffer_size)),
        None => {
            let mut buffers = Buffers::default();
            *place(&mut buffers) = Some(Buffer::new(buffer, buffer_size));
            query.fields.push((name.to_owned(), buffers));
        }
    }
    Ok(())
}

/// That a field of the array takes a buffer of some kind; what an aggregate has is known later.
fn check_shape(
    query: In<QueryHandle>,
    name: Text,
    takes: impl Fn(&str, smalti::CellShape) -> Result<(), String>,
) -> Fallible<()> {
    let query = query.read()?;
    let Some(name) = name.optional()? else { return Ok(()) };
    let refusal = query.shape(name).and_then(|shape| takes(name, shape).err());
    match refusal {
        Some(what) => fail(STATUS, format!("Cannot set buffer; {what}")),
        None => Ok(()),
    }
}

fn buffers(query: &QueryHandle, name: Text) -> Fallible<Buffers> {
    let name = name.get("name")?;
    let found = query.fields.iter().find(|(known, _)| known == name);
    Ok(found.map(|(_, buffers)| *buffers).unwrap_or_default())
}

fn fragment(query: &QueryHandle, idx: u64) -> Fallible<&super::state::Written> {
    if query.mode == READ {
        return fail(ORIGIN, "Getting a fragment of written ones is applicable only to writes");
    }
    let found = query.written.get(index(idx));
    found.ok_or_else(|| Failure::told(STATUS, "Cannot get fragment URI; Invalid fragment index"))
}

entries! {
    fn tiledb_query_alloc(ctx, array: In<ArrayHandle>, query_type: i32, query: New<QueryHandle>) {
        query.check()?;
        let made = QueryHandle::new(ctx, &*array.read()?, array.share()?, query_type)?;
        query.put(made)
    }

    fn tiledb_query_get_stats(ctx, query: In<QueryHandle>, stats_json: Out<*mut c_char>) {
        give_text(stats_json, &query.read()?.statistics.text())
    }

    fn tiledb_query_set_config(ctx, query: In<QueryHandle>, config: In<Config>) {
        let config = config.read()?.clone();
        let mut query = query.write()?;
        if query.status != Status::Uninitialized {
            return fail(ORIGIN, "Cannot set config after initialization.");
        }
        query.subarray.configure(&config)?;
        query.config = config;
        Ok(())
    }

    fn tiledb_query_get_config(ctx, query: In<QueryHandle>, config: New<Config>) {
        config.put(query.read()?.config.clone())
    }

    fn tiledb_query_set_subarray_t(ctx, query: In<QueryHandle>, subarray: In<SubarrayHandle>) {
        let subarray = subarray.read()?.clone();
        let mut query = query.write()?;
        if query.mode != READ && !query.is_dense() {
            return fail(ORIGIN, "Cannot set subarray; Setting a subarray is not supported on sparse writes.");
        }
        query.subarray = subarray;
        query.set_status(Status::Uninitialized);
        Ok(())
    }

    fn tiledb_query_get_subarray_t(ctx, query: In<QueryHandle>, subarray: New<SubarrayHandle>) {
        subarray.put(query.read()?.subarray.clone())
    }

    fn tiledb_query_set_data_buffer(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        buffer: DataOut,
        buffer_size: Out<u64>,
    ) {
        set(query, name, (buffer, buffer_size), |buffers| &mut buffers.data)
    }

    fn tiledb_query_set_offsets_buffer(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        buffer: DataOut,
        buffer_size: Out<u64>,
    ) {
        check_shape(query, name, |name, shape| match shape.cell_val_num.is_var() {
            true => Ok(()),
            false => Err(format!("Input attribute/dimension '{name}' is fixed-sized")),
        })?;
        set(query, name, (buffer, buffer_size), |buffers| &mut buffers.offsets)
    }

    fn tiledb_query_set_validity_buffer(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        buffer: DataOut,
        buffer_size: Out<u64>,
    ) {
        check_shape(query, name, |name, shape| match shape.is_nullable {
            true => Ok(()),
            false => Err(format!("Input attribute '{name}' is not nullable")),
        })?;
        set(query, name, (buffer, buffer_size), |buffers| &mut buffers.validity)
    }

    fn tiledb_query_get_data_buffer(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        buffer: Out<*mut c_void>,
        buffer_size: Out<*mut u64>,
    ) {
        let found = buffers(&*query.read()?, name)?.data;
        buffer.put(found.map_or(std::ptr::null_mut(), |found| found.address()))?;
        buffer_size.put(found.map_or(std::ptr::null_mut(), |found| found.len_address()))
    }

    fn tiledb_query_get_offsets_buffer(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        buffer: Out<*mut c_void>,
        buffer_size: Out<*mut u64>,
    ) {
        let found = buffers(&*query.read()?, name)?.offsets;
        buffer.put(found.map_or(std::ptr::null_mut(), |found| found.address()))?;
        buffer_size.put(found.map_or(std::ptr::null_mut(), |found| found.len_address()))
    }

    fn tiledb_query_get_validity_buffer(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        buffer: Out<*mut c_void>,
        buffer_size: Out<*mut u64>,
    ) {
        let found = buffers(&*query.read()?, name)?.validity;
        buffer.put(found.map_or(std::ptr::null_mut(), |found| found.address()))?;
        buffer_size.put(found.map_or(std::ptr::null_mut(), |found| found.len_address()))
    }

    fn tiledb_query_set_layout(ctx, query: In<QueryHandle>, layout: i32) {
        let mut query = query.write()?;
        let layout = names::layout(layout)?;
        if query.mode == READ && query.status != Status::Uninitialized {
            return fail(ORIGIN, "Cannot set layout after initialization");
        }
        if layout == Layout::Hilbert {
            return fail(ORIGIN, "Cannot set layout; Hilbert order is not applicable to queries");
        }
        if query.mode != READ && query.is_dense() && layout == Layout::Unordered {
            return fail(ORIGIN, "Unordered writes are only possible for sparse arrays");
        }
        if query.mode != READ && !query.is_dense() && matches!(layout, Layout::RowMajor | Layout::ColMajor) {
            return fail(STATUS, "Row-major and column-major writes are only possible for dense arrays");
        }
        query.layout = layout;
        Ok(())
    }

    fn tiledb_query_add_update_value(
        ctx,
        query: In<QueryHandle>,
        field_name: Text,
        update_value: Data,
        update_value_size: u64,
    ) {
        let mut query = query.write()?;
        let name = field_name.get("field_name")?;
        if query.mode != UPDATE {
            return fail(
                STATUS,
                "Cannot add query update value; Operation only applicable to update queries",
            );
        }
        if query.is_dense() {
            return fail(ORIGIN, "Setting update values is only valid for sparse arrays");
        }
        if query.updates.iter().any(|(other, _)| other == name) {
            return fail(STATUS, "Update value already set for attribute");
        }
        let value = update_value.optional(update_value_size)?.map(<[u8]>::to_vec);
        query.updates.push((name.to_owned(), value));
        Ok(())
    }

    fn tiledb_query_set_condition(ctx, query: In<QueryHandle>, cond: In<Node>) {
        let condition = cond.read()?.clone();
        if matches!(condition, Node::Empty) {
            return fail("TileDB internal", "Query conditions must not be empty");
        }
        let mut query = query.write()?;
        // What a schema says against it is told here, as libtiledb does at the first submit.
        query.condition = Some(condition);
        query.set_status(Status::Uninitialized);
        Ok(())
    }

    fn tiledb_query_submit(ctx, query: In<QueryHandle>) {
        query.write()?.submit()
    }

    fn tiledb_query_finalize(ctx, query: In<QueryHandle>) {
        if query.is_null() {
            return Ok(());
        }
        query.write()?.finalize()
    }

    fn tiledb_query_submit_and_finalize(ctx, query: In<QueryHandle>) {
        let mut query = query.write()?;
        if query.mode == READ || query.layout != Layout::GlobalOrder {
            return fail(ORIGIN, "Error in function submit_and_finalize; Call is only supported for global order writes.");
        }
        query.submit()?;
        query.finalize()
    }

    fn tiledb_query_has_results(ctx, query: In<QueryHandle>, has_results: Out<i32>) {
        let query = query.read()?;
        let any = query.fields.iter().any(|(_, buffers)| buffers.data.is_some_and(|data| data.byte_len() > 0));
        let was_read = query.mode == READ && query.status != Status::Uninitialized;
        has_results.put(i32::from(was_read && any))
    }

    fn tiledb_query_get_status(ctx, query: In<QueryHandle>, status: Out<i32>) {
        status.put(query.read()?.status as i32)
    }

    fn tiledb_query_get_status_details(ctx, query: In<QueryHandle>, details: Out<i32>) {
        let query = query.read()?;
        details.put(if query.status == Status::Incomplete { query.reason } else { 0 })
    }

    fn tiledb_query_get_type(ctx, query: In<QueryHandle>, query_type: Out<i32>) {
        query_type.put(query.read()?.mode)
    }

    fn tiledb_query_get_layout(ctx, query: In<QueryHandle>, layout: Out<i32>) {
        layout.put(query.read()?.layout.tag().into())
    }

    fn tiledb_query_get_array(ctx, query: In<QueryHandle>, array: New<ArrayHandle>) {
        array.put_shared(std::sync::Arc::clone(&query.read()?.handle))
    }

    fn tiledb_query_get_fragment_num(ctx, query: In<QueryHandle>, num: Out<u32>) {
        let query = query.read()?;
        if query.mode == READ {
            return fail(ORIGIN, "Getting the number of fragments is applicable only to writes");
        }
        num.put(small_count(query.written.len()))
    }

    fn tiledb_query_get_fragment_uri(ctx, query: In<QueryHandle>, idx: u64, uri: OutText) {
        let slot = query.slot()?;
        let found = fragment(&slot.read(), idx)?.uri.clone();
        uri.put(slot.lend_text(&found))
    }

    fn tiledb_query_get_fragment_timestamp_range(
        ctx,
        query: In<QueryHandle>,
        idx: u64,
        t1: Out<u64>,
        t2: Out<u64>,
    ) {
        let timestamp = fragment(&*query.read()?, idx)?.timestamp;
        t1.put(timestamp)?;
        t2.put(timestamp)
    }
}

free_entries! { tiledb_query_free: QueryHandle }
