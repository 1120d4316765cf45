//! What a sparse read is going to do.

use super::plan::SparsePlan;
use crate::explanation::{ExplainedFragment, Explanation, FragmentFate, Strategy, blank, stored_cost};
use smalti_array::FieldId;
use smalti_types::Result;

impl SparsePlan {
    /// Explains the read.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub(crate) fn explanation(&self, strategy: Strategy) -> Result<Explanation> {
        let mut explanation = blank(&self.snapshot, self.layout, strategy);
        explanation.memory_byte_len = self.budget.byte_len();
        let mut read_counts = vec![0u64; self.fragments.len()];
        let tiles = self.stretches.iter().flat_map(|stretch| {
            self.tiles[stretch.tiles.clone()].iter().map(|tile| (tile, stretch.is_stored))
        });
        for (tile, is_stored) in tiles {
            read_counts[tile.fragment_idx] += 1;
            let fragment = &self.fragments[tile.fragment_idx];
            let wants_coords = !tile.is_covered || !is_stored || tile.is_side_by_side;
            let fields = self.fields.iter().zip(&fragment.sources);
            let fields = fields
                .filter(|(field, _)| !wants_coords || !matches!(field.id, FieldId::Dimension(_)))
                .filter_map(|(_, source)| source.as_ref());
            for source in fields.chain(fragment.dims.iter().filter(|_| wants_coords)) {
                let (requests, bytes) = stored_cost(source, tile.tile_idx)?;
                explanation.request_count += requests;
                explanation.byte_len += bytes;
            }
        }
        for (fragment, seen) in self.snapshot.fragments().iter().zip(self.seen.iter().rev()) {
            let read_tile_count = seen.fragment_idx.map_or(0, |idx| read_counts[idx]);
            let fate = match (seen.is_in_ranges, seen.fragment_idx) {
                (false, _) => FragmentFate::OutsideRanges,
                (true, None) => FragmentFate::NoTileMet,
                (true, Some(_)) if read_tile_count == 0 => FragmentFate::RuledOut,
                (true, Some(_)) => FragmentFate::Read,
            };
            explanation.fragments.push(ExplainedFragment {
                name: fragment.name().to_string(),
                fate,
                tile_count: fragment.tile_count(),
                met_tile_count: seen.met_tile_count as u64,
                read_tile_count,
            });
        }
        Ok(explanation)
    }
}
