//! One entry point for each structure, for fuzz targets and for the replay of what they found.
//!
//! Each reads arbitrary bytes and, where that succeeds, wants them to be written back to the same meaning. The
//! schema that fragment structures depend on is taken from the first bytes.

use crate::fragment::{
    BoundsOutline, ConsolidatedFooters, FieldId, Footer, FooterForm, FooterIndex, FooterOutline,
    FragmentStatistics, LegacyFragmentMetadata, ProcessedConditions, RTree, RTreeOutline, TileBounds,
    TileNumbers, TileOffsets,
};
use crate::names::{DataPart, TimestampedName, data_file_name, parse_commit_file};
use crate::record::DimensionShape;
use crate::{
    ArraySchema, ConditionTree, ConsolidatedCommits, Enumeration, GenericTileHeader, GroupFile, MetadataFile,
    NameList, Reader, Shape, Version,
};
use smalti_types::Datatype;

/// Every entry point by the name of its structure.
pub const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("schema", fuzz_schema),
    ("enumeration", fuzz_enumeration),
    ("generic_tile", fuzz_generic_tile),
    ("footer", fuzz_footer),
    ("legacy_fragment", fuzz_legacy_fragment),
    ("rtree", fuzz_rtree),
    ("sections", fuzz_sections),
    ("consolidated_footers", fuzz_consolidated_footers),
    ("condition", fuzz_condition),
    ("consolidated_commits", fuzz_consolidated_commits),
    ("name_list", fuzz_name_list),
    ("metadata", fuzz_metadata),
    ("group", fuzz_group),
    ("names", fuzz_names),
];

/// Reads a schema; what was read is checked and written back.
pub fn fuzz_schema(bytes: &[u8]) {
    let mut reader = Reader::traced(bytes, crate::TraceDetail::Folded);
    let Ok(schema) = ArraySchema::decode_from(&mut reader) else { return };
    assert!(!reader.into_trace().is_empty());
    let again = ArraySchema::decode(&schema.encode().expect("what was read can be written"))
        .expect("what was written can be read");
    assert!(same(&schema, &again));
    let _ = schema.check();
    for (idx, _) in schema.attributes.iter().enumerate() {
        let _ = data_file_name(schema.version, &schema, FieldId::Attribute(idx), DataPart::Var);
    }
}

/// Reads an enumeration and all its elements.
pub fn fuzz_enumeration(bytes: &[u8]) {
    let Ok(enumeration) = Enumeration::decode(bytes) else { return };
    for idx in 0..enumeration.element_count().min(1000) {
        enumeration.element(idx).expect("a checked enumeration has its elements");
    }
    assert_eq!(Enumeration::decode(&enumeration.encode().unwrap()).unwrap(), enumeration);
}

/// Reads the header of a generic tile.
pub fn fuzz_generic_tile(bytes: &[u8]) {
    let _ = GenericTileHeader::header_len(bytes);
    let Ok((header, _)) = GenericTileHeader::split(bytes) else { return };
    let again = header.encode().expect("what was read can be written");
    assert!(same(&GenericTileHeader::decode(&mut Reader::new(&again)).unwrap(), &header));
}

/// Reads a footer and follows all that it points to.
pub fn fuzz_footer(bytes: &[u8]) {
    let (shape, bytes) = shape(bytes);
    for version in Version::all() {
        let _ = Footer::range(version, &shape, bytes.len() as u64, bytes);
    }
    let _ = Footer::schema_name_of(bytes);
    let mut reader = Reader::traced(bytes, crate::TraceDetail::Folded);
    let Ok(footer) = Footer::decode_from(&mut reader, &shape) else { return };
    footer.sections(&shape).expect("a footer that was read knows its sections");
    if footer.non_empty_domain.is_some() {
        let mut again = footer.encode(&shape).expect("what was read can be written");
        assert_eq!(Footer::decode(&again, &shape).unwrap(), footer);
        if let Some(form) = FooterForm::of(&again, &shape) {
            let outline = FooterOutline::from(footer);
            assert_eq!(form.outline(&again, &shape), Some(outline));
            // Another footer of the form is one, and says the same.
            let at = bytes.len() * 31 % again.len();
            again[at] ^= 1;
            if let Some(outline) = form.outline(&again, &shape) {
                assert_eq!(FooterOutline::decode(&again, &shape).unwrap(), outline);
            }
        }
    }
}

/// Reads fragment metadata of versions 1 and 2.
pub fn fuzz_legacy_fragment(bytes: &[u8]) {
    let (shape, bytes) = shape(bytes);
    let Ok(metadata) = LegacyFragmentMetadata::decode(bytes, &shape) else { return };
    assert_eq!(LegacyFragmentMetadata::decode(&metadata.encode(&shape).unwrap(), &shape).unwrap(), metadata);
}

