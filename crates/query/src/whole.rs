//! Tiles of cells of any length that are wanted as they are: decoded where their cells go, so that nothing is copied.

use crate::fetch::Fetch;
use crate::gather::{CellRun, WholeTiles};
use crate::source::FieldSource;
use crate::workspace::Workspaces;
use smalti_tile::VarPlaces;
use smalti_types::{Error, Result};

/// The tiles of a column, by the slots of its runs.
pub(crate) struct Whole<'r> {
    fetch: &'r Fetch,
    workspaces: &'r Workspaces,
    tiles: Vec<Option<WholeTile<'r>>>,
    /// Is told the slot of each tile before it is read.
    before: &'r (dyn Fn(usize) + Sync),
}

struct WholeTile<'r> {
    source: &'r FieldSource,
    tile_idx: usize,
    var_byte_len: usize,
}

impl<'r> Whole<'r> {
    /// Of so many slots, none of which goes whole yet; `before` is told the slot of each one that does before it is read.
    pub(crate) fn new(
        fetch: &'r Fetch,
        workspaces: &'r Workspaces,
        slot_count: usize,
        before: &'r (dyn Fn(usize) + Sync),
    ) -> Self {
        Whole { fetch, workspaces, tiles: (0..slot_count).map(|_| None).collect(), before }
    }

    /// Takes the tile of a slot, of which all cells are wanted once; [`Fetch::whole_var_byte_len`] has told the bytes of its values.
    pub(crate) fn take(
        &mut self,
        slot: usize,
        source: &'r FieldSource,
        tile_idx: usize,
        var_byte_len: usize,
    ) {
        self.tiles[slot] = Some(WholeTile { source, tile_idx, var_byte_len });
    }

    /// Whether the tile of a slot goes whole.
    pub(crate) fn has(&self, slot: usize) -> bool {
        self.tiles[slot].is_some()
    }

    fn tile(&self, slot: u32) -> Result<&WholeTile<'r>> {
        let tile = self.tiles.get(slot as usize).and_then(Option::as_ref);
        tile.ok_or_else(|| Error::corrupt("a tile that does not go whole was taken for one"))
    }
}

/// For each of some slots whether one run has all of the cells that `cell_count` says it has, and no other any of it.
pub(crate) fn wanted_whole<'r>(
    runs: impl Iterator<Item = &'r CellRun>,
    slot_count: usize,
    cell_count: impl Fn(usize) -> usize,
) -> Vec<bool> {
    let (mut met, mut is_whole) = (vec![false; slot_count], vec![false; slot_count]);
    for run in runs {
        let slot = run.slot as usize;
        if slot < slot_count {
            is_whole[slot] = !met[slot] && run.start == 0 && run.len as usize == cell_count(slot);
            met[slot] = true;
        }
    }
    is_whole
}

impl WholeTiles for Whole<'_> {
    fn var_byte_len(&self, slot: u32) -> Option<usize> {
        self.tiles.get(slot as usize)?.as_ref().map(|tile| tile.var_byte_len)
    }

    fn decode(&self, slot: u32, data: &mut [u8], ends: &mut [u64], validity: &mut [u8]) -> Result<()> {
        let WholeTile { source, tile_idx, .. } = self.tile(slot)?;
        (self.before)(slot as usize);
        self.workspaces.with(|workspace| {
            self.fetch.whole_tile(source, *tile_idx, VarPlaces { data, ends, validity }, workspace)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_wanted_whole_if_one_run_has_all_of_it() {
        let run = |slot, start, len| CellRun { slot, start, len };
        let runs = [run(0, 0, 5), run(1, 0, 4), run(2, 1, 4), run(3, 0, 5), run(3, 0, 5), run(4, 0, 1)];
        let told = wanted_whole(runs.iter(), 4, |_| 5);
        assert_eq!(told, [true, false, false, false], "slots behind the tiles are those of fill values");
    }
}
