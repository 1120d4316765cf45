//! A fragment of a snapshot: its footer, and the sections of its metadata as they are needed.

mod bytes;
mod early;

use crate::{ArrayPlace, ListedFragment, Plane, field_shape};
use ::bytes::Bytes;
use bytes::{MetadataBytes, MetadataPlace, piece};
use smalti_format::fragment::{
    FieldId, Footer, FooterOutline, FragmentStatistics, LegacyFragmentMetadata, ProcessedConditions,
    RTree as StoredTree, Section, TileBounds, TileNumbers, TileOffsets,
};
use smalti_format::names::{self, DataPart, TimestampedName, data_file_name};
use smalti_format::{ArraySchema, GenericTileHeader, Rule, Shape, Version};
use smalti_space::{Interval, RTree, stored_mbr_interval};
use smalti_store::{StoreExt, Tail, join};
use smalti_tile::beyond_limit;
use smalti_types::{AlignedBuf, Error, Extent, Filter, RectList, Result, TimeRange};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A committed fragment. Its footer is read when the snapshot is opened, other parts of its metadata when they are first
/// needed; all of it is kept.
#[derive(Debug)]
pub struct Fragment {
    kin: Arc<Kin>,
    listed: ListedFragment,
    outline: FooterOutline,
    /// The bytes of the footer: many fragments are opened, and few of their lists are looked at.
    footer_bytes: Bytes,
    footer: OnceLock<Box<Footer>>,
    tile_count: u64,
    metadata: MetadataBytes,
    is_footer_shared: bool,
    /// Whether the footer is known to be that of the fragment's own metadata file.
    is_own_footer: OnceLock<()>,
    /// In versions 1 and 2: everything, in memory.
    legacy: Option<Box<LegacyFragmentMetadata>>,
    rtree: OnceLock<RTree>,
    offsets: Mutex<HashMap<(FieldId, Plane), Arc<TileOffsets>>>,
    var_byte_lens: Mutex<HashMap<FieldId, Arc<Vec<u64>>>>,
}

/// What fragments of an array share that were written with one schema.
#[derive(Debug)]
pub(crate) struct Kin {
    place: ArrayPlace,
    schema: Arc<ArraySchema>,
    shape: Shape,
}

/// The bytes of a footer, and what was read of the fragment's metadata file with it.
#[derive(Debug, Default)]
struct StoredFooter {
    bytes: Bytes,
    metadata: MetadataBytes,
    /// Whether it was taken from consolidated fragment metadata.
    is_shared: bool,
}

impl Fragment {
    /// The bytes that are read from the end of a metadata file at once: all of it for most fragments.
    pub(crate) const TAIL_BYTE_LEN: u64 = 64 << 10;

    /// Reads the footer of a listed fragment, whether it is committed or not. `schema_of` gives the schema of a name.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` and `Permission`, with the metadata file named.
    pub fn open_alone(
        place: &ArrayPlace,
        listed: &ListedFragment,
        schema_of: impl Fn(&str) -> Result<Arc<ArraySchema>>,
    ) -> Result<Fragment> {
        Fragment::open(place, listed, |name| Ok(Arc::new(Kin::new(place, schema_of(name)?))))
    }

    /// As [`open_alone`](Fragment::open_alone), for one of many that share what is known of schemas.
    pub(crate) fn open(
        place: &ArrayPlace,
        listed: &ListedFragment,
        kin_of: impl Fn(&str) -> Result<Arc<Kin>>,
    ) -> Result<Fragment> {
        let at = MetadataPlace { place, listed };
        if !listed.version.has(Rule::FragmentFooter) {
            return Fragment::open_legacy(at, kin_of).map_err(|error| at.named(error));
        }
        Fragment::open_with_tail(place, listed, at.read_tail(), kin_of)
    }

