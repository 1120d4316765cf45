//! The metadata file of a fragment that is being written: gathered in memory, written at once.

use crate::place::ArrayPlace;
use smalti_format::fragment::{
    FieldId, FieldStatistics, Footer, FragmentStatistics, ProcessedConditions, RTree, Section, TileBounds,
    TileNumbers,
};
use smalti_format::{ArraySchema, Rule, Shape};
use smalti_tile::{Scratch, Stats, StatsKind, write_generic_tile};
use smalti_types::{Error, Extent, RectList, Result};

/// What the metadata of a fragment says of one field. The lists have an entry per tile.
#[derive(Debug, Clone, Default)]
pub struct FieldContent {
    /// Bytes of the data file.
    pub byte_len: u64,
    /// Bytes of the file of var-sized values.
    pub var_byte_len: u64,
    /// Bytes of the validity file.
    pub validity_byte_len: u64,
    /// Where each tile starts in the data file.
    pub tile_offsets: Vec<u64>,
    /// Where each tile starts in the file of var-sized values.
    pub var_offsets: Vec<u64>,
    /// Unfiltered bytes of each tile of var-sized values.
    pub var_byte_lens: Vec<u64>,
    /// Where each tile starts in the validity file.
    pub validity_offsets: Vec<u64>,
    /// Statistics of each tile.
    pub stats: Vec<Stats>,
}

/// What the metadata of a fragment says.
#[derive(Debug, Clone)]
pub struct FragmentContent {
    /// By the field's place in the lists of the footer.
    pub fields: Vec<FieldContent>,
    footer: Footer,
    rects: Option<RectList>,
    tile_count: u64,
    processed_conditions: Vec<String>,
}

/// What the cells of a consolidated fragment say of themselves, where its schema's version has room for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CellHistory {
    /// Whether each cell has the time of its write.
    pub keeps_times: bool,
    /// Whether each cell has the time and the condition of its delete.
    pub keeps_deletes: bool,
    /// The paths of delete commits, relative to the array, that the cells need not be asked for again: their effect is in the
    /// cells, or the cells that they delete are not here. A cell's condition is a place in this list.
    pub processed_conditions: Vec<String>,
}

impl FragmentContent {
    /// The metadata of a fragment without cells.
    pub fn new(schema: &ArraySchema, schema_name: &str) -> Self {
        let shape = schema.shape();
        let footer = Footer::new(schema.write_version(), schema_name, schema.is_dense());
        let fields = vec![FieldContent::default(); footer.slot_count(&shape)];
        FragmentContent { fields, footer, rects: None, tile_count: 0, processed_conditions: Vec::new() }
    }

    /// Empty metadata of a fragment whose cells have a history.
    pub fn with_history(schema: &ArraySchema, schema_name: &str, history: CellHistory) -> Self {
        let mut content = FragmentContent::new(schema, schema_name);
        content.footer.includes_timestamps = history.keeps_times;
        content.footer.includes_delete_metadata = history.keeps_deletes;
        content.fields = vec![FieldContent::default(); content.footer.slot_count(&schema.shape())];
        content.processed_conditions = history.processed_conditions;
        content
    }

    /// The place of a field in [`fields`](FragmentContent::fields).
    ///
    /// # Errors
    /// `InvalidArgument` when fragments of the schema's version do not have the field.
    pub fn slot(&self, shape: &Shape, field: FieldId) -> Result<usize> {
        self.footer.slot(shape, field).ok_or_else(|| Error::invalid("fragments do not have this field"))
    }

    /// States the tiles of the fragment: the rectangles of a sparse one, the rectangle of all cells, the number of tiles
    /// and, for a sparse one, of cells in the last tile.
    pub fn set_extent(
        &mut self,
        rects: Option<RectList>,
        non_empty_domain: Vec<Extent>,
        tile_count: u64,
        last_tile_cell_count: u64,
    ) {
        self.footer.non_empty_domain = Some(non_empty_domain.into());
        self.footer.sparse_tile_count = if self.footer.is_dense { 0 } else { tile_count };
        self.footer.last_tile_cell_count = last_tile_cell_count;
        self.rects = rects;
        self.tile_count = tile_count;
    }

