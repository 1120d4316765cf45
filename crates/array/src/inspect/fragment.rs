//! Fragment metadata: every section, then the footer; and the consolidated form of many footers.

use super::inspector::{Inspector, above};
use super::output::{Output, field, unexplained};
use super::tile::{self, Explained, traced};
use crate::listing::schema_files;
use crate::{ArrayPlace, field_name, field_shape};
use bytes::Bytes;
use smalti_format::fragment::{
    ConsolidatedFooters, FieldId, Footer, FooterIndex, FragmentStatistics, LegacyFragmentMetadata,
    ProcessedConditions, RTree, Section, TileBounds, TileNumbers,
};
use smalti_format::names::{self, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER, OLD_SCHEMA_FILE, TimestampedName};
use smalti_format::{ArraySchema, GenericTileHeader, Reader, Rule, TraceDetail, TraceEntry, Version};
use smalti_store::split;
use smalti_tile::CellShape;
use smalti_types::{Error, PhysicalKind, Result, Scalar};

pub(super) fn explain(inspector: &Inspector, output: &mut Output<'_>) -> Result<()> {
    let bytes = inspector.bytes()?;
    let metadata = match Metadata::open(inspector, &bytes) {
        Ok(metadata) => metadata,
        Err(error) => {
            output.damaged(error);
            return explain_strays(inspector, &bytes, bytes.len() as u64, None, output);
        }
    };
    if !metadata.version.has(Rule::FragmentFooter) {
        let shape = metadata.schema.shape();
        let decode = |reader: &mut Reader<'_>| LegacyFragmentMetadata::decode_from(reader, &shape).map(drop);
        tile::explain(
            &inspector.file,
            "legacy fragment metadata",
            &bytes,
            0,
            output,
            &mut |payload, detail| traced(payload, detail, decode),
        )?;
        return Ok(());
    }
    metadata.explain(inspector, &bytes, output)
}

/// A fragment's metadata file, as far as it is known before its sections are looked at.
struct Metadata {
    version: Version,
    schema: ArraySchema,
    footer: std::ops::Range<u64>,
}

impl Metadata {
    fn open(inspector: &Inspector, bytes: &[u8]) -> Result<Metadata> {
        let folder_uri = inspector.folder();
        let name = TimestampedName::parse(names::last_part(folder_uri))?;
        let version = name.fragment_version()?;
        let array = inspector.array_at(above(split(folder_uri).0, FRAGMENTS_FOLDER))?;
        if !version.has(Rule::FragmentFooter) {
            return Ok(Metadata { version, schema: schema_of(&array, OLD_SCHEMA_FILE)?, footer: 0..0 });
        }
        let file_len = bytes.len() as u64;
        if version.has(Rule::FooterLength) {
            let footer = Footer::range(version, &Default::default(), file_len, bytes)?;
            let schema = schema_of(&array, &Footer::schema_name_of(slice(bytes, &footer)?)?)?;
            return Ok(Metadata { version, schema, footer });
        }
        let schema = schema_of(&array, OLD_SCHEMA_FILE)?;
        let footer = Footer::range(version, &schema.shape(), file_len, bytes)?;
        Ok(Metadata { version, schema, footer })
    }

