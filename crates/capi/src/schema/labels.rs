//! Dimension labels.

use super::SchemaHandle;
use super::dimension::check_datatype;
use super::state::ORIGIN;
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{Data, In, New, Out, OutText, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::names;
use crate::values::{count, index};
use smalti::format::{ArraySchema, DataOrder, DimensionLabel};
use smalti::{CellValNum, Datatype, FilterPipeline, Scalar};

/// A label, and the URI that is told of it.
#[derive(Debug)]
pub(crate) struct LabelHandle(DimensionLabel, String);

kinds! { LabelHandle => "dimension label" }

impl SchemaHandle {
    fn add_label(&mut self, dim_idx: u32, name: &str, order: DataOrder, datatype: Datatype) -> Fallible<()> {
        let add = |what: String| fail(ORIGIN, format!("Cannot add {what}"));
        if order == DataOrder::Unordered {
            return add("dimension label; Unordered dimension labels are not yet supported.".into());
        }
        if self.schema.dimensions.is_empty() {
            return add("dimension label; Must set domain before adding dimension labels.".into());
        }
        if index(dim_idx) >= self.schema.dimensions.len() {
            return add(format!("a label to dimension {dim_idx}; Invalid dimension index. "));
        }
        let taken = |what: &str| {
            add(format!("a dimension label with name '{name}'. {what} with that name already exists."))
        };
        if self.schema.attributes.iter().any(|item| item.name == name) {
            return taken("An attribute");
        }
        if self.schema.dimensions.iter().any(|item| item.name == name) {
            return taken("A dimension");
        }
        if self.schema.dimension_labels.iter().any(|item| item.name == name) {
            return taken("A different label");
        }
        check_datatype(datatype).map_err(|failure| {
            Failure::told(ORIGIN, format!("Failed to add dimension label '{name}'. ({failure})"))
        })?;
        let label = DimensionLabel {
            dimension_idx: dim_idx,
            name: name.to_owned(),
            uri_is_relative: true,
            uri: format!("__labels/l{}", self.schema.dimension_labels.len()),
            attribute: "label".to_owned(),
            order,
            datatype,
            cell_val_num: if datatype == Datatype::StringAscii { CellValNum::Var } else { CellValNum::ONE },
            is_external: false,
        };
        let array = self.schema.label_array(&label).map_err(|error| {
            Failure::told(ORIGIN, format!("Failed to add dimension label '{name}'. {error}"))
        })?;
        self.schema.dimension_labels.push(label);
        self.labels.push(array);
        Ok(())
    }

    /// Where a label's array is: beside the others in the array, once there is one.
    fn label_uri(&self, label: &DimensionLabel) -> String {
        match &self.array {
            Some(array) if label.uri_is_relative => {
                format!("{}/{}", crate::uris::shown(&array.uri()).trim_end_matches('/'), label.uri)
            }
            _ => label.uri.clone(),
        }
    }

    fn label_schema(&mut self, name: &str, what: &str) -> Fallible<&mut ArraySchema> {
        let idx = self.schema.dimension_labels.iter().position(|label| label.name == name);
        idx.and_then(|idx| self.labels.get_mut(idx)).ok_or_else(|| {
            Failure::told(
                ORIGIN,
                format!("Cannot set {what} for dimension label '{name}'; No dimension label schema is set."),
            )
        })
    }
}

fn order_of(number: i32) -> Fallible<DataOrder> {
    match number {
        0 => Ok(DataOrder::Unordered),
        1 => Ok(DataOrder::Increasing),
        2 => Ok(DataOrder::Decreasing),
        _ => fail("C API", format!("Invalid data order ({number})")),
    }
}

entries! {
    fn tiledb_array_schema_add_dimension_label(
        ctx,
        array_schema: In<SchemaHandle>,
        dim_index: u32,
        name: Text,
        label_order: i32,
        label_type: i32,
    ) {
        let datatype = names::datatype(label_type)?;
        array_schema.write()?.add_label(dim_index, name.get("name")?, order_of(label_order)?, datatype)
    }

    fn tiledb_array_schema_get_dimension_label_from_name(
        ctx,
        array_schema: In<SchemaHandle>,
        label_name: Text,
        dim_label: New<LabelHandle>,
    ) {
        let name = label_name.get("label_name")?;
        let schema = array_schema.read()?;
        match schema.schema.dimension_labels.iter().find(|label| label.name == name) {
            Some(label) => dim_label.put(LabelHandle(label.clone(), schema.label_uri(label))),
            None => fail(
                ORIGIN,
                format!("Unable to get dimension label reference; No dimension label named '{name}'."),
            ),
        }
    }

    fn tiledb_array_schema_has_dimension_label(
        ctx,
        array_schema: In<SchemaHandle>,
        name: Text,
        has_dim_label: Out<i32>,
    ) {
        let name = name.get("name")?;
        let schema = array_schema.read()?;
        has_dim_label.put(schema.schema.dimension_labels.iter().any(|label| label.name == name).into())
    }

    fn tiledb_array_schema_set_dimension_label_filter_list(
        ctx,
        array_schema: In<SchemaHandle>,
        label_name: Text,
        filter_list: In<FilterPipeline>,
    ) {
        let filters = filter_list.read()?.clone();
        let mut schema = array_schema.write()?;
        let array = schema.label_schema(label_name.get("label_name")?, "filter pipeline")?;
        array.attributes.iter_mut().for_each(|attribute| attribute.filters = filters.clone());
        Ok(())
    }

    fn tiledb_array_schema_set_dimension_label_tile_extent(
        ctx,
        array_schema: In<SchemaHandle>,
        label_name: Text,
        kind: i32,
        tile_extent: Data,
    ) {
        let (name, given) = (label_name.get("label_name")?, names::datatype(kind)?);
        let mut schema = array_schema.write()?;
        let array = schema.label_schema(name, "tile extent")?;
        let Some(dimension) = array.dimensions.first_mut() else { return Ok(()) };
        if dimension.datatype != given {
            let (has, gave) = (dimension.datatype.name(), given.name());
            return fail(
                ORIGIN,
                format!(
                    "Cannot set tile extent for dimension label '{name}; The dimension the label is set on has type \
                     '{has}'which does not match the provided datatype '{gave}"
                ),
            );
        }
        let bytes = tile_extent.bytes(count(given.byte_len()), "tile_extent")?;
        dimension.tile_extent = Some(Scalar::read(given, bytes)?);
        Ok(())
    }

    fn tiledb_array_schema_get_dimension_label_num(
        ctx,
        array_schema: In<SchemaHandle>,
        dim_label_num: Out<u64>,
    ) {
        dim_label_num.put(count(array_schema.read()?.schema.dimension_labels.len()))
    }

    fn tiledb_array_schema_get_dimension_label_from_index(
        ctx,
        array_schema: In<SchemaHandle>,
        dim_label_index: u64,
        dim_label: New<LabelHandle>,
    ) {
        let schema = array_schema.read()?;
        match schema.schema.dimension_labels.get(index(dim_label_index)) {
            Some(label) => dim_label.put(LabelHandle(label.clone(), schema.label_uri(label))),
            None => fail(ORIGIN, format!("There is no dimension label {dim_label_index}")),
        }
    }

    fn tiledb_dimension_label_get_dimension_index(
        ctx,
        dim_label: In<LabelHandle>,
        dim_index: Out<u32>,
    ) {
        dim_index.put(dim_label.read()?.0.dimension_idx)
    }

    fn tiledb_dimension_label_get_label_attr_name(ctx, dim_label: In<LabelHandle>, name: OutText) {
        let slot = dim_label.slot()?;
        name.put(slot.lend_text(&slot.read().0.attribute))
    }

    fn tiledb_dimension_label_get_label_cell_val_num(
        ctx,
        dim_label: In<LabelHandle>,
        cell_val_num: Out<u32>,
    ) {
        cell_val_num.put(dim_label.read()?.0.cell_val_num.raw())
    }

    fn tiledb_dimension_label_get_label_order(ctx, dim_label: In<LabelHandle>, order: Out<i32>) {
        order.put(match dim_label.read()?.0.order {
            DataOrder::Unordered => 0,
            DataOrder::Increasing => 1,
            DataOrder::Decreasing => 2,
        })
    }

    fn tiledb_dimension_label_get_label_type(ctx, dim_label: In<LabelHandle>, kind: Out<i32>) {
        kind.put(dim_label.read()?.0.datatype.tag().into())
    }

    fn tiledb_dimension_label_get_name(ctx, dim_label: In<LabelHandle>, name: OutText) {
        let slot = dim_label.slot()?;
        name.put(slot.lend_text(&slot.read().0.name))
    }

    fn tiledb_dimension_label_get_uri(ctx, dim_label: In<LabelHandle>, uri: OutText) {
        let slot = dim_label.slot()?;
        uri.put(slot.lend_text(&slot.read().1))
    }
}

free_entries! { tiledb_dimension_label_free: LabelHandle }
