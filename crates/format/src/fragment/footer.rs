//! The footer of fragment metadata, from version 3 on.

use super::{FieldId, FieldNumbers, PerField, PerVarField, Sides, Slots, surroundings};
use crate::extent::{put_rect, read_rect};
use crate::leaf::{Bool8, Bytes32, FormatVersion, List32, Str64, U64, put_u64s, u64s};
use crate::names;
use crate::record::{Cx, Leaf, Record, Shape, record};
use crate::{Reader, Rule, Version, Writer};
use smalti_types::{Error, Result};
use std::ops::Range;

record! {
    /// The footer of a fragment's metadata file: the last bytes, not filtered. From version 10, and before where a
    /// dimension is of strings, its length follows as a u64, which is the last thing in the file.
    pub struct Footer in "footer", spec "fragment.md#footer", given cx {
        /// The format version of the fragment.
        3..   version: Version as FormatVersion,
        /// The file name of the schema that the fragment was written with.
        10..  schema_name: String as Str64 = names::OLD_SCHEMA_FILE.to_owned(),
        /// Whether the fragment is dense.
        3..   is_dense: bool as Bool8,
        /// The least rectangle around all cells.
        3..   non_empty_domain: Option<Sides> as NonEmptyDomain,
        /// The number of tiles of a sparse fragment.
        3..   sparse_tile_count: u64 as U64,
        /// Cells in the last tile of a sparse fragment.
        3..   last_tile_cell_count: u64 as U64,
        /// Whether the fragment holds the time of each cell.
        14..  includes_timestamps: bool as Bool8 = false,
        /// Whether the fragment holds deleted cells, with time and condition.
        15..  includes_delete_metadata: bool as Bool8 = false,
        /// Bytes of each field's data file.
        3..   file_sizes: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata),
        /// Bytes of each field's file of variable-length values.
        3..   file_var_sizes: FieldNumbers as PerVarField(*includes_timestamps, *includes_delete_metadata),
        /// Bytes of each field's validity file.
        7..   file_validity_sizes: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata)
            = FieldNumbers::new(),
        /// Where the [R-tree] is in the file.
        3..   rtree: u64 as U64,
        /// Where the offsets of each field's tiles are: [tile numbers].
        3..   tile_offsets: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata),
        /// Where the offsets of each field's tiles of variable-length values are: [tile numbers].
        3..   tile_var_offsets: FieldNumbers as PerVarField(*includes_timestamps, *includes_delete_metadata),
        /// Where the unfiltered sizes of each field's tiles of variable-length values are: [tile numbers].
        3..   tile_var_sizes: FieldNumbers as PerVarField(*includes_timestamps, *includes_delete_metadata),
        /// Where the offsets of each field's validity tiles are: [tile numbers].
        7..   tile_validity_offsets: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata)
            = FieldNumbers::new(),
        /// Where the least value of each field's tiles are: [tile bounds].
        11..  tile_mins: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata)
            = FieldNumbers::new(),
        /// Where the greatest value of each field's tiles are: [tile bounds].
        11..  tile_maxes: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata)
            = FieldNumbers::new(),
        /// Where the sums of each field's tiles are: [tile numbers].
        11..  tile_sums: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata)
            = FieldNumbers::new(),
        /// Where the null counts of each field's tiles are: [tile numbers].
        11..  tile_null_counts: FieldNumbers as PerField(*includes_timestamps, *includes_delete_metadata)
            = FieldNumbers::new(),
        /// Where the [fragment statistics] are.
        12..  fragment_statistics: u64 as U64 = 0,
        /// Where the [processed conditions] are. Version 15 writes that section without pointing to it.
        16..  processed_conditions: u64 as U64 = 0,
        /// What later releases added.
        23..  optional_sections: Vec<OptionalSection> as List32 = Vec::new(),
    }
}

record! {
    /// A part of the footer that readers skip if they do not know it.
    pub struct OptionalSection in "optional section", spec "fragment.md#optional-section" {
        /// What the section is: 0 for [global order offsets].
        23..  id: u64 as U64,
        /// Its content.
        23..  data: Vec<u8> as SectionData(*id),
    }
}

