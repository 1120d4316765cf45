//! The batches of a sparse read: stretch after stretch, each in the way that is cheapest for it.

use super::independent::StoredCells;
use super::plan::{Slab, SparsePlan, Stretch};
use super::slabs::Slabs;
use super::windows::Windows;
use crate::explanation::{Explanation, Strategy};
use crate::folded::{self, Folded};
use crate::gather::Room;
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT};
use smalti_types::Result;

/// The batches of a sparse read.
pub(crate) struct SparseBatches {
    plan: SparsePlan,
    /// The stretch that comes next.
    next: usize,
    current: Current,
    /// Of an aggregate: whether the statistics were asked.
    is_summarised: bool,
}

/// The stretch that is being read.
enum Current {
    None,
    /// Tile after tile.
    Stored(StoredCells),
    /// All cells at once, or slab after slab.
    Slabs(Box<Slabs>),
    /// As memory allows.
    Windows(Box<Windows>),
}

impl SparseBatches {
    pub(crate) fn new(plan: SparsePlan) -> Self {
        SparseBatches { plan, next: 0, current: Current::None, is_summarised: false }
    }

    /// The plan, for those who ask what it knows.
    pub(crate) fn plan(&self) -> &SparsePlan {
        &self.plan
    }

    /// Whether the next cells are there already.
    pub(crate) fn are_ready(&self) -> bool {
        matches!(&self.current, Current::Stored(stored) if stored.is_ready())
    }

    /// Whether it is known that no cells are left, without looking for any.
    pub(crate) fn are_over(&self) -> bool {
        let is_current_over = match &self.current {
            Current::None => true,
            Current::Stored(stored) => stored.is_over(),
            Current::Slabs(slabs) => slabs.is_over(),
            Current::Windows(_) => false,
        };
        is_current_over && self.next >= self.plan.stretches.len()
    }

    /// The next cells of the read, at most so many unless a single tile has more, into `rooms` where they hold them; `None` at the end.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn pull(&mut self, max_cell_count: usize, rooms: &mut [Room<'_>]) -> Result<Option<Batch>> {
        loop {
            let plan = &self.plan;
            let pulled = match &mut self.current {
                Current::None => None,
                Current::Stored(stored) => plan.next_stored(stored, max_cell_count, rooms)?,
                Current::Slabs(slabs) => plan.next_of_slabs(slabs, max_cell_count, rooms)?,
                Current::Windows(windows) => plan.next_of_windows(windows, max_cell_count)?,
            };
            if pulled.is_some() {
                return Ok(pulled);
            }
            // What the last stretch holds goes before the next one takes memory.
            self.current = Current::None;
            let Some(stretch) = plan.stretches.get(self.next) else { return Ok(None) };
            self.next += 1;
            self.current = match strategy(plan, stretch)? {
                (Strategy::TileByTile, _) => Current::Stored(StoredCells::new(stretch.tiles.clone())),
                (Strategy::SortedByWindows, _) => {
                    Current::Windows(Box::new(plan.windows(stretch.tiles.clone())?))
                }
                (_, slabs) => Current::Slabs(Box::new(plan.begin_slabs(stretch, slabs)?)),
            };
        }
    }

    /// Folds the next cells of an aggregate; `false` when there are none.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn fold_next(&mut self, folded: &mut [Folded]) -> Result<bool> {
        if !self.is_summarised {
            self.is_summarised = true;
            self.plan.summarise(folded)?;
        }
        let batch = self.pull(DEFAULT_BATCH_CELL_COUNT, &mut [])?;
        if let Some(batch) = &batch {
            folded::add_batch(folded, batch);
        }
        Ok(batch.is_some())
    }

    /// Explains the read.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn explanation(&self) -> Result<Explanation> {
        let strategies = self
            .plan
            .stretches
            .iter()
            .map(|stretch| strategy(&self.plan, stretch).map(|(strategy, _)| strategy));
        let strategies = strategies.collect::<Result<Vec<_>>>()?;
        let is_any = |wanted| strategies.contains(&wanted);
        self.plan.explanation(match &strategies[..] {
            _ if is_any(Strategy::SortedByWindows) => Strategy::SortedByWindows,
            _ if !is_any(Strategy::SortedAtOnce) && !is_any(Strategy::Stretches) => Strategy::TileByTile,
            [only] => *only,
            _ => Strategy::Stretches,
        })
    }
}

/// How many times as many cells as are wanted a stretch has that is not sorted as a whole for them.
const WORTH_WINDOWS: usize = 4;

/// How a stretch is read, and in which slabs if it is sorted.
fn strategy(plan: &SparsePlan, stretch: &Stretch) -> Result<(Strategy, Vec<Slab>)> {
    let enough = plan.limit.and_then(|limit| usize::try_from(limit).ok()?.checked_mul(WORTH_WINDOWS));
    if stretch.is_stored {
        return Ok((Strategy::TileByTile, Vec::new()));
    }
    // The windows end where there is enough, and decode the fields of these cells alone.
    if enough.is_some_and(|enough| stretch.cell_count > enough) {
        return Ok((Strategy::SortedByWindows, Vec::new()));
    }
    let slabs = plan.slabs_of(stretch)?;
    Ok(match slabs.len() {
        _ if !plan.holds_each(&slabs)? => (Strategy::SortedByWindows, Vec::new()),
        1 => (Strategy::SortedAtOnce, slabs),
        _ => (Strategy::Stretches, slabs),
    })
}