    fn explain(&self, inspector: &Inspector, bytes: &Bytes, output: &mut Output<'_>) -> Result<()> {
        let shape = self.schema.shape();
        let footer_bytes = slice(bytes, &self.footer)?;
        let mut reader = Reader::traced(footer_bytes, output.detail);
        let decoded = Footer::decode_from(&mut reader, &shape);
        let read_len = reader.byte_offset();
        let mut fields = reader.into_trace();
        let is_stray_end = decoded.as_ref().is_ok_and(|footer| footer.version.has(Rule::StrayFooterEnd))
            && footer_bytes.len() as u64 == read_len + 8;
        if is_stray_end {
            fields.push(stray_end(read_len));
        }
        fields.iter_mut().for_each(|entry| entry.byte_offset += self.footer.start);
        let sections = decoded.and_then(|footer| footer.sections(&shape).map(|sections| (footer, sections)));
        let names = match sections {
            Ok((footer, mut sections)) => {
                let names = self.slot_names(&footer);
                sections.sort_by_key(|(_, offset)| *offset);
                let file_end = self.footer.start;
                for group in sections.chunk_by(|a, b| a.1 == b.1) {
                    self.explain_section(inspector, bytes, group, &names, output)?;
                }
                explain_strays(inspector, bytes, file_end, Some(self.version), output)?;
                names
            }
            Err(error) => {
                output.damaged(error.at_offset(self.footer.start));
                explain_strays(inspector, bytes, self.footer.start, None, output)?;
                Vec::new()
            }
        };
        let order: Vec<String> = names.iter().map(|slot| slot.1.clone()).collect();
        let title = match order.is_empty() {
            true => "footer".to_owned(),
            false => format!("footer; lists with an entry for each field: {}", order.join(", ")),
        };
        let file_len = bytes.len() as u64;
        if self.footer.end < file_len {
            let doc = "Bytes of the footer.";
            let value = (self.footer.end - self.footer.start).to_string();
            fields.push(field("footer", "footer_len", "u64", doc, self.footer.end..file_len, value));
        }
        output.in_file(title, None, self.footer.start..file_len, fields)
    }

    /// Each field with the words for it, by its place in the lists of the footer.
    fn slot_names(&self, footer: &Footer) -> Vec<(FieldId, String)> {
        let shape = self.schema.shape();
        let attributes = (0..self.schema.attributes.len()).map(FieldId::Attribute);
        let dimensions = (0..self.schema.dimensions.len()).map(FieldId::Dimension);
        let others = [FieldId::Timestamps, FieldId::DeleteTimestamps, FieldId::DeleteConditionIndex];
        let fields = attributes.chain([FieldId::Coordinates]).chain(dimensions).chain(others);
        let mut slots: Vec<(usize, FieldId)> =
            fields.filter_map(|field| footer.slot(&shape, field).map(|slot| (slot, field))).collect();
        slots.sort_by_key(|(slot, _)| *slot);
        let words = |field| match field {
            FieldId::Attribute(_) => format!("attribute {:?}", field_name(&self.schema, field)),
            FieldId::Dimension(_) => format!("dimension {:?}", field_name(&self.schema, field)),
            FieldId::Coordinates if footer.version.has(Rule::DimensionFiles) => "unused coordinates".into(),
            _ => field_name(&self.schema, field).to_owned(),
        };
        slots.into_iter().map(|(_, field)| (field, words(field))).collect()
    }

    /// One or, if the footer says so, several sections at one place.
    fn explain_section(
        &self,
        inspector: &Inspector,
        bytes: &Bytes,
        group: &[(Section, u64)],
        names: &[(FieldId, String)],
        output: &mut Output<'_>,
    ) -> Result<()> {
        let Some(&(section, offset)) = group.first() else { return Ok(()) };
        let titles: Vec<String> = group.iter().map(|(section, _)| self.title(*section, names)).collect();
        let title = titles.join("; ");
        if offset < output.end() || offset >= self.footer.start {
            output
                .damaged(Error::corrupt(format!("the {title} at byte {offset} lies inside something else")));
            return Ok(());
        }
        explain_strays(inspector, bytes, offset, Some(self.version), output)?;
        let shape = slot_of(section)
            .and_then(|slot| names.get(slot))
            .and_then(|(field, _)| field_shape(&self.schema, *field).ok());
        tile::explain(&inspector.file, &title, bytes, offset, output, &mut |payload, detail| {
            self.explain_payload(section, shape, payload, detail)
        })?;
        Ok(())
    }