    /// Reads what is not read yet of the metadata files of many fragments of an array, as far as their rectangles need it, and these:
    /// in one go, so that whoever asks for them one after the other finds them. An error is found again by those who ask.
    pub(crate) fn read_ahead(place: &ArrayPlace, fragments: &[&Fragment]) {
        let is_unread =
            |fragment: &&&Fragment| fragment.legacy.is_none() && fragment.metadata.tail.get().is_none();
        let unread: Vec<&Fragment> = fragments.iter().filter(is_unread).copied().collect();
        let paths: Vec<String> = unread.iter().map(|fragment| fragment.listed.metadata_path()).collect();
        let tails = match paths.is_empty() {
            true => Vec::new(),
            false => place.store().read_tails(place.path(), &paths, Fragment::TAIL_BYTE_LEN),
        };
        for (fragment, tail) in unread.into_iter().zip(tails) {
            if let Ok(tail) = tail {
                let _ = fragment.metadata.tail.set(tail);
            }
        }
        for fragment in fragments {
            let _ = fragment.rtree();
        }
    }

    /// Whether the rectangles of its tiles are in memory.
    pub(crate) fn has_rtree(&self) -> bool {
        self.rtree.get().is_some()
    }

    /// What to read from the ends of the metadata files of these fragments, the newest schema being of a shape. Of a few
    /// all that fits: what is opened is mostly read too. Of many just the footer, as far as its length can be told: memory that
    /// is filled for the first time takes longer than a read of the rest when it is needed.
    pub(crate) fn tail_byte_len(fragments: &[ListedFragment], shape: &Shape) -> u64 {
        const FEW: usize = 64;
        if fragments.len() <= FEW {
            return Fragment::TAIL_BYTE_LEN;
        }
        // Eleven lists with a number a field, the coordinates counting as one, an interval a dimension, and the rest: the name of
        // the schema, single numbers. Where strings make a footer longer, it is read once more.
        let (attributes, dimensions) = (shape.attribute_count as u64, shape.dimensions.len() as u64);
        let is_merged = |listed: &ListedFragment| listed.name.range().start != listed.name.range().end;
        let time_fields = if fragments.iter().any(is_merged) { 3 } else { 0 };
        let lists = (attributes + dimensions + 1 + time_fields).saturating_mul(11 * 8);
        lists.saturating_add(dimensions.saturating_mul(32) + 192).min(Fragment::TAIL_BYTE_LEN)
    }

    /// As [`open`](Fragment::open), of a version that has footers, with the end of its metadata file, or why that could not
    /// be read.
    pub(crate) fn open_with_tail(
        place: &ArrayPlace,
        listed: &ListedFragment,
        tail: Result<Tail>,
        kin_of: impl Fn(&str) -> Result<Arc<Kin>>,
    ) -> Result<Fragment> {
        let at = MetadataPlace { place, listed };
        tail.and_then(|tail| Fragment::open_metadata(at, tail, kin_of)).map_err(|error| at.named(error))
    }

    fn open_metadata(
        at: MetadataPlace<'_>,
        tail: Tail,
        kin_of: impl Fn(&str) -> Result<Arc<Kin>>,
    ) -> Result<Fragment> {
        let version = at.listed.version;
        let known_kin =
            (!version.has(Rule::FooterLength)).then(|| kin_of(names::OLD_SCHEMA_FILE)).transpose()?;
        let no_shape = Shape::default();
        let known_shape = known_kin.as_ref().map_or(&no_shape, |kin| &kin.shape);
        let range = Footer::range(version, known_shape, tail.file_byte_len, &tail.bytes)?;
        let footer_start = range.start;
        let metadata = MetadataBytes::default();
        let is_footer_alone = (tail.bytes.len() as u64) < tail.file_byte_len.min(Fragment::TAIL_BYTE_LEN);
        let bytes = match piece(&tail, &range) {
            Some(bytes) if is_footer_alone => bytes,
            _ => {
                let _ = metadata.tail.set(if is_footer_alone { at.read_tail()? } else { tail });
                metadata.bytes(at, range)?
            }
        };
        let kin = match known_kin {
            Some(kin) => kin,
            None => kin_of(&Footer::schema_name_of(&bytes)?)?,
        };
        let outline =
            FooterOutline::decode(&bytes, &kin.shape).map_err(|error| error.at_offset(footer_start))?;
        let stored = StoredFooter { bytes, metadata, is_shared: false };
        Fragment::assemble(at.listed, kin, outline, stored)
    }

