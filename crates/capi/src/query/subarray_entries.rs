//! The entries of subarrays.

use super::SubarrayHandle;
use super::subarray::ORIGIN;
use crate::array::ArrayHandle;
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::{Data, DataOut, In, New, Out, Slot, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::values::{count, ends, index};
use std::ffi::c_void;

fn add_fixed(
    subarray: &mut SubarrayHandle,
    idx: usize,
    start: Data,
    end: Data,
    stride: Data,
) -> Fallible<()> {
    if !stride.is_null() {
        return fail("C API", "Stride is currently unsupported");
    }
    let dimension = subarray.dimension(idx)?;
    if dimension.cell_val_num.is_var() {
        return fail(ORIGIN, "Cannot add range; Range must be fixed-sized");
    }
    if start.is_null() || end.is_null() {
        return fail(ORIGIN, "Cannot add range; Invalid range");
    }
    let width = count(dimension.datatype.byte_len());
    let (lo, hi) = (start.bytes(width, "start")?.to_vec(), end.bytes(width, "end")?.to_vec());
    subarray.add(idx, &lo, &hi)
}

fn add_var(
    subarray: &mut SubarrayHandle,
    idx: usize,
    (start, start_size): (Data, u64),
    (end, end_size): (Data, u64),
) -> Fallible<()> {
    if !subarray.dimension(idx)?.cell_val_num.is_var() {
        return fail(ORIGIN, "Cannot add range; Range must be variable-sized");
    }
    if (start.is_null() && start_size != 0) || (end.is_null() && end_size != 0) {
        return fail(ORIGIN, "Cannot add range; Invalid range");
    }
    let (lo, hi) = (start.bytes(start_size, "start")?.to_vec(), end.bytes(end_size, "end")?.to_vec());
    subarray.add(idx, &lo, &hi)
}

fn range_ends(subarray: &SubarrayHandle, idx: usize, range_idx: u64) -> Fallible<(Vec<u8>, Vec<u8>)> {
    let Some(dimension) = subarray.schema.dimensions.get(idx) else {
        return fail(ORIGIN, "Cannot get range; Invalid dimension index");
    };
    let ranges = subarray.ranges_of(idx);
    match ranges.get(index(range_idx)) {
        Some(range) => Ok(ends(dimension.datatype, range)),
        None => fail(ORIGIN, "Cannot get range; Invalid range index"),
    }
}

/// The ends of a range of texts.
fn text_ends(subarray: &SubarrayHandle, idx: usize, range_idx: u64) -> Fallible<(Vec<u8>, Vec<u8>)> {
    match subarray.schema.dimensions.get(idx) {
        Some(dimension) if !dimension.cell_val_num.is_var() => {
            fail(ORIGIN, format!("Cannot get var range size; Dimension {} is not var sized", dimension.name))
        }
        _ => range_ends(subarray, idx, range_idx),
    }
}

fn range_num(subarray: &SubarrayHandle, idx: usize, num: Out<u64>) -> Fallible<()> {
    if idx >= subarray.schema.dimensions.len() {
        return fail(ORIGIN, "Cannot get number of ranges for a dimension; Invalid dimension index");
    }
    num.put(if subarray.has_labels_on(idx) || subarray.unmet.contains(&idx) {
        0
    } else {
        count(subarray.ranges_of(idx).len())
    })
}

fn lend_range(
    slot: &Slot<SubarrayHandle>,
    idx: usize,
    range_idx: u64,
    (start, end, stride): (Out<*const c_void>, Out<*const c_void>, Out<*const c_void>),
) -> Fallible<()> {
    let (lo, hi) = range_ends(&slot.read(), idx, range_idx)?;
    start.put(slot.lend(&lo))?;
    end.put(slot.lend(&hi))?;
    stride.put_if(std::ptr::null());
    Ok(())
}

entries! {
    fn tiledb_subarray_alloc(ctx, array: In<ArrayHandle>, subarray: New<SubarrayHandle>) {
        subarray.check()?;
        subarray.put(SubarrayHandle::new(&*array.read()?)?)
    }

    fn tiledb_subarray_set_config(ctx, subarray: In<SubarrayHandle>, config: In<Config>) {
        let config = config.read()?.clone();
        subarray.write()?.configure(&config)
    }

    fn tiledb_subarray_set_coalesce_ranges(ctx, subarray: In<SubarrayHandle>, coalesce_ranges: i32) {
        let mut subarray = subarray.write()?;
        if !subarray.labels.is_empty() || subarray.ranges.iter().any(|ranges| !ranges.is_empty()) {
            return fail(
                ORIGIN,
                "non-default ranges have been set, cannot change coalesce_ranges setting!",
            );
        }
        subarray.coalesces = coalesce_ranges != 0;
        Ok(())
    }

    fn tiledb_subarray_set_subarray(ctx, subarray: In<SubarrayHandle>, values: Data) {
        let mut subarray = subarray.write()?;
        let widths: Vec<usize> =
            subarray.schema.dimensions.iter().map(|dimension| dimension.datatype.byte_len()).collect();
        if subarray.schema.dimensions.iter().any(|dimension| dimension.cell_val_num.is_var()) {
            return fail(ORIGIN, "Cannot set subarray; Function not applicable to arrays with variable-sized dimensions");
        }
        if values.is_null() {
            return fail(ORIGIN, "Cannot set subarray; Range is null");
        }
        let bytes = values.bytes(count(2 * widths.iter().sum::<usize>()), "subarray")?.to_vec();
        subarray.ranges.iter_mut().for_each(Vec::clear);
        let mut rest = bytes.as_slice();
        for (idx, width) in widths.into_iter().enumerate() {
            let cut = |bytes: &[u8]| bytes.get(..width).map(<[u8]>::to_vec);
            let (lo, hi) = (cut(rest), rest.get(width..).and_then(cut));
            let (Some(lo), Some(hi)) = (lo, hi) else { return Err(Failure::told(ORIGIN, "Cannot set subarray")) };
            subarray.add(idx, &lo, &hi)?;
            rest = rest.get(2 * width..).unwrap_or_default();
        }
        Ok(())
    }

    fn tiledb_subarray_add_range(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        start: Data,
        end: Data,
        stride: Data,
    ) {
        add_fixed(&mut *subarray.write()?, index(dim_idx), start, end, stride)
    }

    fn tiledb_subarray_add_range_by_name(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_name: Text,
        start: Data,
        end: Data,
        stride: Data,
    ) {
        let mut subarray = subarray.write()?;
        let idx = subarray.idx_of(dim_name.get("dim_name")?)?;
        add_fixed(&mut subarray, idx, start, end, stride)
    }

    fn tiledb_subarray_add_range_var(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        start: Data,
        start_size: u64,
        end: Data,
        end_size: u64,
    ) {
        add_var(&mut *subarray.write()?, index(dim_idx), (start, start_size), (end, end_size))
    }

    fn tiledb_subarray_add_range_var_by_name(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_name: Text,
        start: Data,
        start_size: u64,
        end: Data,
        end_size: u64,
    ) {
        let mut subarray = subarray.write()?;
        let idx = subarray.idx_of(dim_name.get("dim_name")?)?;
        add_var(&mut subarray, idx, (start, start_size), (end, end_size))
    }

    fn tiledb_subarray_add_point_ranges(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        start: Data,
        number: u64,
    ) {
        let mut subarray = subarray.write()?;
        let idx = index(dim_idx);
        let width = subarray.dimension(idx)?.datatype.byte_len();
        let bytes = start.bytes(number.saturating_mul(count(width)), "start")?;
        bytes.chunks_exact(width).try_for_each(|point| subarray.add(idx, point, point))
    }

    fn tiledb_subarray_add_point_ranges_var(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        start: Data,
        start_size: u64,
        start_offsets: Data,
        start_offsets_size: u64,
    ) {
        let mut subarray = subarray.write()?;
        let idx = index(dim_idx);
        let bytes = start.bytes(start_size, "start")?;
        let raw = start_offsets.bytes(start_offsets_size.saturating_mul(8), "start_offsets")?;
        let offset = |chunk: &[u8]| chunk.try_into().map_or(0, u64::from_ne_bytes);
        let mut starts: Vec<usize> = raw.chunks_exact(8).map(|chunk| index(offset(chunk))).collect();
        starts.push(bytes.len());
        for pair in starts.windows(2) {
            let [from, until] = pair else { continue };
            let Some(point) = bytes.get(*from..*until) else {
                return fail(ORIGIN, "Cannot add point ranges; offsets leave the data");
            };
            subarray.add(idx, point, point)?;
        }
        Ok(())
    }

    fn tiledb_subarray_get_range_num(ctx, subarray: In<SubarrayHandle>, dim_idx: u32, num: Out<u64>) {
        range_num(&*subarray.read()?, index(dim_idx), num)
    }

    fn tiledb_subarray_get_range_num_from_name(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_name: Text,
        num: Out<u64>,
    ) {
        let subarray = subarray.read()?;
        range_num(&subarray, subarray.idx_of(dim_name.get("dim_name")?)?, num)
    }

    fn tiledb_subarray_get_range(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        range_idx: u64,
        start: Out<*const c_void>,
        end: Out<*const c_void>,
        stride: Out<*const c_void>,
    ) {
        lend_range(subarray.slot()?, index(dim_idx), range_idx, (start, end, stride))
    }

    fn tiledb_subarray_get_range_from_name(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_name: Text,
        range_idx: u64,
        start: Out<*const c_void>,
        end: Out<*const c_void>,
        stride: Out<*const c_void>,
    ) {
        let idx = subarray.read()?.idx_of(dim_name.get("dim_name")?)?;
        lend_range(subarray.slot()?, idx, range_idx, (start, end, stride))
    }

    fn tiledb_subarray_get_range_var_size(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        range_idx: u64,
        start_size: Out<u64>,
        end_size: Out<u64>,
    ) {
        let (lo, hi) = text_ends(&*subarray.read()?, index(dim_idx), range_idx)?;
        start_size.put(count(lo.len()))?;
        end_size.put(count(hi.len()))
    }

    fn tiledb_subarray_get_range_var_size_from_name(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_name: Text,
        range_idx: u64,
        start_size: Out<u64>,
        end_size: Out<u64>,
    ) {
        let subarray = subarray.read()?;
        let (lo, hi) = text_ends(&subarray, subarray.idx_of(dim_name.get("dim_name")?)?, range_idx)?;
        start_size.put(count(lo.len()))?;
        end_size.put(count(hi.len()))
    }

    fn tiledb_subarray_get_range_var(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        range_idx: u64,
        start: DataOut,
        end: DataOut,
    ) {
        let (lo, hi) = text_ends(&*subarray.read()?, index(dim_idx), range_idx)?;
        start.put(&lo)?;
        end.put(&hi)
    }

    fn tiledb_subarray_get_range_var_from_name(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_name: Text,
        range_idx: u64,
        start: DataOut,
        end: DataOut,
    ) {
        let subarray = subarray.read()?;
        let (lo, hi) = text_ends(&subarray, subarray.idx_of(dim_name.get("dim_name")?)?, range_idx)?;
        start.put(&lo)?;
        end.put(&hi)
    }
}

free_entries! { tiledb_subarray_free: SubarrayHandle }
