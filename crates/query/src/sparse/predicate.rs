//! What takes cells out of a sparse read by their values: the condition of the read, and deletes.
//!
//! Of cells at the same coordinates the latest is found first; only then it is asked whether it fulfils the condition, or was
//! deleted. So an older cell never comes back because the latest one is gone (as in libtiledb).

use super::plan::{SparsePlan, TileRef};
use crate::condition::{BoundCondition, BoundField};
use crate::fetch::FieldSource;
use crate::gather::constant;
use smalti_array::{FieldId, Fragment, Snapshot, find_field};
use smalti_format::names::{CommitKind, commit_file_name};
use smalti_format::{ArraySchema, ConditionNode, ConditionTree};
use smalti_space::BitMask;
use smalti_tile::{Column, ColumnRef};
use smalti_types::Result;
use std::sync::Arc;

/// The time in place of a delete's of cells that were not deleted.
pub(super) const NOT_DELETED: u64 = u64::MAX;

/// A condition, and where a fragment keeps the fields that it looks at.
pub(crate) struct FragmentPredicate {
    condition: Arc<BoundCondition>,
    sources: Vec<Option<FieldSource>>,
    /// For a delete that some of the fragment's cells may be later than: its time.
    pub(super) spares_after: Option<u64>,
    /// For a delete: its time, and its place among the snapshot's deletes.
    pub(super) delete: Option<(u64, u64)>,
    /// Whether it is the condition of the read.
    pub(super) is_condition: bool,
}

impl FragmentPredicate {
    /// Where the fragment keeps the fields that it looks at.
    pub(super) fn sources(&self) -> impl Iterator<Item = &FieldSource> {
        self.sources.iter().flatten()
    }
}

/// The predicates of a read, before they are looked up in fragments.
pub(crate) struct Predicates {
    condition: Option<Arc<BoundCondition>>,
    deletes: Vec<(u64, String, Arc<BoundCondition>)>,
}

impl Predicates {
    /// Takes the condition of a read, and reads those of the snapshot's deletes.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from delete commits.
    pub(crate) fn new(snapshot: &Snapshot, condition: Option<BoundCondition>) -> Result<Self> {
        let mut schemas: Vec<&ArraySchema> = vec![snapshot.schema()];
        for fragment in snapshot.fragments() {
            if !schemas.iter().any(|known| std::ptr::eq(*known, &**fragment.schema())) {
                schemas.push(fragment.schema());
            }
        }
        let history = match snapshot.deletes()?.iter().all(|delete| has_fields(&schemas, &delete.stays)) {
            true => Vec::new(),
            // A field that came after the fragments and is gone again: older schemas alone know its type.
            false => snapshot.schema_history()?,
        };
        schemas.extend(history.iter().map(|(_, schema)| schema));
        let deletes = snapshot
            .deletes()?
            .iter()
            .map(|delete| {
                let version = delete.name.fragment_version()?;
                let file = commit_file_name(&delete.name, CommitKind::Delete, version);
                let stays = BoundCondition::of_stored(&delete.stays, &schemas)
                    .map_err(|error| error.context(format_args!("delete commit {}", delete.name)))?;
                Ok((delete.at(), file, Arc::new(stays)))
            })
            .collect::<Result<_>>()?;
        Ok(Predicates { condition: condition.map(Arc::new), deletes })
    }

    /// The condition of the read.
    pub(crate) fn condition(&self) -> Option<&Arc<BoundCondition>> {
        self.condition.as_ref()
    }

    /// Those that cells of a fragment are asked for.
    ///
    /// # Errors
    /// `Unsupported` when a field was of another type in the fragment; `Corrupt` and `Permission` from its metadata.
    pub(crate) fn of_fragment(
        &self,
        snapshot: &Snapshot,
        fragment: &Arc<Fragment>,
    ) -> Result<Vec<FragmentPredicate>> {
        let sources = |condition: &BoundCondition| {
            condition
                .fields()
                .iter()
                .map(|field| source(snapshot, fragment, field))
                .collect::<Result<Vec<_>>>()
        };
        let mut predicates = Vec::new();
        if !self.deletes.is_empty() {
            let (time, processed) = (fragment.time(), fragment.processed_deletes()?);
            for ((at, file, stays), place) in self.deletes.iter().zip(0..) {
                if *at < time.start || processed.contains(file) {
                    continue;
                }
                let spares_after = (fragment.includes_timestamps() && *at <= time.end).then_some(*at);
                predicates.push(FragmentPredicate {
                    condition: Arc::clone(stays),
                    sources: sources(stays)?,
                    spares_after,
                    delete: Some((*at, place)),
                    is_condition: false,
                });
            }
        }
        if let Some(condition) = &self.condition {
            predicates.push(FragmentPredicate {
                condition: Arc::clone(condition),
                sources: sources(condition)?,
                spares_after: None,
                delete: None,
                is_condition: true,
            });
        }
        Ok(predicates)
    }
}

/// Whether the fields of a stored condition are found in one of the schemas each.
fn has_fields(schemas: &[&ArraySchema], stays: &ConditionTree) -> bool {
    stays.nodes().iter().all(|node| match node {
        ConditionNode::Comparison { field, .. } => {
            schemas.iter().any(|schema| find_field(schema, field).is_some())
        }
        ConditionNode::Combination { .. } => true,
    })
}

fn source(snapshot: &Snapshot, fragment: &Arc<Fragment>, field: &BoundField) -> Result<Option<FieldSource>> {
    match field.id {
        FieldId::Attribute(_) => FieldSource::of_attribute(snapshot, fragment, &field.name, field.shape),
        FieldId::Timestamps if !fragment.includes_timestamps() => Ok(None),
        id => FieldSource::new(snapshot, fragment, id).map(Some),
    }
}

impl FragmentPredicate {
    /// Where the attributes lie that it looks at.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &FieldSource> {
        self.sources.iter().flatten().filter(|source| matches!(source.field, FieldId::Attribute(_)))
    }
}

impl SparsePlan {
    /// Whether anything but the ranges and the time takes cells out.
    pub(crate) fn has_predicates(&self) -> bool {
        self.fragments
            .iter()
            .any(|fragment| !fragment.predicates.is_empty() || fragment.delete_times.is_some())
    }

    /// Takes the cells out of a mask that were deleted, or do not fulfil the read's condition. `coords` holds the
    /// coordinates that are decoded already.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn apply_predicates(
        &self,
        tile: &TileRef,
        mask: &mut BitMask,
        coords: &[Option<Arc<Column>>],
        timestamps: Option<&Column>,
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
            let mut holds = self.evaluate(tile, predicate, coords, timestamps)?;
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
                Some(source) => self.tile_column(source, tile).map(Some),
                None if field.id == FieldId::Timestamps => {
                    let time = self.fragments[tile.fragment_idx].fragment.time().start.to_le_bytes();
                    let check = || self.fetch.check();
                    constant(field.shape, &time, true, tile.cell_count, &check).map(Arc::new).map(Some)
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
}
