//! How long the tiles of a new array are: see docs/import.md.

/// Cells of a dense tile, about.
const DENSE_TILE_CELL_COUNT: f64 = 65_536.0;

/// Extents for the dimensions of a dense array, in steps: tiles of about 65,536 cells, as many on each side; a side that is shorter
/// leaves its share to the others.
pub(super) fn dense_extents(lens: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut extents: Vec<Option<f64>> = vec![None; lens.len()];
    let mut left = DENSE_TILE_CELL_COUNT;
    let mut order: Vec<usize> = (0..lens.len()).filter(|&idx| lens[idx].is_some()).collect();
    order.sort_by(|&a, &b| lens[a].unwrap_or(0.0).total_cmp(&lens[b].unwrap_or(0.0)));
    for (nth, &idx) in order.iter().enumerate() {
        let len = lens[idx].unwrap_or(1.0).max(1.0);
        let edge = left.powf(1.0 / (order.len() - nth) as f64).round().max(1.0);
        let extent = len.min(edge);
        left = (left / extent).max(1.0);
        extents[idx] = Some(extent);
    }
    extents
}

/// Extents for the dimensions of a sparse array, in steps: about as many space tiles as the rows fill data tiles, cut alike on each
/// dimension. Dimensions without a length take no part.
pub(super) fn sparse_extents(lens: &[Option<f64>], row_count: u64, capacity: u64) -> Vec<Option<f64>> {
    let tile_count = (row_count as f64 / capacity.max(1) as f64).max(1.0);
    let cut = lens.iter().flatten().filter(|len| **len > 1.0).count().max(1);
    let parts = tile_count.powf(1.0 / cut as f64).round().max(1.0);
    lens.iter().map(|len| len.map(|len| if len > 0.0 { len / parts } else { 1.0 })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_tiles_have_about_as_many_cells_whatever_the_shape() {
        assert_eq!(dense_extents(&[Some(2160.0), Some(4320.0)]), [Some(256.0), Some(256.0)]);
        assert_eq!(dense_extents(&[Some(1e9)]), [Some(65_536.0)]);
        assert_eq!(
            dense_extents(&[Some(4.0), Some(2000.0), Some(2000.0)]),
            [Some(4.0), Some(128.0), Some(128.0)]
        );
        assert_eq!(dense_extents(&[Some(3.0), Some(5.0)]), [Some(3.0), Some(5.0)]);
    }

    #[test]
    fn sparse_tiles_are_as_many_as_data_tiles() {
        assert_eq!(sparse_extents(&[Some(180.0), Some(360.0)], 1_000_000, 10_000), [Some(18.0), Some(36.0)]);
        assert_eq!(sparse_extents(&[None, Some(1000.0)], 50_000, 10_000), [None, Some(200.0)]);
        assert_eq!(sparse_extents(&[Some(100.0)], 10, 10_000), [Some(100.0)]);
    }
}
