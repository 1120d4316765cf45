//! An array with one fragment of very many tiles, made without writing them: its metadata is put section by section, piece by piece, and
//! its data files are holes but for the tiles that a test reads.

use smalti_array::{ArrayPlace, NewFragment, Plane, Snapshot};
use smalti_codecs::{Codec, FieldKind, Scratch};
use smalti_format::fragment::{
    FieldId, FieldNumbers, FieldStatistics, Footer, FragmentStatistics, RTree, Section,
};
use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, Encryption, GenericTileHeader, Version,
    default_fill_value,
};
use smalti_store::{Stores, SyncLevel, system_env};
use smalti_tile::codec_rules;
use smalti_types::{
    ArrayType, CellValNum, Datatype, Extent, FilterPipeline, Layout, Physical, Result, Scalar, TimeRange,
};
use std::fs::{File, create_dir_all};
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a tile in each data file: one chunk of one number, unfiltered.
const TILE_BYTE_LEN: u64 = 8 + 12 + 8;

/// Bytes of a chunk of a section.
const CHUNK_BYTE_LEN: usize = 64 << 10;

/// The array, and the file of the fragment's metadata.
pub struct ManyTiles {
    /// Where it is.
    pub place: ArrayPlace,
    /// The metadata file of its only fragment.
    pub metadata_file: PathBuf,
    /// Where the sections of the metadata begin.
    pub sections: Vec<(Section, u64)>,
}

/// The value of `n` in a tile.
pub fn number_of(tile_idx: u64) -> u64 {
    tile_idx / 1024
}

/// Makes an array in a folder with a fragment of `side` times `side` tiles of a cell each: tile `y * side + x` has the cell at `(y, x)`, of
/// which `n` is [`number_of`] it. Only tiles in `with_cells` have data.
///
/// # Errors
/// What the file system reports.
pub fn array_of_tiles(folder: &Path, side: u64, with_cells: &[Range<u64>]) -> Result<ManyTiles> {
    let uri = folder.join("tiles");
    let uri = uri.to_str().expect("a path of text");
    let place = ArrayPlace::open(&Stores::new(), uri, SyncLevel::None, None, system_env())?;
    let schema = schema(side);
    place.create(&schema)?;
    let new = NewFragment::new(&Snapshot::open(place.clone(), TimeRange::ALL)?, Some(1))?;
    let fields = [FieldId::Attribute(0), FieldId::Dimension(0), FieldId::Dimension(1)];
    create_dir_all(folder.join(new.folder()))?;
    for field in fields {
        let value = |tile_idx: u64| match field {
            FieldId::Dimension(0) => tile_idx / side,
            FieldId::Dimension(_) => tile_idx % side,
            _ => number_of(tile_idx),
        };
        let file = File::create(folder.join(new.data_file(field, Plane::Fixed)?))?;
        file.set_len(side * side * TILE_BYTE_LEN)?;
        for range in with_cells {
            let mut tiles = Vec::new();
            for tile_idx in range.clone() {
                tiles.extend(1u64.to_le_bytes());
                [8u32, 8, 0].iter().for_each(|len| tiles.extend(len.to_le_bytes()));
                tiles.extend(value(tile_idx).to_le_bytes());
            }
            file.write_all_at(&tiles, range.start * TILE_BYTE_LEN)?;
        }
    }
    let metadata_file = folder.join(new.metadata_file());
    let sections = put_metadata(&metadata_file, &schema, new.schema_name(), side)?;
    new.commit()?;
    Ok(ManyTiles { place, metadata_file, sections })
}

