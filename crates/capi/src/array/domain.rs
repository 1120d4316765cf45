//! Non-empty domains of arrays.

use super::{ArrayHandle, ORIGIN};
use crate::boundary::entry::entries;
use crate::boundary::handle::seen;
use crate::boundary::{DataOut, In, Out, Text};
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::values::{count, ends, index};
use smalti::Extent;
use smalti::format::Dimension;

/// The non-empty domain side by side with the dimensions.
fn sides(handle: &ArrayHandle, what: &str) -> Fallible<Option<Vec<(Dimension, Extent)>>> {
    let Some(open) = &handle.open else { return fail(ORIGIN, format!("[{what}] Array is not open")) };
    let Some(extents) = open.array.non_empty_extents()? else { return Ok(None) };
    let dimensions = seen(&open.schema).schema.dimensions.clone().into_iter();
    Ok(Some(dimensions.zip(extents).collect()))
}

fn dimension_idx(handle: &ArrayHandle, name: Text, is_var: bool) -> Fallible<usize> {
    let name = name.get("name")?;
    let what = "non_empty_domain_from_name";
    let Some(open) = &handle.open else { return fail(ORIGIN, format!("[{what}] Array is not open")) };
    let found = seen(&open.schema).schema.dimensions.iter().position(|dimension| dimension.name == name);
    match found {
        Some(idx) => check_kind(handle, idx, is_var).map(|()| idx),
        None => fail(ORIGIN, format!("Cannot get non-empty domain; Dimension name '{name}' does not exist")),
    }
}

fn check_kind(handle: &ArrayHandle, idx: usize, is_var: bool) -> Fallible<()> {
    let what = "non_empty_domain_from_index";
    let Some(open) = &handle.open else { return fail(ORIGIN, format!("[{what}] Array is not open")) };
    let Some(dimension) = seen(&open.schema).schema.dimensions.get(idx).cloned() else {
        return fail(ORIGIN, "Cannot get non-empty domain; Invalid dimension index");
    };
    let name = &dimension.name;
    match (dimension.cell_val_num.is_var(), is_var) {
        (true, false) => {
            fail(ORIGIN, format!("Cannot get non-empty domain; Dimension '{name}' is var-sized"))
        }
        (false, true) => {
            fail(ORIGIN, format!("Cannot get non-empty domain; Dimension '{name}' is fixed-sized"))
        }
        _ => Ok(()),
    }
}

fn side(handle: &ArrayHandle, idx: usize) -> Fallible<Option<(Vec<u8>, Vec<u8>)>> {
    let found = sides(handle, "non_empty_domain")?;
    let side = found.as_ref().and_then(|sides| sides.get(idx));
    Ok(side.map(|(dimension, extent)| ends(dimension.datatype, extent)))
}

fn put_fixed(handle: &ArrayHandle, idx: usize, domain: DataOut, is_empty: Out<i32>) -> Fallible<()> {
    match side(handle, idx)? {
        None => is_empty.put(1),
        Some((lo, hi)) => {
            domain.put(&[lo, hi].concat())?;
            is_empty.put(0)
        }
    }
}

fn put_sizes(
    handle: &ArrayHandle,
    idx: usize,
    start_size: Out<u64>,
    end_size: Out<u64>,
    is_empty: Out<i32>,
) -> Fallible<()> {
    let found = side(handle, idx)?;
    is_empty.put(found.is_none().into())?;
    let (lo, hi) = found.unwrap_or_default();
    start_size.put(count(lo.len()))?;
    end_size.put(count(hi.len()))
}

fn put_var(
    handle: &ArrayHandle,
    idx: usize,
    start: DataOut,
    end: DataOut,
    is_empty: Out<i32>,
) -> Fallible<()> {
    match side(handle, idx)? {
        None => is_empty.put(1),
        Some((lo, hi)) => {
            start.put(&lo)?;
            end.put(&hi)?;
            is_empty.put(0)
        }
    }
}

entries! {
    fn tiledb_array_get_non_empty_domain(
        ctx,
        array: In<ArrayHandle>,
        domain: DataOut,
        is_empty: Out<i32>,
    ) {
        let array = array.read()?;
        let Some(found) = sides(&array, "non_empty_domain")? else { return is_empty.put(1) };
        if found.iter().any(|(dimension, _)| dimension.cell_val_num.is_var()) {
            let words = "Function non-applicable to arrays with variable-sized dimensions";
            return fail("TileDB internal", format!("[non_empty_domain] {words}"));
        }
        let bytes: Vec<u8> = found
            .iter()
            .flat_map(|(dimension, extent)| {
                let (lo, hi) = ends(dimension.datatype, extent);
                [lo, hi].concat()
            })
            .collect();
        domain.put(&bytes)?;
        is_empty.put(0)
    }

    fn tiledb_array_get_non_empty_domain_from_index(
        ctx,
        array: In<ArrayHandle>,
        idx: u32,
        domain: DataOut,
        is_empty: Out<i32>,
    ) {
        let array = array.read()?;
        check_kind(&array, index(idx), false)?;
        put_fixed(&array, index(idx), domain, is_empty)
    }

    fn tiledb_array_get_non_empty_domain_from_name(
        ctx,
        array: In<ArrayHandle>,
        name: Text,
        domain: DataOut,
        is_empty: Out<i32>,
    ) {
        let array = array.read()?;
        put_fixed(&array, dimension_idx(&array, name, false)?, domain, is_empty)
    }

    fn tiledb_array_get_non_empty_domain_var_size_from_index(
        ctx,
        array: In<ArrayHandle>,
        idx: u32,
        start_size: Out<u64>,
        end_size: Out<u64>,
        is_empty: Out<i32>,
    ) {
        let array = array.read()?;
        check_kind(&array, index(idx), true)?;
        put_sizes(&array, index(idx), start_size, end_size, is_empty)
    }

    fn tiledb_array_get_non_empty_domain_var_size_from_name(
        ctx,
        array: In<ArrayHandle>,
        name: Text,
        start_size: Out<u64>,
        end_size: Out<u64>,
        is_empty: Out<i32>,
    ) {
        let array = array.read()?;
        put_sizes(&array, dimension_idx(&array, name, true)?, start_size, end_size, is_empty)
    }

    fn tiledb_array_get_non_empty_domain_var_from_index(
        ctx,
        array: In<ArrayHandle>,
        idx: u32,
        start: DataOut,
        end: DataOut,
        is_empty: Out<i32>,
    ) {
        let array = array.read()?;
        check_kind(&array, index(idx), true)?;
        put_var(&array, index(idx), start, end, is_empty)
    }

    fn tiledb_array_get_non_empty_domain_var_from_name(
        ctx,
        array: In<ArrayHandle>,
        name: Text,
        start: DataOut,
        end: DataOut,
        is_empty: Out<i32>,
    ) {
        let array = array.read()?;
        put_var(&array, dimension_idx(&array, name, true)?, start, end, is_empty)
    }
}
