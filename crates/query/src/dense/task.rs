//! What a dense read is divided into: contiguous pieces of its output, and what each fragment gives to them.

use super::target::{Piece, Target};
use crate::condition::Verdict;
use smalti_space::{Cross, Interval};

/// A contiguous piece of the output and what fills it.
pub(super) struct Task {
    pub(super) target: Target,
    pub(super) cell_count: usize,
    /// What the condition says about the pieces of the target, one after the other; empty without a condition.
    pub(super) verdicts: Vec<Verdict>,
}

/// What a field is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// For the result: of pieces that are ruled out nothing is read.
    Result,
    /// For the condition alone: only pieces are read of which nothing is known.
    Condition,
}

impl Purpose {
    pub(super) fn wants(self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::None => false,
            Verdict::Some => true,
            Verdict::All => self == Purpose::Result,
        }
    }
}

impl Task {
    pub(super) fn new(target: Target, cell_count: usize) -> Self {
        Task { target, cell_count, verdicts: Vec::new() }
    }

    /// The pieces of the target that are read for a purpose.
    pub(super) fn pieces(&self, purpose: Purpose) -> impl Iterator<Item = Piece<'_>> {
        let mut verdicts = self.verdicts.iter();
        let is_wanted = move |_: &Piece<'_>| verdicts.next().is_none_or(|verdict| purpose.wants(*verdict));
        self.target.pieces().filter(is_wanted)
    }
}

/// A fragment's share of a piece.
pub(super) struct Share<'p> {
    pub(super) fragment_idx: usize,
    pub(super) tile_idx: usize,
    pub(super) rect: Vec<Interval>,
    pub(super) piece: &'p Piece<'p>,
    /// The index in the tile of a cell that was written alone.
    pub(super) cell: Option<usize>,
}

impl Share<'_> {
    /// Whether it is a cell that was written alone.
    pub(super) fn is_single_cell(&self) -> bool {
        self.cell.is_some()
    }

    /// Its cells, from the tile to the output.
    pub(super) fn cells(&self) -> Cross {
        self.piece.cells(&self.rect)
    }
}
