//! The entries of schemas.

use super::current_domain::{CurrentDomainHandle, Rectangle};
use super::domain::Dimensions;
use super::enumeration::EnumerationHandle;
use super::state::ORIGIN;
use super::{SchemaHandle, dump};
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::{In, New, Out, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::names;
use crate::text::TextHandle;
use crate::values::{index, small_count};
use smalti::format::{Attribute, CurrentDomain};
use smalti::{ArrayType, FilterPipeline, Layout};

fn array_type(number: i32) -> Fallible<ArrayType> {
    match number {
        0 => Ok(ArrayType::Dense),
        1 => Ok(ArrayType::Sparse),
        _ => fail("C API", format!("Invalid array type ({number})")),
    }
}

entries! {
    fn tiledb_array_schema_alloc(ctx, kind: i32, array_schema: New<SchemaHandle>) {
        array_schema.check()?;
        array_schema.put(SchemaHandle::new(array_type(kind)?, None))
    }

    fn tiledb_array_schema_alloc_at_timestamp(
        ctx,
        kind: i32,
        timestamp: u64,
        array_schema: New<SchemaHandle>,
    ) {
        array_schema.check()?;
        if timestamp == 0 {
            return fail("C API", "timestamp cannot be 0");
        }
        array_schema.put(SchemaHandle::new(array_type(kind)?, Some(timestamp)))
    }

    fn tiledb_array_schema_add_attribute(ctx, array_schema: In<SchemaHandle>, attr: In<Attribute>) {
        let attribute = attr.read()?.clone();
        array_schema.write()?.add_attribute(attribute)
    }

    fn tiledb_array_schema_set_allows_dups(ctx, array_schema: In<SchemaHandle>, allows_dups: i32) {
        let mut schema = array_schema.write()?;
        if allows_dups != 0 && schema.schema.array_type == ArrayType::Dense {
            return fail(ORIGIN, "Dense arrays cannot allow coordinate duplicates");
        }
        schema.schema.allows_dups = allows_dups != 0;
        Ok(())
    }

    fn tiledb_array_schema_get_allows_dups(ctx, array_schema: In<SchemaHandle>, allows_dups: Out<i32>) {
        allows_dups.put(array_schema.read()?.schema.allows_dups.into())
    }

    fn tiledb_array_schema_get_version(ctx, array_schema: In<SchemaHandle>, version: Out<u32>) {
        version.put(array_schema.read()?.schema.version.number())
    }

    fn tiledb_array_schema_set_domain(ctx, array_schema: In<SchemaHandle>, domain: In<Dimensions>) {
        let dimensions = domain.read()?.list();
        array_schema.write()?.set_domain(dimensions)
    }

    fn tiledb_array_schema_set_capacity(ctx, array_schema: In<SchemaHandle>, capacity: u64) {
        let mut schema = array_schema.write()?;
        if schema.schema.array_type == ArrayType::Sparse && capacity == 0 {
            return fail(ORIGIN, "Sparse arrays cannot have their capacity equal to zero.");
        }
        schema.schema.capacity = capacity;
        Ok(())
    }

    fn tiledb_array_schema_set_cell_order(ctx, array_schema: In<SchemaHandle>, cell_order: i32) {
        let mut schema = array_schema.write()?;
        let order = names::layout(cell_order)?;
        match order {
            Layout::Hilbert if schema.schema.array_type == ArrayType::Dense => {
                return fail(
                    ORIGIN,
                    "Cannot set cell order; Hilbert order is only applicable to sparse arrays",
                );
            }
            Layout::Unordered | Layout::GlobalOrder => {
                return fail(
                    ORIGIN,
                    "Cannot set cell order; Cannot create ArraySchema with UNORDERED cell order",
                );
            }
            _ => {}
        }
        schema.schema.cell_order = order;
        Ok(())
    }

    fn tiledb_array_schema_set_tile_order(ctx, array_schema: In<SchemaHandle>, tile_order: i32) {
        let order = names::layout(tile_order)?;
        match order {
            Layout::Hilbert => {
                return fail(ORIGIN, "Cannot set tile order; Hilbert order is not applicable to tiles");
            }
            Layout::Unordered | Layout::GlobalOrder => {
                return fail(
                    ORIGIN,
                    "Cannot set tile order; Cannot create ArraySchema with UNORDERED tile order",
                );
            }
            _ => {}
        }
        array_schema.write()?.schema.tile_order = order;
        Ok(())
    }

    fn tiledb_array_schema_timestamp_range(
        ctx,
        array_schema: In<SchemaHandle>,
        lo: Out<u64>,
        hi: Out<u64>,
    ) {
        let timestamp = array_schema.read()?.timestamp.unwrap_or(0);
        lo.put(timestamp)?;
        hi.put(timestamp)
    }

    fn tiledb_array_schema_set_coords_filter_list(
        ctx,
        array_schema: In<SchemaHandle>,
        filter_list: In<FilterPipeline>,
    ) {
        let filters = filter_list.read()?.clone();
        array_schema.write()?.schema.coords_filters = filters;
        Ok(())
    }

    fn tiledb_array_schema_set_offsets_filter_list(
        ctx,
        array_schema: In<SchemaHandle>,
        filter_list: In<FilterPipeline>,
    ) {
        let filters = filter_list.read()?.clone();
        array_schema.write()?.schema.offsets_filters = filters;
        Ok(())
    }

    fn tiledb_array_schema_set_validity_filter_list(
        ctx,
        array_schema: In<SchemaHandle>,
        filter_list: In<FilterPipeline>,
    ) {
        let filters = filter_list.read()?.clone();
        array_schema.write()?.schema.validity_filters = filters;
        Ok(())
    }

    fn tiledb_array_schema_check(ctx, array_schema: In<SchemaHandle>) {
        array_schema.read()?.build().map(|_| ())
    }

    fn tiledb_array_schema_get_array_type(ctx, array_schema: In<SchemaHandle>, kind: Out<i32>) {
        kind.put(array_schema.read()?.schema.array_type as i32)
    }

    fn tiledb_array_schema_get_capacity(ctx, array_schema: In<SchemaHandle>, capacity: Out<u64>) {
        capacity.put(array_schema.read()?.schema.capacity)
    }

    fn tiledb_array_schema_get_cell_order(ctx, array_schema: In<SchemaHandle>, cell_order: Out<i32>) {
        cell_order.put(array_schema.read()?.schema.cell_order.tag().into())
    }

    fn tiledb_array_schema_get_tile_order(ctx, array_schema: In<SchemaHandle>, tile_order: Out<i32>) {
        tile_order.put(array_schema.read()?.schema.tile_order.tag().into())
    }

    fn tiledb_array_schema_get_coords_filter_list(
        ctx,
        array_schema: In<SchemaHandle>,
        filter_list: New<FilterPipeline>,
    ) {
        filter_list.put(array_schema.read()?.schema.coords_filters.clone())
    }

    fn tiledb_array_schema_get_offsets_filter_list(
        ctx,
        array_schema: In<SchemaHandle>,
        filter_list: New<FilterPipeline>,
    ) {
        filter_list.put(array_schema.read()?.schema.offsets_filters.clone())
    }

    fn tiledb_array_schema_get_validity_filter_list(
        ctx,
        array_schema: In<SchemaHandle>,
        filter_list: New<FilterPipeline>,
    ) {
        filter_list.put(array_schema.read()?.schema.validity_filters.clone())
    }

    fn tiledb_array_schema_get_domain(
        ctx,
        array_schema: In<SchemaHandle>,
        domain: New<Dimensions>,
    ) {
        domain.put(Dimensions::of(&array_schema.read()?.schema.dimensions))
    }

    fn tiledb_array_schema_get_attribute_num(
        ctx,
        array_schema: In<SchemaHandle>,
        attribute_num: Out<u32>,
    ) {
        attribute_num.put(small_count(array_schema.read()?.schema.attributes.len()))
    }

    fn tiledb_array_schema_get_attribute_from_index(
        ctx,
        array_schema: In<SchemaHandle>,
        number: u32,
        attr: New<Attribute>,
    ) {
        let schema = array_schema.read()?;
        attr.check()?;
        let count = schema.schema.attributes.len();
        if count == 0 {
            return attr.put_null();
        }
        match schema.schema.attributes.get(index(number)) {
            Some(found) => attr.put(found.clone()),
            None => fail(
                "C API",
                format!(
                    "Attribute index: {number} out of bounds given {count} attributes in array {}",
                    schema.array_uri()
                ),
            ),
        }
    }

    fn tiledb_array_schema_get_attribute_from_name(
        ctx,
        array_schema: In<SchemaHandle>,
        name: Text,
        attr: New<Attribute>,
    ) {
        let schema = array_schema.read()?;
        attr.check()?;
        let Some(name) = name.optional()? else {
            return fail("C API", "'attribute_name' must not be null");
        };
        if schema.schema.attributes.is_empty() {
            return attr.put_null();
        }
        attr.put(schema.attribute(name)?.clone())
    }

    fn tiledb_array_schema_has_attribute(
        ctx,
        array_schema: In<SchemaHandle>,
        name: Text,
        has_attr: Out<i32>,
    ) {
        let name = name.get("name")?;
        has_attr.put(array_schema.read()?.attribute(name).is_ok().into())
    }

    fn tiledb_array_schema_dump_str(ctx, array_schema: In<SchemaHandle>, out: New<TextHandle>) {
        out.put(TextHandle(dump::schema(&*array_schema.read()?)))
    }

    fn tiledb_array_schema_add_enumeration(
        ctx,
        array_schema: In<SchemaHandle>,
        enumeration: In<EnumerationHandle>,
    ) {
        let enumeration = enumeration.read()?.clone();
        array_schema.write()?.add_enumeration(enumeration)
    }

    fn tiledb_array_schema_get_enumeration_from_name(
        ctx,
        array_schema: In<SchemaHandle>,
        enumeration_name: Text,
        enumeration: New<EnumerationHandle>,
    ) {
        enumeration.check()?;
        let Some(name) = enumeration_name.optional()? else {
            return fail("C API", "'enumeration_name' must not be null");
        };
        enumeration.put(array_schema.write()?.enumeration(name)?.clone())
    }

    fn tiledb_array_schema_get_enumeration_from_attribute_name(
        ctx,
        array_schema: In<SchemaHandle>,
        attribute_name: Text,
        enumeration: New<EnumerationHandle>,
    ) {
        enumeration.check()?;
        let Some(name) = attribute_name.optional()? else {
            return fail("C API", "'attribute_name' must not be null");
        };
        let mut schema = array_schema.write()?;
        match schema.attribute(name)?.enumeration.clone() {
            Some(found) => enumeration.put(schema.enumeration(&found)?.clone()),
            None => enumeration.put_null(),
        }
    }

    fn tiledb_array_schema_set_current_domain(
        ctx,
        array_schema: In<SchemaHandle>,
        current_domain: In<CurrentDomainHandle>,
    ) {
        let sides = current_domain.read()?.0.as_ref().map(|rectangle| rectangle.sides.clone());
        let mut schema = array_schema.write()?;
        match sides {
            Some(sides) => schema.set_current_domain(sides),
            None => {
                schema.schema.current_domain = CurrentDomain::Empty;
                Ok(())
            }
        }
    }

    fn tiledb_array_schema_get_current_domain(
        ctx,
        array_schema: In<SchemaHandle>,
        current_domain: New<CurrentDomainHandle>,
    ) {
        let schema = array_schema.read()?;
        let rectangle = schema.schema.current_domain.rectangle().map(|extents| Rectangle {
            dimensions: schema.schema.dimensions.clone(),
            sides: extents.iter().cloned().map(Some).collect(),
        });
        current_domain.put(CurrentDomainHandle(rectangle))
    }

    fn tiledb_array_schema_load(ctx, array_uri: Text, array_schema: New<SchemaHandle>) {
        array_schema.check()?;
        let array = smalti::Array::open_with(&crate::uris::inner(array_uri.get("array_uri")?), &ctx.options(None)?);
        let array = array.map_err(Failure::of_opening("ArraySchema"))?;
        array_schema.put(SchemaHandle::of_array(&array))
    }

    fn tiledb_array_schema_load_with_config(
        ctx,
        config: In<crate::config::Config>,
        array_uri: Text,
        array_schema: New<SchemaHandle>,
    ) {
        array_schema.check()?;
        let config = if config.is_null() { None } else { Some(config.read()?) };
        let options = ctx.options(config.as_deref())?;
        let array = smalti::Array::open_with(&crate::uris::inner(array_uri.get("array_uri")?), &options);
        let array = array.map_err(Failure::of_opening("ArraySchema"))?;
        array_schema.put(SchemaHandle::of_array(&array))
    }
}

free_entries! { tiledb_array_schema_free: SchemaHandle }