    /// The bytes of the metadata file.
    ///
    /// # Errors
    /// `InvalidArgument` when lists do not fit the tiles; `Io` when there is no randomness for encryption.
    pub fn encode(mut self, schema: &ArraySchema, place: &ArrayPlace) -> Result<Vec<u8>> {
        let shape = schema.shape();
        let version = self.footer.version;
        let tile_count = usize::try_from(self.tile_count).map_err(|_| Error::invalid("too many tiles"))?;
        for field in &mut self.fields {
            let lists = [
                &mut field.tile_offsets,
                &mut field.var_offsets,
                &mut field.var_byte_lens,
                &mut field.validity_offsets,
            ];
            for list in lists {
                // Fields without a file of a kind have zeros in its lists, as the reference writes them.
                list.resize(tile_count, 0);
            }
        }
        let kinds = self.kinds(schema)?;
        let mut sections: Vec<(Section, Vec<u8>)> = Vec::new();
        let rtree = match self.rects.take() {
            Some(rects) => smalti_space::RTree::build(rects, RTree::FANOUT)?.levels().to_vec(),
            None => Vec::new(),
        };
        sections
            .push((Section::RTree, RTree { fanout: RTree::FANOUT, levels: rtree }.encode(version, &shape)?));
        let mut numbers = |section: fn(usize) -> Section, list: fn(&mut FieldContent) -> &mut Vec<u64>| {
            for (slot, field) in self.fields.iter_mut().enumerate() {
                let values = std::mem::take(list(field));
                sections.push((section(slot), TileNumbers { values }.encode()));
            }
        };
        numbers(Section::TileOffsets, |field| &mut field.tile_offsets);
        numbers(Section::TileVarOffsets, |field| &mut field.var_offsets);
        numbers(Section::TileVarSizes, |field| &mut field.var_byte_lens);
        numbers(Section::TileValidityOffsets, |field| &mut field.validity_offsets);
        if version.has(Rule::TileStatistics) {
            self.push_statistics(&kinds, &mut sections);
        }
        if version.has(Rule::FragmentStatistics) {
            sections.push((Section::FragmentStatistics, self.fragment_statistics(&kinds).encode()));
        }
        if version.has(Rule::DeleteMetadata) {
            let conditions = std::mem::take(&mut self.processed_conditions);
            sections.push((Section::ProcessedConditions, ProcessedConditions { conditions }.encode()));
        }
        self.footer.file_sizes = self.fields.iter().map(|field| field.byte_len).collect();
        self.footer.file_var_sizes = self.fields.iter().map(|field| field.var_byte_len).collect();
        self.footer.file_validity_sizes = self.fields.iter().map(|field| field.validity_byte_len).collect();
        let (mut file, mut scratch) = (Vec::new(), Scratch::new());
        for (section, payload) in sections {
            self.footer.set_section_offset(section, file.len() as u64);
            write_generic_tile(&payload, version, place.cipher(), &mut file, &mut scratch)?;
        }
        if !version.has(Rule::DeleteCommits) {
            self.footer.processed_conditions = 0;
        }
        file.extend(self.footer.encode_file_end(&shape)?);
        Ok(file)
    }

    /// What statistics each slot of the footer's lists keeps; `None` for slots without cells.
    fn kinds(&self, schema: &ArraySchema) -> Result<Vec<Option<StatsKind>>> {
        let shape = schema.shape();
        let mut kinds = vec![None; self.fields.len()];
        let attributes = (0..schema.attributes.len()).map(FieldId::Attribute);
        let dimensions = (0..schema.dimensions.len()).map(FieldId::Dimension);
        let of_history = [FieldId::Timestamps, FieldId::DeleteTimestamps, FieldId::DeleteConditionIndex];
        for field in attributes.chain(dimensions).chain(of_history) {
            let is_dimension = matches!(field, FieldId::Dimension(_));
            if is_dimension && schema.is_dense() {
                continue;
            }
            let cells = crate::field_shape(schema, field)?;
            if let Some(slot) = self.footer.slot(&shape, field) {
                let kind = StatsKind::new(cells.datatype, cells.cell_val_num, is_dimension);
                if let Some(place) = kinds.get_mut(slot) {
                    *place = Some(kind);
                }
            }
        }
        Ok(kinds)
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "a slot is less than the number of fields, and there is a kind for each"
    )]
    fn push_statistics(&self, kinds: &[Option<StatsKind>], sections: &mut Vec<(Section, Vec<u8>)>) {
        let bounds = |slot: usize, value: fn(&Stats) -> &Vec<u8>| -> TileBounds {
            let field = &self.fields[slot];
            match kinds[slot] {
                Some(kind) if kind.has_min_max && kind.is_var() => {
                    TileBounds::of_strings(field.stats.iter().map(|stats| &value(stats)[..]))
                }
                Some(kind) if kind.has_min_max => TileBounds {
                    fixed: field.stats.iter().flat_map(value).copied().collect(),
                    var: Vec::new(),
                },
                _ => TileBounds { fixed: Vec::new(), var: Vec::new() },
            }
        };
        let slots = 0..self.fields.len();
        for slot in slots.clone() {
            sections.push((Section::TileMins(slot), bounds(slot, |stats| &stats.min).encode()));
        }
        for slot in slots.clone() {
            sections.push((Section::TileMaxes(slot), bounds(slot, |stats| &stats.max).encode()));
        }
        for slot in slots.clone() {
            let values = match kinds[slot] {
                Some(kind) if kind.has_sum => {
                    self.fields[slot].stats.iter().map(|stats| u64::from_le_bytes(stats.sum)).collect()
                }
                _ => Vec::new(),
            };
            sections.push((Section::TileSums(slot), TileNumbers { values }.encode()));
        }
        for slot in slots {
            let field = &self.fields[slot];
            let values = if field.validity_byte_len > 0 {
                field.stats.iter().map(|stats| stats.null_count).collect()
            } else {
                Vec::new()
            };
            sections.push((Section::TileNullCounts(slot), TileNumbers { values }.encode()));
        }
    }

    fn fragment_statistics(&self, kinds: &[Option<StatsKind>]) -> FragmentStatistics {
        let fields = self.fields.iter().zip(kinds).map(|(field, kind)| match kind {
            Some(kind) => {
                let all = kind.merge(field.stats.iter());
                FieldStatistics {
                    min: all.min,
                    max: all.max,
                    sum: u64::from_le_bytes(all.sum),
                    null_count: all.null_count,
                }
            }
            None => FieldStatistics { min: Vec::new(), max: Vec::new(), sum: 0, null_count: 0 },
        });
        FragmentStatistics { fields: fields.collect() }
    }
}
