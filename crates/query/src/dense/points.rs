//! Sparse fragments of dense arrays, which writers up to format version 8 made: cells one by one, at coordinates.

use crate::fetch::Fetch;
use crate::source::FieldSource;
use crate::sparse::coord_columns;
use crate::workspace::Workspaces;
use smalti_array::{FieldId, Fragment, Snapshot};
use smalti_space::{Interval, RangeSet};
use smalti_tile::Column;
use smalti_types::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The wanted cells of a sparse fragment.
pub(crate) struct Points {
    points: Vec<Point>,
    /// Decoded tiles: there are few, and cells of one lie anywhere in the result.
    decoded: Mutex<HashMap<(FieldId, usize), Arc<Column>>>,
}

/// A cell and where its values are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// Ordinals, one a dimension.
    pub(crate) coords: Vec<u64>,
    pub(crate) tile_idx: usize,
    /// The cell's index in the tile.
    pub(crate) cell: usize,
}

impl Points {
    /// Reads the coordinates of the cells in some ranges.
    ///
    /// # Errors
    /// What store and codecs report; `Corrupt` from the fragment's metadata.
    pub(crate) fn read(
        snapshot: &Snapshot,
        fragment: &Arc<Fragment>,
        ranges: &[RangeSet],
        fetch: &Fetch,
        workspaces: &Workspaces,
    ) -> Result<Points> {
        let dims = (0..fragment.schema().dimensions.len())
            .map(|dim| FieldSource::new(snapshot, fragment, FieldId::Dimension(dim)))
            .collect::<Result<Vec<_>>>()?;
        let mut points = Vec::new();
        for hit in fragment.tile_tree()?.search(ranges)? {
            let (tile_idx, cell_count) = (hit.tile_idx as usize, fragment.cell_count_of_tile(hit.tile_idx)?);
            let columns = dims
                .iter()
                .map(|source| {
                    workspaces.with(|workspace| fetch.tile(source, tile_idx, cell_count, workspace))
                })
                .collect::<Result<Vec<_>>>()?;
            let columns = coord_columns(&columns, dims.iter())?;
            for cell in 0..cell_count {
                let coords: Option<Vec<u64>> = columns.iter().map(|column| column.ordinal(cell)).collect();
                let coords = coords.ok_or_else(|| {
                    Error::corrupt(format!("tile {tile_idx} has no coordinates for cell {cell}"))
                })?;
                points.push(Point { coords, tile_idx, cell });
            }
        }
        Ok(Points { points, decoded: Mutex::default() })
    }

    /// The coordinates of the cells, in ordinals.
    pub(crate) fn coords(&self) -> impl Iterator<Item = &[u64]> {
        self.points.iter().map(|point| point.coords.as_slice())
    }

    /// The cells in a rectangle.
    pub(crate) fn inside<'p>(&'p self, rect: &'p [Interval]) -> impl Iterator<Item = &'p Point> {
        self.points.iter().filter(move |point| {
            point.coords.iter().zip(rect).all(|(&at, side)| at >= side.lo && at <= side.hi)
        })
    }

    /// A tile of a field, decoded once.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn column(
        &self,
        source: &FieldSource,
        tile_idx: usize,
        fetch: &Fetch,
        workspaces: &Workspaces,
    ) -> Result<Arc<Column>> {
        let key = (source.field, tile_idx);
        let lock = || self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(column) = lock().get(&key) {
            return Ok(Arc::clone(column));
        }
        let cell_count = source.fragment.cell_count_of_tile(tile_idx as u64)?;
        let column = workspaces.with(|workspace| fetch.tile(source, tile_idx, cell_count, workspace))?;
        Ok(Arc::clone(lock().entry(key).or_insert(column)))
    }
}