record! {
    /// Optional section 0 of sparse fragments: where to find the first and last cell of each tile in global order.
    pub(crate) struct GlobalOrderOffsets in "global order offsets", spec "fragment.md#tile-global-order" {
        /// Where the coordinates of each tile's first cell are, for each dimension: [tile bounds].
        23..  mins: Vec<u64> as PerDimension,
        /// Where the coordinates of each tile's last cell are, for each dimension: [tile bounds].
        23..  maxes: Vec<u64> as PerDimension,
    }
}

record! {
    /// The start of a footer: enough to find the schema that the rest depends on.
    pub(crate) struct FooterHead in "footer", spec "fragment.md#footer" {
        /// The format version of the fragment.
        3..   version: Version as FormatVersion,
        /// The file name of the schema that the fragment was written with.
        10..  schema_name: String as Str64 = names::OLD_SCHEMA_FILE.to_owned(),
    }
}

/// The bytes of the optional section in the argument, behind their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SectionData(pub u64);

impl Leaf<Vec<u8>> for SectionData {
    fn on_disk() -> String {
        <Bytes32 as Leaf<Vec<u8>>>::on_disk()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<u8>> {
        if self.0 != GLOBAL_ORDER_SECTION || !reader.is_traced() {
            return Bytes32.read(reader, cx);
        }
        let byte_len = reader.framing("byte_len", "u32", Reader::u32)?;
        let content = reader.rest();
        reader.within(byte_len.into(), |reader| GlobalOrderOffsets::read(reader, cx).map(drop))?;
        Ok(content.get(..byte_len as usize).unwrap_or_default().to_vec())
    }
    fn write(&self, value: &Vec<u8>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        Bytes32.write(value, writer, cx)
    }
}

/// A flag that says that there is none, then an MBR.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NonEmptyDomain;

impl Leaf<Option<Sides>> for NonEmptyDomain {
    fn on_disk() -> String {
        "u8 flag (1: none), then an MBR, of zeros if none".into()
    }
    fn show(value: &Option<Sides>) -> String {
        value.as_ref().map_or("none".into(), |rect| format!("{} intervals", rect.len()))
    }
    fn fixed_len(cx: &Cx<'_>) -> Option<u64> {
        let rect_len = |shape: &Shape| {
            shape.dimensions.iter().map(|dimension| 2 * dimension.datatype.byte_len() as u64).sum::<u64>()
        };
        cx.shape.all_dimensions_fixed().then(|| 1 + rect_len(cx.shape))
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Option<Sides>> {
        let is_none = reader.framing("is_none", "u8, 0 or 1", |reader| Bool8.read(reader, cx))?;
        if is_none && !cx.shape.all_dimensions_fixed() {
            return Ok(None);
        }
        let rect = read_rect(reader, &cx.shape.dimensions)?;
        Ok((!is_none).then_some(rect))
    }
    fn write(&self, value: &Option<Sides>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let rect = value.as_ref().ok_or_else(|| {
            Error::invalid("a fragment without a non-empty domain cannot be read back by the reference")
        })?;
        Bool8.write(&false, writer, cx)?;
        put_rect(writer, &cx.shape.dimensions, rect)
    }
}

/// One number for each dimension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerDimension;

impl Leaf<Vec<u64>> for PerDimension {
    fn on_disk() -> String {
        "a u64 for each dimension".into()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<u64>> {
        u64s(reader, cx.shape.dimensions.len() as u64)
    }
    fn write(&self, value: &Vec<u64>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        if value.len() != cx.shape.dimensions.len() {
            return Err(Error::invalid(format!(
                "{} numbers, one for each dimension, are wanted",
                value.len()
            )));
        }
        put_u64s(writer, value);
        Ok(())
    }
}

/// A section of a fragment's metadata file: a generic tile. Fields are given by their place in the footer's lists,
/// see [`Footer::slot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// The [`RTree`](super::RTree).
    RTree,
    /// Where a field's tiles start in its file: [`TileNumbers`](super::TileNumbers).
    TileOffsets(usize),
    /// Where a field's tiles of variable-length values start: [`TileNumbers`](super::TileNumbers).
    TileVarOffsets(usize),
    /// Unfiltered sizes of a field's tiles of variable-length values: [`TileNumbers`](super::TileNumbers).
    TileVarSizes(usize),
    /// Where a field's validity tiles start: [`TileNumbers`](super::TileNumbers).
    TileValidityOffsets(usize),
    /// The least value in each of a field's tiles: [`TileBounds`](super::TileBounds).
    TileMins(usize),
    /// The greatest value in each of a field's tiles: [`TileBounds`](super::TileBounds).
    TileMaxes(usize),
    /// The coordinate of each tile's first cell on a dimension, by index: [`TileBounds`](super::TileBounds).
    GlobalOrderMins(usize),
    /// The coordinate of each tile's last cell on a dimension, by index: [`TileBounds`](super::TileBounds).
    GlobalOrderMaxes(usize),
    /// The sum of each of a field's tiles: [`TileNumbers`](super::TileNumbers).
    TileSums(usize),
    /// The null count of each of a field's tiles: [`TileNumbers`](super::TileNumbers).
    TileNullCounts(usize),
    /// The [`FragmentStatistics`](super::FragmentStatistics).
    FragmentStatistics,
    /// The [`ProcessedConditions`](super::ProcessedConditions).
    ProcessedConditions,
}

impl Footer {
    /// The footer of a fragment without cells, that points to no sections; its lists are empty.
    pub fn new(version: Version, schema_name: &str, is_dense: bool) -> Footer {
        Footer {
            version,
            schema_name: schema_name.to_owned(),
            is_dense,
            non_empty_domain: None,
            sparse_tile_count: 0,
            last_tile_cell_count: 0,
            includes_timestamps: false,
            includes_delete_metadata: false,
            file_sizes: FieldNumbers::new(),
            file_var_sizes: FieldNumbers::new(),
            file_validity_sizes: FieldNumbers::new(),
            rtree: 0,
            tile_offsets: FieldNumbers::new(),
            tile_var_offsets: FieldNumbers::new(),
            tile_var_sizes: FieldNumbers::new(),
            tile_validity_offsets: FieldNumbers::new(),
            tile_mins: FieldNumbers::new(),
            tile_maxes: FieldNumbers::new(),
            tile_sums: FieldNumbers::new(),
            tile_null_counts: FieldNumbers::new(),
            fragment_statistics: 0,
            processed_conditions: 0,
            optional_sections: Vec::new(),
        }
    }

