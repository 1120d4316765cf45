//! Reading dense arrays.

mod ahead;
mod blank;
mod boxes;
mod coordinates;
mod cost;
mod explain;
mod filter;
mod known;
mod part;
mod plan;
mod points;
mod prune;
mod reader;
mod summarise;
mod target;
mod task;
mod walk;
mod work;

use crate::budget::Budget;
use crate::condition::{BoundCondition, Verdict};
use crate::count::Count;
use crate::fetch::Fetch;
use crate::folded::{self, Folded};
use crate::gather::Room;
use crate::progress::{Phase, Progress, Unit};
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ReadRequest, ResultField};
use crate::summary::FragmentSummary;
use crate::workspace::Workspaces;
use boxes::{Axis, Part, part_cell_count, rect_cell_count};
use plan::{DenseField, DenseFilter, DenseFragment, DensePlan, FragmentTiles};
use points::Points;
use reader::attribute_sources;
use smalti_array::{FieldId, Fragment, Snapshot, dense_grid, intervals};
use smalti_format::ArraySchema;
use smalti_space::{Interval, RectIndex, TileGrid};
use smalti_tile::CellShape;
use smalti_types::{Error, Extent, Layout, Result};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use work::{OnBlank, Work};

/// The batches of a dense read.
pub(crate) struct DenseBatches {
    plan: DensePlan,
    /// What is left, once anything was read.
    work: Option<Work>,
    /// Parts that were cut out of one that takes too much memory, the next one last.
    cut: Vec<Part>,
    /// Whether cells are left out: those that do not fulfil the condition, or that nobody wrote.
    leaves_out: bool,
    /// Of an aggregate: what the fragments' metadata says, once it was looked at.
    summaries: Vec<Option<FragmentSummary>>,
}

impl DenseBatches {
    pub(crate) fn new(
        snapshot: &Snapshot,
        request: &ReadRequest,
        layout: Layout,
        result_fields: &[(FieldId, ResultField)],
        condition: Option<BoundCondition>,
        progress: &Arc<Progress>,
    ) -> Result<Self> {
        let schema = snapshot.schema();
        let grid = dense_grid(schema)?;
        let ranges = ranges(schema, &grid, &request.ranges)?;
        let is_nothing = ranges.iter().any(Vec::is_empty);
        if layout == Layout::GlobalOrder && !is_nothing && ranges.iter().any(|ranges| ranges.len() > 1) {
            return Err(Error::invalid(
                "a dense read in global order takes one range per dimension; use row-major order",
            ));
        }
        let axes = ranges
            .iter()
            .zip(grid.dims())
            .map(|(ranges, dim)| Axis::new(ranges, dim.domain.lo, dim.extent))
            .collect::<Option<Arc<[_]>>>()
            .ok_or_else(|| Error::invalid("the ranges select more cells than can be counted; narrow them"))?;
        let budget = Budget::new(request.memory_byte_len, snapshot.place().resources())?;
        let fetch = Fetch::new(snapshot, Arc::clone(progress), request, budget.kept());
        let looked_at = condition.iter().flat_map(|condition| condition.fields()).map(|field| field.id);
        let needed: Vec<FieldId> = result_fields.iter().map(|(id, _)| *id).chain(looked_at).collect();
        snapshot.ask_ahead(|fragment| is_met(fragment, &ranges), &needed, condition.is_some());
        let workspaces = Workspaces::out_of(snapshot.place().resources().workspaces());
        // Of others nothing shows: they cost nothing but this question.
        let fragments = snapshot
            .fragments()
            .iter()
            .filter(|fragment| is_met(fragment, &ranges))
            .map(|fragment| {
                let rect = intervals(fragment.non_empty_domain())?;
                let tiles = if fragment.is_dense() {
                    FragmentTiles::Space(grid.block(&rect)?)
                } else {
                    let ranges = crate::sparse::ranges(schema, &request.ranges)?;
                    FragmentTiles::Points(Points::read(snapshot, fragment, &ranges, &fetch, &workspaces)?)
                };
                Ok(DenseFragment { rect, tiles, fragment: Arc::clone(fragment) })
            })
            .collect::<Result<Vec<_>>>()?;
        let field = |id: FieldId, name: &str, shape: CellShape| match id {
            FieldId::Attribute(idx) => {
                let attribute = &schema.attributes[idx];
                Ok(DenseField::Attribute {
                    shape,
                    fill: attribute.fill_value.clone(),
                    fill_valid: attribute.fill_valid,
                    sources: attribute_sources(snapshot, &fragments, name, shape)?,
                })
            }
            FieldId::Dimension(dim) => Ok(DenseField::Dimension { dim, datatype: shape.datatype }),
            _ => Err(Error::invalid(format!("dense arrays have no field {name:?}"))),
        };
        let fields = result_fields
            .iter()
            .map(|(id, result)| field(*id, &result.name, result.shape))
            .collect::<Result<Vec<_>>>()?;
        let filter = condition.map(|condition| -> Result<DenseFilter> {
            let looked_at = condition.fields();
            let fields =
                looked_at.iter().map(|looked_at| field(looked_at.id, &looked_at.name, looked_at.shape));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            let result = |id: FieldId| result_fields.iter().position(|(result, _)| *result == id);
            let results = looked_at.iter().map(|looked_at| result(looked_at.id)).collect();
            let statistics = prune::statistics(&condition, &fragments, &grid, &axes, budget.share())?;
            let mut turns = vec![Vec::new(); schema.dimensions.len()];
            for (idx, field) in looked_at.iter().enumerate() {
                if let FieldId::Dimension(dim) = field.id {
                    turns[dim] = condition.turns(idx);
                }
            }
            Ok(DenseFilter { condition, fields, results, statistics, turns, leaves_out: request.leaves_out })
        });
        let filter = filter.transpose()?;
        let rects = RectIndex::new(
            schema.dimensions.len(),
            fragments.iter().map(|fragment: &DenseFragment| fragment.rect.as_slice()),
        );
        let mut plan = DensePlan {
            fetch,
            grid,
            cell_order: schema.cell_order,
            layout,
            axes,
            fields,
            fragments,
            rects,
            workspaces,
            turn: AtomicU64::new(0),
            budget,
            is_small: true,
            filter,
            is_written_only: request.written_only,
        };
        plan.settle_budget()?;
        let cell_count = plan.axes.iter().fold(1, |cells: u64, axis| cells.saturating_mul(axis.len));
        progress.enter(Phase::Reading, Unit::Cells, Some(cell_count));
        let leaves_out = request.written_only || (request.leaves_out && plan.filter.is_some());
        Ok(DenseBatches { plan, work: None, cut: Vec::new(), leaves_out, summaries: Vec::new() })
    }

