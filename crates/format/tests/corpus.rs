//! Every structure of every array of the corpus is read, explained to its last byte, compared with what must be in
//! it, and written back to the same bytes.

mod common;

use common::{Case, cases, file_name, folder, structure_files, unfilter};
use serde_json::{Value, json};
use smalti_format::fragment::{
    ConsolidatedFooters, FieldId, Footer, FooterIndex, FragmentStatistics, LegacyFragmentMetadata,
    ProcessedConditions, RTree, Section, TileBounds, TileNumbers, TileOffsets,
};
use smalti_format::names::{self, DataPart, TimestampedName};
use smalti_format::{
    ArraySchema, ConditionTree, ConsolidatedCommits, Enumeration, GenericTileHeader, GroupFile, MetadataFile,
    NameList, Reader, Rule, TraceDetail, Version,
};
use smalti_types::{CellValNum, Datatype, Extent, ExtentRef, Filter, FilterPipeline, RectList, Scalar};
use std::collections::BTreeMap;

/// The schemas of each array inside a case, by folder and file name.
fn schemas(case: &Case) -> BTreeMap<(String, String), ArraySchema> {
    let mut schemas = BTreeMap::new();
    for (kind, path, bytes) in structure_files(case) {
        if kind != "schema" {
            continue;
        }
        if case.expected["schema"]["error"].is_string() {
            // From before formats had numbers: nobody reads it.
            assert!(smalti_format::GenericTileHeader::split(bytes).is_err());
            continue;
        }
        let Some((tile, _, disk_len)) = unfilter(bytes) else { continue };
        assert_eq!(disk_len, bytes.len() as u64, "{path}");
        let schema =
            ArraySchema::decode(&tile).unwrap_or_else(|error| panic!("{} {path}: {error}", case.name));
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
        let (Some((_, schema)), true) = (newest, case.expected["schema"]["dims"].is_array()) else {
            continue;
        };
        let expected = &case.expected["schema"];
        let got = schema_json(schema);
        for (key, value) in got.as_object().unwrap() {
            let mut expected = expected[key].clone();
            if key == "version" && expected.is_null() {
                continue;
            }
            normalise(key, &mut expected, &got);
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

#[test]
fn a_trace_accounts_for_every_byte() {
    let (mut traced, mut deepest) = (0, 0);
    for case in cases().iter().step_by(5) {
        for (kind, path, bytes) in structure_files(case) {
            let Some((tile, ..)) = (kind == "schema" || kind == "metadata")
                .then(|| GenericTileHeader::split(bytes).ok().and_then(|_| unfilter(bytes)))
                .flatten()
            else {
                continue;
            };
            let mut reader = Reader::traced(&tile, TraceDetail::Full);
            if kind == "schema" {
                ArraySchema::decode_from(&mut reader).unwrap();
            } else {
                MetadataFile::decode_from(&mut reader).unwrap();
            }
            let trace = reader.into_trace();
            let mut end = 0;
            for entry in trace.iter().filter(|entry| entry.depth == 0) {
                assert_eq!(entry.byte_offset, end, "{} {path} {entry:?}", case.name);
                end += entry.byte_len;
            }
            assert_eq!(end, tile.len() as u64, "{} {path}", case.name);
            deepest = deepest.max(trace.iter().map(|entry| entry.depth).max().unwrap_or(0));
            traced += 1;
        }
    }
    assert!(traced > 200 && deepest >= 3, "{traced} {deepest}");
}

/// Brings the expectation, which leaves out what is usual, into the form of `schema_json`.
fn normalise(key: &str, expected: &mut Value, got: &Value) {
    if expected.is_null() && matches!(key, "labels" | "current_domain" | "validity_filters") {
        *expected = got[key].clone();
    }
    if key == "current_domain" {
        expected.as_array_mut().into_iter().flatten().for_each(plain_values);
    }
    for item in expected.as_array_mut().into_iter().flatten() {
        let Some(item) = item.as_object_mut() else { continue };
        match key {
            "dims" => {
                item.entry("filters").or_insert_with(|| got["coords_filters"].clone());
                plain_values(item.entry("domain").or_insert(Value::Null));
                let tile = item.entry("tile").or_insert(Value::Null);
                plain_values(tile);
                if let Some(value) = tile.get(0) {
                    *tile = value.clone();
                }
            }
            "attrs" => {
                item.entry("filters").or_insert_with(|| json!({"max_chunk_size": 65536, "filters": []}));
                item.entry("nullable").or_insert(json!(false));
                item.entry("fill_valid").or_insert(json!(false));
                item.entry("enumeration").or_insert(Value::Null);
            }
            _ => {}
        }
    }
}

/// Floats may stand beside their bits.
fn plain_values(value: &mut Value) {
    if let Some(values) = value.get("values") {
        *value = values.clone();
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
                "filters": pipeline_json(schema.coordinate_filters(dimension, schema.version)),
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
                "fill_valid": attribute.fill_valid,
                "enumeration": attribute.enumeration,
                "filters": pipeline_json(&attribute.filters),
            })
        })
        .collect();
    let label = |label: &smalti_format::DimensionLabel| {
        json!({
            "name": label.name,
            "dim": label.dimension_idx,
            "order": format!("{:?}", label.order).to_lowercase(),
            "type": label.datatype.name(),
            "attr": label.attribute,
            "uri": file_name(&label.uri),
        })
    };
    let labels: Value = match &schema.dimension_labels[..] {
        [] => Value::Null,
        labels => labels.iter().map(label).collect(),
    };
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
        "labels": labels,
        "current_domain": schema.current_domain.rectangle().map(|rect| extents_json(rect, schema)),
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
            object.insert("window".into(), json!(max_window));
        }
        Filter::ScaleFloat(scale) => {
            object.insert("factor".into(), json!(scale.factor));
            object.insert("offset".into(), json!(scale.offset));
            object.insert("bytewidth".into(), json!(scale.width as u64));
        }
        Filter::Webp { quality, format, lossless, .. } => {
            object.insert("quality".into(), json!(quality));
            object.insert("format".into(), json!(format as u8));
            object.insert("lossless".into(), json!(u8::from(lossless)));
        }
        _ => {}
    }
    json
}