    /// Takes the footer of a listed fragment from elsewhere: its own file is not touched before a section is needed.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported` when this cannot be the fragment's footer.
    pub(crate) fn open_with_footer(
        listed: &ListedFragment,
        footer: Bytes,
        kin_of: impl Fn(&str) -> Result<Arc<Kin>>,
    ) -> Result<Fragment> {
        let has_names = listed.version.has(Rule::FooterLength);
        let kin = match has_names {
            true => kin_of(&Footer::schema_name_of(&footer)?)?,
            false => kin_of(names::OLD_SCHEMA_FILE)?,
        };
        let outline = FooterOutline::decode(&footer, &kin.shape)?;
        let stored = StoredFooter { bytes: footer, metadata: MetadataBytes::default(), is_shared: true };
        Fragment::assemble(listed, kin, outline, stored)
    }

    /// Versions 1 and 2: the metadata file is one generic tile.
    fn open_legacy(at: MetadataPlace<'_>, kin_of: impl Fn(&str) -> Result<Arc<Kin>>) -> Result<Fragment> {
        let MetadataPlace { place, listed } = at;
        let kin = kin_of(names::OLD_SCHEMA_FILE)?;
        let tile = place.read_tile_file(&at.path())?;
        let legacy = LegacyFragmentMetadata::decode(tile.as_slice(), &kin.shape)?;
        let coordinates = data_file_name(legacy.version, &kin.schema, FieldId::Coordinates, DataPart::Main)?;
        let footer = legacy.footer(!place.store().file_exists(&join(&listed.path(place), &coordinates))?);
        let outline = FooterOutline::from(footer.clone());
        let fragment = Fragment::assemble(listed, kin, outline, StoredFooter::default())?;
        let footer = OnceLock::from(Box::new(footer));
        Ok(Fragment { footer, legacy: Some(Box::new(legacy)), is_own_footer: OnceLock::new(), ..fragment })
    }

    fn assemble(
        listed: &ListedFragment,
        kin: Arc<Kin>,
        outline: FooterOutline,
        StoredFooter { bytes, metadata, is_shared }: StoredFooter,
    ) -> Result<Fragment> {
        // The version decides how everything else is read; it is written twice.
        let stated = listed.name.stated_version();
        if let Some(stated) = stated.filter(|stated| *stated != outline.version.number()) {
            let message =
                format!("the fragment's name says version {stated}, its metadata {}", outline.version);
            return Err(Error::corrupt(message).in_field("footer", "version"));
        }
        if outline.is_dense && !kin.schema.is_dense() {
            return Err(Error::corrupt("a dense fragment of a sparse array").in_field("footer", "is_dense"));
        }
        // Whole footers are decoded later, but for those of which this is asked.
        if !outline.is_dense && outline.sparse_tile_count == 0 && !bytes.is_empty() {
            let footer = Footer::decode(&bytes, &kin.shape)?;
            if footer.file_sizes.iter().any(|size| *size > 0) {
                let message = "the fragment has data, but no tiles";
                return Err(Error::corrupt(message).in_field("footer", "sparse_tile_count"));
            }
        }
        let non_empty_domain = outline.non_empty_domain.as_deref().unwrap_or_default();
        let tile_count = if outline.is_dense {
            let grid = crate::dense_grid(&kin.schema)?;
            grid.block(&crate::intervals(non_empty_domain)?)
                .map_err(|error| Error::corrupt(error.message()).in_field("footer", "non_empty_domain"))?
                .tile_count()
        } else {
            outline.sparse_tile_count
        };
        Ok(Fragment {
            kin,
            listed: listed.clone(),
            outline,
            footer_bytes: bytes,
            footer: OnceLock::new(),
            tile_count,
            is_own_footer: if is_shared { OnceLock::new() } else { OnceLock::from(()) },
            is_footer_shared: is_shared,
            metadata,
            legacy: None,
            rtree: OnceLock::new(),
            offsets: Mutex::default(),
            var_byte_lens: Mutex::default(),
        })
    }

