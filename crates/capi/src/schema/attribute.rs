//! Attributes.

use super::dump;
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{Data, In, New, Out, OutText, Text};
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::names;
use crate::text::TextHandle;
use crate::values::count;
use smalti::format::{Attribute, DataOrder, default_fill_value};
use smalti::{CellValNum, Datatype, FilterPipeline};
use std::ffi::c_void;

kinds! { Attribute => "attribute" }

const ORIGIN: &str = "Attribute";

fn usual_cell_val_num(datatype: Datatype) -> CellValNum {
    if datatype == Datatype::Any { CellValNum::Var } else { CellValNum::ONE }
}

fn new(name: &str, datatype: Datatype) -> Attribute {
    let cell_val_num = usual_cell_val_num(datatype);
    Attribute {
        name: name.to_owned(),
        datatype,
        cell_val_num,
        filters: FilterPipeline::default(),
        fill_value: default_fill_value(datatype, cell_val_num),
        nullable: false,
        fill_valid: false,
        order: DataOrder::Unordered,
        enumeration: None,
    }
}

/// Bytes of a cell, or the most there are where cells vary.
fn cell_size(attribute: &Attribute) -> u64 {
    let values = attribute.cell_val_num.fixed();
    values.map_or(u64::MAX, |values| count(values.saturating_mul(attribute.datatype.byte_len())))
}

fn set_fill(attribute: &mut Attribute, value: Data, size: u64, valid: Option<u8>) -> Fallible<()> {
    let bad = |what: &str| fail(ORIGIN, format!("Cannot set fill value; {what}"));
    if value.is_null() {
        return bad("Input value cannot be null");
    }
    if size == 0 {
        return bad("Input size cannot be 0");
    }
    if valid.is_none() && attribute.nullable {
        return bad("Attribute is nullable");
    }
    if valid.is_some() && !attribute.nullable {
        return bad("Attribute is not nullable");
    }
    if !attribute.cell_val_num.is_var() && size != cell_size(attribute) {
        return bad("Input size is not the same as cell size");
    }
    attribute.fill_value = value.bytes(size, "value")?.to_vec();
    attribute.fill_valid = valid.is_some_and(|valid| valid != 0);
    Ok(())
}

entries! {
    fn tiledb_attribute_alloc(ctx, name: Text, kind: i32, attr: New<Attribute>) {
        attr.check()?;
        let Some(name) = name.optional()? else { return fail("C API", "Argument \"name\" may not be NULL") };
        attr.put(new(name, names::datatype(kind)?))
    }

    fn tiledb_attribute_set_nullable(ctx, attr: In<Attribute>, nullable: u8) {
        let mut attr = attr.write()?;
        if nullable != 0 && attr.order != DataOrder::Unordered {
            return fail(ORIGIN, "Cannot set to nullable; An ordered attribute cannot be nullable.");
        }
        attr.nullable = nullable != 0;
        Ok(())
    }

    fn tiledb_attribute_set_filter_list(ctx, attr: In<Attribute>, filter_list: In<FilterPipeline>) {
        let filters = filter_list.read()?.clone();
        let mut attr = attr.write()?;
        super::filters_fit::check(&filters, attr.datatype, attr.cell_val_num)?;
        attr.filters = filters;
        Ok(())
    }

    fn tiledb_attribute_set_cell_val_num(ctx, attr: In<Attribute>, cell_val_num: u32) {
        let mut attr = attr.write()?;
        if attr.datatype == Datatype::Any && cell_val_num != u32::MAX {
            let words = "Attribute datatype `ANY` is always variable-sized";
            return fail(ORIGIN, format!("Cannot set number of values per cell; {words}"));
        }
        let Some(given) = CellValNum::from_raw(cell_val_num) else {
            return fail(ORIGIN, "Cannot set zero values per cell");
        };
        attr.cell_val_num = given;
        attr.fill_value = default_fill_value(attr.datatype, given);
        Ok(())
    }

    fn tiledb_attribute_get_name(ctx, attr: In<Attribute>, name: OutText) {
        let slot = attr.slot()?;
        name.put(slot.lend_text(&slot.read().name))
    }

    fn tiledb_attribute_get_type(ctx, attr: In<Attribute>, kind: Out<i32>) {
        kind.put(attr.read()?.datatype.tag().into())
    }

    fn tiledb_attribute_get_nullable(ctx, attr: In<Attribute>, nullable: Out<u8>) {
        nullable.put(attr.read()?.nullable.into())
    }

    fn tiledb_attribute_get_filter_list(ctx, attr: In<Attribute>, filter_list: New<FilterPipeline>) {
        filter_list.put(attr.read()?.filters.clone())
    }

    fn tiledb_attribute_get_cell_val_num(ctx, attr: In<Attribute>, cell_val_num: Out<u32>) {
        cell_val_num.put(attr.read()?.cell_val_num.raw())
    }

    fn tiledb_attribute_get_cell_size(ctx, attr: In<Attribute>, size: Out<u64>) {
        size.put(cell_size(&*attr.read()?))
    }

    fn tiledb_attribute_dump_str(ctx, attr: In<Attribute>, out: New<TextHandle>) {
        out.put(TextHandle(dump::attribute(&*attr.read()?)))
    }

    fn tiledb_attribute_set_fill_value(ctx, attr: In<Attribute>, value: Data, size: u64) {
        set_fill(&mut *attr.write()?, value, size, None)
    }

    fn tiledb_attribute_get_fill_value(ctx, attr: In<Attribute>, value: Out<*const c_void>, size: Out<u64>) {
        let slot = attr.slot()?;
        let attr = slot.read();
        if attr.nullable {
            return fail(ORIGIN, "Cannot get fill value; Attribute is nullable");
        }
        value.put(slot.lend(&attr.fill_value))?;
        size.put(count(attr.fill_value.len()))
    }

    fn tiledb_attribute_set_fill_value_nullable(
        ctx,
        attr: In<Attribute>,
        value: Data,
        size: u64,
        validity: u8,
    ) {
        set_fill(&mut *attr.write()?, value, size, Some(validity))
    }

    fn tiledb_attribute_get_fill_value_nullable(
        ctx,
        attr: In<Attribute>,
        value: Out<*const c_void>,
        size: Out<u64>,
        valid: Out<u8>,
    ) {
        let slot = attr.slot()?;
        let attr = slot.read();
        if !attr.nullable {
            return fail(ORIGIN, "Cannot get fill value; Attribute is not nullable");
        }
        value.put(slot.lend(&attr.fill_value))?;
        size.put(count(attr.fill_value.len()))?;
        valid.put(attr.fill_valid.into())
    }

    fn tiledb_attribute_set_enumeration_name(ctx, attr: In<Attribute>, enumeration_name: Text) {
        let name = enumeration_name.get("enumeration_name")?;
        if name.is_empty() {
            return fail(ORIGIN, "Invalid enumeration name, name must not be empty.");
        }
        attr.write()?.enumeration = Some(name.to_owned());
        Ok(())
    }

    fn tiledb_attribute_get_enumeration_name(ctx, attr: In<Attribute>, name: New<TextHandle>) {
        match &attr.read()?.enumeration {
            Some(found) => name.put(TextHandle(found.clone())),
            None => name.put_null(),
        }
    }
}

free_entries! { tiledb_attribute_free: Attribute }
