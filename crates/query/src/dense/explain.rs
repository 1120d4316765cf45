//! What a dense read is going to do.

use super::DenseBatches;
use super::boxes::contiguous_parts;
use super::reader::{DenseField, DensePlan};
use super::target::{pieces, targets_of_part};
use crate::explain::{ExplainedFragment, Explanation, FragmentFate, Strategy, blank, stored_cost};
use smalti_array::Snapshot;
use smalti_types::{Layout, Result};
use std::collections::HashSet;

impl DenseBatches<'_> {
    /// Explains the read.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub(crate) fn explanation(&self, snapshot: &Snapshot) -> Result<Explanation> {
        let mut explanation = blank(snapshot, self.plan.layout, Strategy::DenseParts);
        explanation.memory_byte_len = self.plan.budget.byte_len();
        let met = self.plan.met_tiles(&mut explanation)?;
        for (idx, fragment) in snapshot.fragments().iter().enumerate() {
            let read_tile_count = met.iter().filter(|(fragment_idx, _)| *fragment_idx == idx).count() as u64;
            let fate = if read_tile_count == 0 { FragmentFate::OutsideRanges } else { FragmentFate::Read };
            explanation.fragments.push(ExplainedFragment {
                name: fragment.name().to_string(),
                fate,
                tile_count: fragment.tile_count(),
                met_tile_count: read_tile_count,
                read_tile_count,
            });
        }
        Ok(explanation)
    }
}

impl DensePlan<'_> {
    /// The tiles that the read needs, by fragment; their bytes and requests are added up.
    fn met_tiles(&self, explanation: &mut Explanation) -> Result<HashSet<(usize, usize)>> {
        let mut met = HashSet::new();
        let looked_at = self.filter.iter().flat_map(|filter| {
            filter
                .fields
                .iter()
                .zip(&filter.results)
                .filter(|(_, result)| result.is_none())
                .map(|(field, _)| field)
        });
        for field in self.fields.iter().chain(looked_at) {
            let DenseField::Attribute { sources, .. } = field else { continue };
            let mut of_field = HashSet::new();
            let whole = self.axes.iter().map(|axis| 0..axis.len).collect();
            for part in contiguous_parts(&self.axes, whole, Layout::RowMajor, u64::MAX) {
                for target in targets_of_part(&self.axes, &part, Layout::RowMajor)? {
                    for piece in pieces(&self.grid, &target)? {
                        for share in self.shares(&piece, sources)?.0 {
                            let tile = (share.fragment_idx, share.tile_idx);
                            let Some(source) = sources[share.fragment_idx].as_ref() else { continue };
                            if of_field.insert(tile) {
                                let (requests, bytes) = stored_cost(source, share.tile_idx)?;
                                explanation.request_count += requests;
                                explanation.byte_len += bytes;
                                met.insert(tile);
                            }
                        }
                    }
                }
            }
        }
        Ok(met)
    }
}
