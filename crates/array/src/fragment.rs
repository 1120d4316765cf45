//! A fragment of a snapshot: its footer, and the sections of its metadata as they are needed.

mod bytes;
mod chunked;
mod early;
mod lists;
mod sections;
mod tree;

pub use lists::{BoundsOfTiles, NumbersOfTiles};
pub use tree::{Leaves, TileTree};

use crate::{ArrayPlace, ListedFragment, Plane, field_shape};
use ::bytes::Bytes;
use bytes::{MetadataBytes, MetadataPlace, piece};
use chunked::ChunkedSection;
use lists::TilePlaces;
use smalti_format::fragment::{FieldId, Footer, FooterForm, FooterOutline, LegacyFragmentMetadata, Section};
use smalti_format::names::{self, DataPart, TimestampedName, data_file_name, push_data_file_name};
use smalti_format::{ArraySchema, Rule, Shape, Version};
use smalti_store::{Store, StoreExt, Tail, join};
use smalti_types::{Error, Extent, Filter, Result, TimeRange};
use std::cell::RefCell;
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
    learned: OnceLock<Box<Learned>>,
}

/// What those have learned who asked a fragment for cells. Of many that are opened, few are asked.
#[derive(Debug, Default)]
struct Learned {
    tree: OnceLock<TileTree>,
    /// The rectangle of its only tile, as the footer tells it, for a reader who needs nothing else of the metadata file.
    lone: OnceLock<TileTree>,
    places: Mutex<HashMap<(FieldId, Plane), Arc<TilePlaces>>>,
    var_byte_lens: Mutex<HashMap<FieldId, Arc<NumbersOfTiles>>>,
    /// The lengths of data files, as the store told them.
    data_file_lens: Mutex<HashMap<(FieldId, Plane), u64>>,
    /// Sections that are too long to be held.
    chunked: Mutex<HashMap<Section, Arc<ChunkedSection>>>,
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
    pub(crate) const TAIL_BYTE_LEN: u64 = bytes::TAIL_BYTE_LEN;

    /// Reads the footer of a listed fragment, whether it is committed or not. `schema_of` gives the schema of a name.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` and `Permission`, with the metadata file named.
    pub fn open_alone(
        place: &ArrayPlace,
        listed: &ListedFragment,
        schema_of: impl Fn(&str) -> Result<Arc<ArraySchema>>,
    ) -> Result<Fragment> {
        Fragment::open(place, listed, &Kinship::new(|name| Ok(Arc::new(Kin::new(place, schema_of(name)?)))))
    }

