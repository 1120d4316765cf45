//! Tile grids against wide integers.

use proptest::prelude::*;
use smalti_space::{GridDim, Interval, TileGrid};
use smalti_types::Layout;

/// Every domain and extent of an 8-bit dimension, with its ordinals moved to `base`.
fn check_all_8_bit_dimensions(base: u64) {
    for lo in 0..=255u64 {
        for hi in lo..=255u64 {
            // Every extent for short domains and a spread of them for the long ones keeps this exhaustive in effect:
            // beyond the domain's length all extents give one tile.
            for extent in 1..=(hi - lo + 3).min(256) {
                check_dimension(base + lo, base + hi, extent);
            }
        }
    }
}

fn check_dimension(lo: u64, hi: u64, extent: u64) {
    let domain = Interval { lo, hi };
    let grid = TileGrid::new([GridDim { domain, extent }], Layout::RowMajor).unwrap();
    let (mut tile, mut along) = (0u64, 0u64);
    for cell in lo..=hi {
        if grid.tile_along(0, cell) != Some(tile) {
            panic!(
                "cell {cell} of {lo}:{hi} by {extent} is in tile {tile}, not {:?}",
                grid.tile_along(0, cell)
            );
        }
        if along == 0 {
            let interval = grid.tile_interval(0, tile).unwrap();
            let end = i128::from(cell) + i128::from(extent) - 1;
            assert_eq!(interval.lo, cell);
            assert_eq!(i128::from(interval.hi), end.min(i128::from(u64::MAX)));
        }
        along += 1;
        if along == extent && cell < hi {
            along = 0;
            tile += 1;
        }
    }
    assert_eq!(grid.tile_count_along(0), u128::from(tile) + 1);
    assert_eq!(grid.tile_count(), Some(tile + 1));
    assert_eq!(grid.tile_interval(0, tile + 1), None);
    assert_eq!(grid.tile_along(0, hi.wrapping_add(1)).filter(|_| hi < u64::MAX), None);
    assert_eq!(lo.checked_sub(1).and_then(|below| grid.tile_along(0, below)), None);
    let whole = grid.expand(&[domain]).unwrap()[0];
    assert_eq!(whole, Interval { lo, hi: grid.tile_interval(0, tile).unwrap().hi });
}

#[test]
fn every_8_bit_dimension_agrees_with_counting() {
    check_all_8_bit_dimensions(0);
}

#[test]
fn every_8_bit_dimension_at_the_end_of_the_ordinals_agrees_with_counting() {
    check_all_8_bit_dimensions(u64::MAX - 255);
}

#[test]
fn every_rectangle_of_an_8_bit_dimension_has_the_block_of_its_cells_tiles() {
    for (lo, hi) in [(0u64, 255u64), (3, 250), (100, 130)] {
        for extent in [1u64, 2, 3, 7, 10, 16, 100, 255, 300] {
            let grid =
                TileGrid::new([GridDim { domain: Interval { lo, hi }, extent }], Layout::ColMajor).unwrap();
            for from in lo..=hi {
                for to in from..=hi {
                    let rect = [Interval { lo: from, hi: to }];
                    let tiles = Interval { lo: (from - lo) / extent, hi: (to - lo) / extent };
                    let block = grid.block(&rect).unwrap();
                    assert_eq!(block.tiles(), [tiles]);
                    assert_eq!(block.tile_count(), tiles.hi - tiles.lo + 1);
                    let expanded = grid.expand(&rect).unwrap()[0];
                    assert_eq!(expanded.lo, lo + tiles.lo * extent);
                    assert_eq!(expanded.hi, lo + tiles.hi * extent + extent - 1);
                    assert_eq!(
                        grid.is_tile_aligned(&rect),
                        expanded.lo == from && (expanded.hi == to || to == hi)
                    );
                }
            }
        }
    }
}

#[test]
fn domains_of_all_ordinals_are_counted_without_overflow() {
    let dim = |extent| GridDim { domain: Interval::ALL, extent };
    let grid = TileGrid::new([dim(1), dim(u64::MAX), dim(3)], Layout::RowMajor).unwrap();
    assert_eq!(grid.tile_count_along(0), 1 << 64);
    assert_eq!(grid.tile_count_along(1), 2);
    assert_eq!(grid.tile_count_along(2), (1u128 << 64) / 3 + 1);
    assert_eq!(grid.tile_count(), None);
    assert_eq!(grid.cell_count(), None);
    assert_eq!(grid.cell_count_per_tile(), None);
    assert_eq!(grid.tile_interval(1, 1), Some(Interval { lo: u64::MAX, hi: u64::MAX }));
    assert!(grid.block(&grid.domain()).is_err());
    let last = [Interval { lo: u64::MAX - 1, hi: u64::MAX }; 3];
    let block = grid.block(&last).unwrap();
    assert_eq!(block.tile_count(), 2 * 2 * 2);
    let mut walk = block.walk();
    let mut count = 0;
    while walk.next().is_some() {
        count += 1;
    }
    assert_eq!(count, 8);
}

