//! Dense arrays whose domain nobody could walk over: work follows what was written.

use crate::corpus::archive::Archive;
use crate::corpus::case::Case;
use crate::corpus::reads::place_with;
use crate::oracle::arrays::{Columns, Row, dimension, open, place, rows, schema};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{
    Aggregate, AggregateRequest, AggregateValue, FragmentFate, Function, Progress, ReadRequest, aggregate,
    explain, read, write,
};
use smalti_store::SyncLevel;
use smalti_types::{ArrayType, Extent, Layout, Physical, Scalar, TimeRange};
use smalti_upkeep::{DiffOptions, DigestOptions, diff, digest, salvage};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Positions along each of two dimensions: 2^60 cells, in tiles of 3 times 2.
const SIDE: i32 = 1 << 30;

fn array(seed: u64, sides: [(i32, i32); 2]) -> ArrayPlace {
    let place = place(seed);
    let dimensions = ["y", "x"].into_iter().zip(sides).map(|(name, (len, extent))| {
        dimension(name, Some((Scalar::I32(0), Scalar::I32(len - 1))), Some(Scalar::I32(extent)))
    });
    place
        .create(&schema(ArrayType::Dense, dimensions.collect(), (Layout::RowMajor, Layout::RowMajor)))
        .unwrap();
    place
}

type Cells = BTreeMap<(i32, i32), Row>;

/// Writes a rectangle of numbers from `first` on.
fn put(place: &ArrayPlace, cells: &mut Cells, (y, x): (i32, i32), (rows, cols): (i32, i32), first: u32) {
    let written: Vec<((i32, i32), Row)> = (0..rows * cols)
        .map(|at| ((y + at / cols, x + at % cols), (first + at as u32, (at % 3 > 0).then(|| vec![b'a'; 2]))))
        .collect();
    let columns = Columns::of(written.iter().map(|(_, row)| row));
    let side = |at: i32, len: i32| Extent::Num { lo: at.ordinal(), hi: (at + len - 1).ordinal() };
    let request = columns.request(Layout::RowMajor, Some(vec![side(y, rows), side(x, cols)]));
    write(&open(place, TimeRange::ALL), &request).unwrap();
    cells.extend(written);
}

/// Rectangles at the corners, and in the middle, some over others.
fn scattered(place: &ArrayPlace) -> Cells {
    let mut cells = Cells::new();
    put(place, &mut cells, (0, 0), (4, 5), 0);
    put(place, &mut cells, (2, SIDE - 3), (7, 3), 100);
    put(place, &mut cells, (SIDE - 2, 1), (2, 8), 200);
    put(place, &mut cells, (SIDE / 2, SIDE / 2), (9, 9), 300);
    put(place, &mut cells, (SIDE / 2 + 4, SIDE / 2 - 4), (3, 9), 400);
    cells
}

fn in_order(cells: &Cells, layout: Layout) -> Vec<(i32, i32)> {
    let mut order: Vec<(i32, i32)> = cells.keys().copied().collect();
    order.sort_by_key(|&(y, x)| match layout {
        Layout::RowMajor => (0, 0, y, x),
        Layout::ColMajor => (0, 0, x, y),
        _ => (y / 3, x / 2, y, x),
    });
    order
}

fn below(number: i64) -> Option<Condition> {
    Some(Condition::compare("n", Relation::Lt, number))
}

fn check_read(snapshot: &Snapshot, cells: &Cells, layout: Layout) {
    let progress = Arc::new(Progress::new());
    let request = ReadRequest {
        layout: Some(layout),
        condition: below(1_000_000),
        leaves_out: true,
        progress: Some(Arc::clone(&progress)),
        ..ReadRequest::default()
    };
    let batches = read(snapshot, &request).unwrap();
    let fields = batches.fields().to_vec();
    let batches: Vec<_> = batches.map(|batch| batch.unwrap()).collect();
    let found: Vec<((i32, i32), Row)> = rows(&fields, &batches)
        .into_iter()
        .map(|(coords, row)| {
            let at = |dim: usize| i32::from_le_bytes(coords[dim][..].try_into().unwrap());
            ((at(0), at(1)), row)
        })
        .collect();
    let expected: Vec<((i32, i32), Row)> =
        in_order(cells, layout).into_iter().map(|at| (at, cells[&at].clone())).collect();
    assert_eq!(found, expected, "{layout}");
    let tiles = progress.statistics().tile_count as usize;
    assert!(tiles <= 20 * cells.len() + 100, "{layout}: {tiles} tiles for {} cells", cells.len());
}

