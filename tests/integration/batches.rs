//! The size of batches says how cells are handed out, not how they are read: the work is that of the default size.

use crate::oracle::arrays::{Columns, Row, dimension, place, schema};
use smalti_array::Snapshot;
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Duplicates, ReadRequest, ReadStatistics, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Extent, Filter, FilterPipeline, Layout, Physical, Scalar, TimeRange};

/// Cells along each of two dimensions.
pub const SIDE: i32 = 600;

/// 360,000 cells in filtered tiles of 10,000; of a sparse array in two fragments that interleave, or behind each other.
pub fn array(array_type: ArrayType, interleaves: bool) -> Snapshot {
    let place = place(8);
    let sides = ["y", "x"]
        .map(|name| dimension(name, Some((Scalar::I32(0), Scalar::I32(SIDE - 1))), Some(Scalar::I32(100))));
    let mut schema = schema(array_type, sides.into(), (Layout::RowMajor, Layout::RowMajor));
    schema.attributes[0].filters = FilterPipeline::new([Filter::Zstd { level: 1 }]);
    schema.capacity = 10_000;
    place.create(&schema).unwrap();
    for fragment in 0..2 {
        let is_in = |cell: &i32| match interleaves {
            true => cell % 2 == fragment,
            false => cell / SIDE / (SIDE / 2) == fragment,
        };
        let cells: Vec<i32> = (0..SIDE * SIDE).filter(is_in).collect();
        let rows: Vec<Row> =
            cells.iter().map(|&cell| (cell as u32, (cell % 3 > 0).then(|| vec![b'a'; 1]))).collect();
        let columns = Columns::of(rows.iter());
        let mut request = columns.request(Layout::RowMajor, None);
        let coords = [0, 1].map(|dim| {
            cells.iter().map(|cell| if dim == 0 { cell / SIDE } else { cell % SIDE }).collect::<Vec<i32>>()
        });
        if array_type == ArrayType::Sparse {
            request.layout = Layout::Unordered;
            for (name, coords) in ["y", "x"].into_iter().zip(&coords) {
                request.columns.push((name.into(), ColumnRef::fixed(bytemuck::cast_slice(coords))));
            }
        } else {
            let (lo, hi) = (coords[0][0], coords[0][cells.len() - 1]);
            request.subarray = Some(vec![
                Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() },
                Extent::Num { lo: 0i32.ordinal(), hi: (SIDE - 1).ordinal() },
            ]);
        }
        write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    }
    Snapshot::open(place, TimeRange::ALL).unwrap()
}

/// Reads up to a limit: the numbers, and what it took.
fn numbers(snapshot: &Snapshot, request: &ReadRequest, limit: usize) -> (Vec<u32>, ReadStatistics) {
    let mut batches = read(snapshot, request).unwrap();
    let column = batches.fields().iter().position(|field| field.name == "n").unwrap();
    let mut numbers: Vec<u32> = Vec::new();
    while numbers.len() < limit
        && let Some(batch) = batches.next()
    {
        let batch = batch.unwrap();
        assert!(request.batch_cell_count.is_none_or(|most| batch.cell_count <= most));
        numbers.extend(batch.columns[column].data.values::<u32>());
    }
    (numbers, batches.progress().statistics())
}

