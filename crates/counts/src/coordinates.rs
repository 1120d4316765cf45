//! Coordinates of sparse cells: keys, orders, merges, selections and rectangles.

use crate::case::{Case, Outcome, Work, case, work};
use crate::input;
use smalti_space::{
    BitMask, CellOrder, Column, Interval, KeyLayout, OrderDim, OrderKeys, RTree, RangeSet, RectIndex,
    SortedCells, UNSTOPPED, Zones, column_bounds, hilbert_values, merge_runs, select_cells, sort_cells,
    tile_mbrs,
};
use smalti_types::{Datatype, Extent, Layout, Physical, Scalar};
use std::hint::black_box;

const CELL_COUNT: usize = 16 << 10;
/// Both dimensions have this domain, from 0 on.
const DOMAIN: i64 = 1_000_000;
const TILE_EXTENT: i64 = 10_000;
/// Cells of a tile.
const CAPACITY: usize = 16;
/// Runs that are merged.
const RUN_COUNT: usize = 8;

/// The cases.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("keys-row-major", || keys(|dims| CellOrder::plain(dims, Layout::RowMajor))),
        case("keys-column-major", || keys(|dims| CellOrder::plain(dims, Layout::ColMajor))),
        case("keys-by-tiles", || keys(|dims| CellOrder::global(dims, Layout::RowMajor, Layout::RowMajor))),
        case("keys-hilbert", || keys(|dims| CellOrder::global(dims, Layout::RowMajor, Layout::Hilbert))),
        case("keys-of-text", || {
            let (layout, names) = text_keys()?;
            work(move || {
                black_box(layout.keys(&[names.column()?], UNSTOPPED)?);
                Ok(())
            })
        }),
        case("hilbert-places", || {
            let (order, cells) =
                (CellOrder::global(dims(), Layout::RowMajor, Layout::Hilbert)?, Cells::new());
            work(move || {
                black_box(hilbert_values(&order, &cells.columns()?, UNSTOPPED)?);
                Ok(())
            })
        }),
        case("cells-sorted", || {
            let cells = Cells::new();
            let keys = tile_keys(&cells)?;
            work(move || {
                black_box(sort_cells(&keys, UNSTOPPED)?);
                Ok(())
            })
        }),
        case("cells-sorted-and-compared", || {
            let cells = Cells::new();
            let keys = tile_keys(&cells)?;
            work(move || {
                black_box(SortedCells::new(&keys, UNSTOPPED)?.repeats(&keys, UNSTOPPED)?);
                Ok(())
            })
        }),
        case("text-sorted", || {
            let (layout, names) = text_keys()?;
            let keys = layout.keys(&[names.column()?], UNSTOPPED)?;
            work(move || {
                black_box(sort_cells(&keys, UNSTOPPED)?);
                Ok(())
            })
        }),
        case("keys-compared", || {
            let cells = Cells::new();
            let keys = tile_keys(&cells)?;
            let sorted = sort_cells(&keys, UNSTOPPED)?;
            work(move || {
                black_box(keys.repeats(&sorted, UNSTOPPED)?);
                black_box(keys.permuted(&sorted).first_descent());
                Ok(())
            })
        }),
        case("runs-merged", merged),
        case("cells-selected", || selected(1)),
        case("cells-selected-by-20-ranges", || selected(20)),
        case("zones-found", || {
            let cells = Cells::sorted()?;
            work(move || {
                black_box(cells.columns()?.iter().map(Zones::of).collect::<Vec<_>>());
                Ok(())
            })
        }),
        case("cells-selected-in-zones", || {
            let (cells, ranges) = (Cells::sorted()?, [ranges(1)?, ranges(1)?]);
            let zones: Vec<Zones> = cells.columns()?.iter().map(Zones::of).collect();
            work(move || {
                let mut selection = BitMask::ones(CELL_COUNT);
                for ((zones, column), ranges) in zones.iter().zip(&cells.columns()?).zip(&ranges) {
                    zones.select_column(column, ranges, &mut selection)?;
                }
                black_box(selection);
                Ok(())
            })
        }),
        case("bitmaps", bitmaps),
        case("rectangles-of-tiles", || {
            let cells = Cells::new();
            work(move || {
                black_box(tile_mbrs(&cells.columns()?, CAPACITY)?);
                Ok(())
            })
        }),
        case("tree-built", || {
            let rectangles = tile_mbrs(&Cells::sorted()?.columns()?, CAPACITY)?;
            work(move || {
                black_box(RTree::build(rectangles.clone(), RTree::FANOUT)?);
                Ok(())
            })
        }),
        case("tree-searched", || {
            let tree = RTree::build(tile_mbrs(&Cells::sorted()?.columns()?, CAPACITY)?, RTree::FANOUT)?;
            let ranges = [ranges(3)?, ranges(5)?];
            work(move || {
                black_box(tree.search(&ranges)?);
                Ok(())
            })
        }),
        case("rectangle-index-searched", || {
            let rectangles = some_rectangles();
            let index = RectIndex::new(2, rectangles.iter().map(|sides| &sides[..]));
            let wanted = [Interval::new(400_000, 600_000)?, Interval::new(100_000, 500_000)?];
            work(move || {
                black_box(index.meeting(&wanted).count());
                Ok(())
            })
        }),
    ]
}

/// Cells at random places.
struct Cells {
    x: Vec<u8>,
    y: Vec<u8>,
}

