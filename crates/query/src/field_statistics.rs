//! What metadata says about the values of a field, for those who plan with it.

use crate::condition::{BoundField, FieldBounds};
use crate::count::Count;
use crate::source::attribute_in;
use crate::tile_statistics::TileStatistics;
use smalti_array::Fragment;
use smalti_tile::CellShape;
use smalti_types::{Datatype, Result};

/// What is known about the values of a field in a read, before it reads a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldStatistics {
    /// The field.
    pub name: String,
    /// The little-endian bytes of a value, or a text, such that no value of the read is less; nulls and NaN aside. `None` where nothing is
    /// known.
    pub least: Option<Vec<u8>>,
    /// Likewise one such that no value is greater.
    pub greatest: Option<Vec<u8>>,
    /// Whether both are values of the read themselves, and not only bounds.
    pub is_exact: bool,
    /// How many of the cells are null.
    pub null_count: Option<Count>,
}

/// Statistics that are put together, tile by tile.
pub(crate) struct FieldSummary {
    datatype: Datatype,
    range: Option<(Vec<u8>, Vec<u8>)>,
    is_known: bool,
    null_count: Option<u64>,
}

impl FieldStatistics {
    /// Of a field of which nothing is known.
    pub(crate) fn unknown(name: &str, shape: CellShape, cells: Count) -> FieldStatistics {
        let null_count = if shape.is_nullable { Count::AtMost(cells.most()) } else { Count::Exact(0) };
        FieldStatistics {
            name: name.to_owned(),
            least: None,
            greatest: None,
            is_exact: false,
            null_count: Some(null_count),
        }
    }
}

impl FieldSummary {
    /// Of no cells yet.
    pub(crate) fn new(datatype: Datatype) -> FieldSummary {
        FieldSummary { datatype, range: None, is_known: true, null_count: Some(0) }
    }

    /// Adds tiles of a fragment with the numbers of their cells.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    pub(crate) fn add_tiles(
        &mut self,
        fragment: &Fragment,
        field: &BoundField,
        tiles: impl Iterator<Item = (usize, u64)>,
        most: u64,
    ) -> Result<()> {
        if attribute_in(fragment, &field.name, field.shape)?.is_none() {
            return self.add_fill(field, tiles.map(|(_, cell_count)| cell_count).sum());
        }
        match TileStatistics::read(fragment, field, usize::MAX, most)? {
            Some(statistics) => {
                for (tile_idx, cell_count) in tiles {
                    self.add(&statistics.of_tile(field, tile_idx, cell_count)?, field.shape.is_nullable)?;
                }
                Ok(())
            }
            None => {
                self.is_known = false;
                if field.shape.is_nullable {
                    self.null_count = None;
                }
                Ok(())
            }
        }
    }

    /// Adds cells that nobody wrote.
    ///
    /// # Errors
    /// `Corrupt` for a fill value that is none.
    pub(crate) fn add_fill(&mut self, field: &BoundField, cell_count: u64) -> Result<()> {
        if field.shape.is_nullable && !field.fill_valid {
            self.null_count = self.null_count.map(|count| count.saturating_add(cell_count));
            return Ok(());
        }
        if field.shape.cell_val_num.fixed().is_some() && field.fill.len() != self.datatype.byte_len() {
            self.is_known = false;
            return Ok(());
        }
        self.widen(&field.fill, &field.fill)
    }

    /// Adds values between two of them.
    ///
    /// # Errors
    /// `Corrupt` for values that are too short.
    pub(crate) fn widen(&mut self, least: &[u8], greatest: &[u8]) -> Result<()> {
        let (lo, hi) = match self.range.take() {
            None => (least.to_vec(), greatest.to_vec()),
            Some((lo, hi)) => (
                if self.is_less(least, &lo)? { least.to_vec() } else { lo },
                if self.is_less(&hi, greatest)? { greatest.to_vec() } else { hi },
            ),
        };
        self.range = Some((lo, hi));
        Ok(())
    }

    /// Says that nothing is known of some cells.
    pub(crate) fn forget(&mut self) {
        self.is_known = false;
        self.null_count = None;
    }

    /// Says that the nulls cannot be counted.
    pub(crate) fn forget_nulls(&mut self) {
        self.null_count = None;
    }

    /// The statistics of a read with so many cells; `is_whole` where every tile that was added is wanted as a whole.
    pub(crate) fn finish(self, field: &BoundField, cells: Count, is_whole: bool) -> FieldStatistics {
        let range = self.range.filter(|_| self.is_known);
        let null_count = match (field.shape.is_nullable, self.null_count) {
            (false, _) => Count::Exact(0),
            (true, Some(count)) if is_whole => Count::Exact(count),
            (true, Some(count)) => Count::AtMost(count.min(cells.most())),
            (true, None) => Count::AtMost(cells.most()),
        };
        let is_exact = is_whole && range.is_some();
        let (least, greatest) = range.unzip();
        FieldStatistics { name: field.name.clone(), least, greatest, is_exact, null_count: Some(null_count) }
    }

    fn add(&mut self, tile: &FieldBounds<'_>, is_nullable: bool) -> Result<()> {
        let null_count = if is_nullable { tile.null_count } else { Some(0) };
        self.null_count = self.null_count.zip(null_count).map(|(sum, count)| sum.saturating_add(count));
        if is_nullable && tile.null_count.is_some_and(|count| count >= tile.cell_count) {
            return Ok(());
        }
        match &tile.range {
            // A tile of nothing but NaN has no least value.
            Some((least, greatest))
                if self.datatype.is_bytes()
                    || (least.len() == self.datatype.byte_len() && !self.is_less(greatest, least)?) =>
            {
                self.widen(least, greatest)
            }
            _ => {
                self.is_known = false;
                Ok(())
            }
        }
    }

    fn is_less(&self, a: &[u8], b: &[u8]) -> Result<bool> {
        match self.datatype.is_bytes() {
            true => Ok(a < b),
            false => Ok(self.datatype.ordinal(a)? < self.datatype.ordinal(b)?),
        }
    }
}
