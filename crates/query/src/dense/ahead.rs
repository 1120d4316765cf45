//! Tiles that a dense read will need, asked for before it comes to them.
//!
//! Of a distant store the tiles of a whole batch, of all fields, are asked for together. A near store whose reads have to wait for the
//! disk is told, task by task and field by field, which tiles come next: one share is read while the next one is on
//! its way.

use super::plan::{DenseField, DensePlan};
use super::target::Piece;
use super::task::{Share, Task};
use crate::source::FieldSource;
use smalti_types::Result;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// Of tiles whose order is a list, this many are told of together, and so many more are known to come.
const TOLD_TILE_COUNT: usize = 32;

/// What a store was told of the pieces of a task: on distant stores, and where reads do not wait, nothing.
#[derive(Default)]
pub(super) struct Told<'p> {
    /// The pieces that it was not told of yet, with their places in the task.
    untold: Option<Box<dyn Iterator<Item = (usize, Piece<'p>)> + 'p>>,
    /// The place of the piece at which more is told.
    due_at: usize,
}

impl DensePlan {
    /// On a distant store, asks for the tiles of all fields that some tasks will read, at once.
    pub(super) fn ask_ahead(&self, tasks: &[Task]) -> Result<()> {
        if !self.fetch.is_distant() {
            return Ok(());
        }
        // One batch is read after the other.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.fetch.forget(|before| before < turn);
        let looked_at = self.filter.iter().flat_map(|filter| &filter.fields);
        let mut wanted = Vec::new();
        let mut known = HashSet::new();
        for (at, field) in self.fields.iter().chain(looked_at).enumerate() {
            let DenseField::Attribute { sources, .. } = field else { continue };
            for task in tasks {
                for piece in task.target.pieces() {
                    self.fetch.check()?;
                    for share in self.shares(&piece, sources)?.0 {
                        if let Some(source) = &sources[share.fragment_idx]
                            && known.insert((at, share.fragment_idx, share.tile_idx))
                        {
                            wanted.push((source, share.tile_idx));
                        }
                    }
                }
            }
        }
        self.fetch.announce(wanted.into_iter(), turn);
        Ok(())
    }

    /// Tells a near store whose reads wait which tiles of a list come from a place on. For those who walk through parts of the list.
    pub(super) fn tell_tiles(&self, sources: &[Option<FieldSource>], tiles: &[(usize, usize)], at: usize) {
        if !at.is_multiple_of(TOLD_TILE_COUNT) || self.fetch.is_distant() || !self.fetch.runs_ahead() {
            return;
        }
        let next = tiles.iter().skip(at).take(2 * TOLD_TILE_COUNT);
        let next =
            next.filter_map(|&(fragment_idx, tile_idx)| Some((sources[fragment_idx].as_ref()?, tile_idx)));
        let (mut byte_len, limit) = (0_u64, self.fetch.announced_byte_len(0));
        let next = next.take_while(|(source, tile_idx)| {
            let is_within = byte_len < limit;
            byte_len = byte_len.saturating_add(self.fetch.filtered_byte_len(source, *tile_idx));
            is_within
        });
        self.fetch.announce(next, 0);
    }

    /// Tells a near store whose reads wait which tiles the pieces of a task need, when the read comes to a piece that it was not told of
    /// long enough before.
    ///
    /// # Errors
    /// `Cancelled`, and what [`shares`](DensePlan::shares) reports.
    pub(super) fn tell_pieces<'p, I: Iterator<Item = Piece<'p>> + 'p>(
        &self,
        told: &mut Told<'p>,
        sources: &[Option<FieldSource>],
        at: usize,
        pieces: impl FnOnce() -> I,
    ) -> Result<()> {
        if at < told.due_at || self.fetch.is_distant() || !self.fetch.runs_ahead() {
            return Ok(());
        }
        let untold = told.untold.get_or_insert_with(|| Box::new(pieces().enumerate()));
        let limit = self.fetch.announced_byte_len(0);
        let (mut byte_len, mut first, mut tiles) = (0_u64, None, Vec::new());
        for (idx, piece) in untold.by_ref().skip_while(|(idx, _)| *idx < at) {
            self.fetch.check()?;
            first = first.or(Some(idx));
            for share in self.shares(&piece, sources)?.0 {
                if let Some(source) = &sources[share.fragment_idx]
                    && self.reads_whole(source, &share)?
                {
                    byte_len = byte_len.saturating_add(self.fetch.filtered_byte_len(source, share.tile_idx));
                    tiles.push((source, share.tile_idx));
                }
            }
            if byte_len >= limit {
                break;
            }
        }
        // The next share is due when the read comes to this one.
        told.due_at = first.map_or(usize::MAX, |first| first.max(at + 1));
        self.fetch.announce(tiles.into_iter(), 0);
        Ok(())
    }

    /// Whether a share is read with all of its tile: of tiles that no filter touched only the wanted cells are.
    fn reads_whole(&self, source: &FieldSource, share: &Share<'_>) -> Result<bool> {
        if !source.codec.data().is_plain() || share.is_single_cell() {
            return Ok(true);
        }
        let sides = share.rect.iter().map(|side| side.hi.abs_diff(side.lo) as usize);
        let cell_count = sides.fold(1_usize, |count, side| count.saturating_mul(side.saturating_add(1)));
        Ok(cell_count.saturating_mul(2) >= self.tile_cell_count()?)
    }
}
