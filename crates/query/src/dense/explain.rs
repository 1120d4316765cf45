//! What a dense read is going to do.

use super::DenseBatches;
use super::boxes::contiguous_parts;
use super::reader::{DenseField, DensePlan, Purpose};
use super::target::Target;
use crate::condition::Verdict;
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
        let (met, read) = self.plan.met_tiles(&mut explanation)?;
        let count = |tiles: &HashSet<(usize, usize)>, idx: usize| {
            tiles.iter().filter(|(fragment_idx, _)| *fragment_idx == idx).count() as u64
        };
        for (idx, fragment) in snapshot.fragments().iter().enumerate() {
            let (met_tile_count, read_tile_count) = (count(&met, idx), count(&read, idx));
            let fate = match (met_tile_count, read_tile_count) {
                (0, _) => FragmentFate::OutsideRanges,
                (_, 0) => FragmentFate::RuledOut,
                _ => FragmentFate::Read,
            };
            explanation.fragments.push(ExplainedFragment {
                name: fragment.name().to_string(),
                fate,
                tile_count: fragment.tile_count(),
                met_tile_count,
                read_tile_count,
            });
        }
        Ok(explanation)
    }
}

impl DensePlan<'_> {
    /// The tiles that show in the result, by fragment, and those of them that the read needs; the bytes and requests of the
    /// latter are added up.
    #[expect(clippy::type_complexity, reason = "read in one place")]
    fn met_tiles(
        &self,
        explanation: &mut Explanation,
    ) -> Result<(HashSet<(usize, usize)>, HashSet<(usize, usize)>)> {
        let looked_at = self.filter.iter().flat_map(|filter| {
            let fields = filter.fields.iter().zip(&filter.results);
            fields.filter(|(_, result)| result.is_none()).map(|(field, _)| (field, Purpose::Condition))
        });
        let fields: Vec<_> =
            self.fields.iter().map(|field| (field, Purpose::Result)).chain(looked_at).collect();
        let (mut met, mut read) = (HashSet::new(), HashSet::new());
        let mut by_field: Vec<HashSet<(usize, usize)>> = vec![HashSet::new(); fields.len()];
        let whole = self.axes.iter().map(|axis| 0..axis.len).collect();
        for part in contiguous_parts(&self.axes, whole, Layout::RowMajor, u64::MAX) {
            let target = Target::of_part(&self.grid, &self.axes, &part, Layout::RowMajor)?;
            for piece in target.pieces() {
                let verdict = match &self.filter {
                    Some(filter) => self.verdict(filter, &piece)?,
                    None => Verdict::Some,
                };
                for ((field, purpose), of_field) in fields.iter().zip(&mut by_field) {
                    let DenseField::Attribute { sources, .. } = field else { continue };
                    for share in self.shares(&piece, sources)?.0 {
                        let tile = (share.fragment_idx, share.tile_idx);
                        let Some(source) = sources[share.fragment_idx].as_ref() else { continue };
                        met.insert(tile);
                        if purpose.wants(verdict) && of_field.insert(tile) {
                            let (requests, bytes) = stored_cost(source, share.tile_idx)?;
                            explanation.request_count += requests;
                            explanation.byte_len += bytes;
                            read.insert(tile);
                        }
                    }
                }
            }
        }
        Ok((met, read))
    }
}