    /// The name of the fragment's folder.
    pub fn name(&self) -> &TimestampedName {
        &self.listed.name
    }

    /// The times of its writes.
    pub fn time(&self) -> TimeRange {
        self.listed.name.range()
    }

    /// The format version.
    pub fn version(&self) -> Version {
        self.outline.version
    }

    /// The schema that it was written with.
    pub fn schema(&self) -> &Arc<ArraySchema> {
        &self.kin.schema
    }

    /// Whether its footer was taken from consolidated fragment metadata.
    pub fn has_consolidated_footer(&self) -> bool {
        self.is_footer_shared
    }

    /// What its footer says without the lists that it holds of its fields.
    pub fn outline(&self) -> &FooterOutline {
        &self.outline
    }

    /// The footer of its metadata.
    pub fn footer(&self) -> &Footer {
        self.footer.get_or_init(|| {
            let footer = Footer::decode(&self.footer_bytes, &self.kin.shape);
            #[expect(
                clippy::expect_used,
                reason = "its outline was read from the same bytes, with the same checks"
            )]
            let footer = footer.expect("its outline was read from the same bytes, with the same checks");
            Box::new(footer)
        })
    }

    /// Whether it is dense.
    pub fn is_dense(&self) -> bool {
        self.outline.is_dense
    }

    /// Whether each cell has a time of its own.
    pub fn includes_timestamps(&self) -> bool {
        self.outline.includes_timestamps
    }

    /// The least rectangle around its cells.
    pub fn non_empty_domain(&self) -> &[Extent] {
        self.outline.non_empty_domain.as_deref().unwrap_or_default()
    }

    /// The number of tiles.
    pub fn tile_count(&self) -> u64 {
        self.tile_count
    }

    /// The number of cells in a tile.
    ///
    /// # Errors
    /// `Corrupt` when the last tile has more cells than fit, or none.
    pub fn cell_count_of_tile(&self, tile_idx: u64) -> Result<usize> {
        let wrong = || {
            Error::corrupt(format!("tile {tile_idx} has an impossible number of cells"))
                .in_field("footer", "last_tile_cell_count")
        };
        let count = if self.outline.is_dense {
            crate::dense_grid(&self.kin.schema)?.cell_count_per_tile().ok_or_else(wrong)?
        } else if tile_idx + 1 == self.tile_count {
            self.outline.last_tile_cell_count
        } else {
            self.kin.schema.capacity
        };
        // Every writer ends with a tile that has cells.
        if !self.outline.is_dense && (count == 0 || count > self.kin.schema.capacity) {
            return Err(wrong());
        }
        usize::try_from(count).map_err(|_| wrong())
    }

    /// The number of cells that it holds: of a dense fragment those of its non-empty domain.
    pub fn cell_count(&self) -> Option<u64> {
        if self.outline.is_dense {
            return smalti_space::cell_count(&crate::intervals(self.non_empty_domain()).ok()?);
        }
        let before_last = self.tile_count.saturating_sub(1).checked_mul(self.kin.schema.capacity)?;
        before_last.checked_add(self.outline.last_tile_cell_count)
    }

    /// Bytes of its files, metadata included.
    ///
    /// # Errors
    /// What the store reports of the metadata file.
    pub fn byte_len(&self) -> Result<u64> {
        let metadata = self.metadata.tail(self.metadata_place())?.file_byte_len;
        Ok(self.data_byte_len().saturating_add(metadata))
    }

    /// Bytes of its data files.
    pub fn data_byte_len(&self) -> u64 {
        let footer = self.footer();
        let lists = [&footer.file_sizes, &footer.file_var_sizes, &footer.file_validity_sizes];
        lists.iter().flat_map(|list| list.iter()).fold(0, |sum, len| sum.saturating_add(*len))
    }

    /// Whether the fragment has data of a field.
    pub fn has_field(&self, field: FieldId) -> bool {
        self.footer().slot(&self.kin.shape, field).is_some()
    }

    /// The field whose tiles hold the coordinates of a dimension: its own, or before version 5 the one of all dimensions.
    pub fn coordinates_of(&self, dim: usize) -> FieldId {
        if self.version().has(Rule::DimensionFiles) { FieldId::Dimension(dim) } else { FieldId::Coordinates }
    }

    /// Whether tiles with the coordinates of all dimensions hold them cell by cell, and not dimension by dimension.
    pub fn zips_coordinates(&self) -> bool {
        let compresses = self.kin.schema.coords_filters.filters.iter().any(Filter::is_compressor);
        !self.version().has(Rule::SplitCoordinates) && !compresses
    }

    /// The rectangles of its tiles.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn rtree(&self) -> Result<&RTree> {
        if let Some(tree) = self.rtree.get() {
            return Ok(tree);
        }
        let tree = match &self.legacy {
            Some(legacy) => RTree::build(self.trusted_level(legacy.mbrs.clone())?, StoredTree::FANOUT),
            None => {
                let tile = self.section(Section::RTree)?;
                let stored = StoredTree::decode(tile.as_slice(), self.version(), &self.kin.shape)
                    .map_err(|error| self.in_metadata(error))?;
                let levels = stored
                    .levels
                    .into_iter()
                    .map(|level| self.trusted_level(level))
                    .collect::<Result<Vec<_>>>()?;
                RTree::from_levels(levels, stored.fanout)
            }
        };
        let tree = tree.map_err(|error| self.in_metadata(error))?;
        if !self.is_dense() && tree.tile_count() as u64 != self.tile_count {
            return Err(self.in_metadata(
                Error::corrupt(format!("{} rectangles for {} tiles", tree.tile_count(), self.tile_count))
                    .in_field("R-tree", "levels"),
            ));
        }
        Ok(self.rtree.get_or_init(|| tree))
    }

    /// A level of the tree as it may be used to leave out tiles: writers that met NaN first kept it as a bound.
    fn trusted_level(&self, level: RectList) -> Result<RectList> {
        let float = |dim: usize| {
            let dimension = self.kin.schema.dimensions.get(dim)?;
            Some(dimension.datatype).filter(|datatype| datatype.is_float())
        };
        if !(0..level.dim_count()).any(|dim| float(dim).is_some()) {
            return Ok(level);
        }
        let mut trusted = RectList::new(self.kin.shape.string_dimensions());
        for node in 0..level.len() {
            for dim in 0..level.dim_count() {
                let extent = level.extent(node, dim).to_owned();
                let extent = match Interval::of_extent(extent.as_ref()).zip(float(dim)) {
                    Some((interval, datatype)) => stored_mbr_interval(datatype, interval).into(),
                    _ => extent,
                };
                trusted.push_extent(extent.as_ref())?;
            }
        }
        Ok(trusted)
    }

    /// The path of a data file of a field.
    ///
    /// # Errors
    /// `Corrupt` when the field's name cannot be a file's.
    pub fn data_file(&self, field: FieldId, plane: Plane) -> Result<String> {
        Ok(join(
            &self.listed.path(&self.kin.place),
            &data_file_name(self.version(), &self.kin.schema, field, part(plane))?,
        ))
    }

    /// The bytes of a tile in its data file.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`; `InvalidArgument` when there is no such tile.
    pub fn tile_place(&self, field: FieldId, plane: Plane, tile_idx: usize) -> Result<Range<u64>> {
        self.tile_offsets(field, plane)?
            .byte_range(tile_idx)
            .ok_or_else(|| Error::invalid(format!("there is no tile {tile_idx} among {}", self.tile_count)))
    }

    fn tile_offsets(&self, field: FieldId, plane: Plane) -> Result<Arc<TileOffsets>> {
        let known = self.offsets.lock().unwrap_or_else(PoisonError::into_inner).get(&(field, plane)).cloned();
        if let Some(offsets) = known {
            return Ok(offsets);
        }
        let slot = self.slot(field)?;
        let footer = self.footer();
        let (section, file_lens) = match plane {
            Plane::Fixed => (Section::TileOffsets(slot), &footer.file_sizes),
            Plane::Var => (Section::TileVarOffsets(slot), &footer.file_var_sizes),
            Plane::Validity => (Section::TileValidityOffsets(slot), &footer.file_validity_sizes),
        };
        let starts = self.numbers(section)?;
        let file_len = file_lens.get(slot).copied().unwrap_or_default();
        let offsets = TileOffsets::new(starts, self.tile_count, file_len).map_err(|error| {
            self.in_metadata(error.in_field("tile offsets", crate::field_name(&self.kin.schema, field)))
        })?;
        let offsets = Arc::new(offsets);
        let mut known = self.offsets.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(known.entry((field, plane)).or_insert(offsets)))
    }

    /// Unfiltered bytes of the values in a tile of a var-sized field.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn var_byte_len(&self, field: FieldId, tile_idx: usize) -> Result<usize> {
        let known = self.var_byte_lens.lock().unwrap_or_else(PoisonError::into_inner).get(&field).cloned();
        let lens = match known {
            Some(lens) => lens,
            None => {
                let lens = Arc::new(self.numbers(Section::TileVarSizes(self.slot(field)?))?);
                self.var_byte_lens
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(field, Arc::clone(&lens));
                lens
            }
        };
        lens.get(tile_idx).and_then(|&len| usize::try_from(len).ok()).ok_or_else(|| {
            self.in_metadata(
                Error::corrupt(format!("no length for tile {tile_idx}"))
                    .in_field("tile var sizes", crate::field_name(&self.kin.schema, field)),
            )
        })
    }

    /// The least (or greatest) value of each tile of a field, where the format keeps them.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn tile_bounds(&self, field: FieldId, greatest: bool) -> Result<TileBounds> {
        let slot = self.slot(field)?;
        let section = if greatest { Section::TileMaxes(slot) } else { Section::TileMins(slot) };
        TileBounds::decode(self.section(section)?.as_slice()).map_err(|error| self.in_metadata(error))
    }

    /// The bytes that the least or greatest values of the tiles of a field take, before they are read: values of any length are there
    /// whole.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn tile_bounds_byte_len(&self, field: FieldId, greatest: bool) -> Result<u64> {
        let slot = self.slot(field)?;
        let section = if greatest { Section::TileMaxes(slot) } else { Section::TileMins(slot) };
        let (.., header) = self.section_header(section).map_err(|error| self.in_metadata(error))?;
        Ok(header.unfiltered_len)
    }

    /// Sums (or null counts) of the tiles of a field.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn tile_totals(&self, field: FieldId, nulls: bool) -> Result<Vec<u64>> {
        let slot = self.slot(field)?;
        let section = if nulls { Section::TileNullCounts(slot) } else { Section::TileSums(slot) };
        self.numbers(section)
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

    /// The bytes of the cells of a field as they are in memory: values, offsets and validity.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn unfiltered_byte_len(&self, field: FieldId) -> Result<u64> {
        let shape = self.field_shape(field)?;
        let cell_count = self.cell_count().unwrap_or(u64::MAX);
        let values = match shape.cell_val_num.fixed() {
            Some(_) => cell_count.saturating_mul(shape.cell_byte_len() as u64),
            None => {
                let tiles = usize::try_from(self.tile_count()).unwrap_or(usize::MAX);
                let lens = (0..tiles).map(|tile_idx| self.var_byte_len(field, tile_idx));
                let sum = lens.sum::<Result<usize>>()? as u64;
                sum.saturating_add(cell_count.saturating_mul(8))
            }
        };
        Ok(values.saturating_add(if shape.is_nullable { cell_count } else { 0 }))
    }

    /// The delete commits, by the names of their files, that the fragment's cells need not be asked for again: the cells say
    /// their effect themselves, or those that were deleted were purged. After a purge of attributes that were dropped, a delete by
    /// such an attribute could not be asked again.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`.
    pub fn processed_deletes(&self) -> Result<HashSet<String>> {
        let footer = &self.outline;
        // Only what was merged or purged says so; of others the section, another piece of the file, is not asked for.
        if !footer.includes_delete_metadata && !footer.includes_timestamps {
            return Ok(HashSet::new());
        }
        let paths = self.processed_paths()?;
        Ok(paths.iter().map(|path| names::last_part(path).to_owned()).collect())
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

    /// The shape of a field's cells.
    ///
    /// # Errors
    /// `InvalidArgument` when the fragment's schema has no such field.
    pub fn field_shape(&self, field: FieldId) -> Result<smalti_tile::CellShape> {
        field_shape(&self.kin.schema, field)
    }

    fn slot(&self, field: FieldId) -> Result<usize> {
        self.footer().slot(&self.kin.shape, field).ok_or_else(|| {
            Error::invalid(format!(
                "fragment {} has no field {:?}",
                self.name(),
                crate::field_name(&self.kin.schema, field)
            ))
        })
    }

    /// The numbers of a section.
    fn numbers(&self, section: Section) -> Result<Vec<u64>> {
        if let Some(legacy) = &self.legacy {
            let list = match section {
                Section::TileOffsets(slot) => legacy.tile_offsets.get(slot),
                Section::TileVarOffsets(slot) => legacy.tile_var_offsets.get(slot),
                Section::TileVarSizes(slot) => legacy.tile_var_sizes.get(slot),
                _ => None,
            };
            return list.cloned().ok_or_else(|| {
                self.in_metadata(Error::unsupported(format!(
                    "version {} keeps no {section:?}",
                    self.version()
                )))
            });
        }
        let tile = self.section(section)?;
        Ok(TileNumbers::decode(tile.as_slice()).map_err(|error| self.in_metadata(error))?.values)
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

    /// Where a section begins, the length of its header, and the header.
    fn section_header(&self, section: Section) -> Result<(u64, u64, GenericTileHeader)> {
        let offset = self
            .footer()
            .section_offset(section, &self.kin.shape)?
            .ok_or_else(|| Error::unsupported(format!("version {} keeps no {section:?}", self.version())))?;
        let at = self.metadata_place();
        let base = self.metadata.bytes(at, offset..offset.saturating_add(GenericTileHeader::BASE_LEN))?;
        let header_len = GenericTileHeader::header_len(&base)?;
        let head = self.metadata.bytes(at, offset..offset.saturating_add(header_len))?;
        Ok((offset, header_len, GenericTileHeader::decode(&mut smalti_format::Reader::new(&head))?))
    }

    /// The unfiltered bytes of a section.
    fn section(&self, section: Section) -> Result<AlignedBuf> {
        if self.is_own_footer.get().is_none() {
            self.own_footer()?;
            let _ = self.is_own_footer.set(());
        }
        let read = || -> Result<AlignedBuf> {
            let (offset, header_len, header) = self.section_header(section)?;
            let at = self.metadata_place();
            let end = header_len
                .checked_add(header.filtered_len)
                .and_then(|len| offset.checked_add(len))
                .ok_or_else(|| Error::corrupt("a section beyond the end of all files"))?;
            let limit = at.place.metadata_limit();
            if header.filtered_len > limit {
                return Err(beyond_limit(header.filtered_len, limit));
            }
            let tile = self.metadata.bytes(at, offset..end)?;
            let (payload, _) = at.place.open_tile(&tile).map_err(|error| error.at_offset(offset))?;
            self.metadata.pieces.lock().unwrap_or_else(PoisonError::into_inner).remove(&offset);
            Ok(payload)
        };
        read().map_err(|error| self.in_metadata(error.context(format_args!("section {section:?}"))))
    }

    fn in_metadata(&self, error: Error) -> Error {
        self.metadata_place().named(error)
    }

    fn metadata_place(&self) -> MetadataPlace<'_> {
        MetadataPlace { place: &self.kin.place, listed: &self.listed }
    }
}

impl Kin {
    pub(crate) fn new(place: &ArrayPlace, schema: Arc<ArraySchema>) -> Self {
        let shape = schema.shape();
        Kin { place: place.clone(), schema, shape }
    }
}

fn part(plane: Plane) -> DataPart {
    match plane {
        Plane::Fixed => DataPart::Main,
        Plane::Var => DataPart::Var,
        Plane::Validity => DataPart::Validity,
    }
}
