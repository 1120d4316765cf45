//! Every structure of every array of the corpus is read, explained to its last byte, compared with what must be in
//! it, and written back to the same bytes.

mod common;

use common::{Case, cases, file_name, folder, structure_files, unfilter};
use serde_json::{Value, json};
use smalti_format::fragment::{
    ConsolidatedFooters, Footer, FragmentStatistics, LegacyFragmentMetadata, ProcessedConditions, RTree, Section,
    TileBounds, TileNumbers, TileOffsets, FieldId
};
use smalti_format::names::{self, DataPart, TimestampedName};
use smalti_format::{
    ArraySchema, ConditionTree, ConsolidatedCommits, CurrentDomain, Enumeration, GroupFile, MetadataFile, NameList,
    Version,
};
use smalti_types::{CellValNum, Datatype, Extent, ExtentRef, Filter, FilterPipeline, Layout, RectList, Scalar};
use std::collections::BTreeMap;

/// The schemas of each array inside a case, by folder and file name.
fn schemas(case: &Case) -> BTreeMap<(String, String), ArraySchema> {
    let mut schemas = BTreeMap::new();
    for (kind, path, bytes) in structure_files(case) {
        if kind != "schema" {
            continue;
        }
        let Some((tile, _, disk_len)) = unfilter(bytes) else { continue };
        assert_eq!(disk_len, bytes.len() as u64, "{path}");
        let schema = ArraySchema::decode(&tile).unwrap_or_else(|error| panic!("{} {path}: {error}", case.name));
        assert_eq!(schema.encode().unwrap(), tile, "{} {path}", case.name);
        let root = folder(path).trim_end_matches("__schema/").to_owned();
        schemas.insert((root, file_name(path).to_owned()), schema);
    }
    schemas
}

#[test]
fn schemas_hold_what_they_must() {
    let mut compared = 0;
    for case in cases() {
        let schemas = schemas(&case);
        let newest = schemas.iter().rev().find(|((root, _), _)| root.is_empty());
        let (Some((_, schema)), Some(_)) = (newest, case.expected["schema"].as_object()) else { continue };
        let expected = &case.expected["schema"];
        let got = schema_json(schema);
        for (key, value) in got.as_object().unwrap() {
            let mut expected = expected[key].clone();
            if key == "version" && expected.is_null() {
                continue;
            }
            fill_defaults(key, &mut expected, &got);
            assert_eq!(value, &expected, "{} {key}", case.name);
        }
        // What releases wrote passes the rules, but for what older ones allowed.
        if schema.version.number() >= 10 {
            schema.check().unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
        compared += 1;
    }
    assert!(compared > 1500, "{compared}");
}

fn fill_defaults(key: &str, expected: &mut Value, got: &Value) {
    for item in expected.as_array_mut().into_iter().flatten() {
        let Some(item) = item.as_object_mut() else { continue };
        match key {
            "dims" => {
                item.entry("filters").or_insert_with(|| got["coords_filters"].clone());
                item.entry("domain").or_insert(Value::Null);
                item.entry("tile").or_insert(Value::Null);
            }
            "attrs" => {
                item.entry("filters").or_insert_with(|| json!({"max_chunk_size": 65536, "filters": []}));
                item.entry("nullable").or_insert(json!(false));
                item.remove("fill_valid");
                item.remove("enumeration");
            }
            _ => {}
        }
    }
}

fn schema_json(schema: &ArraySchema) -> Value {
    let dims: Vec<Value> = schema
        .dimensions
        .iter()
        .map(|dimension| {
            json!({
                "name": dimension.name,
                "type": dimension.datatype.name(),
                "domain": dimension.domain.map(|(lo, hi)| json!([number(lo), number(hi)])),
                "tile": dimension.tile_extent.map(number),
                "filters": pipeline_json(schema.coordinate_filters(dimension)),
            })
        })
        .collect();
    let attrs: Vec<Value> = schema
        .attributes
        .iter()
        .map(|attribute| {
            json!({
                "name": attribute.name,
                "type": attribute.datatype.name(),
                "cell_val_num": match attribute.cell_val_num {
                    CellValNum::Var => json!("var"),
                    CellValNum::Fixed(count) => json!(count.get()),
                },
                "fill_hex": hex(&attribute.fill_value),
                "nullable": attribute.nullable,
                "filters": pipeline_json(&attribute.filters),
            })
        })
        .collect();
    json!({
        "array_type": schema.array_type.to_string(),
        "version": schema.version.number(),
        "capacity": schema.capacity,
        "cell_order": schema.cell_order.name(),
        "tile_order": schema.tile_order.name(),
        "allows_dups": schema.allows_dups,
        "coords_filters": pipeline_json(&schema.coords_filters),
        "offsets_filters": pipeline_json(&schema.offsets_filters),
        "validity_filters": pipeline_json(&schema.validity_filters),
        "dims": dims,
        "attrs": attrs,
    })
}

fn pipeline_json(pipeline: &FilterPipeline) -> Value {
    let filters: Vec<Value> = pipeline.filters.iter().map(filter_json).collect();
    json!({"max_chunk_size": pipeline.max_chunk_size, "filters": filters})
}

fn filter_json(filter: &Filter) -> Value {
    let mut json = json!({"filter": filter.name()});
    let object = json.as_object_mut().unwrap();
    match *filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => drop(object.insert("level".into(), json!(level))),
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            object.insert("level".into(), json!(level));
            object.insert("reinterpret".into(), json!(reinterpret.unwrap_or(Datatype::Any).name()));
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            object.insert("max_window".into(), json!(max_window));
        }
        _ => {}
    }
    json
}

fn number(value: Scalar) -> Value {
    match value {
        Scalar::F32(value) => json!(value),
        Scalar::F64(value) => json!(value),
        other => {
            let wide = other.as_i128().unwrap();
            i64::try_from(wide).map_or_else(|_| json!(wide as u64), |value| json!(value))
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
