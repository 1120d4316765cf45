//! How a sparse read is planned: which fragments and tiles its ranges meet, and in which order they come.

use super::announced::Announced;
use super::history::DeleteHistory;
use super::order::{is_one_tile, ranges};
use super::plan::{SeenFragment, SparseField, SparseFragment, SparsePlan, TileRef};
use super::predicate::Predicates;
use super::stretches::least_sorted_cell_count;
use crate::budget::Budget;
use crate::condition::BoundCondition;
use crate::fetch::Fetch;
use crate::progress::Progress;
use crate::request::{ReadRequest, ResultField};
use crate::source::FieldSource;
use crate::workspace::Workspaces;
use smalti_array::{FieldId, Fragment, Snapshot};
use smalti_format::ArraySchema;
use smalti_types::{Layout, Result};
use std::sync::Arc;

impl SparsePlan {
    /// Works out which tiles a read needs.
    ///
    /// # Errors
    /// `InvalidArgument` for ranges that do not fit; `Corrupt` from the fragments' metadata.
    pub(crate) fn new(
        snapshot: &Snapshot,
        request: &ReadRequest,
        layout: Layout,
        result_fields: &[(FieldId, ResultField)],
        condition: Option<BoundCondition>,
        progress: &Arc<Progress>,
        history: Option<DeleteHistory>,
    ) -> Result<Self> {
        let schema = snapshot.schema();
        let layout = simplest(layout, schema);
        let ranges = ranges(schema, &request.ranges)?;
        let fields =
            result_fields.iter().map(|(id, field)| sparse_field(schema, *id, field)).collect::<Vec<_>>();
        let predicates = Predicates::new(snapshot, condition)?;
        let mut fragments = Vec::new();
        let (mut tiles, mut seen) = (Vec::new(), Vec::new());
        let is_in_ranges = |fragment: &Fragment| {
            let mut sides = ranges.iter().zip(fragment.non_empty_domain());
            fragment.tile_count() > 0 && sides.all(|(ranges, side)| ranges.overlaps(side.as_ref()))
        };
        let dimensions = (0..schema.dimensions.len()).map(FieldId::Dimension);
        let looked_at = predicates.condition().into_iter().flat_map(|condition| condition.fields());
        let needed: Vec<FieldId> = dimensions
            .chain(fields.iter().map(|field| field.id))
            .chain(looked_at.map(|field| field.id))
            .collect();
        // What cells are asked for besides is looked up in more than their places.
        let with_statistics = predicates.condition().is_some() || snapshot.delete_count() > 0;
        snapshot.ask_ahead(is_in_ranges, &needed, with_statistics);
        snapshot.read_ahead(is_in_ranges, &needed, with_statistics);
        for fragment in snapshot.fragments().iter().rev() {
            let is_in_ranges = is_in_ranges(fragment);
            let hits = if is_in_ranges { fragment.tile_tree()?.search(&ranges)? } else { Vec::new() };
            let fragment_idx = (!hits.is_empty()).then_some(fragments.len());
            seen.push(SeenFragment { fragment_idx, is_in_ranges, met_tile_count: hits.len() });
            if hits.is_empty() {
                continue;
            }
            for hit in hits {
                tiles.push(TileRef {
                    fragment_idx: fragments.len(),
                    tile_idx: hit.tile_idx as usize,
                    cell_count: fragment.cell_count_of_tile(hit.tile_idx)?,
                    is_covered: hit.is_covered,
                    is_in_part: true,
                    fulfils: false,
                    group: 0,
                    hides: false,
                    is_side_by_side: false,
                });
            }
            fragments.push(sparse_fragment(snapshot, fragment, &fields, &predicates)?);
        }
        let budget = Budget::new(request.memory_byte_len, snapshot.place().resources())?;
        let fetch = Fetch::new(snapshot, Arc::clone(progress), request, budget.kept());
        let mut plan = SparsePlan {
            snapshot: snapshot.clone(),
            fetch,
            layout,
            ranges,
            fields,
            has_times: fragments.iter().any(|fragment: &SparseFragment| fragment.timestamps.is_some()),
            has_predicates: fragments.iter().any(SparseFragment::has_predicates),
            fragments,
            tiles,
            stretches: Vec::new(),
            least_sorted_cell_count: least_sorted_cell_count(request),
            workspaces: Workspaces::out_of(snapshot.place().resources().workspaces()),
            announced: Announced::default(),
            budget,
            limit: request.limit,
            part: None,
            history,
            seen,
        };
        plan.narrow_to_part(request.part.as_ref())?;
        plan.group_tiles()?;
        plan.prune(predicates.condition())?;
        plan.cut_into_stretches();
        plan.settle_budget()?;
        Ok(plan)
    }
}

