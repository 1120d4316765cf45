//! A schema as JSON.

use super::filters;
use crate::json::{CellNotation, hex};
use serde_json::{Map, Value, json};
use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration,
};
use smalti_types::{CellValNum, Datatype, Extent, Scalar};

pub(super) fn schema(schema: &ArraySchema, enumerations: &[Enumeration]) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.into(), value);
    put("array_type", schema.array_type.to_string().into());
    put("version", schema.version.number().into());
    put("capacity", schema.capacity.into());
    put("cell_order", schema.cell_order.name().into());
    put("tile_order", schema.tile_order.name().into());
    put("allows_dups", schema.allows_dups.into());
    put("coords_filters", filters::to_json(&schema.coords_filters));
    put("offsets_filters", filters::to_json(&schema.offsets_filters));
    put("validity_filters", filters::to_json(&schema.validity_filters));
    put("dims", schema.dimensions.iter().map(|one| dimension(schema, one)).collect());
    put("attrs", schema.attributes.iter().map(attribute).collect());
    if !enumerations.is_empty() {
        put("enumerations", enumerations.iter().map(enumeration).collect());
    }
    if let CurrentDomain::Rectangle(extents) = &schema.current_domain {
        let dimensions = schema.dimensions.iter().zip(extents);
        put(
            "current_domain",
            dimensions.map(|(dimension, range)| extent(dimension.datatype, range, false)).collect(),
        );
    }
    if !schema.dimension_labels.is_empty() {
        put("labels", schema.dimension_labels.iter().map(label).collect());
    }
    Value::Object(out)
}

fn dimension(schema: &ArraySchema, dimension: &Dimension) -> Value {
    let number = |value: Scalar| scalar(dimension.datatype, value);
    let mut out = Map::new();
    out.insert("name".into(), dimension.name.as_str().into());
    out.insert("type".into(), dimension.datatype.name().into());
    out.insert(
        "domain".into(),
        dimension.domain.map_or(Value::Null, |(lo, hi)| json!([number(lo), number(hi)])),
    );
    out.insert("tile".into(), dimension.tile_extent.map_or(Value::Null, number));
    // Left out are those of the coordinates; a dimension without filters of its own takes them, whatever its chunk size.
    if !dimension.filters.filters.is_empty() && dimension.filters != schema.coords_filters {
        out.insert("filters".into(), filters::to_json(&dimension.filters));
    }
    Value::Object(out)
}

fn attribute(attribute: &Attribute) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), attribute.name.as_str().into());
    out.insert("type".into(), attribute.datatype.name().into());
    out.insert("cell_val_num".into(), cell_val_num(attribute.cell_val_num));
    if attribute.nullable {
        out.insert("nullable".into(), true.into());
    }
    out.insert("filters".into(), filters::to_json(&attribute.filters));
    if attribute.nullable {
        out.insert("fill_valid".into(), attribute.fill_valid.into());
    }
    out.insert("fill_hex".into(), hex::encode(&attribute.fill_value).into());
    if attribute.order != DataOrder::Unordered {
        out.insert("order".into(), data_order(attribute.order).into());
    }
    if let Some(enumeration) = &attribute.enumeration {
        out.insert("enumeration".into(), enumeration.as_str().into());
    }
    Value::Object(out)
}

fn enumeration(enumeration: &Enumeration) -> Value {
    let elements = (0..enumeration.element_count()).filter_map(|idx| enumeration.element(idx));
    let values: Vec<Value> = elements
        .map(|element| cell(enumeration.datatype, enumeration.cell_val_num, element, false))
        .collect();
    json!({
        "name": enumeration.name,
        "type": enumeration.datatype.name(),
        "cell_val_num": cell_val_num(enumeration.cell_val_num),
        "ordered": enumeration.is_ordered,
        "values": values,
    })
}

fn label(label: &DimensionLabel) -> Value {
    // Of a relative URI only the last part tells anything: labels lie in `__labels`.
    let uri =
        if label.uri_is_relative { label.uri.rsplit('/').next().unwrap_or_default() } else { &label.uri };
    json!({
        "name": label.name,
        "dim": label.dimension_idx,
        "order": data_order(label.order),
        "type": label.datatype.name(),
        "attr": label.attribute,
        "uri": uri,
    })
}

fn data_order(order: DataOrder) -> &'static str {
    match order {
        DataOrder::Unordered => "unordered",
        DataOrder::Increasing => "increasing",
        DataOrder::Decreasing => "decreasing",
    }
}

fn cell_val_num(cell_val_num: CellValNum) -> Value {
    match cell_val_num {
        CellValNum::Fixed(count) => count.get().into(),
        CellValNum::Var => "var".into(),
    }
}

/// The low and high end of an interval.
pub(super) fn extent(datatype: Datatype, extent: &Extent, iso_dates: bool) -> Value {
    match extent {
        Extent::Num { lo, hi } => {
            let end =
                |ordinal| cell(datatype, CellValNum::ONE, &datatype.bytes_of_ordinal(ordinal), iso_dates);
            json!([end(*lo), end(*hi)])
        }
        Extent::Str { lo, hi } => {
            let end = |bytes: &[u8]| cell(Datatype::StringAscii, CellValNum::Var, bytes, iso_dates);
            json!([end(lo), hi.as_deref().map_or(Value::Null, end)])
        }
    }
}

fn scalar(datatype: Datatype, value: Scalar) -> Value {
    cell(datatype, CellValNum::ONE, &value.to_le_bytes(), false)
}

fn cell(datatype: Datatype, cell_val_num: CellValNum, bytes: &[u8], iso_dates: bool) -> Value {
    let mut out = Vec::new();
    CellNotation::new(datatype, cell_val_num, iso_dates).push(&mut out, bytes);
    serde_json::from_slice(&out).unwrap_or(Value::Null)
}
