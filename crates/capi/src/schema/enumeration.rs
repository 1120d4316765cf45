//! Enumerations.

use super::dump;
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{Data, In, New, Out, Text};
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::names;
use crate::text::TextHandle;
use crate::values::count;
use smalti::format::Enumeration;
use smalti::{CellValNum, Datatype};
use std::collections::HashSet;
use std::ffi::c_void;

/// What a handle of an enumeration holds.
pub(crate) type EnumerationHandle = Enumeration;

kinds! { Enumeration => "enumeration" }

const ORIGIN: &str = "Enumeration";

fn offsets_of(bytes: &[u8]) -> Vec<u64> {
    let whole = bytes.chunks_exact(8).map(|chunk| chunk.try_into().map_or(0, u64::from_ne_bytes));
    whole.collect()
}

/// The elements that a caller gives: their bytes and where each starts.
fn elements(
    datatype: Datatype,
    cell_val_num: CellValNum,
    data: Data,
    data_size: u64,
    offsets: Data,
    offsets_size: u64,
) -> Fallible<(Vec<u8>, Vec<u64>)> {
    if data.is_null() && data_size == 0 && offsets.is_null() && offsets_size == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    if !cell_val_num.is_var() {
        if !offsets.is_null() {
            return fail(ORIGIN, "Fixed length value type defined but offsets is not nullptr.");
        }
        if offsets_size != 0 {
            return fail(ORIGIN, "Fixed length value type defined but offsets size is non-zero.");
        }
        if data.is_null() {
            return fail(ORIGIN, "Invalid data buffer must not be nullptr for fixed sized data.");
        }
        if data_size == 0 {
            return fail(ORIGIN, "Invalid data size; must be non-zero for fixed size data.");
        }
        let width = count(cell_val_num.fixed().unwrap_or(1).saturating_mul(datatype.byte_len()));
        if !data_size.is_multiple_of(width) {
            return fail(ORIGIN, "Invalid data size is not a multiple of the cell size.");
        }
        return Ok((data.bytes(data_size, "data")?.to_vec(), Vec::new()));
    }
    if offsets.is_null() {
        return fail(ORIGIN, "Var sized enumeration values require a non-null offsets pointer.");
    }
    if offsets_size == 0 {
        return fail(ORIGIN, "Var sized enumeration values require a non-zero offsets size.");
    }
    if !offsets_size.is_multiple_of(8) {
        return fail(ORIGIN, "Invalid offsets size is not a multiple of sizeof(uint64_t)");
    }
    let starts = offsets_of(offsets.bytes(offsets_size, "offsets")?);
    if data.is_null() && data_size > 0 {
        return fail(ORIGIN, "Invalid data buffer; must not be nullptr when data_size is non-zero.");
    }
    if data.is_null() && starts.iter().any(|start| *start > 0) {
        return fail(ORIGIN, "Invalid data input, nullptr provided when the provided offsets require data.");
    }
    if starts.last().is_some_and(|last| *last > data_size) {
        return fail(ORIGIN, "Invalid data input, data_size is smaller than the last provided offset.");
    }
    if !starts.is_sorted() {
        return fail(ORIGIN, "Invalid offsets; they must rise.");
    }
    Ok((data.optional(data_size)?.unwrap_or_default().to_vec(), starts))
}

/// Checks that no element is there twice.
fn check_unique(enumeration: &Enumeration) -> Fallible<()> {
    let mut seen = HashSet::new();
    for idx in 0..enumeration.element_count() {
        let element = enumeration.element(idx).unwrap_or_default();
        if !seen.insert(element) {
            let shown = String::from_utf8_lossy(element);
            return fail(ORIGIN, format!("Invalid duplicated value in enumeration '{shown}'"));
        }
    }
    Ok(())
}