fn number(value: Scalar) -> Value {
    match value {
        Scalar::F32(value) => json!(value.to_string().parse::<f64>().unwrap()),
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

fn extents_json(extents: &[Extent], schema: &ArraySchema) -> Value {
    extents
        .iter()
        .zip(&schema.dimensions)
        .map(|(extent, dim)| extent_json(extent.as_ref(), dim.datatype))
        .collect()
}

fn extent_json(extent: ExtentRef<'_>, datatype: Datatype) -> Value {
    match extent {
        ExtentRef::Num { lo, hi } => {
            let value =
                |ordinal| number(Scalar::read(datatype, &datatype.bytes_of_ordinal(ordinal)).unwrap());
            json!([value(lo), value(hi)])
        }
        ExtentRef::Str { lo, hi } => {
            let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
                Ok(text) => json!(text),
                Err(_) => json!({"hex": hex(bytes)}),
            };
            json!([text(lo), text(hi.unwrap())])
        }
    }
}

fn rects_json(rects: &RectList, schema: &ArraySchema) -> Value {
    let rect = |idx| -> Value {
        let extent = |(dim, dimension): (usize, &smalti_format::Dimension)| {
            extent_json(rects.extent(idx, dim), dimension.datatype)
        };
        schema.dimensions.iter().enumerate().map(extent).collect()
    };
    (0..rects.len()).map(rect).collect()
}

/// What a fragment's metadata says, where the expectation says it too.
struct Known {
    dense: bool,
    version: u32,
    non_empty_domain: Value,
    mbrs: Value,
    cell_count: u64,
    datatypes: Vec<Datatype>,
}

/// Writes 32-bit floats, which the expectation gives as doubles, with their own digits.
fn plain_rect(rect: &mut Value, datatypes: &[Datatype]) {
    for (extent, datatype) in rect.as_array_mut().into_iter().flatten().zip(datatypes) {
        plain_values(extent);
        if *datatype == Datatype::Float32 {
            for end in extent.as_array_mut().into_iter().flatten() {
                *end = number(Scalar::F32(end.as_f64().unwrap() as f32));
            }
        }
    }
}

fn compare(case: &Case, fragment: &TimestampedName, known: Known) -> bool {
    let fragments = case.expected["fragments"].as_array();
    let listed = fragments.into_iter().flatten().find(|item| item["name"] == fragment.as_str());
    let Some(expected) = listed else { return false };
    let place = format!("{} {fragment}", case.name);
    assert_eq!(expected["dense"], json!(known.dense), "{place}");
    assert_eq!(expected["version"], json!(known.version), "{place}");
    assert_eq!(expected["timestamps"], json!([fragment.range().start, fragment.range().end]), "{place}");
    let mut domain = expected["non_empty_domain"].clone();
    plain_rect(&mut domain, &known.datatypes);
    assert_eq!(domain, known.non_empty_domain, "{place}");
    if !known.dense {
        if let Some(expected) = expected["cell_num"].as_u64() {
            assert_eq!(known.cell_count, expected, "{place}");
        }
        let mut mbrs = expected["mbrs"].clone();
        mbrs.as_array_mut().into_iter().flatten().for_each(|rect| plain_rect(rect, &known.datatypes));
        if !mbrs.is_null() {
            assert_eq!(mbrs, known.mbrs, "{place}");
        }
    }
    true
}

#[test]
fn fragment_metadata_is_explained_to_its_last_byte() {
    let (mut fragments, mut compared) = (0, 0);
    for case in cases() {
        let schemas = schemas(&case);
        if case.expected["encryption"].is_object() {
            assert!(schemas.is_empty(), "no key is at hand here");
            continue;
        }
        for (path, bytes) in case.files.iter().filter(|(path, _)| path.ends_with("/__fragment_metadata.tdb"))
        {
            let place = format!("{} {path}", case.name);
            let fragment = TimestampedName::parse(file_name(folder(path).trim_end_matches('/'))).unwrap();
            let root = folder(folder(path).trim_end_matches('/')).trim_end_matches("__fragments/").to_owned();
            let version = fragment.fragment_version().unwrap();
            let old_schema = schemas.get(&(root.clone(), names::OLD_SCHEMA_FILE.to_owned()));
            let known = if version.number() < 3 {
                let Some((tile, _, disk_len)) = unfilter(bytes) else { continue };
                assert_eq!(disk_len, bytes.len() as u64);
                legacy(&case, path, &tile, old_schema.unwrap())
            } else {
                let shape = old_schema.map(ArraySchema::shape).unwrap_or_default();
                let tail = &bytes[bytes.len() - 8..];
                let range = Footer::range(version, &shape, bytes.len() as u64, tail)
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let footer_bytes = &bytes[range.start as usize..range.end as usize];
                let schema_name =
                    Footer::schema_name_of(footer_bytes).unwrap_or_else(|error| panic!("{place}: {error}"));
                with_footer(&case, path, bytes, range, &schemas[&(root.clone(), schema_name)])
            };
            let Some(known) = known else { continue };
            fragments += 1;
            compared += usize::from(compare(&case, &fragment, known));
        }
    }
    assert!(fragments > 2000 && compared > 1000, "{fragments} {compared}");
}

fn legacy(case: &Case, path: &str, tile: &[u8], schema: &ArraySchema) -> Option<Known> {
    let shape = schema.shape();
    let metadata = LegacyFragmentMetadata::decode(tile, &shape)
        .unwrap_or_else(|error| panic!("{} {path}: {error}", case.name));
    assert_eq!(metadata.encode(&shape).unwrap(), tile, "{} {path}", case.name);
    for (idx, attribute) in schema.attributes.iter().enumerate() {
        check_file(
            case,
            path,
            metadata.version,
            schema,
            FieldId::Attribute(idx),
            DataPart::Main,
            metadata.file_sizes[idx],
        );
        if attribute.is_var() {
            check_file(
                case,
                path,
                metadata.version,
                schema,
                FieldId::Attribute(idx),
                DataPart::Var,
                metadata.file_var_sizes[idx],
            );
        }
        let tile_count = metadata.tile_offsets[idx].len() as u64;
        TileOffsets::new(metadata.tile_offsets[idx].clone(), tile_count, metadata.file_sizes[idx]).unwrap();
    }
    let coords = format!("{}__coords.tdb", folder(path));
    let dense = !case.files.iter().any(|(path, _)| *path == coords);
    let domain = metadata.non_empty_domain.as_deref().map(|rect| extents_json(rect, schema));
    let full_tiles = (metadata.mbrs.len() as u64).saturating_sub(1);
    Some(Known {
        dense,
        version: case.expected["format_version"].as_u64().unwrap() as u32,
        non_empty_domain: domain.unwrap_or_default(),
        mbrs: rects_json(&metadata.mbrs, schema),
        cell_count: full_tiles * schema.capacity + metadata.last_tile_cell_count,
        datatypes: schema.dimensions.iter().map(|dimension| dimension.datatype).collect(),
    })
}

fn with_footer(
    case: &Case,
    path: &str,
    bytes: &[u8],
    range: std::ops::Range<u64>,
    schema: &ArraySchema,
) -> Option<Known> {
    let place = format!("{} {path}", case.name);
    let shape = schema.shape();
    let footer_bytes = &bytes[range.start as usize..range.end as usize];
    let footer = Footer::decode(footer_bytes, &shape).unwrap_or_else(|error| panic!("{place}: {error}"));
    let again = footer.encode(&shape).unwrap();
    let is_stray_ended = footer.version.has(Rule::StrayFooterEnd) && footer_bytes.len() == again.len() + 8;
    if !is_stray_ended {
        assert_eq!(again, footer_bytes, "{place}");
        assert_eq!(footer.encode_file_end(&shape).unwrap(), bytes[range.start as usize..], "{place}");
    }
    let mut covered: BTreeMap<u64, u64> = BTreeMap::new();
    let mut rtree = None;
    for (section, offset) in footer.sections(&shape).unwrap() {
        let (tile, _, disk_len) = unfilter(&bytes[offset as usize..])?;
        covered.insert(offset, disk_len);
        let again = match section {
            Section::RTree => {
                let tree = RTree::decode(&tile, footer.version, &shape)
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let bytes = tree.encode(footer.version, &shape).unwrap();
                rtree = Some(tree);
                bytes
            }
            Section::FragmentStatistics => {
                let statistics = FragmentStatistics::decode(&tile).unwrap();
                statistics.check(&footer, &shape).unwrap_or_else(|error| panic!("{place}: {error}"));
                statistics.encode()
            }
            Section::ProcessedConditions => ProcessedConditions::decode(&tile).unwrap().encode(),
            Section::TileMins(_)
            | Section::TileMaxes(_)
            | Section::GlobalOrderMins(_)
            | Section::GlobalOrderMaxes(_) => TileBounds::decode(&tile).unwrap().encode(),
            _ => {
                let numbers = TileNumbers::decode(&tile).unwrap();
                let again = numbers.encode();
                let (lens, starts) = match section {
                    Section::TileOffsets(slot) => (footer.file_sizes[slot], numbers.values),
                    Section::TileVarOffsets(slot) => (footer.file_var_sizes[slot], numbers.values),
                    Section::TileValidityOffsets(slot) => (footer.file_validity_sizes[slot], numbers.values),
                    _ => (0, Vec::new()),
                };
                let tile_count = starts.len() as u64;
                TileOffsets::new(starts, tile_count, lens)
                    .unwrap_or_else(|error| panic!("{place} {section:?}: {error}"));
                again
            }
        };
        assert_eq!(again, tile, "{place} {section:?}");
    }
    let mut end = 0;
    for (offset, len) in covered {
        // Arrays made by hand from others may point to less than they hold.
        assert!(offset == end || case.name.contains("handmade"), "{place}: a gap at byte {end}");
        end = offset + len;
    }
    if footer.version.number() == 15 {
        let (tile, _, disk_len) = unfilter(&bytes[end as usize..])?;
        ProcessedConditions::decode(&tile).unwrap();
        end += disk_len;
    }
    assert_eq!(end, range.start, "{place}: the footer does not follow the sections");
    check_files(case, path, schema, &footer);

    let leaves = rtree.as_ref().and_then(RTree::leaves);
    assert_eq!(leaves.map_or(0, |leaves| leaves.len() as u64), footer.sparse_tile_count, "{place}");
    let domain = footer.non_empty_domain.as_deref().map(|rect| extents_json(rect, schema));
    Some(Known {
        dense: footer.is_dense,
        version: footer.version.number(),
        non_empty_domain: domain.unwrap_or_default(),
        mbrs: leaves.map_or(json!([]), |leaves| rects_json(leaves, schema)),
        cell_count: footer.sparse_tile_count.saturating_sub(1) * schema.capacity
            + footer.last_tile_cell_count,
        datatypes: schema.dimensions.iter().map(|dimension| dimension.datatype).collect(),
    })
}

/// Every data file that the footer gives a size stands under its name, with that size, and no other does.
fn check_files(case: &Case, path: &str, schema: &ArraySchema, footer: &Footer) {
    let shape = schema.shape();
    let mut fields: Vec<(FieldId, bool, bool)> = Vec::new();
    for (idx, attribute) in schema.attributes.iter().enumerate() {
        fields.push((FieldId::Attribute(idx), attribute.is_var(), attribute.nullable));
    }
    if !footer.is_dense {
        if footer.version.number() < 5 {
            fields.push((FieldId::Coordinates, false, false));
        } else {
            let dims = schema.dimensions.iter().enumerate();
            fields.extend(dims.map(|(idx, dim)| (FieldId::Dimension(idx), dim.is_var(), false)));
        }
    }
    let extra = [FieldId::Timestamps, FieldId::DeleteTimestamps, FieldId::DeleteConditionIndex];
    fields.extend(
        extra.into_iter().filter(|field| footer.slot(&shape, *field).is_some()).map(|f| (f, false, false)),
    );
    let mut count = 1;
    for (field, is_var, nullable) in fields {
        let slot = footer.slot(&shape, field).unwrap();
        check_file(case, path, footer.version, schema, field, DataPart::Main, footer.file_sizes[slot]);
        count += 1;
        if is_var {
            check_file(case, path, footer.version, schema, field, DataPart::Var, footer.file_var_sizes[slot]);
            count += 1;
        }
        if nullable {
            check_file(
                case,
                path,
                footer.version,
                schema,
                field,
                DataPart::Validity,
                footer.file_validity_sizes[slot],
            );
            count += 1;
        }
    }
    let found = case.files.iter().filter(|(other, _)| folder(other) == folder(path)).count();
    assert_eq!(found, count, "{} {path}: files of the fragment", case.name);
}

fn check_file(
    case: &Case,
    path: &str,
    version: Version,
    schema: &ArraySchema,
    field: FieldId,
    part: DataPart,
    len: u64,
) {
    let name = names::data_file_name(version, schema, field, part).unwrap();
    let file = format!("{}{name}", folder(path));
    let found = case.files.iter().find(|(path, _)| *path == file);
    assert_eq!(found.map(|(_, bytes)| bytes.len() as u64), Some(len), "{} {file}", case.name);
}

#[test]
fn all_other_files_come_back_as_they_were() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases() {
        let schemas = schemas(&case);
        for (kind, path, bytes) in structure_files(&case) {
            let place = format!("{} {path}", case.name);
            match kind {
                "commits" => {
                    let commits =
                        ConsolidatedCommits::decode(bytes).unwrap_or_else(|error| panic!("{place}: {error}"));
                    assert!(!commits.entries.is_empty());
                    let mut again = Vec::new();
                    for entry in &commits.entries {
                        let version = entry.name.fragment_version().unwrap();
                        let tile =
                            entry.tile.clone().map(|tile| &bytes[tile.start as usize..tile.end as usize]);
                        if let Some((condition, ..)) = tile.and_then(unfilter) {
                            ConditionTree::decode(&condition).unwrap();
                        }
                        again.extend(ConsolidatedCommits::encode(&[smalti_format::NewCommitEntry {
                            name: &entry.name,
                            version,
                            delete_tile: tile,
                        }]));
                    }
                    assert_eq!(again, bytes, "{place}");
                }
                "names" => {
                    let list = NameList::decode(bytes);
                    assert!(list.bad_lines.is_empty() && !list.names.is_empty(), "{place}: {list:?}");
                }
                "schema" | "fragment" => {}
                _ => {
                    let Some((tile, _, disk_len)) = unfilter(bytes) else { continue };
                    assert_eq!(disk_len, bytes.len() as u64, "{place}");
                    let again = match kind {
                        "enumeration" => {
                            let enumeration = Enumeration::decode(&tile).unwrap();
                            assert_eq!(enumeration.file, file_name(path));
                            enumeration.encode()
                        }
                        "metadata" => MetadataFile::decode(&tile).unwrap().encode(),
                        "group" => GroupFile::decode(&tile).unwrap().encode(),
                        "condition" => ConditionTree::decode(&tile).unwrap().encode(),
                        "consolidated" => Ok(consolidated(&case, path, &tile, &schemas)),
                        other => unreachable!("{other}"),
                    };
                    assert_eq!(again.unwrap_or_else(|error| panic!("{place}: {error}")), tile, "{place}");
                }
            }
            *counts.entry(kind).or_default() += 1;
        }
        if case.expected["metadata"].as_array().is_some_and(|list| !list.is_empty()) {
            compare_metadata(&case);
        }
    }
    for kind in [
        "commits",
        "names",
        "schema",
        "fragment",
        "enumeration",
        "metadata",
        "group",
        "condition",
        "consolidated",
    ] {
        assert!(counts.get(kind).is_some_and(|count| *count > 3), "{kind}: {counts:?}");
    }
}

