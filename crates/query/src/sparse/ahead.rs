//! Tiles that a sparse read will need, asked for before it comes to them.
//!
//! On a distant store a read that asks for each tile when it decodes it has as many requests under way as threads. Here the
//! requests for the tiles that come next, of all fields, go out in shares, two of which are in memory or under way at a time: one that is
//! decoded, and one that is on its way meanwhile. A near store whose reads have to wait for the disk is told of smaller shares in the
//! same way, and has them in the page cache, or on their way there.
//!
//! Fields that may be asked for in vain wait on a distant store, if that is worth it (`chance.rs`), until it is known whether a cell of their
//! tile is wanted.

use super::chance::{Chance, cost, worth_a_wait};
use super::plan::{SparsePlan, Stretch};
use crate::explanation::stored_cost;
use crate::source::FieldSource;
use std::collections::BTreeSet;
use std::ops::Range;

/// Filtered bytes that a share of requests asks for at most, unless a single tile has more.
const MAX_SHARE_BYTE_LEN: u64 = 32 << 20;

/// The turn of tiles that are read together: no place in the order.
const GROUP_TURN: u64 = u64::MAX;

/// The turn of fields of cells that are handed out together.
const FIELDS_TURN: u64 = u64::MAX - 1;

/// How likely it is thought that a tile whose coordinates are looked at for a window has no cell in it.
const OUTSIDE_OF_WINDOW: f64 = 0.5;

/// What is read of a tile.
struct Sources<'p> {
    slot: usize,
    tile_idx: usize,
    /// What tells which of its cells are wanted.
    finding: Vec<&'p FieldSource>,
    /// What else is read of those.
    rest: Vec<&'p FieldSource>,
}

impl<'p> Sources<'p> {
    fn finding(&self) -> impl Iterator<Item = (&'p FieldSource, usize)> {
        self.finding.iter().map(|source| (*source, self.tile_idx))
    }

    fn rest(&self) -> impl Iterator<Item = (&'p FieldSource, usize)> {
        self.rest.iter().map(|source| (*source, self.tile_idx))
    }
}

impl SparsePlan {
    /// Asks for tiles that are read now, and for those behind them. What only tiles before them needed is let go.
    pub(super) fn run_ahead(&self, tiles: Range<usize>) {
        if !self.fetch.runs_ahead() {
            return;
        }
        let shares = &mut *self.announced.shares();
        self.fetch.forget(|turn| turn < tiles.start as u64);
        shares.waiting = shares.waiting.split_off(&tiles.start);
        while shares.before < tiles.end && shares.end < self.tiles.len() || shares.end < tiles.end {
            let start = shares.end.max(tiles.start);
            shares.before = start;
            shares.end = self.announce_from(start, &mut shares.waiting);
        }
    }

    /// The end of the tiles that were asked for together with one, if fields of some of them wait: they had better be looked at together, too.
    pub(super) fn waiting_until(&self, slot: usize) -> Option<usize> {
        if !self.fetch.is_distant() || slot >= self.tiles.len() {
            return None;
        }
        self.run_ahead(slot..slot + 1);
        let shares = self.announced.shares();
        let end = if slot < shares.before { shares.before } else { shares.end };
        shares.waiting.range(slot..end).next().map(|_| end)
    }

    /// Asks for the fields that waited of tiles which turn out to have wanted cells.
    pub(super) fn ask_rest(&self, slots: impl Iterator<Item = usize>) {
        if !self.fetch.is_distant() {
            return;
        }
        let shares = &mut *self.announced.shares();
        let met: Vec<usize> = slots.filter(|slot| shares.waiting.remove(slot)).collect();
        let Some(turn) = met.iter().max() else { return };
        let sources = met.iter().flat_map(|slot| self.sources_of(*slot).rest().collect::<Vec<_>>());
        self.fetch.announce(sources, *turn as u64);
    }

    /// Asks for tiles that are looked at together for a window, wherever they stand in the order. Those of the group before are let go.
    pub(super) fn announce_group(&self, slots: impl Iterator<Item = usize>) {
        if self.fetch.runs_ahead() {
            let group: Vec<Sources<'_>> = slots.map(|slot| self.sources_of(slot)).collect();
            let waiting = self.fields_that_wait(&group, |_| OUTSIDE_OF_WINDOW);
            self.fetch.forget(|turn| turn == GROUP_TURN);
            self.announce(&group, &waiting, GROUP_TURN);
        }
    }

    /// Asks for the fields of tiles with cells that are handed out together, unless that is too much at a time. Those of the cells before
    /// are let go.
    pub(super) fn announce_fields(&self, slots: impl Iterator<Item = usize>) {
        if !self.fetch.is_distant() {
            return;
        }
        self.fetch.forget(|turn| turn == FIELDS_TURN);
        let tiles: Vec<Sources<'_>> = slots.map(|slot| self.sources_of(slot)).collect();
        let fields = || tiles.iter().flat_map(Sources::rest);
        let byte_len =
            |(source, tile_idx): (&FieldSource, usize)| self.fetch.filtered_byte_len(source, tile_idx);
        if fields().map(byte_len).fold(0, u64::saturating_add) <= self.share_byte_len() {
            self.fetch.announce(fields(), FIELDS_TURN);
        }
    }

