//! Whether fragments can be merged without changing what the array says, at any time.

use super::hulls::Hulls;
use smalti_array::{Fragment, Snapshot, dense_grid, intervals};
use smalti_format::{ArraySchema, Attribute, Rule};
use smalti_space::{Interval, intersect_rects};
use smalti_types::{Error, Extent, Result, TimeRange};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Fragments of an array that are to be merged, in the order of their writes.
pub(super) struct Fit<'a> {
    snapshot: &'a Snapshot,
    /// All visible fragments, those to choose from among them.
    all: &'a [Arc<Fragment>],
    /// Places in `all`.
    candidates: Vec<usize>,
    byte_lens: Vec<u64>,
    /// Whether cells lose what their schema no longer has.
    drops_fields: bool,
    /// Dense arrays: made when it is asked for.
    hulls: OnceCell<Hulls>,
}

/// Rectangles that a search for uncovered cells may come to before it gives up.
const MAX_PIECE_COUNT: usize = 4096;

impl<'a> Fit<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, time: TimeRange, drops_fields: bool) -> Self {
        let all = snapshot.fragments();
        let candidates: Vec<usize> = (0..all.len()).filter(|&at| time.contains(all[at].time())).collect();
        let byte_lens = candidates.iter().map(|&at| all[at].data_byte_len()).collect();
        Fit { snapshot, all, candidates, byte_lens, drops_fields, hulls: OnceCell::new() }
    }

    /// The bytes of each fragment to choose from.
    pub(super) fn byte_lens(&self) -> &[u64] {
        &self.byte_lens
    }

    /// The fragments of a range of those to choose from.
    pub(super) fn fragments(&self, range: Range<usize>) -> Vec<Arc<Fragment>> {
        self.candidates[range].iter().map(|&at| Arc::clone(&self.all[at])).collect()
    }

    /// The place of a fragment among those to choose from.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.candidates.iter().position(|&at| self.all[at].name().as_str() == name)
    }

    /// Checks that fragments can be merged, and finds the schema that has all of their fields.
    ///
    /// # Errors
    /// `InvalidArgument` says why not.
    pub(super) fn check(&self, range: Range<usize>) -> Result<String> {
        self.check_places(&range.collect::<Vec<_>>())
    }

    /// As [`check`](Fit::check), of fragments that need not be neighbours.
    pub(super) fn check_places(&self, places: &[usize]) -> Result<String> {
        let chosen: Vec<usize> = places.iter().map(|&place| self.candidates[place]).collect();
        let inputs: Vec<&Fragment> = chosen.iter().map(|&at| &*self.all[at]).collect();
        let schema = self.schema_of(&inputs)?;
        let is_chosen: HashSet<usize> = chosen.iter().copied().collect();
        let time = span(&inputs);
        let head = format!("__{}_{}_", time.start, time.end);
        let keeps_times =
            !self.snapshot.schema().is_dense() && schema.write_version().has(Rule::CellTimestamps);
        let may_hide = self.snapshot.schema().is_dense() || !self.snapshot.schema().allows_dups;
        let hull = hull(&inputs);
        for (at, other) in self.all.iter().enumerate().filter(|(at, _)| may_hide && !is_chosen.contains(at)) {
            if !overlap(&hull, other.non_empty_domain()) {
                continue;
            }
            let start = other.time().start;
            let is_older = (start, other.name().as_str()) < (time.start, head.as_str());
            let is_newer = start > time.start || start == time.start && !is_older;
            for (input_at, input) in chosen.iter().zip(&inputs) {
                let matters = !keeps_times || input.time().overlaps(other.time());
                let changes = if at < *input_at { !is_older } else { !is_newer };
                let is_unsure = other.name().as_str().starts_with(&head);
                if matters
                    && (changes || is_unsure)
                    && overlap(input.non_empty_domain(), other.non_empty_domain())
                {
                    return Err(Error::invalid(format!(
                        "fragment {} lies between the writes to merge in time, and has cells of the same places; merge \
                         it with them",
                        other.name()
                    )));
                }
            }
            if self.snapshot.schema().is_dense() && is_older && !self.covers(&inputs, other)? {
                return Err(Error::invalid(format!(
                    "the least rectangle around the fragments to merge has cells that none of them wrote, but the older \
                     fragment {} did; merge it with them",
                    other.name()
                )));
            }
        }
        Ok(schema_name(self.snapshot, &inputs, schema))
    }

    /// Dense arrays: the tiles of the least rectangle around fragments, for each tile of theirs. 1 for sparse ones.
    pub(super) fn amplification(&self, range: Range<usize>) -> Result<f64> {
        if !self.snapshot.schema().is_dense() {
            return Ok(1.0);
        }
        let grid = dense_grid(self.snapshot.schema())?;
        let hulls = self.hulls()?;
        // There may be more than can be counted.
        let along = |(dim, side): (usize, Interval)| {
            Some((grid.tile_along(dim, side.hi)? - grid.tile_along(dim, side.lo)?) as f64 + 1.0)
        };
        let tiles: Option<f64> = hulls.hull(range.clone()).enumerate().map(along).product();
        let tiles = tiles.unwrap_or(f64::INFINITY);
        Ok(tiles / hulls.tile_count(range).max(1) as f64)
    }

    fn hulls(&self) -> Result<&Hulls> {
        if let Some(hulls) = self.hulls.get() {
            return Ok(hulls);
        }
        let fragments = self.candidates.iter().map(|&at| &*self.all[at]);
        let rects = fragments.clone().map(|fragment| intervals(fragment.non_empty_domain()));
        let rects = rects.collect::<Result<Vec<_>>>()?;
        let hulls = Hulls::new(&rects, fragments.map(|fragment| fragment.tile_count()));
        Ok(self.hulls.get_or_init(|| hulls))
    }

    /// The newest schema that has all fields of some fragments: that of the array, or of one of them.
    fn schema_of<'s>(&'s self, inputs: &[&'s Fragment]) -> Result<&'s ArraySchema> {
        let latest = &**self.snapshot.schema();
        if self.drops_fields {
            return Ok(latest);
        }
        let own = inputs.iter().rev().map(|input| &**input.schema());
        let has_all = |schema: &&ArraySchema| {
            inputs.iter().flat_map(|input| &input.schema().attributes).all(|wanted| {
                schema.attribute(&wanted.name).is_some_and(|(_, found)| is_same_shape(wanted, found))
            })
        };
        std::iter::once(latest).chain(own).find(has_all).ok_or_else(|| {
            Error::invalid(
                "between the writes to merge attributes were both added and dropped, so no schema holds them all; merge \
                 those before and those after, or purge what was dropped",
            )
        })
    }

    /// Whether every cell that an older fragment shows inside the hull of the inputs was written by one of them too.
    fn covers(&self, inputs: &[&Fragment], other: &Fragment) -> Result<bool> {
        let hull = intervals(&hull(inputs))?;
        let mut rest = hull.clone();
        if !intersect_rects(&hull, &intervals(other.non_empty_domain())?, &mut rest) {
            return Ok(true);
        }
        let mut pieces = vec![rest];
        for input in inputs {
            let rect = intervals(input.non_empty_domain())?;
            pieces = pieces.iter().flat_map(|piece| without(piece, &rect)).collect();
            if pieces.is_empty() {
                return Ok(true);
            }
            if pieces.len() > MAX_PIECE_COUNT {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

fn schema_name(snapshot: &Snapshot, inputs: &[&Fragment], schema: &ArraySchema) -> String {
    let of_input = inputs.iter().find(|input| std::ptr::eq(&**input.schema(), schema));
    match of_input {
        Some(input) => input.footer().schema_name.clone(),
        None => snapshot.schema_name().to_owned(),
    }
}

/// Whether cells of one attribute are cells of the other.
pub(super) fn is_same_shape(a: &Attribute, b: &Attribute) -> bool {
    (a.datatype, a.cell_val_num, a.nullable) == (b.datatype, b.cell_val_num, b.nullable)
}

/// The times of some fragments.
pub(super) fn span(fragments: &[&Fragment]) -> TimeRange {
    fragments.iter().map(|fragment| fragment.time()).fold(
        TimeRange { start: u64::MAX, end: 0 },
        |span, time| TimeRange { start: span.start.min(time.start), end: span.end.max(time.end) },
    )
}

fn hull(fragments: &[&Fragment]) -> Vec<Extent> {
    let mut domains = fragments.iter().map(|fragment| fragment.non_empty_domain());
    let mut hull = domains.next().unwrap_or_default().to_vec();
    for domain in domains {
        for (side, other) in hull.iter_mut().zip(domain) {
            *side = side.as_ref().hull(other.as_ref());
        }
    }
    hull
}

fn overlap(a: &[Extent], b: &[Extent]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.as_ref().overlaps(b.as_ref()))
}

/// What is left of a rectangle outside another.
fn without(rect: &[Interval], hole: &[Interval]) -> Vec<Vec<Interval>> {
    let mut middle = rect.to_vec();
    if !intersect_rects(rect, hole, &mut middle) {
        return vec![rect.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut rest = rect.to_vec();
    for (dim, inside) in middle.iter().enumerate() {
        if rest[dim].lo < inside.lo {
            let mut below = rest.clone();
            below[dim].hi = inside.lo - 1;
            pieces.push(below);
        }
        if rest[dim].hi > inside.hi {
            let mut above = rest.clone();
            above[dim].lo = inside.hi + 1;
            pieces.push(above);
        }
        rest[dim] = *inside;
    }
    pieces
}