impl Cells {
    fn new() -> Cells {
        let column = |seed| {
            input::bytes(&input::numbers(seed, CELL_COUNT, DOMAIN as u64), |value| value.to_le_bytes())
        };
        Cells { x: column(31), y: column(32) }
    }

    /// The same in the order of tiles.
    fn sorted() -> Outcome<Cells> {
        let cells = Cells::new();
        let order = sort_cells(&tile_keys(&cells)?, UNSTOPPED)?;
        let (mut x, mut y) = (vec![0; cells.x.len()], vec![0; cells.y.len()]);
        order.gather(&cells.x, size_of::<i64>(), &mut x)?;
        order.gather(&cells.y, size_of::<i64>(), &mut y)?;
        Ok(Cells { x, y })
    }

    fn columns(&self) -> Outcome<[Column<'_>; 2]> {
        Ok([Column::numbers(Datatype::Int64, &self.x)?, Column::numbers(Datatype::Int64, &self.y)?])
    }
}

/// Cells named by text.
struct Names {
    bytes: Vec<u8>,
    starts: Vec<u64>,
}

impl Names {
    fn column(&self) -> Outcome<Column<'_>> {
        Ok(Column::strings(&self.starts, &self.bytes)?)
    }
}

fn dims() -> Vec<OrderDim> {
    let domain = Interval { lo: 0_i64.ordinal(), hi: (DOMAIN - 1).ordinal() };
    let dim = OrderDim { datatype: Datatype::Int64, domain, extent: Some(Scalar::I64(TILE_EXTENT)) };
    vec![dim, dim]
}

fn layout_of(order: &CellOrder, columns: &[Column<'_>]) -> Outcome<KeyLayout> {
    let bounds: Vec<Interval> =
        columns.iter().map(|column| column_bounds(column).unwrap_or(Interval::ALL)).collect();
    Ok(KeyLayout::new(order, &bounds)?)
}

fn keys(order: fn(Vec<OrderDim>) -> smalti_types::Result<CellOrder>) -> Outcome<Work> {
    let cells = Cells::new();
    let layout = layout_of(&order(dims())?, &cells.columns()?)?;
    work(move || {
        black_box(layout.keys(&cells.columns()?, UNSTOPPED)?);
        Ok(())
    })
}

fn tile_keys(cells: &Cells) -> Outcome<OrderKeys> {
    let order = CellOrder::global(dims(), Layout::RowMajor, Layout::RowMajor)?;
    Ok(layout_of(&order, &cells.columns()?)?.keys(&cells.columns()?, UNSTOPPED)?)
}

fn text_keys() -> Outcome<(KeyLayout, Names)> {
    let (bytes, mut starts) = input::names(33, CELL_COUNT / 4);
    starts.pop();
    let names = Names { bytes, starts };
    let dim = OrderDim { datatype: Datatype::StringAscii, domain: Interval::ALL, extent: None };
    let order = CellOrder::global(vec![dim], Layout::RowMajor, Layout::RowMajor)?;
    let layout = layout_of(&order, &[names.column()?])?;
    Ok((layout, names))
}

/// Runs of keys that ascend, as the cells of fragments do.
fn merged() -> Outcome<Work> {
    let mut items = input::numbers(34, CELL_COUNT, u64::MAX);
    let run_len = CELL_COUNT / RUN_COUNT;
    items.chunks_mut(run_len).for_each(<[u64]>::sort_unstable);
    let ends: Vec<usize> = (1..=RUN_COUNT).map(|run| run * run_len).collect();
    work(move || Ok(merge_runs(&mut items, &ends, Ord::cmp, UNSTOPPED)?))
}

/// So many ranges that lie apart, over half of the domain.
fn ranges(count: i64) -> Outcome<RangeSet> {
    let step = DOMAIN / count;
    let range = |idx: i64| Extent::between(Scalar::I64(idx * step), Scalar::I64(idx * step + step / 2));
    Ok(RangeSet::new(false, (0..count).map(range).collect::<Result<_, _>>()?)?)
}

fn selected(range_count: i64) -> Outcome<Work> {
    let (cells, ranges) = (Cells::new(), [ranges(range_count)?, ranges(range_count)?]);
    work(move || {
        black_box(select_cells(&cells.columns()?, &ranges)?);
        Ok(())
    })
}

/// What is done with selections: others taken away and added, counts, and runs of cells.
fn bitmaps() -> Outcome<Work> {
    let mut random = input::random(35);
    let mut mask = |rare: u32| {
        let words = (0..CELL_COUNT / 64).map(|_| (0..rare).fold(u64::MAX, |bits, _| bits & random()));
        BitMask::from_words(words.collect(), CELL_COUNT)
    };
    let (some, few, many) = (mask(1), mask(3), mask(0));
    work(move || {
        let mut selection = many.clone();
        selection.and(&some);
        selection.and_not(&few);
        let cells_of_runs: usize = selection.iter_runs().map(|run| run.len()).sum();
        selection.or(&few);
        black_box((cells_of_runs, selection.count(), selection.iter_cells().sum::<usize>()));
        Ok(())
    })
}

fn some_rectangles() -> Vec<[Interval; 2]> {
    let corners = input::numbers(36, 2000, DOMAIN as u64);
    let side = |lo: u64| Interval { lo, hi: lo + TILE_EXTENT as u64 };
    corners.chunks_exact(2).map(|corner| [side(corner[0]), side(corner[1])]).collect()
}
