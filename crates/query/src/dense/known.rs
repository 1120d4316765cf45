//! What the metadata tells of the values of a dense read before it reads.

use super::plan::{DensePlan, FragmentTiles};
use crate::condition::BoundField;
use crate::count::Count;
use crate::field_statistics::{FieldStatistics, FieldSummary};
use smalti_array::FieldId;
use smalti_space::Interval;
use smalti_types::Result;

impl DensePlan {
    /// What is known of the values of a field.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn field_statistics(&self, field: &BoundField, cells: Count) -> Result<FieldStatistics> {
        let mut summary = FieldSummary::new(field.shape.datatype);
        let sides = self
            .axes
            .iter()
            .map(|axis| axis.segments.iter().map(|segment| segment.cells).reduce(Interval::hull));
        let Some(wanted) = sides.collect::<Option<Vec<Interval>>>() else {
            return Ok(summary.finish(field, cells, cells.is_exact()));
        };
        if let FieldId::Dimension(dim) = field.id {
            let bytes = |ordinal| field.shape.datatype.bytes_of_ordinal(ordinal);
            summary.widen(&bytes(wanted[dim].lo), &bytes(wanted[dim].hi))?;
            return Ok(summary.finish(field, cells, cells.is_exact()));
        }
        let mut is_covered = false;
        for fragment in &self.fragments {
            if self.hull_of(&fragment.rect).is_none() {
                continue;
            }
            is_covered |= matches!(fragment.tiles, FragmentTiles::Space(_))
                && fragment
                    .rect
                    .iter()
                    .zip(&wanted)
                    .all(|(side, wanted)| side.lo <= wanted.lo && wanted.hi <= side.hi);
            let tile_count = usize::try_from(fragment.fragment.tile_count()).unwrap_or(usize::MAX);
            let cell_count =
                |tile_idx: usize| fragment.fragment.cell_count_of_tile(tile_idx as u64).unwrap_or(0) as u64;
            let tiles = (0..tile_count).map(|tile_idx| (tile_idx, cell_count(tile_idx)));
            summary.add_tiles(&fragment.fragment, field, tiles, self.budget.share())?;
        }
        let fills = self.filter.as_ref().is_some_and(|filter| !filter.leaves_out);
        if !is_covered || fills {
            summary.add_fill(field, cells.most())?;
        }
        // A position that is asked for twice counts its nulls twice.
        if !self.axes.iter().all(|axis| axis.is_strict) {
            summary.forget_nulls();
        }
        Ok(summary.finish(field, cells, false))
    }
}