    /// The bytes of the footer in its file of `file_len` bytes, its length behind it left out.
    ///
    /// `version` comes from the fragment's name (3 for names of versions 3 and 4), `tail` are the last bytes of
    /// the file, at least 8. The shape is not looked at from version 10, where the schema is not known yet.
    ///
    /// # Errors
    /// `Corrupt` when the file is too short; `Unsupported` before version 3.
    pub fn range(version: Version, shape: &Shape, file_len: u64, tail: &[u8]) -> Result<Range<u64>> {
        let place = |error: Error| error.in_field(Self::STRUCTURE.name, "footer length");
        if !version.has(Rule::FragmentFooter) {
            return Err(Error::unsupported(format!("fragments of version {version} have no footer")));
        }
        let fixed_len = if version.has(Rule::FooterLength) {
            None
        } else {
            Footer::fixed_len(&surroundings(version, shape))
        };
        let (len, end) = match fixed_len {
            Some(len) => (len, Some(file_len)),
            None => {
                let last = tail.len().checked_sub(8).and_then(|at| tail.get(at..)).unwrap_or_default();
                (Reader::new(last).u64().map_err(place)?, file_len.checked_sub(8))
            }
        };
        match end.and_then(|end| end.checked_sub(len).map(|start| start..end)) {
            Some(range) => Ok(range),
            None => Err(place(Error::corrupt(format!("a footer of {len} bytes in a file of {file_len}")))),
        }
    }

    /// The version of a footer, and the file name of the schema that it was written with: the rest needs both.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn head_of(footer: &[u8]) -> Result<(Version, String)> {
        let head = FooterHead::read(&mut Reader::new(footer), &Cx::unversioned())?;
        Ok((head.version, head.schema_name))
    }