fn schema(side: u64) -> ArraySchema {
    let dimension = |name: &str| Dimension {
        name: name.into(),
        datatype: Datatype::Int64,
        cell_val_num: CellValNum::ONE,
        filters: FilterPipeline::default(),
        domain: Some((Scalar::I64(0), Scalar::I64(side as i64 - 1))),
        tile_extent: Some(Scalar::I64(side as i64)),
    };
    let number = Attribute {
        name: "n".into(),
        datatype: Datatype::UInt64,
        cell_val_num: CellValNum::ONE,
        filters: FilterPipeline::default(),
        fill_value: default_fill_value(Datatype::UInt64, CellValNum::ONE),
        nullable: false,
        fill_valid: true,
        order: DataOrder::Unordered,
        enumeration: None,
    };
    ArraySchema {
        version: Version::DEFAULT,
        allows_dups: false,
        array_type: ArrayType::Sparse,
        tile_order: Layout::RowMajor,
        cell_order: Layout::RowMajor,
        capacity: 1,
        coords_filters: FilterPipeline::default(),
        offsets_filters: FilterPipeline::default(),
        validity_filters: FilterPipeline::default(),
        dimensions: vec![dimension("y"), dimension("x")],
        attributes: vec![number],
        dimension_labels: Vec::new(),
        enumerations: Vec::new(),
        current_domain: CurrentDomain::Empty,
    }
}

/// The slots of the footer's lists: the attribute, coordinates that share a file, and the dimensions.
const SLOT_COUNT: usize = 4;

/// The slot of coordinates that share a file: nobody has any.
const NO_SLOT: usize = 1;

fn put_metadata(
    path: &Path,
    schema: &ArraySchema,
    schema_name: &str,
    side: u64,
) -> Result<Vec<(Section, u64)>> {
    let tile_count = side * side;
    let mut file =
        SectionFile { file: File::create(path)?, at: 0, scratch: Scratch::new(), zeros: Vec::new() };
    let mut sections = Vec::new();
    let mut put = |section, word_count: u64, words: &mut dyn Iterator<Item = u64>| -> Result<()> {
        sections.push((section, file.at));
        file.put(8 * word_count, words)
    };
    let fanout = u64::from(RTree::FANOUT);
    let mut counts = vec![tile_count];
    while counts[0] > 1 {
        counts.insert(0, counts[0].div_ceil(fanout));
    }
    let head = fanout | (counts.len() as u64) << 32;
    let mut words = std::iter::once(head).chain(counts.iter().enumerate().flat_map(|(depth, &count)| {
        let tiles_per_node = fanout.pow((counts.len() - 1 - depth) as u32);
        let rect = move |node: u64| {
            let (first, last) = (node * tiles_per_node, ((node + 1) * tiles_per_node).min(tile_count) - 1);
            let (y, end_y) = (first / side, last / side);
            let (x, end_x) = if y == end_y { (first % side, last % side) } else { (0, side - 1) };
            [y, end_y, x, end_x]
        };
        std::iter::once(count).chain((0..count).flat_map(rect))
    }));
    let word_count = counts.iter().map(|count| 1 + 4 * count).sum::<u64>() + 1;
    put(Section::RTree, word_count, &mut words)?;
    for slot in 0..SLOT_COUNT {
        let byte_len = if slot == NO_SLOT { 0 } else { TILE_BYTE_LEN };
        let mut words = std::iter::once(tile_count).chain((0..tile_count).map(|idx| idx * byte_len));
        put(Section::TileOffsets(slot), tile_count + 1, &mut words)?;
    }
    for list in [Section::TileVarOffsets, Section::TileVarSizes, Section::TileValidityOffsets] {
        for slot in 0..SLOT_COUNT {
            let mut words = std::iter::once(tile_count).chain((0..tile_count).map(|_| 0));
            put(list(slot), tile_count + 1, &mut words)?;
        }
    }
    for list in [Section::TileMins, Section::TileMaxes] {
        for slot in 0..SLOT_COUNT {
            let count = if slot == 0 { tile_count } else { 0 };
            let mut words = [8 * count, 0].into_iter().chain((0..count).map(number_of));
            put(list(slot), count + 2, &mut words)?;
        }
    }
    for (list, held) in [(Section::TileSums as fn(usize) -> Section, 1), (Section::TileNullCounts, 0)] {
        for slot in 0..SLOT_COUNT {
            let count = if slot == 0 { held * tile_count } else { 0 };
            let mut words = std::iter::once(count).chain((0..count).map(number_of));
            put(list(slot), count + 1, &mut words)?;
        }
    }
    let of_number = FieldStatistics {
        min: 0u64.to_le_bytes().to_vec(),
        max: number_of(tile_count - 1).to_le_bytes().to_vec(),
        sum: (0..tile_count).map(number_of).fold(0, u64::wrapping_add),
        null_count: 0,
    };
    let none = FieldStatistics { min: Vec::new(), max: Vec::new(), sum: 0, null_count: 0 };
    let fields = vec![of_number, none.clone(), none.clone(), none];
    let statistics = FragmentStatistics { fields }.encode();
    let mut words = statistics.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
    put(Section::FragmentStatistics, statistics.len() as u64 / 8, &mut words)?;
    put(Section::ProcessedConditions, 1, &mut std::iter::once(0))?;

    let shape = schema.shape();
    let file_sizes = (0..SLOT_COUNT).map(|slot| if slot == NO_SLOT { 0 } else { tile_count * TILE_BYTE_LEN });
    let side_extent = Extent::Num { lo: 0i64.ordinal(), hi: (side as i64 - 1).ordinal() };
    let mut footer = Footer {
        non_empty_domain: Some(vec![side_extent.clone(), side_extent].into()),
        sparse_tile_count: tile_count,
        last_tile_cell_count: 1,
        file_sizes: file_sizes.collect(),
        file_var_sizes: FieldNumbers::from_elem(0, SLOT_COUNT),
        file_validity_sizes: FieldNumbers::from_elem(0, SLOT_COUNT),
        ..Footer::new(schema.write_version(), schema_name, false)
    };
    for (section, start) in &sections {
        footer.set_section_offset(*section, *start);
    }
    file.file.write_all(&footer.encode_file_end(&shape)?)?;
    Ok(sections)
}