    /// The read in at most so many parts, each by its ranges. Only before the first cell is read.
    pub(crate) fn divided(&self, asked: &[Vec<Extent>], count: usize) -> Vec<part::Divided> {
        self.plan.divided(asked, count)
    }

    /// Whether no fragment covers any cell of the result: all that there is to read are fill values.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.plan.fragments.is_empty() && self.plan.axes.iter().all(|axis| axis.len > 0)
    }

    /// The cells of the result, and whether it has all of them: a bound where cells are left out.
    pub(crate) fn cell_count(&self) -> Count {
        let count = self.plan.axes.iter().fold(1, |cells: u64, axis| cells.saturating_mul(axis.len));
        if self.leaves_out { Count::AtMost(count) } else { Count::Exact(count) }
    }

    /// The tiles of the grid that the ranges meet, at most.
    pub(crate) fn met_tile_count(&self) -> u64 {
        let grid = &self.plan.grid;
        let axes = self.plan.axes.iter().enumerate();
        let along = axes.map(|(dim, axis)| {
            let of_range = |cells: &Interval| {
                let (first, last) = (grid.tile_along(dim, cells.lo), grid.tile_along(dim, cells.hi));
                first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first).saturating_add(1))
            };
            let ranges = axis.segments.iter().map(|segment| of_range(&segment.cells));
            let all = u64::try_from(grid.tile_count_along(dim)).unwrap_or(u64::MAX);
            ranges.fold(0, u64::saturating_add).min(all)
        });
        along.fold(1, u64::saturating_mul)
    }

    /// The plan, for those who look at its fragments.
    pub(crate) fn plan(&self) -> &DensePlan {
        &self.plan
    }

    /// Whether it is known that no cells are left, without looking for any.
    pub(crate) fn are_over(&self) -> bool {
        self.cut.is_empty() && self.work.as_ref().is_some_and(Work::is_over)
    }

    /// The next cells of the read, at most so many unless a single tile has more, into `rooms` where they hold them; `None` at the end.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn pull(&mut self, max_cell_count: usize, rooms: &mut [Room<'_>]) -> Result<Option<Batch>> {
        if self.work.is_none() {
            self.work = Some(match self.leaves_out {
                true => Work::counted(&mut self.plan)?,
                false => Work::whole(&self.plan)?,
            });
        }
        let Some(Pulled { what, cell_count }) =
            self.pull_any(max_cell_count, |_, _| Ok(false), &mut |_, _| Ok(()))?
        else {
            return Ok(None);
        };
        let batch = match what {
            What::Parts(parts) => self.plan.read_parts(&parts, rooms)?,
            What::Tiles(rects) => self.plan.read_tiles(rects, rooms)?,
        };
        self.plan.went(cell_count);
        Ok(Some(batch))
    }

    /// Folds the next cells of an aggregate; `false` when there are none.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn fold_next(&mut self, folded: &mut [Folded]) -> Result<bool> {
        if self.work.is_none() {
            self.work =
                Some(if self.plan.filter.is_none() && folded.iter().all(|field| field.is_counted_only) {
                    // Every cell counts, whoever wrote it.
                    self.plan.fold_blank(self.plan.axes.iter().map(|axis| 0..axis.len).collect(), folded)?;
                    Work::done()
                } else {
                    Work::in_any_order(&self.plan)
                });
        }
        let mut summaries = std::mem::take(&mut self.summaries);
        // Both sides fold, never at once.
        let shared = RefCell::new(&mut *folded);
        let is_answered = |plan: &DensePlan, rect: &[Interval]| {
            let verdict = match &plan.filter {
                Some(filter) => plan.verdict_of_rect(filter, rect)?,
                None => Verdict::All,
            };
            match verdict {
                // None of its cells counts.
                Verdict::None => Ok(true),
                Verdict::Some => Ok(false),
                Verdict::All => plan.summarise(rect, &mut summaries, &mut shared.borrow_mut()),
            }
        };
        let on_blank: OnBlank<'_> = &mut |plan, part| plan.fold_blank(part, &mut shared.borrow_mut());
        let pulled = self.pull_any(DEFAULT_BATCH_CELL_COUNT, is_answered, on_blank);
        self.summaries = summaries;
        let Some(Pulled { what, cell_count }) = pulled? else { return Ok(false) };
        match what {
            What::Parts(parts) => folded::add_batch(folded, &self.plan.read_parts(&parts, &mut [])?),
            What::Tiles(rects) => self.plan.fold_tiles(rects, folded)?,
        }
        self.plan.went(cell_count);
        Ok(true)
    }

    /// What is read next; of tiles none for which `is_answered` says so.
    fn pull_any(
        &mut self,
        max_cell_count: usize,
        is_answered: impl FnMut(&DensePlan, &[Interval]) -> Result<bool>,
        on_blank: OnBlank<'_>,
    ) -> Result<Option<Pulled>> {
        let max_cell_count = self.plan.step_cell_count(max_cell_count) as u64;
        let Some(mut work) = self.work.take() else { return Ok(None) };
        let pulled = match work.has_tiles() {
            true => self.pull_tiles(&mut work, max_cell_count, is_answered, on_blank),
            false => self.pull_parts(&mut work, max_cell_count, on_blank),
        };
        self.work = Some(work);
        pulled
    }

    fn pull_parts(
        &mut self,
        work: &mut Work,
        max_cell_count: u64,
        on_blank: OnBlank<'_>,
    ) -> Result<Option<Pulled>> {
        let (mut parts, mut cell_count): (Vec<Part>, u64) = (Vec::new(), 0);
        while parts.is_empty()
            || (self.plan.is_small && work.takes_more(parts.len(), cell_count, max_cell_count))
        {
            let next = match self.cut.pop() {
                Some(part) => Some(part),
                None => work.next_part(&self.plan, max_cell_count - cell_count, on_blank)?,
            };
            let Some(mut part) = next else { break };
            while let Some(mut pieces) = self.plan.cut_large_part(&part)? {
                pieces.reverse();
                self.cut.extend(pieces);
                let Some(first) = self.cut.pop() else { return Ok(None) };
                part = first;
            }
            cell_count += part_cell_count(&part).unwrap_or(max_cell_count);
            parts.push(part);
        }
        Ok((!parts.is_empty()).then_some(Pulled { what: What::Parts(parts), cell_count }))
    }

    fn pull_tiles(
        &mut self,
        work: &mut Work,
        max_cell_count: u64,
        mut is_answered: impl FnMut(&DensePlan, &[Interval]) -> Result<bool>,
        on_blank: OnBlank<'_>,
    ) -> Result<Option<Pulled>> {
        let mut rects = Vec::new();
        let (mut cell_count, mut var_byte_len) = (0u64, 0u64);
        while let Some(rect) = work.next_tile(&self.plan, on_blank)? {
            self.plan.fetch.check()?;
            if is_answered(&self.plan, &rect)? {
                self.plan.went(rect_cell_count(&rect));
                continue;
            }
            let more = cell_count.saturating_add(rect_cell_count(&rect));
            if !self.plan.is_small {
                var_byte_len = var_byte_len.saturating_add(self.plan.var_byte_len_of_tile(&rect)?);
            }
            let is_full = more > max_cell_count || !self.plan.holds_values(var_byte_len);
            if is_full && !rects.is_empty() {
                work.hold(rect);
                break;
            }
            cell_count = more;
            rects.push(rect);
        }
        Ok((!rects.is_empty()).then_some(Pulled { what: What::Tiles(rects), cell_count }))
    }
}