entries! {
    fn tiledb_enumeration_alloc(
        ctx,
        name: Text,
        kind: i32,
        cell_val_num: u32,
        ordered: i32,
        data: Data,
        data_size: u64,
        offsets: Data,
        offsets_size: u64,
        enumeration: New<Enumeration>,
    ) {
        enumeration.check()?;
        let Some(name) = name.optional()? else { return fail("C API", "'name' must not be null") };
        if name.is_empty() {
            return fail(ORIGIN, "Enumeration name must not be empty");
        }
        if name.contains('/') {
            return fail(ORIGIN, "Enumeration path name must not contain path separators");
        }
        let datatype = names::datatype(kind)?;
        let Some(cell_val_num) = CellValNum::from_raw(cell_val_num) else {
            return fail(ORIGIN, "Invalid cell_val_num in Enumeration");
        };
        let (data, offsets) = elements(datatype, cell_val_num, data, data_size, offsets, offsets_size)?;
        let made = Enumeration {
            version: 0,
            name: name.to_owned(),
            file: String::new(),
            datatype,
            cell_val_num,
            is_ordered: ordered != 0,
            data,
            offsets,
        };
        check_unique(&made)?;
        enumeration.put(made)
    }

    fn tiledb_enumeration_extend(
        ctx,
        old_enumeration: In<Enumeration>,
        data: Data,
        data_size: u64,
        offsets: Data,
        offsets_size: u64,
        new_enumeration: New<Enumeration>,
    ) {
        let mut made = old_enumeration.read()?.clone();
        new_enumeration.check()?;
        if data.is_null() {
            return fail(ORIGIN, "Unable to extend an enumeration without a data buffer.");
        }
        if data_size == 0 {
            return fail(ORIGIN, "Unable to extend an enumeration with a zero sized data buffer.");
        }
        if made.cell_val_num.is_var() && offsets.is_null() {
            return fail(ORIGIN, "The offsets buffer is required for this enumeration extension.");
        }
        if made.cell_val_num.is_var() && offsets_size == 0 {
            return fail(
                ORIGIN,
                "The offsets buffer for this enumeration extension must have a non-zero size.",
            );
        }
        if !made.cell_val_num.is_var() && !offsets.is_null() {
            return fail(ORIGIN, "Offsets buffer provided when extending a fixed sized enumeration.");
        }
        if !made.cell_val_num.is_var() && offsets_size != 0 {
            return fail(ORIGIN, "Offsets size is non-zero when extending a fixed sized enumeration.");
        }
        let (more, starts) =
            elements(made.datatype, made.cell_val_num, data, data_size, offsets, offsets_size)?;
        let behind = count(made.data.len());
        made.data.extend_from_slice(&more);
        made.offsets.extend(starts.iter().map(|start| start.saturating_add(behind)));
        made.file = String::new();
        check_unique(&made)?;
        new_enumeration.put(made)
    }

    fn tiledb_enumeration_get_name(ctx, enumeration: In<Enumeration>, name: New<TextHandle>) {
        name.put(TextHandle(enumeration.read()?.name.clone()))
    }

    fn tiledb_enumeration_get_type(ctx, enumeration: In<Enumeration>, kind: Out<i32>) {
        kind.put(enumeration.read()?.datatype.tag().into())
    }

    fn tiledb_enumeration_get_cell_val_num(ctx, enumeration: In<Enumeration>, cell_val_num: Out<u32>) {
        cell_val_num.put(enumeration.read()?.cell_val_num.raw())
    }

    fn tiledb_enumeration_get_ordered(ctx, enumeration: In<Enumeration>, ordered: Out<i32>) {
        ordered.put(enumeration.read()?.is_ordered.into())
    }

    fn tiledb_enumeration_get_data(
        ctx,
        enumeration: In<Enumeration>,
        data: Out<*const c_void>,
        data_size: Out<u64>,
    ) {
        let slot = enumeration.slot()?;
        let bytes = &slot.read().data;
        data.put(if bytes.is_empty() { std::ptr::null() } else { slot.lend(bytes) })?;
        data_size.put(count(bytes.len()))
    }

    fn tiledb_enumeration_get_offsets(
        ctx,
        enumeration: In<Enumeration>,
        offsets: Out<*const c_void>,
        offsets_size: Out<u64>,
    ) {
        let slot = enumeration.slot()?;
        let starts = &slot.read().offsets;
        let bytes: Vec<u8> = starts.iter().flat_map(|start| start.to_ne_bytes()).collect();
        offsets.put(if bytes.is_empty() { std::ptr::null() } else { slot.lend(&bytes) })?;
        offsets_size.put(count(bytes.len()))
    }

    fn tiledb_enumeration_get_value_index(
        ctx,
        enumeration: In<Enumeration>,
        value: Data,
        value_size: u64,
        exist: Out<i32>,
        index: Out<u64>,
    ) {
        let enumeration = enumeration.read()?;
        let value = value.bytes(value_size, "value")?;
        let found = (0..enumeration.element_count()).find(|idx| enumeration.element(*idx) == Some(value));
        exist.put(found.is_some().into())?;
        index.put(found.map_or(u64::MAX, count))
    }

    fn tiledb_enumeration_dump_str(ctx, enumeration: In<Enumeration>, out: New<TextHandle>) {
        out.put(TextHandle(dump::enumeration(&*enumeration.read()?)))
    }
}

free_entries! { tiledb_enumeration_free: Enumeration }