/// The layout to read in: the global order, which needs no sorting, where it is the one that is asked for. Space tiles make no
/// difference to it along the slowest dimension, nor along others that have only one.
fn simplest(layout: Layout, schema: &ArraySchema) -> Layout {
    let dimensions = &schema.dimensions;
    let slowest = match layout {
        Layout::RowMajor => 0,
        Layout::ColMajor => dimensions.len().saturating_sub(1),
        other => return other,
    };
    let is_global = schema.cell_order != Layout::Hilbert
        && (dimensions.len() == 1 || schema.cell_order == layout)
        && dimensions.iter().enumerate().all(|(dim, dimension)| dim == slowest || is_one_tile(dimension));
    if is_global { Layout::GlobalOrder } else { layout }
}

fn sparse_field(schema: &ArraySchema, id: FieldId, field: &ResultField) -> SparseField {
    let attribute = match id {
        FieldId::Attribute(idx) => schema.attributes.get(idx),
        _ => None,
    };
    SparseField {
        id,
        shape: field.shape,
        fill: attribute.map(|attribute| attribute.fill_value.clone()).unwrap_or_default(),
        fill_valid: attribute.is_some_and(|attribute| attribute.fill_valid),
    }
}

fn sparse_fragment(
    snapshot: &Snapshot,
    fragment: &Arc<Fragment>,
    fields: &[SparseField],
    predicates: &Predicates,
) -> Result<SparseFragment> {
    let source = |field: FieldId| FieldSource::new(snapshot, fragment, field);
    let dims = (0..fragment.schema().dimensions.len())
        .map(|dim| source(FieldId::Dimension(dim)))
        .collect::<Result<Vec<_>>>()?;
    let timestamps = fragment.includes_timestamps().then(|| source(FieldId::Timestamps)).transpose()?;
    let sources = fields
        .iter()
        .map(|field| match field.id {
            FieldId::Attribute(idx) => {
                let name = &snapshot.schema().attributes[idx].name;
                FieldSource::of_attribute(snapshot, fragment, name, field.shape)
            }
            FieldId::Timestamps => Ok(timestamps.clone()),
            // Made tile by tile: see `history`.
            FieldId::DeleteTimestamps | FieldId::DeleteConditionIndex => Ok(None),
            other => source(other).map(Some),
        })
        .collect::<Result<Vec<_>>>()?;
    let splits_in_time = fragment.includes_timestamps() && !snapshot.time().contains(fragment.time());
    let has_deletes = fragment.outline().includes_delete_metadata;
    let delete_times = has_deletes.then(|| source(FieldId::DeleteTimestamps)).transpose()?;
    let delete_conditions = has_deletes.then(|| source(FieldId::DeleteConditionIndex)).transpose()?;
    let predicates = predicates.of_fragment(snapshot, fragment)?;
    Ok(SparseFragment {
        fragment: Arc::clone(fragment),
        dims,
        sources,
        timestamps,
        delete_times,
        delete_conditions,
        predicates,
        splits_in_time,
    })
}
