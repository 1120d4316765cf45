//! What a dense read is going to do.

use super::DenseBatches;
use super::plan::{DenseField, DensePlan};
use super::target::Target;
use super::task::Purpose;
use crate::condition::Verdict;
use crate::explanation::{ExplainedFragment, Explanation, FragmentFate, Strategy, blank, stored_cost};
use smalti_array::Snapshot;
use smalti_types::{Layout, Result};
use std::collections::HashSet;
use std::sync::Arc;

impl DenseBatches {
    /// Explains the read.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub(crate) fn explanation(&self, snapshot: &Snapshot) -> Result<Explanation> {
        let mut explanation = blank(snapshot, self.plan.layout, Strategy::DenseParts);
        explanation.memory_byte_len = self.plan.budget.byte_len();
        let (met, read) = self.plan.met_tiles(&mut explanation)?;
        let count = |tiles: HashSet<(usize, usize)>| {
            let mut counts = vec![0; self.plan.fragments.len()];
            tiles.iter().for_each(|(fragment_idx, _)| counts[*fragment_idx] += 1);
            counts
        };
        let (met, read): (Vec<u64>, Vec<u64>) = (count(met), count(read));
        // The plan has the fragments that the ranges meet, in the same order.
        let mut planned = self.plan.fragments.iter().zip(met.into_iter().zip(read)).peekable();
        for fragment in snapshot.fragments() {
            let counts = planned.next_if(|(planned, _)| Arc::ptr_eq(&planned.fragment, fragment));
            let (met_tile_count, read_tile_count) = counts.map_or((0, 0), |(_, counts)| counts);
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

impl DensePlan {
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
        self.each_written(&mut |axes, part| {
            // The shape of the target does not matter, only what lies in it.
            let target = Target::of_part(&self.grid, axes, &part, Layout::RowMajor)?;
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
            Ok(())
        })?;
        Ok((met, read))
    }
}
