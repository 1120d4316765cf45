//! Reading dense arrays.

mod boxes;
mod coordinates;
mod cost;
mod explain;
mod filter;
mod points;
mod prune;
mod reader;
mod summarise;
mod target;

use crate::aggregate::Folded;
use crate::budget::Budget;
use crate::condition::{BoundCondition, Verdict};
use crate::fetch::Fetch;
use crate::progress::ReadProgress;
use crate::request::{Batch, ReadRequest, ResultField};
use crate::summary::FragmentSummary;
use crate::workspace::Workspaces;
use boxes::{Axis, ContiguousParts, Part};
use filter::DenseFilter;
use points::Points;
use reader::{DenseField, DenseFragment, DensePlan, FragmentTiles, attribute_sources};
use smalti_array::{FieldId, Snapshot, dense_grid, intervals};
use smalti_format::ArraySchema;
use smalti_space::{Interval, TileBlock, TileGrid, intersect_rects};
use smalti_tile::CellShape;
use smalti_types::{Error, Extent, Layout, Result};
use std::iter::Peekable;
use std::sync::Arc;

/// The batches of a dense read.
pub(crate) struct DenseBatches<'a> {
    plan: DensePlan<'a>,
    work: Work,
    /// Parts that were cut out of one that takes too much memory, the next one last.
    cut: Vec<Part>,
    max_cell_count: usize,
    /// Of an aggregate: what the fragments' metadata says, once it was looked at.
    summaries: Vec<Option<FragmentSummary>>,
}

/// What is left to read.
enum Work {
    /// Parts of the result in row-major or column-major order.
    Parts(ContiguousParts),
    /// Rectangles of tiles in global order.
    Tiles(Peekable<TileRects>),
}

/// The wanted part of every tile, tile by tile in tile order. Made one by one: a domain may have more tiles than memory
/// has room for.
struct TileRects {
    grid: TileGrid,
    wanted: Vec<Interval>,
    /// `None` where nothing is wanted.
    block: Option<TileBlock>,
    next_idx: u64,
}