    /// The filtered bytes that are asked for together, unless a single tile has more.
    pub(crate) fn share_byte_len(&self) -> u64 {
        (self.budget.share() / 4).min(MAX_SHARE_BYTE_LEN)
    }

    /// Asks for a share of the tiles from a place on, and returns the place behind it. Adds those whose fields wait.
    fn announce_from(&self, start: usize, waiting: &mut BTreeSet<usize>) -> usize {
        let limit = self.fetch.announced_byte_len(self.share_byte_len());
        let (mut end, mut byte_len) = (start, 0_u64);
        let mut wanted = Vec::new();
        while end < self.tiles.len() {
            let sources = self.sources_of(end);
            let sizes = sources
                .finding()
                .chain(sources.rest())
                .map(|(source, tile_idx)| self.fetch.filtered_byte_len(source, tile_idx));
            byte_len = sizes.fold(byte_len, u64::saturating_add);
            if byte_len > limit && end > start {
                break;
            }
            wanted.push(sources);
            end += 1;
        }
        let later = match self.limit {
            None => self.fields_that_wait(&wanted, |slot| self.chance_of_none(&self.tiles[slot])),
            // It may be over before it has looked at all of them.
            Some(_) => BTreeSet::new(),
        };
        // They are kept until the read is behind the last of them.
        self.announce(&wanted, &later, end.saturating_sub(1) as u64);
        waiting.extend(later);
        end
    }

    fn announce(&self, tiles: &[Sources<'_>], waiting: &BTreeSet<usize>, turn: u64) {
        let sources = tiles.iter().flat_map(|sources| {
            let rest = (!waiting.contains(&sources.slot)).then(|| sources.rest());
            sources.finding().chain(rest.into_iter().flatten())
        });
        self.fetch.announce(sources, turn);
    }

    /// The tiles whose fields should wait until it is known which of their cells are wanted.
    fn fields_that_wait(
        &self,
        tiles: &[Sources<'_>],
        chance_of_none: impl Fn(usize) -> f64,
    ) -> BTreeSet<usize> {
        if !self.fetch.is_distant() {
            return BTreeSet::new();
        }
        let limits = self.fetch.coalescing();
        let chance = |sources: &Sources<'_>| {
            let in_vain = if sources.rest.is_empty() { 0.0 } else { chance_of_none(sources.slot) };
            if in_vain == 0.0 {
                return None;
            }
            // What is wrong with the places is found when the tile is read.
            let costs = sources.rest().filter_map(|(source, tile_idx)| stored_cost(source, tile_idx).ok());
            let costs = costs.map(|(requests, byte_len)| cost(limits, requests, byte_len));
            let cost = costs.fold(0, u64::saturating_add);
            Some(Chance { slot: sources.slot, in_vain, cost })
        };
        let chances = tiles.iter().filter_map(chance).collect();
        worth_a_wait(chances, limits.max_gap_byte_len).into_iter().collect()
    }

    /// What is read of a tile, as far as the plan can tell; all coordinates unless cells are wanted as they are stored.
    fn sources_of<'p>(&'p self, slot: usize) -> Sources<'p> {
        let tile = &self.tiles[slot];
        let fragment = &self.fragments[tile.fragment_idx];
        let mut finding: Vec<&FieldSource> = Vec::new();
        let mut find_by = |source: &'p FieldSource| {
            if !finding.iter().any(|known| known.field == source.field) {
                finding.push(source);
            }
        };
        let is_stored = self.stretch_of(slot).is_some_and(|stretch| stretch.is_stored);
        let wants_all = !is_stored || tile.hides || !tile.is_in_part;
        let dims = match (wants_all, tile.is_covered) {
            (true, _) => (0..fragment.dims.len()).collect(),
            (false, true) => Vec::new(),
            // What is wrong with the rectangle is found when the tile is read.
            (false, false) => self.looked_at(tile).unwrap_or_default(),
        };
        dims.into_iter().for_each(|dim| find_by(&fragment.dims[dim]));
        if !tile.fulfils {
            fragment.predicates.iter().flat_map(|predicate| predicate.sources()).for_each(&mut find_by);
        }
        if tile.hides || fragment.splits_in_time {
            fragment.timestamps.iter().for_each(&mut find_by);
        }
        let is_found_by = |source: &&FieldSource| finding.iter().any(|known| known.field == source.field);
        let rest = fragment.sources.iter().flatten().filter(|source| !is_found_by(source)).collect();
        Sources { slot, tile_idx: tile.tile_idx, finding, rest }
    }

    fn stretch_of(&self, slot: usize) -> Option<&Stretch> {
        self.stretches.get(self.stretches.partition_point(|stretch| stretch.tiles.end <= slot))
    }
}