/// What is read next.
struct Pulled {
    what: What,
    cell_count: u64,
}

/// See [`Pulled`].
enum What {
    /// Parts of the result in row-major or column-major order.
    Parts(Vec<Part>),
    /// The wanted cells of tiles.
    Tiles(Vec<Vec<Interval>>),
}

impl DensePlan {
    /// Counts cells that were read, or that nothing has to be read for.
    fn went(&self, cell_count: u64) {
        self.fetch.progress().advance(Phase::Reading, Unit::Cells, cell_count);
    }
}

/// Rectangles of a dense array that hold all cells that fragments wrote, apart from each other: few, and none of them blank for
/// the most part, however large the domain is. They begin and end at borders of space tiles, or of the non-empty domain.
///
/// # Errors
/// `InvalidArgument` for sparse arrays; `Corrupt` and `Permission` from the fragments.
pub fn written_regions(snapshot: &Snapshot) -> Result<Vec<Vec<Extent>>> {
    let Some(domain) = snapshot.non_empty_domain() else { return Ok(Vec::new()) };
    let ranges = domain.into_iter().map(|side| vec![side]).collect();
    let request = ReadRequest { ranges, ..ReadRequest::default() };
    let progress = Arc::default();
    let layout = Layout::RowMajor;
    let batches = DenseBatches::new(snapshot, &request, layout, &[], None, &progress)?;
    let extents = |region: Vec<Interval>| region.into_iter().map(Extent::from).collect();
    Ok(batches.plan.regions()?.into_iter().map(extents).collect())
}