/// Reads an R-tree.
pub fn fuzz_rtree(bytes: &[u8]) {
    let (shape, bytes) = shape(bytes);
    for version in [4, 22].map(|number| Version::new(number).expect("a known version")) {
        let tree = RTree::decode(bytes, version, &shape);
        fuzz_outline(bytes, version, &shape, tree.as_ref().ok());
        let Ok(tree) = tree else { continue };
        assert_eq!(RTree::decode(&tree.encode(version, &shape).unwrap(), version, &shape).unwrap(), tree);
    }
}

/// Reads an R-tree node by node, and compares it with the one that was read as a whole.
fn fuzz_outline(bytes: &[u8], version: Version, shape: &Shape, tree: Option<&RTree>) {
    let part = |range: std::ops::Range<u64>| bytes[range.start as usize..range.end as usize].to_vec();
    let outline = RTreeOutline::read(bytes.len() as u64, version, shape, |range| Ok(part(range)));
    let Ok(Some(outline)) = outline else {
        assert!(outline.is_ok() || tree.is_none(), "a tree is only refused node by node");
        return;
    };
    let tree = tree.expect("a tree that is read node by node is read as a whole");
    assert_eq!(outline.fanout(), tree.fanout);
    assert!(outline.node_counts().eq(tree.levels.iter().map(|level| level.len() as u64)));
    for (depth, level) in tree.levels.iter().enumerate() {
        for node in 0..level.len().min(100) {
            let place = outline.node(depth, node as u64).expect("a node of the tree");
            let rect = part(place);
            for dim in 0..outline.dim_count() {
                assert_eq!(outline.extent(&rect, dim).expect("its bytes are there"), level.extent(node, dim));
            }
        }
        assert_eq!(outline.node(depth, level.len() as u64), None);
    }
}

/// Reads the bounds of tiles one by one, and compares them with those that were read as a whole.
fn fuzz_bounds_outline(bytes: &[u8], bounds: Option<&TileBounds>) {
    let head = &bytes[..bytes.len().min(BoundsOutline::HEAD_BYTE_LEN as usize)];
    let part = |range: std::ops::Range<u64>| &bytes[range.start as usize..range.end as usize];
    let outline = BoundsOutline::read(bytes.len() as u64, head);
    assert_eq!(outline.is_ok(), bounds.is_some());
    let (Ok(outline), Some(bounds)) = (outline, bounds) else { return };
    for tile_idx in [0, 1, 2, bounds.fixed.len() / 8, usize::MAX / 8, usize::MAX] {
        let fixed = outline.fixed_value(tile_idx as u64, 8).map(part);
        assert_eq!(fixed, bounds.fixed_value(tile_idx, 8));
        let start = |range| Ok(part(range).try_into().expect("a start has 8 bytes"));
        let var = outline.var_value(tile_idx as u64, start).expect("bytes are there");
        assert_eq!(var.map(part), bounds.var_value(tile_idx));
    }
}

/// Reads the sections with an entry for each tile or field.
pub fn fuzz_sections(bytes: &[u8]) {
    let bounds = TileBounds::decode(bytes);
    fuzz_bounds_outline(bytes, bounds.as_ref().ok());
    if let Ok(bounds) = bounds {
        for tile_idx in [0, 1, 2, usize::MAX / 8, usize::MAX] {
            let _ = (bounds.var_value(tile_idx), bounds.fixed_value(tile_idx, 8));
        }
        assert_eq!(bounds.encode(), bytes);
    }
    let numbers = TileNumbers::decode(bytes);
    let count = TileNumbers::count(bytes.len() as u64, bytes);
    assert_eq!(count.ok(), numbers.as_ref().ok().map(|numbers| numbers.values.len() as u64));
    if let Ok(numbers) = numbers {
        assert_eq!(numbers.encode(), bytes);
        let tile_count = numbers.values.len() as u64;
        if let Ok(offsets) = TileOffsets::new(numbers.values, tile_count, u64::MAX / 2) {
            let lens = (0..offsets.len())
                .filter_map(|idx| offsets.byte_range(idx))
                .map(|range| range.end - range.start);
            assert!(lens.sum::<u64>() <= u64::MAX / 2);
        }
    }
    if let Ok(statistics) = FragmentStatistics::decode(bytes) {
        assert_eq!(statistics.encode(), bytes);
    }
    if let Ok(conditions) = ProcessedConditions::decode(bytes) {
        assert_eq!(conditions.encode(), bytes);
    }
}