/// A metadata file that sections are put into, one behind the other.
struct SectionFile {
    file: File,
    at: u64,
    scratch: Scratch,
    /// The filtered form of a whole chunk of zeros, once there was one.
    zeros: Vec<u8>,
}

impl SectionFile {
    /// Puts a section of so many bytes, given as little-endian words.
    fn put(&mut self, byte_len: u64, words: &mut dyn Iterator<Item = u64>) -> Result<()> {
        let mut header = GenericTileHeader::new(Version::DEFAULT, byte_len, Encryption::None);
        let codec = Codec::new(&header.filters, FieldKind::bytes(), codec_rules(Version::DEFAULT), None)?;
        let head_len = header.encode()?.len() as u64 + 8;
        let start = self.at;
        self.file.seek(SeekFrom::Start(start + head_len))?;
        let (mut chunk, mut filtered, mut left) = (Vec::new(), Vec::new(), byte_len);
        let mut filtered_len = 8;
        let mut chunk_count = 0u64;
        while left > 0 {
            chunk.clear();
            chunk.extend(words.take(CHUNK_BYTE_LEN / 8).flat_map(u64::to_le_bytes));
            assert_eq!(chunk.len() as u64, left.min(CHUNK_BYTE_LEN as u64), "as many words as were said");
            left -= chunk.len() as u64;
            let is_zero = chunk.len() == CHUNK_BYTE_LEN && chunk.iter().all(|byte| *byte == 0);
            filtered.clear();
            match is_zero && !self.zeros.is_empty() {
                true => filtered.extend_from_slice(&self.zeros),
                false => codec.encode(&chunk, &mut filtered, &mut self.scratch)?,
            }
            if is_zero && self.zeros.is_empty() {
                self.zeros.clone_from(&filtered);
            }
            // The chunk of a tile that has no other, without the number of chunks.
            self.file.write_all(&filtered[8..])?;
            filtered_len += filtered.len() as u64 - 8;
            chunk_count += 1;
        }
        header.filtered_len = filtered_len;
        let mut head = header.encode()?;
        head.extend(chunk_count.to_le_bytes());
        self.file.write_all_at(&head, start)?;
        self.at = start + head_len - 8 + filtered_len;
        self.file.seek(SeekFrom::Start(self.at))?;
        Ok(())
    }
}