    /// As [`open_alone`](Fragment::open_alone), for one of many that share what is known of schemas.
    pub(crate) fn open(
        place: &ArrayPlace,
        listed: &ListedFragment,
        kinship: &Kinship<impl Fn(&str) -> Result<Arc<Kin>>>,
    ) -> Result<Fragment> {
        let at = MetadataPlace { place, listed };
        if !listed.version.has(Rule::FragmentFooter) {
            return Fragment::open_legacy(at, kinship).map_err(|error| at.named(error));
        }
        Fragment::open_with_tail(place, listed, at.read_tail(), kinship)
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
            let _ = fragment.tile_tree();
        }
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
        kinship: &Kinship<impl Fn(&str) -> Result<Arc<Kin>>>,
    ) -> Result<Fragment> {
        let at = MetadataPlace { place, listed };
        tail.and_then(|tail| Fragment::open_metadata(at, tail, kinship)).map_err(|error| at.named(error))
    }

    fn open_metadata(
        at: MetadataPlace<'_>,
        tail: Tail,
        kinship: &Kinship<impl Fn(&str) -> Result<Arc<Kin>>>,
    ) -> Result<Fragment> {
        let version = at.listed.version;
        let has_length = version.has(Rule::FooterLength);
        let known_kin = (!has_length).then(|| (kinship.kin_of)(names::OLD_SCHEMA_FILE)).transpose()?;
        let no_shape = Shape::default();
        let known_shape = known_kin.as_ref().map_or(&no_shape, |kin| &kin.shape);
        let range = Footer::range(version, known_shape, tail.file_byte_len, &tail.bytes)?;
        let footer_start = range.start;
        let metadata = MetadataBytes::default();
        let _ = metadata.file_byte_len.set(tail.file_byte_len);
        let is_footer_alone = (tail.bytes.len() as u64) < tail.file_byte_len.min(Fragment::TAIL_BYTE_LEN);
        let bytes = match piece(&tail, &range) {
            Some(bytes) if is_footer_alone => bytes,
            _ => {
                let _ = metadata.tail.set(if is_footer_alone { at.read_tail()? } else { tail });
                metadata.bytes(at, range)?
            }
        };
        let (kin, outline) = kinship.read(version, known_kin, &bytes, Some(footer_start))?;
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
        kinship: &Kinship<impl Fn(&str) -> Result<Arc<Kin>>>,
    ) -> Result<Fragment> {
        let (kin, outline) = kinship.read(listed.version, None, &footer, None)?;
        let stored = StoredFooter { bytes: footer, metadata: MetadataBytes::default(), is_shared: true };
        Fragment::assemble(listed, kin, outline, stored)
    }

    /// Versions 1 and 2: the metadata file is one generic tile.
    fn open_legacy(
        at: MetadataPlace<'_>,
        kinship: &Kinship<impl Fn(&str) -> Result<Arc<Kin>>>,
    ) -> Result<Fragment> {
        let MetadataPlace { place, listed } = at;
        let kin = (kinship.kin_of)(names::OLD_SCHEMA_FILE)?;
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
            learned: OnceLock::new(),
        })
    }

    fn learned(&self) -> &Learned {
        self.learned.get_or_init(Box::default)
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

    /// Whether [`byte_len`](Fragment::byte_len) asks nothing of the store.
    pub(crate) fn knows_byte_len(&self) -> bool {
        self.metadata.knows_file_byte_len()
    }

    /// Bytes of its files, metadata included.
    ///
    /// # Errors
    /// What the store reports of the metadata file.
    pub fn byte_len(&self) -> Result<u64> {
        let metadata = self.metadata.file_byte_len(self.metadata_place())?;
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

    /// The path of a data file of a field.
    ///
    /// # Errors
    /// `Corrupt` when the field's name cannot be a file's.
    pub fn data_file(&self, field: FieldId, plane: Plane) -> Result<String> {
        const NAME_BYTE_LEN: usize = 32;
        let mut path = self.listed.path_with_room(&self.kin.place, NAME_BYTE_LEN);
        path.push('/');
        push_data_file_name(&mut path, self.version(), &self.kin.schema, field, part(plane))?;
        Ok(path)
    }

    /// The length of a data file of a field, asked of a store once: such files do not change.
    ///
    /// # Errors
    /// `Corrupt` when the field's name cannot be a file's, and those of the store.
    pub fn data_file_byte_len(&self, field: FieldId, plane: Plane, store: &dyn Store) -> Result<u64> {
        let known = || self.learned().data_file_lens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(byte_len) = known().get(&(field, plane)) {
            return Ok(*byte_len);
        }
        let byte_len = store.byte_len(&self.data_file(field, plane)?)?;
        known().insert((field, plane), byte_len);
        Ok(byte_len)
    }

    /// The bytes of a tile in its data file.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`; `InvalidArgument` when there is no such tile.
    pub fn tile_place(&self, field: FieldId, plane: Plane, tile_idx: usize) -> Result<Range<u64>> {
        if let Some(place) = self.lone_place(field, plane, tile_idx)? {
            return Ok(place);
        }
        self.tile_places(field, plane)?
            .byte_range(tile_idx)
            .map_err(|error| {
                self.in_metadata(error.in_field("tile offsets", crate::field_name(&self.kin.schema, field)))
            })?
            .ok_or_else(|| Error::invalid(format!("there is no tile {tile_idx} among {}", self.tile_count)))
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
                let lens = self.var_byte_lens(field)?;
                if lens.count() != self.tile_count {
                    return Err(self.no_length(field, lens.count().min(self.tile_count)));
                }
                lens.sum()?.saturating_add(cell_count.saturating_mul(8))
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

    fn in_metadata(&self, error: Error) -> Error {
        self.metadata_place().named(error)
    }

    fn metadata_place(&self) -> MetadataPlace<'_> {
        MetadataPlace { place: &self.kin.place, listed: &self.listed }
    }
}

/// The kin of fragments that are opened one after the other: most were written as the one before.
pub(crate) struct Kinship<F> {
    kin_of: F,
    /// Of the one that was read row by row: the version that its name says, the form of its footer, and its kin.
    last: RefCell<Option<(Version, FooterForm, Arc<Kin>)>>,
}

impl<F: Fn(&str) -> Result<Arc<Kin>>> Kinship<F> {
    /// `kin_of` gives what belongs to the name of a schema.
    pub(crate) fn new(kin_of: F) -> Self {
        Kinship { kin_of, last: RefCell::default() }
    }

    /// Reads the outline of a footer, of a fragment whose name says the version, and whose kin may be known. Errors count from where the footer
    /// starts in its file, if that is known.
    fn read(
        &self,
        named: Version,
        known: Option<Arc<Kin>>,
        footer: &[u8],
        start: Option<u64>,
    ) -> Result<(Arc<Kin>, FooterOutline)> {
        if let Some((version, form, kin)) = &*self.last.borrow()
            && *version == named
            && let Some(outline) = form.outline(footer, &kin.shape)
        {
            return Ok((Arc::clone(kin), outline));
        }
        // The version decides how everything else is read; from version 5 it is written twice.
        let (version, schema_name) = Footer::head_of(footer)?;
        if named.has(Rule::VersionEndsNames) && version != named {
            let message = format!("the fragment's name says version {named}, its metadata {version}");
            return Err(Error::corrupt(message).in_field("footer", "version"));
        }
        let kin = match known {
            Some(kin) => kin,
            None if named.has(Rule::FooterLength) => (self.kin_of)(&schema_name)?,
            None => (self.kin_of)(names::OLD_SCHEMA_FILE)?,
        };
        let outline = FooterOutline::decode(footer, &kin.shape).map_err(|error| match start {
            Some(start) => error.at_offset(start),
            None => error,
        })?;
        let form = FooterForm::of(footer, &kin.shape);
        *self.last.borrow_mut() = form.map(|form| (named, form, Arc::clone(&kin)));
        Ok((kin, outline))
    }
}

impl Kin {
    pub(crate) fn new(place: &ArrayPlace, schema: Arc<ArraySchema>) -> Self {
        let shape = schema.shape();
        Kin { place: place.clone(), schema, shape }
    }

    pub(crate) fn schema(&self) -> &Arc<ArraySchema> {
        &self.schema
    }
}

fn part(plane: Plane) -> DataPart {
    match plane {
        Plane::Fixed => DataPart::Main,
        Plane::Var => DataPart::Var,
        Plane::Validity => DataPart::Validity,
    }
}