    /// As [`head_of`](Footer::head_of), the name of the schema alone.
    ///
    /// # Errors
    /// As [`head_of`](Footer::head_of).
    pub fn schema_name_of(footer: &[u8]) -> Result<String> {
        Ok(Footer::head_of(footer)?.1)
    }

    /// Reads a footer that fills `bytes`.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(bytes: &[u8], shape: &Shape) -> Result<Footer> {
        Footer::decode_whole(&mut Reader::new(bytes), shape)
    }

    pub(super) fn decode_whole(reader: &mut Reader<'_>, shape: &Shape) -> Result<Footer> {
        let footer = Footer::decode_from(reader, shape)?;
        if footer.version.has(Rule::StrayFooterEnd) && reader.remaining() == 8 {
            reader.u64()?;
        }
        reader.expect_end().map_err(|error| error.in_field(Self::STRUCTURE.name, "end"))?;
        Ok(footer)
    }

    /// Reads a footer; bytes may follow, as in consolidated metadata.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode_from(reader: &mut Reader<'_>, shape: &Shape) -> Result<Footer> {
        let footer = Footer::read(reader, &Cx { shape, ..Cx::unversioned() })?;
        if footer.schema_name.is_empty() {
            return Err(Error::corrupt("the name is empty").in_field(Self::STRUCTURE.name, "schema_name"));
        }
        footer.global_order_offsets(shape)?;
        Ok(footer)
    }

    /// The footer's bytes, as in consolidated metadata.
    ///
    /// # Errors
    /// `InvalidArgument` when a list does not have one entry for each field, or the version cannot hold a value.
    pub fn encode(&self, shape: &Shape) -> Result<Vec<u8>> {
        self.to_bytes(&surroundings(self.version, shape))
    }

    /// The bytes that end a fragment's metadata file: the footer and, where the version wants it, its length.
    ///
    /// # Errors
    /// As [`encode`](Footer::encode).
    pub fn encode_file_end(&self, shape: &Shape) -> Result<Vec<u8>> {
        let mut bytes = self.encode(shape)?;
        if self.version.has(Rule::FooterLength) || !shape.all_dimensions_fixed() {
            bytes.extend((bytes.len() as u64).to_le_bytes());
        }
        Ok(bytes)
    }

    /// The place of a field in the lists of the footer; `None` for a field that the fragment does not have.
    /// Before version 5 lists of variable-length data end before the coordinates.
    pub fn slot(&self, shape: &Shape, field: FieldId) -> Option<usize> {
        self.slots(shape).of(field)
    }

    /// The number of entries in lists with one for each field.
    pub fn slot_count(&self, shape: &Shape) -> usize {
        self.slots(shape).count()
    }

    fn slots(&self, shape: &Shape) -> Slots {
        Slots::new(
            &surroundings(self.version, shape),
            self.includes_timestamps,
            self.includes_delete_metadata,
        )
    }

    /// Where a section's generic tile starts in the file; `None` for one that the version does not have.
    ///
    /// # Errors
    /// `Corrupt` when the optional section that points to it is damaged.
    pub fn section_offset(&self, section: Section, shape: &Shape) -> Result<Option<u64>> {
        let at = |list: &[u64], slot: usize| list.get(slot).copied();
        let held = |rule, offset| self.version.has(rule).then_some(offset);
        Ok(match section {
            Section::RTree => Some(self.rtree),
            Section::TileOffsets(slot) => at(&self.tile_offsets, slot),
            Section::TileVarOffsets(slot) => at(&self.tile_var_offsets, slot),
            Section::TileVarSizes(slot) => at(&self.tile_var_sizes, slot),
            Section::TileValidityOffsets(slot) => at(&self.tile_validity_offsets, slot),
            Section::TileMins(slot) => at(&self.tile_mins, slot),
            Section::TileMaxes(slot) => at(&self.tile_maxes, slot),
            Section::TileSums(slot) => at(&self.tile_sums, slot),
            Section::TileNullCounts(slot) => at(&self.tile_null_counts, slot),
            Section::FragmentStatistics => held(Rule::FragmentStatistics, self.fragment_statistics),
            Section::ProcessedConditions => held(Rule::DeleteCommits, self.processed_conditions),
            Section::GlobalOrderMins(dim) => {
                self.global_order_offsets(shape)?.and_then(|offsets| at(&offsets.mins, dim))
            }
            Section::GlobalOrderMaxes(dim) => {
                self.global_order_offsets(shape)?.and_then(|offsets| at(&offsets.maxes, dim))
            }
        })
    }

    /// All sections with their offsets, in the order in which the reference writes them.
    ///
    /// # Errors
    /// As [`section_offset`](Footer::section_offset).
    pub fn sections(&self, shape: &Shape) -> Result<Vec<(Section, u64)>> {
        let slots = 0..self.slot_count(shape);
        let dims = 0..shape.dimensions.len();
        let mut sections = vec![Section::RTree];
        for list in [
            Section::TileOffsets,
            Section::TileVarOffsets,
            Section::TileVarSizes,
            Section::TileValidityOffsets,
            Section::TileMins,
            Section::TileMaxes,
        ] {
            sections.extend(slots.clone().map(list));
        }
        sections.extend(dims.clone().map(Section::GlobalOrderMins));
        sections.extend(dims.map(Section::GlobalOrderMaxes));
        sections.extend(slots.clone().map(Section::TileSums));
        sections.extend(slots.map(Section::TileNullCounts));
        sections.extend([Section::FragmentStatistics, Section::ProcessedConditions]);

        let mut found = Vec::with_capacity(sections.len());
        for section in sections {
            if let Some(offset) = self.section_offset(section, shape)? {
                found.push((section, offset));
            }
        }
        Ok(found)
    }

    /// Points to a section. Lists grow as needed; [`encode`](Footer::encode) checks that none was forgotten.
    /// Global order bounds are set all at once, with
    /// [`set_global_order_offsets`](Footer::set_global_order_offsets).
    pub fn set_section_offset(&mut self, section: Section, offset: u64) {
        let (list, slot) = match section {
            Section::RTree => {
                self.rtree = offset;
                return;
            }
            Section::FragmentStatistics => {
                self.fragment_statistics = offset;
                return;
            }
            Section::ProcessedConditions => {
                self.processed_conditions = offset;
                return;
            }
            Section::GlobalOrderMins(_) | Section::GlobalOrderMaxes(_) => return,
            Section::TileOffsets(slot) => (&mut self.tile_offsets, slot),
            Section::TileVarOffsets(slot) => (&mut self.tile_var_offsets, slot),
            Section::TileVarSizes(slot) => (&mut self.tile_var_sizes, slot),
            Section::TileValidityOffsets(slot) => (&mut self.tile_validity_offsets, slot),
            Section::TileMins(slot) => (&mut self.tile_mins, slot),
            Section::TileMaxes(slot) => (&mut self.tile_maxes, slot),
            Section::TileSums(slot) => (&mut self.tile_sums, slot),
            Section::TileNullCounts(slot) => (&mut self.tile_null_counts, slot),
        };
        if list.len() <= slot {
            list.resize(slot + 1, 0);
        }
        if let Some(place) = list.get_mut(slot) {
            *place = offset;
        }
    }

    /// Points to the global order bounds of each dimension, in optional section 0.
    ///
    /// # Errors
    /// `InvalidArgument` when there is not one offset for each dimension.
    pub fn set_global_order_offsets(&mut self, mins: Vec<u64>, maxes: Vec<u64>, shape: &Shape) -> Result<()> {
        let data = GlobalOrderOffsets { mins, maxes }.to_bytes(&Cx::new(Version::MAX, shape))?;
        self.optional_sections.retain(|section| section.id != GLOBAL_ORDER_SECTION);
        self.optional_sections.push(OptionalSection { id: GLOBAL_ORDER_SECTION, data });
        Ok(())
    }

    fn global_order_offsets(&self, shape: &Shape) -> Result<Option<GlobalOrderOffsets>> {
        let section = self.optional_sections.iter().find(|section| section.id == GLOBAL_ORDER_SECTION);
        section
            .map(|section| GlobalOrderOffsets::from_bytes(&section.data, &Cx::new(Version::MAX, shape)))
            .transpose()
    }
}

/// The optional section that points to global order bounds.
const GLOBAL_ORDER_SECTION: u64 = 0;