fn consolidated(
    case: &Case,
    path: &str,
    tile: &[u8],
    schemas: &BTreeMap<(String, String), ArraySchema>,
) -> Vec<u8> {
    let file = ConsolidatedFooters::decode(tile).unwrap();
    let root = folder(path).trim_end_matches("__fragment_meta/").to_owned();
    let (index, mut fragments) = (FooterIndex::decode(tile).unwrap(), Vec::new());
    for entry in &file.entries {
        let name = TimestampedName::parse(names::last_part(&entry.name)).unwrap();
        let bytes = index.footer(&name).unwrap();
        let schema_name =
            Footer::schema_name_of(bytes).unwrap_or_else(|error| panic!("{} {path}: {error}", case.name));
        let shape = schemas[&(root.clone(), schema_name)].shape();
        let mut reader = smalti_format::Reader::new(bytes);
        let footer = Footer::decode_from(&mut reader, &shape)
            .unwrap_or_else(|error| panic!("{} {path}: {error}", case.name));
        fragments.push((entry.name.clone(), footer.encode(&shape).unwrap()));
    }
    ConsolidatedFooters::encode(&fragments).unwrap()
}

/// The newest metadata, merged from all files.
fn compare_metadata(case: &Case) {
    let mut values = BTreeMap::new();
    for (kind, path, bytes) in structure_files(case) {
        if kind != "metadata" || folder(path) != "__meta/" {
            continue;
        }
        let Some((tile, ..)) = unfilter(bytes) else { return };
        for entry in MetadataFile::decode(&tile).unwrap().entries {
            match entry.value {
                Some(value) => drop(values.insert(entry.key, value)),
                None => drop(values.remove(&entry.key)),
            }
        }
    }
    let newest = case.expected["metadata"].as_array().unwrap().last().unwrap();
    for item in newest["items"].as_array().into_iter().flatten() {
        let key = item["key"].as_str().unwrap();
        assert_eq!(hex(&values[key].bytes), item["hex"].as_str().unwrap(), "{} {key}", case.name);
    }
}
