//! What a sparse read needs to know before it decodes a tile: fields, fragments, and the tiles that ranges may meet.

use super::ahead::Announced;
use super::history::DeleteHistory;
use super::part::KeyRange;
use super::predicate::{FragmentPredicate, Predicates};
use super::stretches::{Stretch, is_one_tile, least_sorted_cell_count};
use crate::budget::Budget;
use crate::condition::BoundCondition;
use crate::fetch::{Fetch, FieldSource};
use crate::progress::Progress;
use crate::request::{ReadRequest, ResultField};
use crate::workspace::Workspaces;
use smalti_array::{FieldId, Fragment, Snapshot};
use smalti_format::ArraySchema;
use smalti_space::{CellOrder, Interval, OrderDim, RangeSet};
use smalti_tile::CellShape;
use smalti_types::{Error, Extent, Layout, Result};
use std::sync::Arc;

/// A field of a sparse read.
#[derive(Debug)]
pub(crate) struct SparseField {
    pub(crate) id: FieldId,
    pub(crate) shape: CellShape,
    /// What cells have whose fragment lacks the field.
    pub(crate) fill: Vec<u8>,
    pub(crate) fill_valid: bool,
}

/// A fragment of a sparse read.
pub(crate) struct SparseFragment {
    pub(crate) fragment: Arc<Fragment>,
    /// Where the coordinates of each dimension are.
    pub(crate) dims: Vec<FieldSource>,
    /// Where each field of the read is; `None` where the fragment lacks it.
    pub(crate) sources: Vec<Option<FieldSource>>,
    /// Where the times of cells are, if each has one.
    pub(crate) timestamps: Option<FieldSource>,
    /// Where the times are at which cells were deleted, if some were.
    pub(crate) delete_times: Option<FieldSource>,
    /// Where the conditions are that deleted cells, if some were.
    pub(crate) delete_conditions: Option<FieldSource>,
    /// What else cells of it have to fulfil.
    pub(crate) predicates: Vec<FragmentPredicate>,
    /// Whether some of its cells may lie outside the time range.
    pub(crate) splits_in_time: bool,
}

/// A tile that the ranges may meet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileRef {
    pub(crate) fragment_idx: usize,
    pub(crate) tile_idx: usize,
    pub(crate) cell_count: usize,
    /// Whether the ranges select all of its cells.
    pub(crate) is_covered: bool,
    /// Whether all of its cells lie in the wanted part of the order.
    pub(crate) is_in_part: bool,
    /// Whether all of its cells are known to fulfil the read's condition.
    pub(crate) fulfils: bool,
    /// The number of the group of tiles whose cells may be mixed in the order of the read.
    pub(crate) group: u32,
    /// Whether cells of it may hide others, or be hidden, so that conditions and deletes are asked of those that are left.
    pub(crate) hides: bool,
    /// Whether these others can only be the cells that are stored right before and behind it.
    pub(crate) is_side_by_side: bool,
}

/// Everything that a sparse read needs to know.
pub(crate) struct SparsePlan {
    pub(crate) snapshot: Snapshot,
    pub(crate) fetch: Fetch,
    pub(crate) layout: Layout,
    pub(crate) ranges: Vec<RangeSet>,
    pub(crate) fields: Vec<SparseField>,
    /// Newest first.
    pub(crate) fragments: Vec<SparseFragment>,
    /// Stretch by stretch.
    pub(crate) tiles: Vec<TileRef>,
    /// One behind the other in the order of the read.
    pub(crate) stretches: Vec<Stretch>,
    /// Cells up to which a stretch that has to be sorted goes with its neighbour.
    pub(crate) least_sorted_cell_count: usize,
    pub(crate) workspaces: Workspaces,
    /// How far the requests for its tiles are ahead.
    pub(super) announced: Announced,
    pub(crate) budget: Budget,
    /// The most cells that the read hands out.
    pub(crate) limit: Option<u64>,
    /// The part of the order that is wanted, if not all.
    pub(crate) part: Option<KeyRange>,
    /// Of a read of all that the fragments hold: the deletes by which cells may be gone.
    pub(crate) history: Option<DeleteHistory>,
    /// What became of each fragment of the snapshot, newest first, before the condition was looked at.
    pub(crate) seen: Vec<SeenFragment>,
}

/// A fragment of the snapshot as the plan met it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenFragment {
    /// Its place among the plan's fragments, if tiles of it are met.
    pub(crate) fragment_idx: Option<usize>,
    pub(crate) is_in_ranges: bool,
    pub(crate) met_tile_count: usize,
}

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
        snapshot.ask_ahead(is_in_ranges, &needed);
        snapshot.read_ahead(is_in_ranges);
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
            fragments,
            tiles,
            stretches: Vec::new(),
            least_sorted_cell_count: least_sorted_cell_count(request),
            workspaces: Workspaces::default(),
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

    /// Whether of several cells at the same coordinates only the latest is wanted.
    pub(crate) fn drops_repeats(&self) -> bool {
        !self.snapshot.schema().allows_dups && self.history.is_none()
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

/// The order of an array's cells: the global one, or by coordinates alone.
///
/// # Errors
/// `Corrupt` when the schema's extents do not fit its types.
pub fn cell_order(schema: &ArraySchema, layout: Layout) -> Result<CellOrder> {
    let dims = schema
        .dimensions
        .iter()
        .map(|dimension| OrderDim {
            datatype: dimension.datatype,
            domain: dimension
                .domain
                .map_or(Interval::ALL, |(lo, hi)| Interval { lo: lo.ordinal(), hi: hi.ordinal() }),
            extent: dimension.tile_extent,
        })
        .collect();
    match layout {
        Layout::RowMajor | Layout::ColMajor => CellOrder::plain(dims, layout),
        _ => CellOrder::global(dims, schema.tile_order, schema.cell_order),
    }
}

/// The ranges of a request, one set per dimension. Without a range a dimension is not looked at, so that even NaN is
/// selected there, as libtiledb does.
pub(crate) fn ranges(schema: &ArraySchema, asked: &[Vec<Extent>]) -> Result<Vec<RangeSet>> {
    if asked.len() > schema.dimensions.len() {
        return Err(Error::invalid(format!(
            "ranges for {} dimensions were given, the array has {}",
            asked.len(),
            schema.dimensions.len()
        )));
    }
    schema
        .dimensions
        .iter()
        .enumerate()
        .map(|(idx, dimension)| match asked.get(idx) {
            Some(extents) if !extents.is_empty() => RangeSet::new(dimension.is_var(), extents.clone())
                .map_err(|error| error.context(format_args!("dimension {:?}", dimension.name))),
            _ => Ok(RangeSet::all(dimension.is_var())),
        })
        .collect()
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