    fn explain_payload(
        &self,
        section: Section,
        cells: Option<CellShape>,
        payload: &[u8],
        detail: TraceDetail,
    ) -> Explained {
        let schema_shape = self.schema.shape();
        let dimension = |dim: usize| {
            let field = self.schema.dimensions.get(dim).map(|_| FieldId::Dimension(dim))?;
            field_shape(&self.schema, field).ok()
        };
        match section {
            Section::RTree => traced(payload, detail, |reader| {
                RTree::decode_from(reader, self.version, &schema_shape).map(drop)
            }),
            Section::TileMins(_) | Section::TileMaxes(_) => explain_bounds(payload, cells, detail),
            Section::GlobalOrderMins(dim) | Section::GlobalOrderMaxes(dim) => {
                explain_bounds(payload, dimension(dim), detail)
            }
            Section::FragmentStatistics => {
                traced(payload, detail, |reader| FragmentStatistics::decode_from(reader).map(drop))
            }
            Section::ProcessedConditions => {
                traced(payload, detail, |reader| ProcessedConditions::decode_from(reader).map(drop))
            }
            Section::TileSums(_) => explain_sums(payload, cells, detail),
            _ => traced(payload, detail, |reader| TileNumbers::decode_from(reader).map(drop)),
        }
    }

    fn title(&self, section: Section, names: &[(FieldId, String)]) -> String {
        let of = |slot: usize| names.get(slot).map_or("a field", |(_, name)| name.as_str());
        let dimension = |dim: usize| field_name(&self.schema, FieldId::Dimension(dim));
        match section {
            Section::RTree => "R-tree".into(),
            Section::TileOffsets(slot) => format!("tile offsets of {}", of(slot)),
            Section::TileVarOffsets(slot) => format!("tile offsets of the values of {}", of(slot)),
            Section::TileVarSizes(slot) => format!("tile sizes of the values of {}", of(slot)),
            Section::TileValidityOffsets(slot) => format!("tile offsets of the validity of {}", of(slot)),
            Section::TileMins(slot) => format!("least value in each tile of {}", of(slot)),
            Section::TileMaxes(slot) => format!("greatest value in each tile of {}", of(slot)),
            Section::GlobalOrderMins(dim) => format!("first coordinate of each tile on {:?}", dimension(dim)),
            Section::GlobalOrderMaxes(dim) => format!("last coordinate of each tile on {:?}", dimension(dim)),
            Section::TileSums(slot) => format!("sum of each tile of {}", of(slot)),
            Section::TileNullCounts(slot) => format!("null count of each tile of {}", of(slot)),
            Section::FragmentStatistics => "fragment statistics".into(),
            Section::ProcessedConditions => "processed conditions".into(),
        }
    }
}

/// Generic tiles up to an offset that no footer points to, one after the other.
#[expect(clippy::cast_possible_truncation, reason = "an offset of 64 bits fits a usize where smalti runs")]
fn explain_strays(
    inspector: &Inspector,
    bytes: &Bytes,
    until: u64,
    version: Option<Version>,
    output: &mut Output<'_>,
) -> Result<()> {
    while output.end() < until {
        let start = output.end();
        let head = bytes.get(start as usize..until as usize).unwrap_or_default();
        if GenericTileHeader::split(head).is_err() {
            return Ok(());
        }
        // Version 15 writes its processed conditions without pointing to them; a footer without its optional section
        // leaves the bounds in global order behind.
        let keeps_conditions = version
            .is_some_and(|version| version.has(Rule::DeleteMetadata) && !version.has(Rule::DeleteCommits));
        let title = match version {
            Some(_) if keeps_conditions => "processed conditions, which nothing points to",
            Some(_) => "section that nothing points to",
            None => "section of which the footer says nothing",
        };
        let explain = &mut |payload: &[u8], detail| {
            let explained = match version {
                Some(_) if keeps_conditions => {
                    traced(payload, detail, |reader| ProcessedConditions::decode_from(reader).map(drop))
                }
                Some(version) if version.has(Rule::OptionalSections) => explain_bounds(payload, None, detail),
                _ => (Vec::new(), None),
            };
            if explained.1.is_none() { explained } else { (Vec::new(), None) }
        };
        if tile::explain(&inspector.file, title, bytes, start, output, explain)?.is_none() {
            return Ok(());
        }
    }
    Ok(())
}

