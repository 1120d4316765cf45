//! Schemas and their parts as text, in libtiledb's form, which clients show and compare.

use super::SchemaHandle;
use crate::filters::dump as filters;
use crate::values::{interval, number, shown};
use smalti::format::{Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration};
use smalti::{ArrayType, CellValNum, Extent};
use std::fmt::Write;

fn values_per_cell(cell_val_num: CellValNum) -> String {
    if cell_val_num.is_var() { "var".to_owned() } else { cell_val_num.raw().to_string() }
}

/// An attribute.
pub(super) fn attribute(attribute: &Attribute) -> String {
    let width = attribute.datatype.byte_len();
    let fill = attribute.fill_value.chunks(width).map(|value| shown(attribute.datatype, value));
    let fill = fill.collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "### Attribute ###\n- Name: {}\n- Type: {}\n- Nullable: {}\n- Cell val num: {}\n- Filters: {}\n- Fill value: {fill}",
        attribute.name,
        attribute.datatype.name(),
        attribute.nullable,
        values_per_cell(attribute.cell_val_num),
        filters(&attribute.filters),
    );
    let mut line = |what: &str, value: String| {
        let _ = write!(text, "\n- {what}: {value}");
    };
    if attribute.nullable {
        line("Fill value validity", u8::from(attribute.fill_valid).to_string());
    }
    match attribute.order {
        DataOrder::Unordered => {}
        DataOrder::Increasing => line("Data ordering", "increasing".into()),
        DataOrder::Decreasing => line("Data ordering", "decreasing".into()),
    }
    if let Some(name) = &attribute.enumeration {
        line("Enumeration name", name.clone());
    }
    text.push('\n');
    text
}

/// A dimension.
pub(super) fn dimension(dimension: &Dimension) -> String {
    let domain = match dimension.domain {
        Some((lo, hi)) => format!("[{}, {}]", number(lo), number(hi)),
        None => "null".to_owned(),
    };
    format!(
        "### Dimension ###\n- Name: {}\n- Type: {}\n- Cell val num: {}\n- Domain: {domain}\n- Tile extent: {}\n\
         - Filters: {}\n",
        dimension.name,
        dimension.datatype.name(),
        values_per_cell(dimension.cell_val_num),
        dimension.tile_extent.map_or("null".to_owned(), number),
        filters(&dimension.filters),
    )
}

/// A domain: its dimensions, an empty line before each.
pub(super) fn domain(dimensions: &[Dimension]) -> String {
    dimensions.iter().map(|item| format!("\n{}", dimension(item))).collect()
}

/// An enumeration.
pub(super) fn enumeration(enumeration: &Enumeration) -> String {
    format!(
        "### Enumeration ###\n- Name: {}\n- Type: {}\n- Cell Val Num: {}\n- Ordered: {}\n- Element Count: {}\n",
        enumeration.name,
        enumeration.datatype.name(),
        enumeration.cell_val_num.raw(),
        enumeration.is_ordered,
        enumeration.element_count(),
    )
}

/// A dimension label.
fn label(label: &DimensionLabel) -> String {
    format!(
        "### Dimension Label ###\n- Dimension Index: {}\n- Dimension Label Name: {}\n- URI: {}\n\
         - Label Attribute Name: {}\n- Label Type: {}\n- Label cell val num: {}\n",
        label.dimension_idx,
        label.name,
        label.uri,
        label.name,
        label.datatype.name(),
        values_per_cell(label.cell_val_num),
    )
}

/// A current domain of dimensions of these types.
pub(super) fn current_domain(rectangle: Option<&[Extent]>, dimensions: &[Dimension]) -> String {
    let Some(extents) = rectangle else {
        return "### Current domain ###\n- Version: 0\n- Empty: 1\n".to_owned();
    };
    let mut text = "### Current domain ###\n- Version: 0\n- Empty: 0\n- Type: NDRECTANGLE\n".to_owned();
    text.push_str(&rectangle_text(&extents.iter().map(Some).collect::<Vec<_>>(), dimensions));
    text
}

/// A rectangle of dimensions of these types, of which some sides may not be set.
pub(super) fn rectangle_text(extents: &[Option<&Extent>], dimensions: &[Dimension]) -> String {
    let mut text = " - NDRectangle ###\n".to_owned();
    for (extent, dimension) in extents.iter().zip(dimensions) {
        let side = extent.map_or("null".to_owned(), |extent| interval(dimension.datatype, extent));
        let _ = writeln!(text, "  - {side}");
    }
    text
}

/// A whole schema.
pub(super) fn schema(handle: &SchemaHandle) -> String {
    let schema = &handle.schema;
    let mut text = format!(
        "- Array type: {}\n- Cell order: {}\n- Tile order: {}\n- Capacity: {}\n- Allows duplicates: {}\n\
         - Coordinates filters: {}\n- Offsets filters: {}\n- Validity filters: {}",
        if schema.array_type == ArrayType::Dense { "dense" } else { "sparse" },
        schema.cell_order.name(),
        schema.tile_order.name(),
        schema.capacity,
        schema.allows_dups,
        filters(&schema.coords_filters),
        filters(&schema.offsets_filters),
        filters(&schema.validity_filters),
    );
    if !schema.dimensions.is_empty() {
        text.push('\n');
        text.push_str(&domain(&schema.dimensions));
    }
    for item in &schema.attributes {
        text.push('\n');
        text.push_str(&attribute(item));
    }
    for name in handle.enumeration_names() {
        text.push('\n');
        match handle.loaded(&name) {
            Some(found) => text.push_str(&enumeration(found)),
            None => {
                let _ = write!(text, "### Enumeration ###\n- Name: {name}\n- Loaded: false\n");
            }
        }
    }
    for item in &schema.dimension_labels {
        text.push('\n');
        text.push_str(&label(item));
    }
    text.push('\n');
    let rectangle = match &schema.current_domain {
        CurrentDomain::Rectangle(extents) => Some(extents.as_slice()),
        CurrentDomain::Empty => None,
    };
    text.push_str(&current_domain(rectangle, &schema.dimensions));
    text
}