impl<'a> DenseBatches<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        request: &ReadRequest,
        layout: Layout,
        result_fields: &[(FieldId, ResultField)],
        max_cell_count: usize,
        condition: Option<BoundCondition>,
        progress: &Arc<ReadProgress>,
    ) -> Result<Self> {
        let schema = snapshot.schema();
        let grid = dense_grid(schema)?;
        let ranges = ranges(schema, &grid, &request.ranges)?;
        let axes = ranges
            .iter()
            .zip(grid.dims())
            .map(|(ranges, dim)| Axis::new(ranges, dim.domain.lo, dim.extent))
            .collect::<Option<Arc<[_]>>>()
            .ok_or_else(|| Error::invalid("the ranges select more cells than can be counted; narrow them"))?;
        let fetch = Fetch::new(snapshot, Arc::clone(progress));
        let workspaces = Workspaces::default();
        let budget = Budget::new(request.memory_byte_len);
        let fragments = snapshot
            .fragments()
            .iter()
            .map(|fragment| {
                let rect = intervals(fragment.non_empty_domain())?;
                let tiles = if fragment.is_dense() {
                    FragmentTiles::Space(grid.block(&rect)?)
                } else {
                    let ranges = crate::sparse::ranges(schema, &request.ranges)?;
                    FragmentTiles::Points(Points::read(snapshot, fragment, &ranges, &fetch, &workspaces)?)
                };
                Ok(DenseFragment { rect, tiles, fragment })
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
        let filter = condition.map(|condition| -> Result<DenseFilter<'_>> {
            let looked_at = condition.fields();
            let fields =
                looked_at.iter().map(|looked_at| field(looked_at.id, &looked_at.name, looked_at.shape));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            let result = |id: FieldId| result_fields.iter().position(|(result, _)| *result == id);
            let results = looked_at.iter().map(|looked_at| result(looked_at.id)).collect();
            let statistics = prune::statistics(&condition, &fragments, &grid, &axes)?;
            Ok(DenseFilter { condition, fields, results, statistics, leaves_out: request.leaves_out })
        });
        let filter = filter.transpose()?;
        let mut plan = DensePlan {
            fetch,
            grid,
            cell_order: schema.cell_order,
            layout,
            axes,
            fields,
            fragments,
            workspaces,
            budget,
            is_small: true,
            filter,
        };
        plan.settle_budget()?;
        let max_cell_count = plan.max_cell_count(max_cell_count);
        let work = if layout == Layout::GlobalOrder {
            Work::Tiles(TileRects::new(&plan.grid, &ranges)?.peekable())
        } else {
            Work::Parts(plan.parts(max_cell_count))
        };
        Ok(DenseBatches { plan, work, cut: Vec::new(), max_cell_count, summaries: Vec::new() })
    }

    pub(crate) fn pull(&mut self) -> Result<Option<Batch>> {
        match &mut self.work {
            Work::Parts(parts) => {
                let Some(mut part) = self.cut.pop().or_else(|| parts.next()) else { return Ok(None) };
                while let Some(mut pieces) = self.plan.cut_large_part(&part)? {
                    pieces.reverse();
                    self.cut.extend(pieces);
                    let Some(first) = self.cut.pop() else { return Ok(None) };
                    part = first;
                }
                self.plan.read_part(&part).map(Some)
            }
            Work::Tiles(_) => self.pull_tiles(|_, _| Ok(false)),
        }
    }

    /// The next cells of an aggregate that no statistics answer for; what is answered is folded.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn pull_unsummarised(&mut self, folded: &mut [Folded]) -> Result<Option<Batch>> {
        if !matches!(self.work, Work::Tiles(_)) {
            return self.pull();
        }
        let mut summaries = std::mem::take(&mut self.summaries);
        let pulled = self.pull_tiles(|plan, rect| {
            let verdict = match &plan.filter {
                Some(filter) => plan.verdict_of_rect(filter, rect)?,
                None => Verdict::All,
            };
            match verdict {
                // None of its cells counts.
                Verdict::None => Ok(true),
                Verdict::Some => Ok(false),
                Verdict::All => plan.summarise(rect, &mut summaries, folded),
            }
        });
        self.summaries = summaries;
        pulled
    }

    /// The cells of the next tiles but those of which `is_answered` says so.
    fn pull_tiles(
        &mut self,
        mut is_answered: impl FnMut(&DensePlan<'_>, &[Interval]) -> Result<bool>,
    ) -> Result<Option<Batch>> {
        match &mut self.work {
            Work::Parts(_) => Ok(None),
            Work::Tiles(tiles) => {
                let mut rects = Vec::new();
                let mut cell_count = 0u128;
                while let Some(rect) = tiles.peek() {
                    if is_answered(&self.plan, rect)? {
                        tiles.next();
                        continue;
                    }
                    let cells: u128 = rect.iter().map(|side| side.value_count()).product();
                    if !rects.is_empty() && cell_count + cells > self.max_cell_count as u128 {
                        break;
                    }
                    cell_count += cells;
                    rects.extend(tiles.next());
                }
                if rects.is_empty() { Ok(None) } else { self.plan.read_tiles(rects).map(Some) }
            }
        }
    }
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

impl TileRects {
    fn new(grid: &TileGrid, ranges: &[Vec<Interval>]) -> Result<Self> {
        let is_empty = ranges.iter().any(Vec::is_empty);
        let wanted = ranges
            .iter()
            .filter(|_| !is_empty)
            .map(|ranges| match ranges[..] {
                [only] => Ok(only),
                _ => Err(Error::invalid(
                    "a dense read in global order takes one range per dimension; use row-major order",
                )),
            })
            .collect::<Result<Vec<_>>>()?;
        let block = (!is_empty).then(|| grid.block(&wanted)).transpose()?;
        Ok(TileRects { grid: grid.clone(), wanted, block, next_idx: 0 })
    }
}

impl Iterator for TileRects {
    type Item = Vec<Interval>;

    fn next(&mut self) -> Option<Vec<Interval>> {
        let block = self.block.as_ref()?;
        let dim_count = self.wanted.len();
        let (mut tile, mut tile_rect) = (vec![0; dim_count], vec![Interval::ALL; dim_count]);
        let mut rect = vec![Interval::ALL; dim_count];
        while block.tile_coords(self.next_idx, &mut tile) {
            self.next_idx += 1;
            if self.grid.tile_rect(&tile, &mut tile_rect)
                && intersect_rects(&tile_rect, &self.wanted, &mut rect)
            {
                return Some(rect);
            }
        }
        None
    }
}