/// The place of a section's field in the lists of the footer.
fn slot_of(section: Section) -> Option<usize> {
    match section {
        Section::TileMins(slot) | Section::TileMaxes(slot) | Section::TileSums(slot) => Some(slot),
        _ => None,
    }
}

fn explain_bounds(payload: &[u8], cells: Option<CellShape>, detail: TraceDetail) -> Explained {
    let mut bounds = None;
    let mut explained = traced(payload, detail, |reader| {
        bounds = Some(TileBounds::decode_from(reader)?);
        Ok(())
    });
    let (Some(bounds), Some(cells)) = (bounds, cells) else { return explained };
    if cells.is_var() {
        let tiles = (0..bounds.fixed.len() / 8)
            .map(|tile| bounds.var_value(tile).map_or("damaged".into(), |value| text(value, cells)))
            .collect();
        set_value(&mut explained.0, "var", tiles, detail);
        let offsets =
            bounds.fixed.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes).to_string());
        set_value(&mut explained.0, "fixed", offsets.collect(), detail);
    } else {
        let tiles = bounds.fixed.chunks(cells.cell_byte_len().max(1)).map(|value| text(value, cells));
        set_value(&mut explained.0, "fixed", tiles.collect(), detail);
    }
    explained
}

fn explain_sums(payload: &[u8], cells: Option<CellShape>, detail: TraceDetail) -> Explained {
    let mut sums = None;
    let mut explained = traced(payload, detail, |reader| {
        sums = Some(TileNumbers::decode_from(reader)?);
        Ok(())
    });
    let (Some(sums), Some(cells)) = (sums, cells) else { return explained };
    let shown = |bits: &u64| match cells.datatype.physical() {
        PhysicalKind::F32 | PhysicalKind::F64 => f64::from_bits(*bits).to_string(),
        PhysicalKind::I8 | PhysicalKind::I16 | PhysicalKind::I32 | PhysicalKind::I64 => {
            bits.cast_signed().to_string()
        }
        _ => bits.to_string(),
    };
    set_value(&mut explained.0, "values", sums.values.iter().map(shown).collect(), detail);
    explained
}

/// Values of a field as text.
fn text(bytes: &[u8], cells: CellShape) -> String {
    if cells.datatype.is_string() || cells.datatype == smalti_types::Datatype::Char {
        return format!("{:?}", String::from_utf8_lossy(bytes));
    }
    let numbers = bytes.chunks(cells.datatype.byte_len()).map(|value| {
        Scalar::read(cells.datatype, value).map_or_else(|_| format!("{value:?}"), |value| value.to_string())
    });
    numbers.collect::<Vec<_>>().join(" ")
}

fn set_value(fields: &mut [TraceEntry], name: &str, values: Vec<String>, detail: TraceDetail) {
    let Some(entry) = fields.iter_mut().find(|entry| entry.field == name) else { return };
    let kept = if detail == TraceDetail::Full { values.len() } else { values.len().min(20) };
    let more = if kept < values.len() { ", …" } else { "" };
    entry.value = format!("[{}{more}]", values.get(..kept).unwrap_or_default().join(", "));
}

fn stray_end(start: u64) -> TraceEntry {
    let doc = "Bytes of no meaning, which newer releases put behind the footer of arrays of this version.";
    field("footer", "stray_end", "8 bytes", doc, start..start + 8, "of no meaning".into())
}

/// Consolidated fragment metadata: its head, then every footer in it. A footer that readers pass over is one field with
/// the reason: they take the fragment's own file then.
pub(super) fn explain_consolidated(inspector: &Inspector, output: &mut Output<'_>) -> Result<()> {
    let bytes = inspector.bytes()?;
    let array = inspector.array_at(above(inspector.folder(), FRAGMENT_META_FOLDER));
    tile::explain(&inspector.file, inspector.kind(), &bytes, 0, output, &mut |payload, detail| {
        explain_footers(array.as_ref(), payload, detail)
    })?;
    Ok(())
}