#[test]
fn senseless_grids_are_refused() {
    let domain = Interval { lo: 0, hi: 9 };
    assert!(TileGrid::new([], Layout::RowMajor).is_err());
    assert!(TileGrid::new([GridDim { domain, extent: 0 }], Layout::RowMajor).is_err());
    assert!(TileGrid::new([GridDim { domain, extent: 1 }], Layout::Hilbert).is_err());
    assert!(
        TileGrid::new([GridDim { domain: Interval { lo: 2, hi: 1 }, extent: 1 }], Layout::RowMajor).is_err()
    );
    let grid = TileGrid::new([GridDim { domain, extent: 4 }], Layout::RowMajor).unwrap();
    assert!(grid.block(&[Interval { lo: 5, hi: 10 }]).is_err());
    assert!(grid.block(&[]).is_err());
    assert!(!grid.tile_of(&[10], &mut [0]));
    assert!(!grid.tile_of(&[1, 2], &mut [0]));
}

#[test]
fn cells_are_numbered_inside_their_tile_in_the_cell_order() {
    let dim = |lo, hi, extent| GridDim { domain: Interval { lo, hi }, extent };
    let grid = TileGrid::new([dim(5, 14, 3), dim(100, 109, 4)], Layout::RowMajor).unwrap();
    for (order, tile_position) in [(Layout::RowMajor, [4, 1]), (Layout::ColMajor, [1, 3])] {
        let strides = grid.cell_strides(order).unwrap();
        assert_eq!(strides, tile_position);
        for x in 5..=14u64 {
            for y in 100..=109u64 {
                let expected = (x - 5) as usize % 3 * strides[0] + (y - 100) as usize % 4 * strides[1];
                assert_eq!(grid.position_in_tile(&[x, y], &strides), Some(expected));
            }
        }
        assert_eq!(grid.position_in_tile(&[4, 100], &strides), None);
        assert_eq!(grid.position_in_tile(&[5], &strides), None);
    }
}

/// A dimension, and a rectangle's side inside its domain.
fn dimension() -> impl Strategy<Value = (GridDim, Interval)> {
    (0u64..50, 0u64..20, 1u64..8).prop_flat_map(|(lo, len, extent)| {
        (lo..=lo + len, lo..=lo + len).prop_map(move |(a, b)| {
            let dim = GridDim { domain: Interval { lo, hi: lo + len }, extent };
            (dim, Interval { lo: a.min(b), hi: a.max(b) })
        })
    })
}

fn tiles_of(dims: &[GridDim], rect: &[Interval], is_row_major: bool) -> Vec<Vec<u64>> {
    let mut tiles = vec![vec![]];
    for (dim, side) in dims.iter().zip(rect) {
        let along = (side.lo - dim.domain.lo) / dim.extent..=(side.hi - dim.domain.lo) / dim.extent;
        tiles = tiles
            .into_iter()
            .flat_map(|tile: Vec<u64>| along.clone().map(move |t| [tile.clone(), vec![t]].concat()))
            .collect();
    }
    if !is_row_major {
        tiles.sort_by_key(|tile| tile.iter().rev().copied().collect::<Vec<_>>());
    }
    tiles
}

proptest! {
    #[test]
    fn blocks_number_their_tiles_in_tile_order(
        sides in prop::collection::vec(dimension(), 1..4),
        other in prop::collection::vec((0u64..80, 0u64..30), 4),
        is_row_major: bool,
    ) {
        let (dims, rect): (Vec<GridDim>, Vec<Interval>) = sides.into_iter().unzip();
        let order = if is_row_major { Layout::RowMajor } else { Layout::ColMajor };
        let grid = TileGrid::new(dims.clone(), order).unwrap();
        let block = grid.block(&rect).unwrap();
        let expected = tiles_of(&dims, &rect, is_row_major);
        prop_assert_eq!(block.tile_count(), expected.len() as u64);
        let mut walk = block.walk();
        prop_assert_eq!(walk.tile_count(), expected.len() as u64);
        for (idx, tile) in expected.iter().enumerate() {
            let (walked_idx, walked) = walk.next().unwrap();
            prop_assert_eq!((walked_idx, walked), (idx as u64, tile.as_slice()));
            prop_assert_eq!(block.tile_idx(tile), Some(idx as u64));
            let mut coords = vec![0; tile.len()];
            prop_assert!(block.tile_coords(idx as u64, &mut coords));
            prop_assert_eq!(&coords, tile);
        }
        prop_assert!(walk.next().is_none());
        prop_assert!(walk.next().is_none());

        let other: Vec<Interval> = other.iter().take(dims.len()).map(|&(lo, len)| Interval { lo, hi: lo + len }).collect();
        let clipped: Option<Vec<Interval>> = other.iter().zip(&dims).map(|(o, d)| o.intersect(d.domain)).collect();
        let overlapping: Vec<(u64, Vec<u64>)> = clipped
            .map(|clipped| tiles_of(&dims, &clipped, is_row_major))
            .unwrap_or_default()
            .into_iter()
            .filter_map(|tile| block.tile_idx(&tile).map(|idx| (idx, tile)))
            .collect();
        let mut walk = block.walk_overlapping(&grid, &other);
        prop_assert_eq!(walk.tile_count(), overlapping.len() as u64);
        for (idx, tile) in overlapping {
            prop_assert_eq!(walk.next(), Some((idx, tile.as_slice())));
        }
        prop_assert!(walk.next().is_none());
    }
}
