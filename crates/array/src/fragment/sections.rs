//! What the sections of a fragment's metadata hold. Most are decoded as they are asked for; those that are too long to be held
//! are opened once, and read where they are asked.

use super::Fragment;
use super::chunked::ChunkedSection;
use super::lists::{BoundsOfTiles, NumbersOfTiles, TilePlaces};
use crate::Plane;
use bytes::Bytes;
use smalti_format::fragment::{
    FieldId, Footer, FragmentStatistics, ProcessedConditions, Section, TileBounds, TileNumbers,
};
use smalti_format::{GenericTileHeader, Rule};
use smalti_tile::beyond_limit;
use smalti_types::{AlignedBuf, Error, Result};
use std::ops::Range;
use std::sync::{Arc, PoisonError};

/// A section that can be read.
pub(super) enum OpenSection {
    /// All its unfiltered bytes.
    Whole(AlignedBuf),
    /// One that is too long for that.
    Chunked(Arc<ChunkedSection>),
}

/// Where a section begins, the length of its header, and the header.
struct SectionHead {
    offset: u64,
    header_len: u64,
    header: GenericTileHeader,
}

impl Fragment {
    /// Where the tiles of a field lie in one of its files.
    pub(super) fn tile_places(&self, field: FieldId, plane: Plane) -> Result<Arc<TilePlaces>> {
        let known = self
            .learned()
            .places
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&(field, plane))
            .cloned();
        if let Some(places) = known {
            return Ok(places);
        }
        let slot = self.slot(field)?;
        let section = match plane {
            Plane::Fixed => Section::TileOffsets(slot),
            Plane::Var => Section::TileVarOffsets(slot),
            Plane::Validity => Section::TileValidityOffsets(slot),
        };
        let starts = self.open_numbers(section)?;
        let file_len = self.claimed_file_len(slot, plane);
        let places = TilePlaces::new(starts, self.tile_count, file_len).map_err(|error| {
            self.in_metadata(error.in_field("tile offsets", crate::field_name(&self.kin.schema, field)))
        })?;
        let places = Arc::new(places);
        let mut known = self.learned().places.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(known.entry((field, plane)).or_insert(places)))
    }

    /// The place of the only tile, where the footer told that it is the only one: it begins where its file does.
    pub(super) fn lone_place(
        &self,
        field: FieldId,
        plane: Plane,
        tile_idx: usize,
    ) -> Result<Option<Range<u64>>> {
        if tile_idx > 0 || self.learned().lone.get().is_none() {
            return Ok(None);
        }
        Ok(Some(0..self.claimed_file_len(self.slot(field)?, plane)))
    }

    /// How long a data file is by the footer.
    fn claimed_file_len(&self, slot: usize, plane: Plane) -> u64 {
        let footer = self.footer();
        let lens = match plane {
            Plane::Fixed => &footer.file_sizes,
            Plane::Var => &footer.file_var_sizes,
            Plane::Validity => &footer.file_validity_sizes,
        };
        lens.get(slot).copied().unwrap_or_default()
    }

    /// Unfiltered bytes of the values in a tile of a var-sized field.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn var_byte_len(&self, field: FieldId, tile_idx: usize) -> Result<usize> {
        let len = self.var_byte_lens(field)?.of_tile(tile_idx)?;
        len.and_then(|len| usize::try_from(len).ok()).ok_or_else(|| self.no_length(field, tile_idx as u64))
    }

    /// As [`var_byte_len`](Fragment::var_byte_len), if it is known without asking the store.
    pub fn known_var_byte_len(&self, field: FieldId, tile_idx: usize) -> Option<usize> {
        let known =
            self.learned().var_byte_lens.lock().unwrap_or_else(PoisonError::into_inner).get(&field).cloned();
        let lens = match known {
            Some(lens) => lens,
            None if self.is_at_hand(Section::TileVarSizes(self.slot(field).ok()?)) => {
                self.var_byte_lens(field).ok()?
            }
            None => return None,
        };
        usize::try_from(lens.known_of_tile(tile_idx)?).ok()
    }

    /// Whether the bytes of a section are in memory.
    fn is_at_hand(&self, section: Section) -> bool {
        if self.legacy.is_some() {
            return true;
        }
        let (footer, shape) = (self.footer(), &self.kin.shape);
        let (Ok(Some(start)), Ok(all)) = (footer.section_offset(section, shape), footer.sections(shape))
        else {
            return false;
        };
        let end = all.into_iter().map(|(_, other)| other).filter(|other| *other > start).min();
        // Behind the last one is the footer: what has its first byte of the end of the file has all of it.
        self.metadata.has(&(start..end.unwrap_or(start.saturating_add(1))))
    }

    /// Unfiltered bytes of the values in each tile of a var-sized field.
    pub(super) fn var_byte_lens(&self, field: FieldId) -> Result<Arc<NumbersOfTiles>> {
        let known =
            self.learned().var_byte_lens.lock().unwrap_or_else(PoisonError::into_inner).get(&field).cloned();
        if let Some(lens) = known {
            return Ok(lens);
        }
        let lens = Arc::new(self.open_numbers(Section::TileVarSizes(self.slot(field)?))?);
        let mut known = self.learned().var_byte_lens.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(known.entry(field).or_insert(lens)))
    }

    pub(super) fn no_length(&self, field: FieldId, tile_idx: u64) -> Error {
        self.in_metadata(
            Error::corrupt(format!("no length for tile {tile_idx}"))
                .in_field("tile var sizes", crate::field_name(&self.kin.schema, field)),
        )
    }

    /// The least (or greatest) value of each tile of a field, where the format keeps them, for one who asks for those of some tiles.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn bounds_of_tiles(&self, field: FieldId, greatest: bool) -> Result<BoundsOfTiles> {
        match self.open_section(bounds_section(self.slot(field)?, greatest))? {
            OpenSection::Whole(tile) => TileBounds::decode(tile.as_slice())
                .map(BoundsOfTiles::whole)
                .map_err(|error| self.in_metadata(error)),
            OpenSection::Chunked(section) => BoundsOfTiles::chunked(section),
        }
    }

    /// Sums (or null counts) of the tiles of a field, for one who asks for those of some tiles.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn totals_of_tiles(&self, field: FieldId, nulls: bool) -> Result<NumbersOfTiles> {
        self.open_numbers(totals_section(self.slot(field)?, nulls))
    }

    /// The least (or greatest) value of every tile of a field, where the format keeps them.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`; `OutOfMemory` beyond the limit of metadata.
    pub fn tile_bounds(&self, field: FieldId, greatest: bool) -> Result<TileBounds> {
        let section = bounds_section(self.slot(field)?, greatest);
        TileBounds::decode(self.section(section)?.as_slice()).map_err(|error| self.in_metadata(error))
    }

    /// The bytes that [`bounds_of_tiles`](Fragment::bounds_of_tiles) will hold, before they are read: values of any length are
    /// there whole, unless there are very many.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn tile_bounds_byte_len(&self, field: FieldId, greatest: bool) -> Result<u64> {
        let section = bounds_section(self.slot(field)?, greatest);
        self.check_own_footer()?;
        let known = || {
            if self.known_chunked(section).is_some() {
                return Ok(0);
            }
            let head = self.section_header(section)?;
            Ok(if self.open_chunked(section, &head)?.is_some() { 0 } else { head.header.unfiltered_len })
        };
        known().map_err(|error: Error| self.in_metadata(error))
    }

    /// The sum (or null count) of every tile of a field.
    ///
    /// # Errors
    /// As [`tile_bounds`](Fragment::tile_bounds).
    pub fn tile_totals(&self, field: FieldId, nulls: bool) -> Result<Vec<u64>> {
        let section = totals_section(self.slot(field)?, nulls);
        match self.legacy_numbers(section) {
            Some(numbers) => numbers,
            None => self.decode_numbers(self.section(section)?.as_slice()),
        }
    }

    /// Statistics of the fields over the whole fragment, in the order of the footer's lists.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn statistics(&self) -> Result<FragmentStatistics> {
        let statistics = FragmentStatistics::decode(self.section(Section::FragmentStatistics)?.as_slice())
            .map_err(|error| self.in_metadata(error))?;
        statistics.check(self.footer(), &self.kin.shape)?;
        Ok(statistics)
    }

    /// The least and the greatest value of a field over the whole fragment, as far as the format keeps them.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn field_bounds(&self, field: FieldId) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if !self.version().has(Rule::FragmentStatistics) {
            return Ok(None);
        }
        let slot = self.slot(field)?;
        let known = self.statistics()?.fields.into_iter().nth(slot);
        let known = known.filter(|known| !known.min.is_empty() || !known.max.is_empty());
        Ok(known.map(|known| (known.min, known.max)))
    }

    /// The paths of delete commits, relative to the array, that the cells need not be asked for again. A fragment that says of
    /// no cell when it was deleted names those too whose cells were left out of it.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn processed_paths(&self) -> Result<Vec<String>> {
        if self.footer().section_offset(Section::ProcessedConditions, &self.kin.shape)?.is_none() {
            return Ok(Vec::new());
        }
        let section = self.section(Section::ProcessedConditions)?;
        let processed =
            ProcessedConditions::decode(section.as_slice()).map_err(|error| self.in_metadata(error))?;
        Ok(processed.conditions)
    }

    /// The numbers of a section.
    fn open_numbers(&self, section: Section) -> Result<NumbersOfTiles> {
        if let Some(numbers) = self.legacy_numbers(section) {
            return numbers.map(NumbersOfTiles::whole);
        }
        match self.open_section(section)? {
            OpenSection::Whole(tile) => self.decode_numbers(tile.as_slice()).map(NumbersOfTiles::whole),
            OpenSection::Chunked(section) => NumbersOfTiles::chunked(section),
        }
    }

    fn decode_numbers(&self, tile: &[u8]) -> Result<Vec<u64>> {
        Ok(TileNumbers::decode(tile).map_err(|error| self.in_metadata(error))?.values)
    }

    /// In versions without sections, the numbers that stand for one.
    fn legacy_numbers(&self, section: Section) -> Option<Result<Vec<u64>>> {
        let legacy = self.legacy.as_ref()?;
        let list = match section {
            Section::TileOffsets(slot) => legacy.tile_offsets.get(slot),
            Section::TileVarOffsets(slot) => legacy.tile_var_offsets.get(slot),
            Section::TileVarSizes(slot) => legacy.tile_var_sizes.get(slot),
            _ => None,
        };
        Some(list.cloned().ok_or_else(|| {
            let message = format!("version {} keeps no {section:?}", self.version());
            self.in_metadata(Error::unsupported(message))
        }))
    }

    /// The footer as the fragment's own metadata file has it.
    ///
    /// # Errors
    /// `Unsupported` before version 3, which has no footers; `Corrupt` when the snapshot took another one from consolidated
    /// metadata, or the file is damaged.
    pub fn own_footer(&self) -> Result<Bytes> {
        let read = || {
            let at = self.metadata_place();
            let tail = self.metadata.tail(at)?;
            let range = Footer::range(self.listed.version, &self.kin.shape, tail.file_byte_len, &tail.bytes)?;
            let bytes = self.metadata.bytes(at, range)?;
            if bytes == self.footer_bytes {
                return Ok(bytes);
            }
            let mut own = Footer::decode(&bytes, &self.kin.shape)?;
            if own.is_dense {
                // It says nothing of dense fragments, and libtiledb writes another number into consolidated metadata.
                own.last_tile_cell_count = self.outline.last_tile_cell_count;
            }
            if own != *self.footer() {
                return Err(Error::corrupt(
                    "consolidated fragment metadata, a file that ends in .meta, has another footer than this; \
                     move such files away: nothing is lost with them",
                ));
            }
            Ok(bytes)
        };
        read().map_err(|error| self.in_metadata(error))
    }

    fn section_header(&self, section: Section) -> Result<SectionHead> {
        let offset = self
            .footer()
            .section_offset(section, &self.kin.shape)?
            .ok_or_else(|| Error::unsupported(format!("version {} keeps no {section:?}", self.version())))?;
        let at = self.metadata_place();
        let base = self.metadata.bytes(at, offset..offset.saturating_add(GenericTileHeader::BASE_LEN))?;
        let header_len = GenericTileHeader::header_len(&base)?;
        let head = self.metadata.bytes(at, offset..offset.saturating_add(header_len))?;
        let header = GenericTileHeader::decode(&mut smalti_format::Reader::new(&head))?;
        Ok(SectionHead { offset, header_len, header })
    }

    /// A section, as a whole where it is short.
    pub(super) fn open_section(&self, section: Section) -> Result<OpenSection> {
        if let Some(known) = self.known_chunked(section) {
            return Ok(OpenSection::Chunked(known));
        }
        self.check_own_footer()?;
        let open = || {
            let head = self.section_header(section)?;
            Ok(match self.open_chunked(section, &head)? {
                Some(chunked) => OpenSection::Chunked(chunked),
                None => OpenSection::Whole(self.whole_section(&head)?),
            })
        };
        open().map_err(|error: Error| self.in_metadata(error.context(format_args!("section {section:?}"))))
    }

    fn known_chunked(&self, section: Section) -> Option<Arc<ChunkedSection>> {
        self.learned().chunked.lock().unwrap_or_else(PoisonError::into_inner).get(&section).cloned()
    }

    /// A section that is too long to be held; `None` for others.
    fn open_chunked(&self, section: Section, head: &SectionHead) -> Result<Option<Arc<ChunkedSection>>> {
        let at = self.metadata_place();
        if head.header.unfiltered_len <= at.place.whole_section_byte_len() {
            return Ok(None);
        }
        let start = head.offset.saturating_add(head.header_len);
        let opened = ChunkedSection::open(at, &self.metadata, section, start, &head.header)?;
        let Some(opened) = opened.map(Arc::new) else { return Ok(None) };
        self.metadata.forget_piece(head.offset);
        let mut known = self.learned().chunked.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(Arc::clone(known.entry(section).or_insert(opened))))
    }

    /// Checks once that a footer from elsewhere is that of the fragment's own file.
    fn check_own_footer(&self) -> Result<()> {
        if self.is_own_footer.get().is_none() {
            self.own_footer()?;
            let _ = self.is_own_footer.set(());
        }
        Ok(())
    }

    /// The unfiltered bytes of a section, however long it is.
    pub(super) fn section(&self, section: Section) -> Result<AlignedBuf> {
        self.check_own_footer()?;
        let read = || self.whole_section(&self.section_header(section)?);
        read().map_err(|error| self.in_metadata(error.context(format_args!("section {section:?}"))))
    }

    fn whole_section(&self, SectionHead { offset, header_len, header }: &SectionHead) -> Result<AlignedBuf> {
        let at = self.metadata_place();
        let end = header_len
            .checked_add(header.filtered_len)
            .and_then(|len| offset.checked_add(len))
            .ok_or_else(|| Error::corrupt("a section beyond the end of all files"))?;
        let limit = at.place.metadata_limit();
        if header.filtered_len > limit {
            return Err(beyond_limit(header.filtered_len, limit));
        }
        let tile = self.metadata.bytes(at, *offset..end)?;
        let (payload, _) = at.place.open_tile(&tile).map_err(|error| error.at_offset(*offset))?;
        self.metadata.forget_piece(*offset);
        Ok(payload)
    }
}

fn bounds_section(slot: usize, greatest: bool) -> Section {
    if greatest { Section::TileMaxes(slot) } else { Section::TileMins(slot) }
}

fn totals_section(slot: usize, nulls: bool) -> Section {
    if nulls { Section::TileNullCounts(slot) } else { Section::TileSums(slot) }
}
