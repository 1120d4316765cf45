//! Takes cells out of a sparse read by their values.
//!
//! Of cells at the same coordinates the latest is found first; only then it is asked whether it fulfils the condition, or was
//! deleted. So an older cell never comes back because the latest one is gone (as in libtiledb).

use super::history::NOT_DELETED;
use super::plan::{SparsePlan, TileRef};
use super::predicate::FragmentPredicate;
use crate::gather::constant;
use crate::source::FieldSource;
use smalti_array::FieldId;
use smalti_space::BitMask;
use smalti_tile::{Column, ColumnRef};
use smalti_types::Result;
use std::sync::Arc;

impl SparsePlan {
    /// Whether anything but the ranges and the time takes cells out.
    pub(crate) fn has_predicates(&self) -> bool {
        self.has_predicates
    }

    /// Takes the cells out of a mask that were deleted, or do not fulfil the read's condition. `coords` holds the
    /// coordinates that are decoded already; `values`, if it is there, takes the attributes that are decoded for this, and are fields of the result.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn apply_predicates(
        &self,
        tile: &TileRef,
        mask: &mut BitMask,
        coords: &[Option<Arc<Column>>],
        timestamps: Option<&Column>,
        mut values: Option<&mut Values>,
    ) -> Result<()> {
        let fragment = &self.fragments[tile.fragment_idx];
        if let Some(source) = fragment.delete_times.as_ref().filter(|_| mask.any()) {
            let deleted = self.tile_column(source, tile)?;
            let end = self.snapshot.time().end;
            for (cell, &at) in deleted.data.values::<u64>().iter().enumerate() {
                if at <= end && at != NOT_DELETED {
                    mask.unset(cell);
                }
            }
        }
        for predicate in &fragment.predicates {
            if predicate.is_condition && tile.fulfils {
                continue;
            }
            if !mask.any() {
                return Ok(());
            }
            let mut holds = self.evaluate(tile, predicate, coords, timestamps, values.as_deref_mut())?;
            if let Some(at) = predicate.spares_after {
                let read;
                let times = match (timestamps, &fragment.timestamps) {
                    (Some(times), _) => times,
                    (None, Some(source)) => {
                        read = self.tile_column(source, tile)?;
                        &read
                    }
                    (None, None) => continue,
                };
                for (cell, &time) in times.data.values::<u64>().iter().enumerate() {
                    if time > at {
                        holds.set(cell);
                    }
                }
            }
            mask.and(&holds);
        }
        Ok(())
    }

    pub(super) fn evaluate(
        &self,
        tile: &TileRef,
        predicate: &FragmentPredicate,
        coords: &[Option<Arc<Column>>],
        timestamps: Option<&Column>,
        mut values: Option<&mut Values>,
    ) -> Result<BitMask> {
        let fields = predicate.condition.fields();
        let known = |id: FieldId| match id {
            FieldId::Dimension(dim) => coords.get(dim)?.as_deref(),
            FieldId::Timestamps => timestamps,
            _ => None,
        };
        let read = fields
            .iter()
            .zip(&predicate.sources)
            .map(|(field, source)| match source {
                _ if known(field.id).is_some() => Ok(None),
                Some(source) => self.value_column(tile, source, values.as_deref_mut()).map(Some),
                None if field.id == FieldId::Timestamps => {
                    let time = self.fragments[tile.fragment_idx].fragment.time().start.to_le_bytes();
                    let check = || self.fetch.check();
                    constant(field.shape, &time, true, tile.cell_count, self.fetch.output(&check))
                        .map(Arc::new)
                        .map(Some)
                }
                None => Ok(None),
            })
            .collect::<Result<Vec<_>>>()?;
        let columns: Vec<Option<ColumnRef<'_>>> = fields
            .iter()
            .zip(&read)
            .map(|(field, read)| read.as_deref().or_else(|| known(field.id)).map(Column::as_ref))
            .collect();
        predicate.condition.evaluate(&columns, tile.cell_count, &|| self.fetch.check())
    }

    /// All cells of a tile of a field that a predicate looks at.
    fn value_column(
        &self,
        tile: &TileRef,
        source: &FieldSource,
        values: Option<&mut Values>,
    ) -> Result<Arc<Column>> {
        if let Some(column) = values.as_ref().and_then(|values| values.of(source)) {
            return Ok(Arc::clone(column));
        }
        let column = self.tile_column(source, tile)?;
        if let Some(values) = values.filter(|_| self.is_kept(tile, source)) {
            values.0.push((source.field, Arc::clone(&column)));
        }
        Ok(column)
    }

    /// Whether a field that a predicate looks at may be kept for the result.
    pub(super) fn is_kept(&self, tile: &TileRef, source: &FieldSource) -> bool {
        let mut of_result = self.fragments[tile.fragment_idx].sources.iter().flatten();
        // Of a field with the coordinates of several dimensions each would be another column.
        matches!(source.field, FieldId::Attribute(_)) && of_result.any(|wanted| wanted.field == source.field)
    }
}

/// Attributes of a tile that were decoded to find its wanted cells, by the numbers that they have in the fragment's own schema.
#[derive(Clone, Default)]
pub(crate) struct Values(Vec<(FieldId, Arc<Column>)>);

impl Values {
    /// All cells of the tile of a field.
    pub(crate) fn of(&self, source: &FieldSource) -> Option<&Arc<Column>> {
        self.0.iter().find(|(field, _)| *field == source.field).map(|(_, column)| column)
    }
}
