//! How long values of any length are: a guess at how many cells fit into buffers.

use crate::fetch::Fetch;
use crate::source::FieldSource;

/// Tiles whose values are counted for a mean.
const MEAN_OF_TILES: usize = 16;

impl Fetch {
    /// The mean bytes of the values of a cell of a field of any length, as the metadata of some tiles says; `cell_count` is that of a tile. A
    /// distant store is not asked for it: `None` where nothing is at hand.
    pub(crate) fn mean_var_byte_len<'s>(
        &self,
        sources: impl Iterator<Item = &'s FieldSource>,
        cell_count: impl Fn(&FieldSource, usize) -> Option<usize>,
    ) -> Option<usize> {
        let of_tile = |FieldSource { fragment, field, .. }: &FieldSource, tile_idx| match self.is_distant() {
            true => fragment.known_var_byte_len(*field, tile_idx),
            false => fragment.var_byte_len(*field, tile_idx).ok(),
        };
        let of_source = |source: &FieldSource| {
            let tile_count = usize::try_from(source.fragment.tile_count()).unwrap_or(usize::MAX);
            let tiles = (0..tile_count).step_by(tile_count.div_ceil(MEAN_OF_TILES).max(1));
            let (mut byte_len, mut cells) = (0usize, 0usize);
            for tile_idx in tiles {
                byte_len = byte_len.saturating_add(of_tile(source, tile_idx)?);
                cells = cells.saturating_add(cell_count(source, tile_idx)?);
            }
            (cells > 0).then(|| byte_len.div_ceil(cells))
        };
        let mean = sources.take(MEAN_OF_TILES).filter_map(of_source).max();
        mean.or_else(|| (!self.is_distant()).then_some(0))
    }
}
