//! What takes cells out of a sparse read by their values, as each fragment has it: the condition of the read, and deletes.

use crate::condition::{BoundCondition, BoundField};
use crate::source::{FieldSource, attribute_in};
use smalti_array::{FieldId, Fragment, Snapshot, find_field};
use smalti_format::names::{CommitKind, commit_file_name};
use smalti_format::{ArraySchema, ConditionNode, ConditionTree};
use smalti_tile::CellShape;
use smalti_types::{Error, Result};
use std::sync::Arc;

/// A condition, and where a fragment keeps the fields that it looks at.
pub(crate) struct FragmentPredicate {
    pub(super) condition: Arc<BoundCondition>,
    pub(super) sources: Vec<Option<FieldSource>>,
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
    /// `Unsupported` when a field by which cells were deleted is of another type in the fragment; `Corrupt` and `Permission` from its metadata.
    pub(crate) fn of_fragment(
        &self,
        snapshot: &Snapshot,
        fragment: &Arc<Fragment>,
    ) -> Result<Vec<FragmentPredicate>> {
        let sources = |condition: &BoundCondition, is_delete: bool| {
            let source = |field: &BoundField| {
                if is_delete {
                    check_deletes_by(fragment, field)?;
                }
                source(snapshot, fragment, field)
            };
            condition.fields().iter().map(source).collect::<Result<Vec<_>>>()
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
                    sources: sources(stays, true)?,
                    spares_after,
                    delete: Some((*at, place)),
                    is_condition: false,
                });
            }
        }
        if let Some(condition) = &self.condition {
            predicates.push(FragmentPredicate {
                condition: Arc::clone(condition),
                sources: sources(condition, false)?,
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

/// Checks that a field by which cells are deleted is what it was when the fragment was written: if not, nobody can tell which of the two the
/// delete is about.
fn check_deletes_by(fragment: &Fragment, field: &BoundField) -> Result<()> {
    let is_attribute = matches!(field.id, FieldId::Attribute(_));
    let Some((idx, _)) = fragment.schema().attribute(&field.name).filter(|_| is_attribute) else {
        return Ok(());
    };
    if attribute_in(fragment, &field.name, field.shape)?.is_some() {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "cells were deleted by attribute {:?} of type {}, but it is of type {} in fragment {}; read at an earlier time",
        field.name,
        describe(field.shape),
        describe(fragment.field_shape(FieldId::Attribute(idx))?),
        fragment.name()
    )))
}

fn describe(shape: CellShape) -> String {
    let count = match shape.cell_val_num.fixed() {
        Some(1) => String::new(),
        Some(count) => format!(" times {count}"),
        None => " of any length".to_owned(),
    };
    format!("{}{count}{}", shape.datatype, if shape.is_nullable { ", nullable" } else { "" })
}

impl FragmentPredicate {
    /// Where the attributes lie that it looks at.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &FieldSource> {
        self.sources.iter().flatten().filter(|source| matches!(source.field, FieldId::Attribute(_)))
    }
}