#[test]
fn matching_cells_of_an_endless_domain_are_found_in_every_order() {
    let place = array(21, [(SIDE, 3), (SIDE, 2)]);
    let cells = scattered(&place);
    let snapshot = open(&place, TimeRange::ALL);
    for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
        check_read(&snapshot, &cells, layout);
    }
}

#[test]
fn random_rectangles_of_an_endless_domain_come_in_every_order() {
    let mut state = 1u64;
    for seed in 0..12 {
        let place = array(30 + seed, [(SIDE, 3), (SIDE, 2)]);
        let mut cells = Cells::new();
        for fragment in 0..6 {
            let mut draw = |most: i32| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 33) % most as u64) as i32
            };
            // Near each other along one dimension, far from each other along the other; long ones among them.
            let far = SIDE / 8 * draw(7);
            let near = draw(2000);
            let at = if seed % 2 == 0 { (near, far) } else { (far, near) };
            let len = if draw(3) == 0 { (1 + draw(3), 1 + draw(300)) } else { (1 + draw(60), 1 + draw(6)) };
            put(&place, &mut cells, at, len, fragment * 10_000);
        }
        let snapshot = open(&place, TimeRange::ALL);
        for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
            check_read(&snapshot, &cells, layout);
        }
    }
}

/// What the rows of tiles take counts where each cell is one, however many there are: as many as a number of 64 bits can tell.
#[test]
fn steps_through_an_endless_domain_of_tiles_of_a_cell_are_bounded() {
    let place = place(13);
    let sides = [dimension("x", Some((Scalar::U64(0), Scalar::U64(u64::MAX - 1))), Some(Scalar::U64(1)))];
    let mut schema = schema(ArrayType::Dense, sides.into(), (Layout::RowMajor, Layout::RowMajor));
    schema.attributes.truncate(1);
    place.create(&schema).unwrap();
    let batch_cell_count = Some(usize::MAX);
    let memory_byte_len = Some(16 << 20);
    let request = ReadRequest { batch_cell_count, memory_byte_len, ..ReadRequest::default() };
    let first = read(&open(&place, TimeRange::ALL), &request).unwrap().next().unwrap().unwrap();
    assert!(first.cell_count <= (16 << 20) / 160, "{} cells", first.cell_count);
}

fn aggregates(
    snapshot: &Snapshot,
    condition: Option<Condition>,
    asked: &[(Function, &str)],
) -> Vec<AggregateValue> {
    let aggregates = asked.iter().map(|(function, field)| Aggregate::new(*function, *field));
    let request =
        AggregateRequest { aggregates: aggregates.collect(), condition, ..AggregateRequest::default() };
    aggregate(snapshot, &request).unwrap()
}

