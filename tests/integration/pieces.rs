//! Dense tiles of several chunks give the same cells whatever part of them is wanted, in whatever order, however long a cell is.

use crate::oracle::arrays::{dimension, place, schema};
use smalti_array::{FieldId, Plane, Snapshot};
use smalti_query::{Duplicates, ReadRequest, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{
    ArrayType, CellValNum, Datatype, Extent, Filter, FilterPipeline, Layout, Physical, Scalar, TimeRange,
};
use std::num::NonZeroU32;

/// The first and the last position of each range along a dimension.
type Ranges<'r> = &'r [(i32, i32)];

struct Shape {
    rows: i32,
    columns: i32,
    extents: [i32; 2],
    cell_byte_len: usize,
}

impl Shape {
    fn cell(&self, row: i32, column: i32) -> Vec<u8> {
        let first = (row * self.columns + column) as u32;
        (0..self.cell_byte_len as u32)
            .map(|at| (first.wrapping_mul(2_654_435_761) >> (at % 25)) as u8)
            .collect()
    }

    /// A written array of one attribute, in tiles of several chunks each.
    fn array(&self, filters: &FilterPipeline, cell_order: Layout) -> Snapshot {
        let place = place(8);
        let sides = [("y", self.rows, self.extents[0]), ("x", self.columns, self.extents[1])];
        let sides = sides.map(|(name, len, extent)| {
            dimension(name, Some((Scalar::I32(0), Scalar::I32(len - 1))), Some(Scalar::I32(extent)))
        });
        let mut schema = schema(ArrayType::Dense, sides.into(), (Layout::RowMajor, cell_order));
        schema.attributes.truncate(1);
        let attribute = &mut schema.attributes[0];
        attribute.datatype = Datatype::UInt8;
        attribute.cell_val_num = CellValNum::Fixed(NonZeroU32::new(self.cell_byte_len as u32).unwrap());
        attribute.fill_value = vec![0xee; self.cell_byte_len];
        attribute.filters = filters.clone();
        place.create(&schema).unwrap();
        let cells = (0..self.rows).flat_map(|row| (0..self.columns).map(move |column| (row, column)));
        let bytes: Vec<u8> = cells.flat_map(|(row, column)| self.cell(row, column)).collect();
        let request = WriteRequest {
            columns: vec![("n".into(), ColumnRef::fixed(&bytes))],
            subarray: None,
            layout: Layout::RowMajor,
            at: None,
            duplicates: Duplicates::Refuse,
            progress: None,
        };
        write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
        Snapshot::open(place, TimeRange::ALL).unwrap()
    }

    fn check(
        &self,
        snapshot: &Snapshot,
        (row_ranges, column_ranges): (Ranges<'_>, Ranges<'_>),
        layout: Layout,
    ) {
        let extents = |sides: &[(i32, i32)]| {
            let extent = |&(lo, hi): &(i32, i32)| Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() };
            sides.iter().map(extent).collect::<Vec<_>>()
        };
        let request = ReadRequest {
            fields: vec!["n".into()],
            ranges: vec![extents(row_ranges), extents(column_ranges)],
            layout: Some(layout),
            batch_cell_count: Some(usize::MAX),
            ..ReadRequest::default()
        };
        let mut found = Vec::new();
        for batch in read(snapshot, &request).unwrap() {
            found.extend_from_slice(batch.unwrap().columns[0].data.as_slice());
        }
        let all = |sides: &[(i32, i32)]| sides.iter().flat_map(|&(lo, hi)| lo..=hi).collect::<Vec<i32>>();
        let (rows, columns) = (all(row_ranges), all(column_ranges));
        let expected: Vec<u8> = match layout {
            Layout::ColMajor => {
                columns.iter().flat_map(|&x| rows.iter().flat_map(move |&y| self.cell(y, x))).collect()
            }
            _ => rows.iter().flat_map(|&y| columns.iter().flat_map(move |&x| self.cell(y, x))).collect(),
        };
        assert!(
            found == expected,
            "{} bytes a cell, {row_ranges:?} and {column_ranges:?} in {layout}: {} of {} bytes",
            self.cell_byte_len,
            found.len(),
            expected.len()
        );
    }
}

