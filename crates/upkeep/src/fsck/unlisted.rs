//! Fragments that were merged, and that no vacuum file hides.

use super::Check;
use super::commits::Commits;
use super::data::TileSource;
use super::finding::{Class, Finding, FindingKind};
use super::fragment::Fragments;
use smalti_array::{FieldId, Fragment};
use smalti_tile::Scratch;
use smalti_types::Result;
use std::collections::BTreeMap;

impl Check<'_> {
    /// Looks at merged fragments of arrays that allow duplicates: where one has as many cells of a time as a fragment of that
    /// time that is read beside it, the other was merged, and its cells are read twice.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn unlisted(&mut self, fragments: &Fragments, commits: &Commits) -> Result<()> {
        let shown: Vec<&Fragment> = fragments
            .iter()
            .filter(|(name, _)| !commits.replaced.contains(*name))
            .filter_map(|(_, fragment)| fragment.as_ref())
            .collect();
        let is_merged = |fragment: &Fragment| {
            let range = fragment.name().range();
            range.start < range.end && fragment.footer().includes_timestamps && fragment.schema().allows_dups
        };
        for merged in shown.iter().filter(|fragment| is_merged(fragment)) {
            let inside = shown.iter().filter(|other| {
                let range = other.name().range();
                range.start == range.end && merged.name().range().contains(range)
            });
            let inside: BTreeMap<u64, &Fragment> =
                inside.map(|other| (other.name().range().start, *other)).collect();
            if inside.is_empty() {
                continue;
            }
            let counts = self.cells_by_time(merged)?;
            let is_in = |(time, other): &(&u64, &&Fragment)| {
                let count = counts.get(*time).copied().unwrap_or_default();
                count > 0 && other.cell_count().is_some_and(|cell_count| count >= cell_count)
            };
            let Some((time, other)) = inside.iter().find(is_in) else { continue };
            let Some((_, folder)) = self.survey.fragments.get(merged.name().as_str()) else { continue };
            let message = format!(
                "it has cells of the time {time}, as {} has, which no vacuum file lists: if that was merged, its cells are read twice",
                other.name()
            );
            let finding = Finding::new(FindingKind::VacuumMissing, Class::Misleading, folder, message);
            self.add(finding.not_mended(
                "which fragments were merged is not written anywhere else; compare `smalti fragments`",
            ));
        }
        Ok(())
    }

    /// How many cells of each time a fragment has, as far as its tiles can be decoded.
    fn cells_by_time(&self, fragment: &Fragment) -> Result<BTreeMap<u64, u64>> {
        let mut counts = BTreeMap::new();
        let Ok(times) = TileSource::new(self.place, fragment, FieldId::Timestamps) else { return Ok(counts) };
        let mut scratch = Scratch::new();
        for tile in 0..usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX) {
            self.check_cancelled()?;
            let Ok(column) = times.decode(tile, &mut scratch) else { continue };
            for time in column.data.values::<u64>() {
                *counts.entry(*time).or_default() += 1;
            }
        }
        Ok(counts)
    }
}