/// Reads consolidated fragment metadata and each footer in it.
pub fn fuzz_consolidated_footers(bytes: &[u8]) {
    let (shape, bytes) = shape(bytes);
    let index = FooterIndex::decode(bytes);
    let Ok(file) = ConsolidatedFooters::decode(bytes) else {
        assert!(index.is_err(), "footers are found in what is no list of footers");
        return;
    };
    let index = index.expect("what is read row by row can be looked up");
    for entry in file.entries.iter().take(100) {
        let name = crate::names::TimestampedName::parse(crate::names::last_part(&entry.name));
        let Some(footer) = name.ok().and_then(|name| index.footer(&name)) else { continue };
        let _ = Footer::decode_from(&mut Reader::new(footer), &shape);
    }
}

/// Reads a condition tree.
pub fn fuzz_condition(bytes: &[u8]) {
    let Ok(tree) = ConditionTree::decode(bytes) else { return };
    assert_eq!(ConditionTree::decode(&tree.encode().unwrap()).unwrap(), tree);
    assert_eq!(ConditionTree::new(tree.nodes().to_vec()).unwrap(), tree);
}

/// Reads consolidated commits.
pub fn fuzz_consolidated_commits(bytes: &[u8]) {
    let Ok(commits) = ConsolidatedCommits::decode(bytes) else { return };
    for tile in commits.entries.iter().filter_map(|entry| entry.tile.clone()) {
        assert!(tile.start <= tile.end && tile.end <= bytes.len() as u64);
    }
}

/// Reads an ignore or vacuum file.
pub fn fuzz_name_list(bytes: &[u8]) {
    let list = NameList::decode(bytes);
    assert!(list.names.iter().all(|name| crate::names::is_plain(name)));
}

/// Reads a metadata file.
pub fn fuzz_metadata(bytes: &[u8]) {
    let Ok(file) = MetadataFile::decode(bytes) else { return };
    assert_eq!(MetadataFile::decode(&file.encode().unwrap()).unwrap(), file);
}

/// Reads a group file.
pub fn fuzz_group(bytes: &[u8]) {
    let Ok(file) = GroupFile::decode(bytes) else { return };
    assert_eq!(GroupFile::decode(&file.encode().unwrap()).unwrap(), file);
}

/// Reads names.
pub fn fuzz_names(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = parse_commit_file(text);
    let Ok(name) = TimestampedName::parse(text) else { return };
    assert!(crate::names::is_plain(name.as_str()) && name.range().start <= name.range().end);
    let _ = name.fragment_version();
}

/// An input for the entry points of structures that depend on the schema: the shape, then the structure.
///
/// Layout of the shape: a byte with the number of dimensions in its lower three bits and that of attributes above, and
/// for each dimension the index of its datatype among all datatypes. `None` for a shape that does not fit.
pub fn with_shape(shape: &Shape, structure: &[u8]) -> Option<Vec<u8>> {
    let dimension_count = u8::try_from(shape.dimensions.len()).ok().filter(|count| *count < 8)?;
    let attribute_count = u8::try_from(shape.attribute_count).ok().filter(|count| *count < 32)?;
    let mut input = vec![dimension_count | attribute_count << 3];
    for dimension in &shape.dimensions {
        let place = Datatype::ALL.iter().position(|datatype| *datatype == dimension.datatype)?;
        input.push(u8::try_from(place).ok()?);
    }
    input.extend_from_slice(structure);
    Some(input)
}

/// The shape at the start of an input (see [`with_shape`]) and the bytes behind it.
fn shape(bytes: &[u8]) -> (Shape, &[u8]) {
    let (first, rest) = bytes.split_first().unwrap_or((&0, bytes));
    let (datatypes, rest) = rest.split_at(usize::from(first & 7).min(rest.len()));
    let dimension = |idx: &u8| {
        let datatype = Datatype::ALL[usize::from(*idx) % Datatype::ALL.len()];
        let is_var = datatype == Datatype::StringAscii;
        let is_wrong = datatype.is_string() || datatype.is_bytes() || datatype == Datatype::Bool;
        DimensionShape { datatype: if is_wrong && !is_var { Datatype::Int32 } else { datatype }, is_var }
    };
    let dimensions = datatypes.iter().map(dimension).collect();
    (Shape { dimensions, attribute_count: usize::from(first >> 3) }, rest)
}

/// Equality that takes NaN for equal to itself.
fn same<T: PartialEq + std::fmt::Debug>(a: &T, b: &T) -> bool {
    a == b || format!("{a:?}") == format!("{b:?}")
}
