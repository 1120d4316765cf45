//! Fields of queries: what an attribute, a dimension or an aggregate gives.

use super::QueryHandle;
use super::aggregates::{Channel, result_shape};
use super::operations::Operations;
use crate::boundary::entry::entries;
use crate::boundary::handle::kinds;
use crate::boundary::{In, New, Out, Text};
use crate::context::Context;
use crate::failure::fail;
use smalti::CellShape;
use std::sync::Arc;

/// A field.
#[derive(Debug)]
pub(crate) struct FieldHandle {
    shape: CellShape,
    origin: i32,
    operations: Arc<Operations>,
}

kinds! { FieldHandle => "tiledb_query_field_t" }

const ATTRIBUTE: i32 = 0;
const DIMENSION: i32 = 1;
const AGGREGATE: i32 = 2;

entries! {
    fn tiledb_query_get_field(ctx, query: In<QueryHandle>, field_name: Text, field: New<FieldHandle>) {
        let query = query.read()?;
        field.check()?;
        let name = field_name.get("field_name")?;
        let operations = Arc::clone(&query.aggregates);
        let (shape, origin) = match (query.shape(name), operations.named(name)) {
            (Some(shape), _) if query.schema.schema.dimension(name).is_some() => (shape, DIMENSION),
            (Some(shape), _) => (shape, ATTRIBUTE),
            (None, Some(aggregate)) => {
                let input = aggregate.field.as_deref().and_then(|name| query.shape(name));
                (result_shape(&aggregate, input), AGGREGATE)
            }
            (None, None) => return fail("C API", format!("There is no field {name}")),
        };
        field.put(FieldHandle { shape, origin, operations })
    }

    fn tiledb_query_field_free(ctx, field: New<FieldHandle>) {
        field.free()
    }

    fn tiledb_field_datatype(ctx, field: In<FieldHandle>, kind: Out<i32>) {
        kind.put(field.read()?.shape.datatype.tag().into())
    }

    fn tiledb_field_cell_val_num(ctx, field: In<FieldHandle>, cell_val_num: Out<u32>) {
        cell_val_num.put(field.read()?.shape.cell_val_num.raw())
    }

    fn tiledb_field_get_nullable(ctx, field: In<FieldHandle>, nullable: Out<u8>) {
        nullable.put(field.read()?.shape.is_nullable.into())
    }

    fn tiledb_field_origin(ctx, field: In<FieldHandle>, origin: Out<i32>) {
        origin.put(field.read()?.origin)
    }

    fn tiledb_field_channel(ctx, field: In<FieldHandle>, channel: New<Channel>) {
        channel.put(Channel(Arc::clone(&field.read()?.operations)))
    }
}