#[test]
fn parts_of_tiles_of_several_chunks_hold_their_cells() {
    let shapes = [
        // Chunks that end within a row of the tile, and one that is shorter than the others.
        Shape { rows: 230, columns: 250, extents: [100, 90], cell_byte_len: 12 },
        Shape { rows: 300, columns: 310, extents: [150, 301], cell_byte_len: 4 },
        // Cells that are longer than a chunk.
        Shape { rows: 5, columns: 7, extents: [2, 3], cell_byte_len: 70_001 },
    ];
    let pipelines = [
        FilterPipeline::default(),
        FilterPipeline::new([Filter::Zstd { level: 1 }]),
        FilterPipeline::new([Filter::Byteshuffle, Filter::Lz4 { level: 1 }]),
    ];
    for shape in &shapes {
        for filters in &pipelines {
            for cell_order in [Layout::RowMajor, Layout::ColMajor] {
                let snapshot = shape.array(filters, cell_order);
                let (rows, columns) = (shape.rows - 1, shape.columns - 1);
                let boxes: [(Ranges<'_>, Ranges<'_>); 6] = [
                    (&[(0, rows)], &[(0, columns)]),
                    (&[(1, rows - 1)], &[(0, columns)]),
                    (&[(0, rows)], &[(columns / 2, columns - 1)]),
                    (&[(rows / 2, rows / 2)], &[(1, columns - 1)]),
                    (&[(rows - 2, rows), (0, rows / 3)], &[(2, 3), (columns / 2, columns)]),
                    (&[(0, 0), (rows / 2, rows / 2 + 1)], &[(0, 1), (3, 3), (columns - 1, columns)]),
                ];
                for layout in [Layout::RowMajor, Layout::ColMajor] {
                    // A second time out of what the first one kept.
                    for wanted in boxes.iter().chain(&boxes) {
                        shape.check(&snapshot, *wanted, layout);
                    }
                }
            }
        }
    }
}

impl Shape {
    /// Sixteen chunks, each as long as before it was filtered.
    fn of_sixteen_chunks() -> (Self, Snapshot) {
        let shape = Shape { rows: 512, columns: 512, extents: [512, 512], cell_byte_len: 4 };
        let snapshot = shape.array(&FilterPipeline::new([Filter::Md5]), Layout::RowMajor);
        (shape, snapshot)
    }

    /// Reads a box of four rows and checks its cells. Returns what was read of files for it.
    fn read_box(&self, snapshot: &Snapshot, row: i32, memory_byte_len: Option<usize>) -> u64 {
        let (rows, columns) = ((row, row + 3), (7, 10));
        let extent = |(lo, hi): (i32, i32)| Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() };
        let request = ReadRequest {
            fields: vec!["n".into()],
            ranges: vec![vec![extent(rows)], vec![extent(columns)]],
            memory_byte_len,
            ..ReadRequest::default()
        };
        let mut batches = read(snapshot, &request).unwrap();
        let found: Vec<u8> =
            batches.by_ref().flat_map(|batch| batch.unwrap().columns[0].data.as_slice().to_vec()).collect();
        let cells = (row..row + 4).flat_map(|row| (7..11).map(move |column| (row, column)));
        assert_eq!(found, cells.flat_map(|(row, column)| self.cell(row, column)).collect::<Vec<u8>>());
        batches.progress().statistics().byte_len
    }
}

/// What the only tile takes in its file.
fn tile_byte_len(snapshot: &Snapshot) -> u64 {
    let place = snapshot.fragments()[0].tile_place(FieldId::Attribute(0), Plane::Fixed, 0).unwrap();
    place.end - place.start
}

#[test]
fn of_a_part_of_a_filtered_tile_headers_and_the_chunks_that_hold_it_are_read() {
    let (shape, snapshot) = Shape::of_sixteen_chunks();
    let read_byte_len = |row: i32| shape.read_box(&snapshot, row, None);
    let tile_byte_len = tile_byte_len(&snapshot);
    assert!(tile_byte_len > 16 * (16 << 10), "{tile_byte_len}");
    let first = read_byte_len(40);
    assert!(first < tile_byte_len / 8, "{first} of {tile_byte_len}");
    assert_eq!(read_byte_len(41), 0, "the chunk is kept");
    let other = read_byte_len(400);
    assert!(other < tile_byte_len / 8, "{other} of {tile_byte_len}");
    // Rows in two chunks.
    let two = read_byte_len(62);
    assert!(two < tile_byte_len / 6, "{two} of {tile_byte_len}");
}

#[test]
fn of_a_filtered_tile_that_may_not_be_kept_no_header_is_read_apart() {
    let (shape, snapshot) = Shape::of_sixteen_chunks();
    // Tiles may stay in the cache up to a part of it that is shorter than this one.
    let memory_byte_len = Some(4 << 20);
    for row in [40, 400] {
        assert_eq!(shape.read_box(&snapshot, row, memory_byte_len), tile_byte_len(&snapshot), "{row}");
    }
}