#[test]
fn small_batches_cost_about_as_much_work_as_large_ones() {
    let cases = [(ArrayType::Dense, false), (ArrayType::Sparse, false), (ArrayType::Sparse, true)];
    for (array_type, interleaves) in cases {
        let snapshot = array(array_type, interleaves);
        for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered] {
            for condition in [None, Some(Condition::compare("n", Relation::Ge, 1000))] {
                for memory_byte_len in [None, Some(8 << 20)] {
                    let large = ReadRequest {
                        layout: Some(layout),
                        condition: condition.clone(),
                        leaves_out: true,
                        memory_byte_len,
                        ..ReadRequest::default()
                    };
                    let small = ReadRequest { batch_cell_count: Some(1000), ..large.clone() };
                    let (expected, most) = numbers(&snapshot, &large, usize::MAX);
                    let (found, counted) = numbers(&snapshot, &small, usize::MAX);
                    let what = format!(
                        "{array_type} {interleaves} {layout} {condition:?} {memory_byte_len:?}: {counted:?}, {most:?}"
                    );
                    assert!(found == expected, "{what}");
                    assert_eq!(found.len(), (SIDE * SIDE) as usize - condition.is_some() as usize * 1000);
                    assert!(counted.tile_count <= 2 * most.tile_count, "{what}");
                    assert!(counted.request_count <= 2 * most.request_count, "{what}");
                    assert!(counted.byte_len <= 2 * most.byte_len, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_limit_ends_a_read_after_its_first_steps() {
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        let snapshot = array(array_type, false);
        for (first, at_most) in [(0, 12), (250_000, 300)] {
            let request = ReadRequest {
                fields: vec!["n".into()],
                condition: Some(Condition::compare("n", Relation::Ge, first)),
                leaves_out: true,
                batch_cell_count: Some(4),
                ..ReadRequest::default()
            };
            let (found, counted) = numbers(&snapshot, &request, 3);
            assert!(found.len() <= 4 && found[0] >= first as u32, "{found:?}");
            assert!(counted.tile_count <= at_most, "{array_type} from {first}: {counted:?}");
        }
    }
}

/// So the memory of one serves for the next: a step of all that is left would be new memory, and out of the cache when its end is handed out.
#[test]
fn reads_that_go_tile_after_tile_keep_their_steps_small() {
    let snapshot = array(ArrayType::Sparse, false);
    let fields = vec!["n".into()];
    let layout = Some(Layout::Unordered);
    let request = ReadRequest { fields, layout, batch_cell_count: Some(50_000), ..ReadRequest::default() };
    let mut batches = read(&snapshot, &request).unwrap();
    assert_eq!(batches.leave_whole(), 50_000);
    let counts: Vec<usize> = batches.by_ref().map(|batch| batch.unwrap().cell_count).collect();
    assert_eq!(counts.iter().sum::<usize>(), (SIDE * SIDE) as usize);
    assert!(counts.iter().all(|count| *count <= 1 << 17), "{counts:?}");
}

/// Streams of batches of the default size, which are less than a row of tiles: no tile is decoded for two of them, nor where tiles are short
/// along a dimension, as those of pictures are along their channels.
#[test]
fn streams_of_dense_arrays_decode_each_tile_once() {
    let wide: &[(i32, i32)] = &[(600, 200), (10_000, 200)];
    let channels: &[(i32, i32)] = &[(600, 200), (5_000, 200), (3, 3)];
    for (sides, tile_count) in [(wide, 150), (channels, 75)] {
        let place = place(12);
        let names = ["y", "x", "channel"].into_iter().zip(sides);
        let dimensions = names.map(|(name, &(len, extent))| {
            dimension(name, Some((Scalar::I32(0), Scalar::I32(len - 1))), Some(Scalar::I32(extent)))
        });
        let mut schema = schema(ArrayType::Dense, dimensions.collect(), (Layout::RowMajor, Layout::RowMajor));
        schema.attributes.truncate(1);
        schema.attributes[0].filters = FilterPipeline::new([Filter::Zstd { level: 1 }]);
        place.create(&schema).unwrap();
        let cell_count: i32 = sides.iter().map(|(len, _)| len).product();
        let cells: Vec<u32> = (0..cell_count as u32).collect();
        let request = WriteRequest {
            columns: vec![("n".into(), ColumnRef::fixed(bytemuck::cast_slice(&cells)))],
            subarray: None,
            layout: Layout::RowMajor,
            at: None,
            duplicates: Duplicates::default(),
            progress: None,
        };
        write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
        let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
        for (memory_byte_len, batch_cell_count) in
            [(None, None), (Some(64 << 20), None), (None, Some(usize::MAX))]
        {
            let request = ReadRequest {
                layout: Some(Layout::RowMajor),
                fields: vec!["n".into()],
                memory_byte_len,
                batch_cell_count,
                ..ReadRequest::default()
            };
            let (numbers, statistics) = numbers(&snapshot, &request, usize::MAX);
            assert!(numbers == cells);
            assert_eq!(
                statistics.tile_count, tile_count,
                "{sides:?} {memory_byte_len:?} {batch_cell_count:?}"
            );
        }
    }
}

/// Fields of the result that the condition looks at: texts that may be null, and numbers.
#[test]
fn what_a_condition_decoded_is_not_decoded_again() {
    for (layout, interleaves) in
        [(Layout::Unordered, false), (Layout::ColMajor, false), (Layout::RowMajor, true)]
    {
        let snapshot = array(ArrayType::Sparse, interleaves);
        let request = ReadRequest { layout: Some(layout), ..ReadRequest::default() };
        let (all, most) = numbers(&snapshot, &request, usize::MAX);
        let text = read(&snapshot, &request).unwrap().fields().last().unwrap().name.clone();
        let some = Condition::compare(&text, Relation::Eq, "a");
        let both = some.clone().and(Condition::compare("n", Relation::Ge, 1));
        for condition in [some, both] {
            let request = ReadRequest { condition: Some(condition), ..request.clone() };
            let (found, counted) = numbers(&snapshot, &request, usize::MAX);
            assert_eq!(found, all.iter().copied().filter(|n| n % 3 > 0).collect::<Vec<u32>>());
            assert_eq!(counted.tile_count, most.tile_count, "{layout} {:?}", request.condition);
        }
    }
}
