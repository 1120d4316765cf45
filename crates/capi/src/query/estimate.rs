//! How large results are going to be: exact for fields of a fixed size in dense arrays, an upper bound otherwise.

use super::QueryHandle;
use super::state::ORIGIN;
use crate::boundary::entry::entries;
use crate::boundary::{In, Out, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::values::count;
use smalti::Count;

/// The sizes of the buffers of a field, in bytes.
struct Sizes {
    offsets: u64,
    data: u64,
    validity: u64,
}

fn sizes(query: &mut QueryHandle, name: Text, is_var: bool, is_nullable: bool) -> Fallible<Sizes> {
    let name = name.get("name")?;
    let bad = |what: &str| fail(ORIGIN, format!("query estimated result size: {what}"));
    if query.mode != crate::array::READ {
        return bad("operation currently supported only for read queries");
    }
    let Some(shape) = query.shape(name) else { return bad(&format!("'{name}' is not an array field")) };
    if shape.is_var() && !is_var {
        return bad(&format!("'{name}' is not fixed-sized"));
    }
    if !shape.is_var() && is_var {
        return bad(&format!("'{name}' is not variable-sized"));
    }
    if shape.is_nullable && !is_nullable {
        return bad(&format!("field '{name}' is not a nonnull array field"));
    }
    if !shape.is_nullable && is_nullable {
        return bad(&format!("attribute '{name}' is not nullable"));
    }
    let request = query.request(vec![name.to_owned()])?;
    let scan = query.array.scan_raw(&request).map_err(Failure::of(ORIGIN))?;
    let cells = scan.cell_count().most();
    if !shape.is_var() {
        return Ok(Sizes {
            offsets: 0,
            data: cells.saturating_mul(count(shape.cell_byte_len())),
            validity: cells,
        });
    }
    let bytes = scan.byte_len()?.map_or(0, Count::most);
    let data = if cells == 0 { 0 } else { bytes.max(cells) };
    Ok(Sizes { offsets: cells.saturating_mul(8), data, validity: cells })
}

entries! {
    fn tiledb_query_get_est_result_size(ctx, query: In<QueryHandle>, name: Text, size: Out<u64>) {
        size.put(sizes(&mut *query.write()?, name, false, false)?.data)
    }

    fn tiledb_query_get_est_result_size_var(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        size_off: Out<u64>,
        size_val: Out<u64>,
    ) {
        let found = sizes(&mut *query.write()?, name, true, false)?;
        size_off.put(found.offsets)?;
        size_val.put(found.data)
    }

    fn tiledb_query_get_est_result_size_nullable(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        size_val: Out<u64>,
        size_validity: Out<u64>,
    ) {
        let found = sizes(&mut *query.write()?, name, false, true)?;
        size_val.put(found.data)?;
        size_validity.put(found.validity)
    }

    fn tiledb_query_get_est_result_size_var_nullable(
        ctx,
        query: In<QueryHandle>,
        name: Text,
        size_off: Out<u64>,
        size_val: Out<u64>,
        size_validity: Out<u64>,
    ) {
        let found = sizes(&mut *query.write()?, name, true, true)?;
        size_off.put(found.offsets)?;
        size_val.put(found.data)?;
        size_validity.put(found.validity)
    }

    fn tiledb_query_get_relevant_fragment_num(ctx, query: In<QueryHandle>, number: Out<u64>) {
        let mut query = query.write()?;
        let request = query.request(Vec::new())?;
        let explained = query.array.explain_raw(&request).map_err(Failure::of(ORIGIN))?;
        let is_read = |fate: smalti::FragmentFate| fate == smalti::FragmentFate::Read;
        number.put(count(explained.fragments.iter().filter(|fragment| is_read(fragment.fate)).count()))
    }
}