fn number(value: &AggregateValue) -> i128 {
    match value {
        AggregateValue::Number(scalar) => scalar.as_i128().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn aggregates_count_what_nobody_wrote_without_walking_over_it() {
    use Function::{Count, Max, Min, NullCount, Sum};
    let place = array(22, [(SIDE, 3), (SIDE, 2)]);
    let cells = scattered(&place);
    let snapshot = open(&place, TimeRange::ALL);
    let (all, written) = (1i128 << 60, cells.len() as i128);
    let only_count = AggregateRequest { aggregates: vec![Aggregate::count()], ..AggregateRequest::default() };
    assert_eq!(number(&aggregate(&snapshot, &only_count).unwrap()[0]), all);
    let found =
        aggregates(&snapshot, None, &[(Count, "n"), (Min, "n"), (Max, "n"), (NullCount, "s"), (Max, "y")]);
    let nulls = cells.values().filter(|(_, text)| text.is_none()).count() as i128;
    let expected = [all, 0, u32::MAX.into(), all - written + nulls, SIDE as i128 - 1];
    assert_eq!(found.iter().map(number).collect::<Vec<_>>(), expected);
    // The fill value does not fulfil this condition, but the next one.
    let sum: i128 = cells.values().map(|(number, _)| i128::from(*number)).sum();
    let found = aggregates(&snapshot, below(1000), &[(Count, "n"), (Sum, "n"), (Max, "n")]);
    let most = cells.values().map(|(number, _)| i128::from(*number)).max().unwrap();
    assert_eq!(found.iter().map(number).collect::<Vec<_>>(), [written, sum, most]);
    let filled = Condition::compare("n", Relation::Gt, 1000);
    let found = aggregates(&snapshot, Some(filled.clone()), &[(Count, "n"), (Min, "n")]);
    assert_eq!(found.iter().map(number).collect::<Vec<_>>(), [all - written, u32::MAX.into()]);
    // Coordinates decide too: ten rows, of which two rectangles take a part, and a column of the rest.
    let rows = Condition::compare("y", Relation::Lt, 10);
    let column = Condition::compare("x", Relation::Eq, 77);
    let condition = rows.or(column).and(filled);
    let is_met = |&(y, x): &(i32, i32)| y < 10 || x == 77;
    let hidden = cells.keys().filter(|at| is_met(at)).count() as i128;
    let cells_there = 10 * i128::from(SIDE) + i128::from(SIDE) - 10 - hidden;
    let found = aggregates(&snapshot, Some(condition), &[(Count, "n"), (Max, "y"), (Min, "x")]);
    assert_eq!(found.iter().map(number).collect::<Vec<_>>(), [cells_there, i128::from(SIDE) - 1, 0]);
}

#[test]
fn several_ranges_of_an_endless_domain_are_counted_too() {
    let place = array(23, [(SIDE, 3), (SIDE, 2)]);
    let cells = scattered(&place);
    let snapshot = open(&place, TimeRange::ALL);
    let side = |lo: i32, hi: i32| Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() };
    let ranges = vec![vec![side(0, 1), side(1000, SIDE - 1)], vec![side(0, 2), side(2, SIDE - 1)]];
    let aggregates =
        vec![Aggregate::count(), Aggregate::new(Function::Min, "n"), Aggregate::new(Function::Sum, "n")];
    let request = AggregateRequest { aggregates, ranges, saturates: true, ..AggregateRequest::default() };
    let found = aggregate(&snapshot, &request).unwrap();
    let (rows, columns) = (i128::from(SIDE) - 998, i128::from(SIDE) + 1);
    assert_eq!(number(&found[0]), rows * columns);
    assert_eq!(number(&found[1]), 0);
    // Column 2 comes twice.
    let times = |&(y, x): &(i32, i32)| if (2..1000).contains(&y) { 0 } else { 1 + i128::from(x == 2) };
    let (mut sum, mut written) = (0, 0);
    for (at, (number, _)) in &cells {
        sum += times(at) * i128::from(*number);
        written += times(at);
    }
    let sum = sum + (rows * columns - written) * i128::from(u32::MAX);
    let saturated = u64::try_from(sum).unwrap_or(u64::MAX);
    assert_eq!(number(&found[2]), i128::from(saturated));
}

#[test]
fn an_endless_domain_is_explained_compared_and_salvaged_by_what_was_written() {
    let place = array(24, [(SIDE, 3), (SIDE, 2)]);
    let cells = scattered(&place);
    let snapshot = open(&place, TimeRange::ALL);
    let explanation = explain(&snapshot, &ReadRequest::default()).unwrap();
    let tiles = explanation.fragments.iter().map(|fragment| (fragment.tile_count, fragment.met_tile_count));
    // Two tiles of the one but last are hidden by the last.
    assert_eq!(tiles.collect::<Vec<_>>(), [(6, 6), (6, 6), (10, 10), (20, 18), (5, 5)]);
    assert!(explanation.fragments.iter().all(|fragment| fragment.fate == FragmentFate::Read));

    let options = DigestOptions::default();
    let whole = digest(&snapshot, &options).unwrap();
    assert_eq!(whole.cell_count, cells.len() as u64);
    // The same number as of a small array with the cells of the first rectangle.
    let (near, far) = (array(25, [(SIDE, 3), (SIDE, 2)]), array(26, [(20, 10), (20, 10)]));
    let [small, large] = [&far, &near].map(|place| {
        put(place, &mut Cells::new(), (3, 2), (5, 6), 0);
        digest(&open(place, TimeRange::ALL), &options).unwrap()
    });
    assert_eq!(small, large);

    let mut later = cells.clone();
    put(&place, &mut later, (3, SIDE - 4), (1, 3), 900);
    let after = open(&place, TimeRange::ALL);
    let mut found = Vec::new();
    let summary = diff(&snapshot, &after, &DiffOptions::default(), &mut |_, cell| {
        found.push(i32::from_le_bytes(cell.coordinates[1][..].try_into().unwrap()));
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    assert_eq!((summary.added, summary.changed, summary.removed), (1, 2, 0));
    assert_eq!(found, [SIDE - 4, SIDE - 3, SIDE - 2]);
    assert_eq!(summary.same, cells.len() as u64 - 2);

    let target = ArrayPlace::in_store(place.store().clone(), "target".into(), None, place.env().clone());
    let mut salvaged = salvage(&place, None).unwrap();
    salvaged.write_to(&target).unwrap();
    assert_eq!(digest(&open(&target, TimeRange::ALL), &options).unwrap(), digest(&after, &options).unwrap());
}

#[test]
fn an_empty_array_of_billions_of_tiles_costs_nothing() {
    let place = array(27, [(60_000, 1), (50_000, 1)]);
    let snapshot = open(&place, TimeRange::ALL);
    assert!(explain(&snapshot, &ReadRequest::default()).unwrap().fragments.is_empty());
    assert_eq!(digest(&snapshot, &DigestOptions::default()).unwrap().cell_count, 0);
    use Function::{Count, Max, Mean, Min, NullCount, Sum};
    let found = aggregates(&snapshot, None, &[(Count, "n"), (NullCount, "s"), (Sum, "n"), (Sum, "y")]);
    let all = 60_000 * 50_000_i128;
    assert_eq!(found.iter().map(number).collect::<Vec<_>>(), [all, all, 0, all * 59_999 / 2]);
    let found = aggregates(&snapshot, None, &[(Mean, "n"), (Min, "n"), (Max, "n")]);
    assert!(found.iter().all(|value| *value == AggregateValue::Nothing), "{found:?}");
    let request = ReadRequest { condition: below(5), leaves_out: true, ..ReadRequest::default() };
    let mut batches = read(&snapshot, &request).unwrap();
    assert!(batches.is_unwritten());
    assert_eq!(batches.by_ref().map(|batch| batch.unwrap().cell_count).sum::<usize>(), 0);
    let summary =
        diff(&snapshot, &snapshot, &DiffOptions::default(), &mut |_, _| Ok(ControlFlow::Continue(())))
            .unwrap();
    assert!(summary.is_empty());
}

/// An array of libtiledb: 18 cells in a domain of 2 * 10^18.
#[test]
fn the_huge_domain_of_the_corpus_costs_its_eighteen_cells() {
    for version in [10, 21] {
        let archive = Archive::unpack(version);
        let folder = archive.cases().into_iter().find(|case| case.ends_with("dense_huge_domain")).unwrap();
        let source = place_with(&Case::load(&folder).unwrap(), SyncLevel::None).unwrap();
        let snapshot = open(&source, TimeRange::ALL);
        assert_eq!(explain(&snapshot, &ReadRequest::default()).unwrap().read_tile_count(), 3);
        let whole = digest(&snapshot, &DigestOptions::default()).unwrap();
        assert_eq!(whole.cell_count, 18);
        let found = aggregates(&snapshot, None, &[(Function::Count, "a"), (Function::Max, "a")]);
        assert_eq!(number(&found[0]), 2_000_000_000_000_000_000);
        let condition = Some(Condition::compare("a", Relation::Ge, 0));
        assert_eq!(number(&aggregates(&snapshot, condition.clone(), &[(Function::Count, "a")])[0]), 18);
        let request = ReadRequest { condition, leaves_out: true, ..ReadRequest::default() };
        let cells = read(&snapshot, &request).unwrap().map(|batch| batch.unwrap().cell_count);
        assert_eq!(cells.sum::<usize>(), 18);
        let target =
            ArrayPlace::in_store(place(28).store().clone(), "target".into(), None, source.env().clone());
        salvage(&source, None).unwrap().write_to(&target).unwrap();
        assert_eq!(digest(&open(&target, TimeRange::ALL), &DigestOptions::default()).unwrap(), whole);
    }
}
