//! Tiles that a sparse read will need, asked for before it comes to them.
//!
//! On a distant store a read that asks for each tile when it decodes it has as many requests under way as threads. Here the
//! requests for the tiles that come next, of all fields, go out in shares, two of which are in memory or under way at a time: one that is
//! decoded, and one that is on its way meanwhile. A near store whose reads have to wait for the disk is told of smaller shares in the
//! same way, and has them in the page cache, or on their way there.

use super::plan::{SparsePlan, TileRef};
use crate::fetch::FieldSource;
use smalti_array::FieldId;
use std::ops::Range;
use std::sync::PoisonError;

/// Filtered bytes that a share of requests asks for at most, unless a single tile has more.
const MAX_SHARE_BYTE_LEN: u64 = 32 << 20;

/// The turn of tiles that are read together: no place in the order.
const GROUP_TURN: u64 = u64::MAX;

impl SparsePlan {
    /// Asks for tiles that are read now, and for those behind them. What only tiles before them needed is let go.
    pub(super) fn run_ahead(&self, tiles: Range<usize>) {
        if !self.fetch.runs_ahead() {
            return;
        }
        let mut shares = self.announced.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, end) = &mut *shares;
        self.fetch.forget(|turn| turn < tiles.start as u64);
        while *before < tiles.end && *end < self.tiles.len() || *end < tiles.end {
            let start = (*end).max(tiles.start);
            *before = start;
            *end = self.announce_from(start);
        }
    }

    /// Asks for tiles that are read together, wherever they stand in the order. Those of the group before are let go.
    pub(super) fn announce_group(&self, slots: impl Iterator<Item = usize>) {
        if self.fetch.runs_ahead() {
            let tiles = slots.filter_map(|slot| self.tiles.get(slot));
            let sources = tiles.flat_map(|tile| self.sources_of(tile, false));
            self.fetch.forget(|turn| turn == GROUP_TURN);
            self.fetch.announce(sources, GROUP_TURN);
        }
    }

    /// The filtered bytes that are asked for together, unless a single tile has more.
    pub(crate) fn share_byte_len(&self) -> u64 {
        (self.budget.share() / 4).min(MAX_SHARE_BYTE_LEN)
    }

    /// Asks for a share of the tiles from a place on, and returns the place behind it.
    fn announce_from(&self, start: usize) -> usize {
        let limit = self.fetch.announced_byte_len(self.share_byte_len());
        let is_stored = self.stretches.iter().all(|stretch| stretch.is_stored);
        let (mut end, mut byte_len) = (start, 0_u64);
        let mut wanted = Vec::new();
        while let Some(tile) = self.tiles.get(end) {
            let sources = self.sources_of(tile, is_stored);
            let sizes =
                sources.iter().map(|(source, tile_idx)| self.fetch.filtered_byte_len(source, *tile_idx));
            byte_len = sizes.fold(byte_len, u64::saturating_add);
            if byte_len > limit && end > start {
                break;
            }
            wanted.extend(sources);
            end += 1;
        }
        // They are kept until the read is behind the last of them.
        self.fetch.announce(wanted.into_iter(), end.saturating_sub(1) as u64);
        end
    }

    /// What is read of a tile, as far as the plan can tell; all coordinates unless cells are wanted as they are stored.
    fn sources_of(&self, tile: &TileRef, is_stored: bool) -> Vec<(&FieldSource, usize)> {
        let fragment = &self.fragments[tile.fragment_idx];
        let mut sources: Vec<&FieldSource> = fragment.sources.iter().flatten().collect();
        let is_looked_at = |dim: usize| !self.ranges.get(dim).is_some_and(|ranges| ranges.is_all());
        for (dim, source) in fragment.dims.iter().enumerate() {
            let is_needed = !is_stored || tile.hides || (!tile.is_covered && is_looked_at(dim));
            let is_known = sources.iter().any(|known| known.field == source.field);
            if is_needed && !is_known {
                sources.push(source);
            }
        }
        if !tile.fulfils {
            for source in fragment.predicates.iter().flat_map(|predicate| predicate.sources()) {
                if !sources.iter().any(|known| known.field == source.field) {
                    sources.push(source);
                }
            }
        }
        if let Some(times) = &fragment.timestamps
            && (tile.hides || fragment.splits_in_time)
            && !sources.iter().any(|known| known.field == FieldId::Timestamps)
        {
            sources.push(times);
        }
        sources.into_iter().map(|source| (source, tile.tile_idx)).collect()
    }
}
