//! Fragment metadata: every section, then the footer.

use super::{ArrayAt, InspectedPart, generic_tile};
use crate::{ArrayPlace, listing::schema_files};
use smalti_format::fragment::{
    ConsolidatedFooters, Footer, FragmentStatistics, LegacyFragmentMetadata, ProcessedConditions, RTree,
    Section, TileBounds, TileNumbers,
};
use smalti_format::names::{self, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER, OLD_SCHEMA_FILE, TimestampedName};
use smalti_format::{ArraySchema, Reader, Rule, Shape, TraceEntry};
use smalti_tile::{Scratch, read_generic_tile};
use smalti_types::{Error, Result};

pub(super) fn parts(
    file: &ArrayPlace,
    array_at: ArrayAt<'_>,
    folder_uri: &str,
    bytes: &[u8],
) -> Result<Vec<InspectedPart>> {
    let name = TimestampedName::parse(names::last_part(folder_uri))?;
    let version = name.fragment_version()?;
    let above = smalti_store::split(folder_uri).0;
    let array_uri = above.strip_suffix(FRAGMENTS_FOLDER).map_or(above, |uri| uri.trim_end_matches('/'));
    let array = array_at(if array_uri.is_empty() { "." } else { array_uri })?;
    if !version.has(Rule::FragmentFooter) {
        let shape = schema_of(&array, OLD_SCHEMA_FILE)?.shape();
        let decode = |reader: &mut Reader<'_>| LegacyFragmentMetadata::decode_from(reader, &shape).map(drop);
        return Ok(generic_tile(file, "legacy fragment metadata", bytes, 0, decode)?.0);
    }
    let file_len = bytes.len() as u64;
    let known = match version.has(Rule::FooterLength) {
        true => None,
        false => Some(schema_of(&array, OLD_SCHEMA_FILE)?.shape()),
    };
    let range = Footer::range(version, known.as_ref().unwrap_or(&Shape::default()), file_len, bytes)?;
    let footer_bytes = bytes
        .get(range.start as usize..range.end as usize)
        .ok_or_else(|| Error::corrupt("the footer lies outside the file"))?;
    let shape = match known {
        Some(shape) => shape,
        None => schema_of(&array, &Footer::schema_name_of(footer_bytes)?)?.shape(),
    };
    let mut reader = Reader::traced(footer_bytes);
    let footer = Footer::decode_from(&mut reader, &shape).map_err(|error| error.at_offset(range.start))?;
    let mut fields = reader.into_trace();
    fields.iter_mut().for_each(|entry| entry.byte_offset += range.start);
    let mut parts = Vec::new();
    for (section, offset) in footer.sections(&shape)? {
        let decode = |reader: &mut Reader<'_>| match section {
            Section::RTree => RTree::decode_from(reader, version, &shape).map(drop),
            Section::TileMins(_)
            | Section::TileMaxes(_)
            | Section::GlobalOrderMins(_)
            | Section::GlobalOrderMaxes(_) => TileBounds::decode_from(reader).map(drop),
            Section::FragmentStatistics => FragmentStatistics::decode_from(reader).map(drop),
            Section::ProcessedConditions => ProcessedConditions::decode_from(reader).map(drop),
            _ => TileNumbers::decode_from(reader).map(drop),
        };
        parts.extend(generic_tile(file, &format!("{section:?}"), bytes, offset, decode)?.0);
    }
    parts.sort_by_key(|part| part.file_range.start);
    parts.push(InspectedPart {
        title: "footer".into(),
        file_range: range.start..file_len,
        in_unfiltered_tile: false,
        fields,
    });
    Ok(parts)
}

/// Consolidated fragment metadata: its head, then every footer in it. A footer that cannot be read is named with the
/// reason: readers take the fragment's own file then.
pub(super) fn consolidated(
    file: &ArrayPlace,
    array_at: ArrayAt<'_>,
    folder_uri: &str,
    bytes: &[u8],
) -> Result<Vec<InspectedPart>> {
    let array_uri =
        folder_uri.strip_suffix(FRAGMENT_META_FOLDER).map_or(folder_uri, |uri| uri.trim_end_matches('/'));
    let array = array_at(if array_uri.is_empty() { "." } else { array_uri })?;
    let head = |reader: &mut Reader<'_>| ConsolidatedFooters::read_head(reader).map(drop);
    let (mut parts, end) = generic_tile(file, "consolidated fragment metadata", bytes, 0, head)?;
    let start = parts.first().map_or(0, |header| header.file_range.end);
    let (tile, _) = read_generic_tile(bytes, file.cipher(), &mut Scratch::new())?;
    let footers = ConsolidatedFooters::decode(tile.as_slice())?;
    for entry in &footers.entries {
        let name = names::last_part(&entry.name);
        let (title, fields) = match footer_fields(&array, &footers, name) {
            Ok(fields) => (format!("footer of {name}"), fields),
            Err(error) => (format!("footer of {name}, which readers pass over: {error}"), Vec::new()),
        };
        let fields = fields.into_iter().map(|mut field| {
            field.byte_offset += entry.footer_offset;
            field
        });
        parts.push(InspectedPart {
            title,
            file_range: start..end,
            in_unfiltered_tile: true,
            fields: fields.collect(),
        });
    }
    Ok(parts)
}

fn footer_fields(
    array: &ArrayPlace,
    footers: &ConsolidatedFooters<'_>,
    name: &str,
) -> Result<Vec<TraceEntry>> {
    let bytes = footers.footer(name).ok_or_else(|| Error::corrupt("another version starts here"))?;
    let version = TimestampedName::parse(name)?.fragment_version()?;
    let schema_name = match version.has(Rule::FooterLength) {
        true => Footer::schema_name_of(bytes)?,
        false => OLD_SCHEMA_FILE.to_owned(),
    };
    let shape = schema_of(array, &schema_name)?.shape();
    let mut reader = Reader::traced(bytes);
    Footer::decode_from(&mut reader, &shape)?;
    Ok(reader.into_trace())
}

fn schema_of(array: &ArrayPlace, wanted: &str) -> Result<ArraySchema> {
    let files = schema_files(array)?;
    let file = files
        .iter()
        .find(|(name, _)| name.as_ref().map_or(OLD_SCHEMA_FILE, TimestampedName::as_str) == wanted);
    let (_, path) = file.ok_or_else(|| Error::corrupt(format!("the schema {wanted:?} is missing")))?;
    ArraySchema::decode(array.read_tile_file(path)?.as_slice())
}