fn explain_footers(array: Result<&ArrayPlace, &Error>, payload: &[u8], detail: TraceDetail) -> Explained {
    let (mut fields, damage) =
        traced(payload, detail, |reader| ConsolidatedFooters::read_head(reader).map(drop));
    if damage.is_some() {
        return (fields, damage);
    }
    let footers = ConsolidatedFooters::decode(payload);
    let (footers, index) = match footers.and_then(|footers| Ok((footers, FooterIndex::decode(payload)?))) {
        Ok(read) => read,
        Err(error) => return (fields, Some(error)),
    };
    let mut starts: Vec<(u64, &str)> =
        footers.entries.iter().map(|entry| (entry.footer_offset, names::last_part(&entry.name))).collect();
    starts.sort_unstable();
    starts.dedup_by_key(|(start, _)| *start);
    let listed = if detail == TraceDetail::Full { starts.len() } else { starts.len().min(20) };
    for (idx, &(start, name)) in starts.iter().enumerate() {
        let end = starts.get(idx + 1).map_or(payload.len() as u64, |(next, _)| *next);
        let doc = "The footer of a fragment's metadata, without its length.";
        if idx == listed {
            let range = start..payload.len() as u64;
            let value = format!("{} more", starts.len() - listed);
            fields.push(field("consolidated footer", "footers", "[footer]", doc, range, value));
            break;
        }
        let mut entry =
            field("consolidated footer", "footer", "[footer]", doc, start..end, format!("of {name}"));
        let explained =
            array.map_err(Error::clone).and_then(|array| footer_fields(array, &index, name, detail));
        match explained {
            Ok((mut inner, read_len)) => {
                fields.push(entry);
                if start + read_len + 8 == end {
                    inner.push(stray_end(read_len));
                }
                let inner_end = inner.last().map_or(0, |last| last.byte_offset + last.byte_len);
                fields.extend(inner.into_iter().map(|mut field| {
                    field.byte_offset += start;
                    field.depth += 1;
                    field
                }));
                if start + inner_end < end {
                    fields.push(unexplained(1, start + inner_end..end, ""));
                }
            }
            Err(error) => {
                entry.value = format!("of {name}, which readers pass over: {}", error.message());
                fields.push(entry);
            }
        }
    }
    (fields, None)
}

fn footer_fields(
    array: &ArrayPlace,
    footers: &FooterIndex<&[u8]>,
    name: &str,
    detail: TraceDetail,
) -> Result<(Vec<TraceEntry>, u64)> {
    let name = TimestampedName::parse(name)?;
    let bytes = footers.footer(&name).ok_or_else(|| Error::corrupt("another version starts here"))?;
    let version = name.fragment_version()?;
    let schema_name = match version.has(Rule::FooterLength) {
        true => Footer::schema_name_of(bytes)?,
        false => OLD_SCHEMA_FILE.to_owned(),
    };
    let shape = schema_of(array, &schema_name)?.shape();
    let mut reader = Reader::traced(bytes, detail);
    Footer::decode_from(&mut reader, &shape)?;
    let read_len = reader.byte_offset();
    Ok((reader.into_trace(), read_len))
}

#[expect(clippy::cast_possible_truncation, reason = "an offset of 64 bits fits a usize where smalti runs")]
fn slice<'a>(bytes: &'a [u8], range: &std::ops::Range<u64>) -> Result<&'a [u8]> {
    bytes
        .get(range.start as usize..range.end as usize)
        .ok_or_else(|| Error::corrupt("the footer lies outside the file"))
}

fn schema_of(array: &ArrayPlace, wanted: &str) -> Result<ArraySchema> {
    let files = schema_files(array)?;
    let file = files
        .iter()
        .find(|(name, _)| name.as_ref().map_or(OLD_SCHEMA_FILE, TimestampedName::as_str) == wanted);
    let (_, path) = file.ok_or_else(|| Error::corrupt(format!("the schema {wanted:?} is missing")))?;
    ArraySchema::decode(array.read_tile_file(path)?.as_slice())
}
