//! The schema of an array, as JSON or as tables.

use super::{domain_text, extent_text};
use crate::cells::hex;
use crate::failure::Outcome;
use crate::formats::Table;
use crate::human;
use serde_json::Value;
use smalti::format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration,
};
use smalti::json::CellNotation;
use smalti::{Array, CellValNum, Extent, FilterPipeline};
use std::io::Write;

/// The schema of an array as JSON.
///
/// # Errors
/// When an enumeration cannot be read.
pub fn json(array: &Array) -> Outcome<Value> {
    let schema = array.schema();
    let names = schema.enumerations.iter().map(|(name, _)| name);
    let enumerations = names.map(|name| Ok((*array.enumeration(name)?).clone()));
    let enumerations = enumerations.collect::<smalti::Result<Vec<_>>>()?;
    Ok(smalti::json::schema_to_json(&schema, &enumerations))
}

/// A schema as JSON with a line for each key, and for each dimension and attribute.
pub fn lines(schema: &Value) -> String {
    let Some(object) = schema.as_object() else { return schema.to_string() };
    let line = |(key, value): (&String, &Value)| {
        let items = value.as_array().filter(|items| items.iter().any(Value::is_object));
        let value = match items {
            Some(items) => {
                let lines: Vec<String> = items.iter().map(|item| format!("    {item}")).collect();
                format!("[\n{}\n  ]", lines.join(",\n"))
            }
            None => value.to_string(),
        };
        format!("  {}: {value}", Value::from(key.as_str()))
    };
    format!("{{\n{}\n}}", object.iter().map(line).collect::<Vec<_>>().join(",\n"))
}

/// The schema of an array as tables.
///
/// # Errors
/// When an enumeration cannot be read; those of the output.
pub fn text(array: &Array, out: &mut dyn Write) -> Outcome {
    let schema = array.schema();
    let duplicates = if schema.allows_dups { ", duplicates allowed" } else { "" };
    writeln!(out, "{} array, format version {}{duplicates}", schema.array_type, schema.version.number())?;
    let capacity = if schema.is_dense() {
        String::new()
    } else {
        format!(", {} cells a tile", human::count(schema.capacity))
    };
    writeln!(out, "tiles {}, cells {}{capacity}", schema.tile_order, schema.cell_order)?;
    for (name, pipeline) in [
        ("coordinates", &schema.coords_filters),
        ("offsets", &schema.offsets_filters),
        ("validity", &schema.validity_filters),
    ] {
        writeln!(out, "filters of {name}: {}", filters_text(pipeline))?;
    }
    writeln!(out)?;
    let titles = ["dimension", "type", "domain", "tile", "filters"];
    let mut table = Table::new(titles.map(|title| (title.to_string(), false)));
    for dimension in &schema.dimensions {
        table.push(dimension_row(&schema, dimension));
    }
    table.print(out)?;
    if let CurrentDomain::Rectangle(extents) = &schema.current_domain {
        writeln!(out, "current domain: {}", domain_text(&schema, extents))?;
    }
    writeln!(out)?;
    let titles = ["attribute", "type", "values", "nullable", "fill", "enumeration", "filters"];
    let mut table = Table::new(titles.map(|title| (title.to_string(), false)));
    for attribute in &schema.attributes {
        table.push(attribute_row(attribute));
    }
    table.print(out)?;
    if !schema.enumerations.is_empty() {
        writeln!(out)?;
        let titles = ["enumeration", "type", "order", "labels"];
        let mut table = Table::new(titles.map(|title| (title.to_string(), false)));
        for (name, _) in &schema.enumerations {
            table.push(enumeration_row(&*array.enumeration(name)?));
        }
        table.print(out)?;
    }
    if !schema.dimension_labels.is_empty() {
        writeln!(out)?;
        let titles = ["label", "dimension", "type", "order"];
        let mut table = Table::new(titles.map(|title| (title.to_string(), false)));
        for label in &schema.dimension_labels {
            table.push(label_row(&schema, label));
        }
        table.print(out)?;
    }
    Ok(())
}

pub(super) fn label_row(schema: &ArraySchema, label: &DimensionLabel) -> Vec<String> {
    let dimension = schema.dimensions.get(label.dimension_idx as usize);
    vec![
        label.name.clone(),
        dimension.map_or_else(String::new, |dimension| dimension.name.clone()),
        label.datatype.to_string(),
        if label.order == DataOrder::Decreasing { "decreasing" } else { "increasing" }.to_string(),
    ]
}

pub(super) fn dimension_row(schema: &ArraySchema, dimension: &Dimension) -> Vec<String> {
    let domain = match dimension.domain {
        Some((lo, hi)) => extent_text(dimension, &Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }),
        None => "every string".to_string(),
    };
    let tile = dimension.tile_extent.map_or("none".to_string(), |extent| extent.to_string());
    let filters = filters_text(schema.coordinate_filters(dimension, schema.version));
    vec![dimension.name.clone(), dimension.datatype.to_string(), domain, tile, filters]
}

pub(super) fn attribute_row(attribute: &Attribute) -> Vec<String> {
    let values = match attribute.cell_val_num {
        CellValNum::Var => "var".to_string(),
        CellValNum::Fixed(count) => count.to_string(),
    };
    let fill = match (attribute.nullable, attribute.fill_valid) {
        (true, false) => "null".to_string(),
        _ => fill_text(attribute),
    };
    vec![
        attribute.name.clone(),
        attribute.datatype.to_string(),
        values,
        if attribute.nullable { "yes" } else { "no" }.to_string(),
        fill,
        attribute.enumeration.clone().unwrap_or_default(),
        filters_text(&attribute.filters),
    ]
}

pub(super) fn enumeration_row(enumeration: &Enumeration) -> Vec<String> {
    /// Labels that are shown.
    const SHOWN: usize = 8;
    let notation = CellNotation::new(enumeration.datatype, enumeration.cell_val_num, true);
    let mut labels: Vec<String> =
        enumeration.elements().take(SHOWN).map(|label| shown(notation, label)).collect();
    if enumeration.element_count() > SHOWN {
        labels.push(format!("... ({} in all)", human::count(enumeration.element_count() as u64)));
    }
    vec![
        enumeration.name.clone(),
        enumeration.datatype.to_string(),
        if enumeration.is_ordered { "ordered" } else { "none" }.to_string(),
        labels.join(", "),
    ]
}

fn fill_text(attribute: &Attribute) -> String {
    shown(CellNotation::new(attribute.datatype, attribute.cell_val_num, true), &attribute.fill_value)
}

fn shown(notation: CellNotation, cell: &[u8]) -> String {
    let mut text = Vec::new();
    notation.push(&mut text, cell);
    String::from_utf8(text).unwrap_or_else(|_| hex::encode(cell))
}

fn filters_text(pipeline: &FilterPipeline) -> String {
    if pipeline.filters.is_empty() {
        return "none".into();
    }
    let names: Vec<&str> = pipeline.filters.iter().map(|filter| filter.name()).collect();
    names.join(", ")
}