/// Whether a fragment wrote anything in some ranges.
fn is_met(fragment: &Fragment, ranges: &[Vec<Interval>]) -> bool {
    let Ok(rect) = intervals(fragment.non_empty_domain()) else { return true };
    let meets =
        |(side, ranges): (&Interval, &Vec<Interval>)| ranges.iter().any(|range| range.overlaps(*side));
    rect.iter().zip(ranges).all(meets)
}

/// The wanted intervals of each dimension, in the order of the request: those of the current domain, or of the whole
/// domain, where none is given.
fn ranges(schema: &ArraySchema, grid: &TileGrid, asked: &[Vec<Extent>]) -> Result<Vec<Vec<Interval>>> {
    if asked.len() > schema.dimensions.len() {
        return Err(Error::invalid(format!(
            "ranges for {} dimensions were given, the array has {}",
            asked.len(),
            schema.dimensions.len()
        )));
    }
    let mut whole = grid.domain();
    if let Some(current) = schema.current_domain.rectangle() {
        whole = intervals(current)?;
    }
    whole
        .into_iter()
        .enumerate()
        .map(|(dim, whole)| {
            let name = &schema.dimensions[dim].name;
            match asked.get(dim) {
                Some(extents) if !extents.is_empty() => extents
                    .iter()
                    .filter_map(|extent| match Interval::of_extent(extent.as_ref()) {
                        Some(interval) if interval.lo <= interval.hi => interval.intersect(whole).map(Ok),
                        Some(_) => {
                            Some(Err(Error::invalid(format!("a range of dimension {name:?} is inverted"))))
                        }
                        None => Some(Err(Error::invalid(format!(
                            "dimension {name:?} is numeric, not of strings"
                        )))),
                    })
                    .collect(),
                _ => Ok(vec![whole]),
            }
        })
        .collect()
}
