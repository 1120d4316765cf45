//! Fragments that were merged, and that no vacuum file hides.

use super::Check;
use super::commits::Commits;
use super::data::TileSource;
use super::files::fields_of;
use super::finding::{Class, Finding, FindingKind};
use super::fragment::Fragments;
use smalti_array::{FieldId, Fragment, field_name};
use smalti_tile::{Column, Scratch};
use smalti_types::Result;
use std::collections::{BTreeMap, HashMap};
use twox_hash::XxHash3_128;

/// How many cells there are of each hash.
type Cells = HashMap<u128, u64>;

impl Check<'_> {
    /// Looks at merged fragments of arrays that allow duplicates: where one has, beside what its vacuum file lists, the cells of a
    /// fragment that is read beside it, at their time, the other was merged, and its cells are read twice.
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
            let inside: Vec<&Fragment> = inside.copied().collect();
            if inside.is_empty() {
                continue;
            }
            let counts = self.cells_by_time(merged)?;
            let listed = commits.vacuums.iter().chain(&commits.pending);
            let listed = listed.filter(|(_, name, _)| name == merged.name());
            let listed: Vec<&Fragment> = listed
                .flat_map(|(_, _, list)| &list.names)
                .filter_map(|name| fragments.get(name)?.as_ref())
                .collect();
            for other in inside {
                let time = other.name().range().start;
                let count = counts.get(&time).copied().unwrap_or_default();
                let may_be_in = count > 0 && other.cell_count().is_some_and(|cell_count| count >= cell_count);
                // Other cells of the same millisecond prove nothing.
                if may_be_in && self.has_cells_of(merged, &listed, other)? != Some(false) {
                    self.note_unlisted(merged, other, time);
                    break;
                }
            }
        }
        Ok(())
    }

    fn note_unlisted(&mut self, merged: &Fragment, other: &Fragment, time: u64) {
        let Some((_, folder)) = self.survey.fragments.get(merged.name().as_str()) else { return };
        let message = format!(
            "it has the cells of the time {time} that {} has, which no vacuum file lists: if that was merged, its cells are read twice",
            other.name()
        );
        let finding = Finding::new(FindingKind::VacuumMissing, Class::Misleading, folder, message);
        self.add(finding.not_mended(
            "which fragments were merged is not written anywhere else; compare `smalti fragments`",
        ));
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

    /// Whether a merged fragment has all cells of another one, at their time, beside those of the fragments that are listed as merged;
    /// `None` where tiles cannot be decoded.
    fn has_cells_of(
        &self,
        merged: &Fragment,
        listed: &[&Fragment],
        other: &Fragment,
    ) -> Result<Option<bool>> {
        let (names, time) = (common_fields(merged, other), other.name().range().start);
        let mut wanted = Cells::new();
        let is_read =
            self.each_cell(other, &names, time, &mut |cell| *wanted.entry(cell).or_default() += 1)?;
        let mut is_whole = is_read;
        for fragment in
            listed.iter().filter(|fragment| fragment.name().range().contains(other.name().range()))
        {
            let is_known = names.iter().all(|name| field_of(fragment, name).is_some());
            is_whole &= is_known
                && self.each_cell(fragment, &names, time, &mut |cell| {
                    wanted.entry(cell).and_modify(|count| *count += 1);
                })?;
        }
        is_whole &= self.each_cell(merged, &names, time, &mut |cell| {
            wanted.entry(cell).and_modify(|count| *count = count.saturating_sub(1));
        })?;
        Ok(is_whole.then(|| wanted.values().all(|count| *count == 0)))
    }

    /// Hands over the hash of every cell that a fragment has of a time; false where tiles cannot be decoded.
    fn each_cell(
        &self,
        fragment: &Fragment,
        names: &[String],
        time: u64,
        visit: &mut dyn FnMut(u128),
    ) -> Result<bool> {
        let mut sources = Vec::new();
        let has_times = fragment.footer().includes_timestamps;
        let fields = names.iter().map(|name| field_of(fragment, name));
        for field in fields.chain(has_times.then_some(Some(FieldId::Timestamps))) {
            let source = field.and_then(|field| TileSource::new(self.place, fragment, field).ok());
            let Some(source) = source else { return Ok(false) };
            sources.push(source);
        }
        let mut scratch = Scratch::new();
        for tile in 0..usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX) {
            self.check_cancelled()?;
            let Ok(cell_count) = fragment.cell_count_of_tile(tile as u64) else { return Ok(false) };
            let mut columns: Vec<Column> = Vec::new();
            for source in &sources {
                let Ok(column) = source.decode(tile, &mut scratch) else { return Ok(false) };
                columns.push(column);
            }
            let times = if has_times { columns.pop() } else { None };
            for cell in 0..cell_count {
                let is_of_time = times.as_ref().is_none_or(|times| times.data.values::<u64>()[cell] == time);
                if is_of_time {
                    visit(hash_of(&sources, &columns, cell));
                }
            }
        }
        Ok(true)
    }
}

fn hash_of(sources: &[TileSource<'_>], columns: &[Column], cell: usize) -> u128 {
    let mut bytes = Vec::new();
    for (source, column) in sources.iter().zip(columns) {
        let column = column.as_ref();
        if column.is_valid(cell) {
            let value = column.cell(cell, source.codec.shape().cell_byte_len());
            bytes.extend((value.len() as u64).to_le_bytes());
            bytes.extend_from_slice(value);
        } else {
            bytes.extend(u64::MAX.to_le_bytes());
        }
    }
    XxHash3_128::oneshot(&bytes)
}

/// The names of the dimensions, and of the attributes that two fragments have alike.
fn common_fields(a: &Fragment, b: &Fragment) -> Vec<String> {
    let dimensions = a.schema().dimensions.iter().map(|dimension| dimension.name.clone());
    let is_alike = |name: &str| {
        let of = |fragment: &Fragment| {
            let (_, attribute) = fragment.schema().attribute(name)?;
            Some((attribute.datatype, attribute.cell_val_num, attribute.nullable))
        };
        of(a) == of(b)
    };
    let attributes = a.schema().attributes.iter().map(|attribute| attribute.name.clone());
    dimensions.chain(attributes.filter(|name| is_alike(name))).collect()
}

fn field_of(fragment: &Fragment, name: &str) -> Option<FieldId> {
    let is_named = |field: &FieldId| {
        matches!(field, FieldId::Dimension(_) | FieldId::Attribute(_))
            && field_name(fragment.schema(), *field) == name
    };
    fields_of(fragment).into_iter().find(is_named)
}
