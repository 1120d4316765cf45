//! What was salvaged, in a new array.

use super::{LostCells, OlderCells, Salvage};
use smalti_array::{ArrayPlace, Definitions, Snapshot};
use smalti_format::{ArraySchema, MetadataEntry, Rule, Version};
use smalti_query::{
    Batch, Duplicates, GlobalWriter, Phase, ReadRequest, ResultField, Unit, WriteRequest, read, write,
    written_regions,
};
use smalti_store::{LEFTOVER_PREFIX, StoreExt, join, split};
use smalti_tile::ColumnRef;
use smalti_types::{AlignedBuf, Error, ErrorKind, Extent, Layout, Result, TimeRange};
use std::sync::Arc;

/// Cells of a dense array that are read and written at once, as far as its tiles let them be cut.
const SLAB_CELL_COUNT: u64 = 1 << 22;

impl Salvage {
    /// Creates an array at `target` with the newest schema, and writes what the view shows: cells as of now, metadata, and the
    /// arrays of dimension labels. Times of writes are not taken along. Returns the number of cells.
    ///
    /// The array is made under a temporary name, and gets its own when it is complete.
    ///
    /// # Errors
    /// `AlreadyExists` when something is at the target; `Cancelled`; what reads and writes report. Nothing is at the target
    /// then.
    pub fn write_to(&mut self, target: &ArrayPlace) -> Result<u64> {
        let progress = Arc::clone(&self.progress);
        let _announced = progress.announce(&[Phase::Copying, Phase::Publishing]);
        let store = target.store();
        if store.file_exists(target.path())? || !store.list(target.path())?.is_empty() {
            let message = "something is here already; give the path of a new array";
            return Err(Error::new(ErrorKind::AlreadyExists, message).at_uri(target.uri()));
        }
        let id = target.new_id()?;
        let name = format!(
            "{LEFTOVER_PREFIX}{:016x}",
            u64::from_be_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|at| id[at]))
        );
        let staged = beside(target, &join(split(target.path()).0, &name));
        let written = self.fill(&staged).and_then(|cell_count| {
            progress.check()?;
            progress.enter(Phase::Publishing, Unit::Steps, Some(1));
            store.move_folder(staged.path(), target.path())?;
            progress.complete(Phase::Publishing);
            Ok(cell_count)
        });
        if written.is_err() {
            // What cannot be removed is found by a later check.
            let _ = store.delete_folders(&[staged.path()]);
        }
        written
    }

    fn fill(&mut self, target: &ArrayPlace) -> Result<u64> {
        let source = Snapshot::open(self.place.clone(), TimeRange::ALL)?;
        let labels = self.labels(&source)?;
        let cell_counts = labels.iter().chain([&source]).map(Snapshot::held_cell_count);
        self.progress.enter(Phase::Copying, Unit::Cells, cell_counts.sum());
        let (schema, definitions) = self.definitions(&source, &labels);
        target.create_with(&schema, &definitions)?;
        for (label, source) in schema.dimension_labels.iter().zip(&labels) {
            self.copy(source, &beside(target, &target.join(label.path()?)))?;
        }
        let cell_count = self.copy(&source, target)?;
        self.fill_older(target)?;
        self.progress.complete(Phase::Copying);
        Ok(cell_count)
    }

    /// Writes fill values over what a dense array shows of before something that is lost, where that is to be left out.
    fn fill_older(&self, target: &ArrayPlace) -> Result<()> {
        let boxes = self.older.cells.iter().filter(|_| self.leaves_out_older);
        for OlderCells { extents, .. } in boxes {
            let snapshot = Snapshot::open(target.clone(), TimeRange::ALL)?;
            if !snapshot.schema().is_dense() {
                break;
            }
            for subarray in parts_of(extents) {
                self.progress.check()?;
                write_fill(&snapshot, subarray)?;
            }
        }
        Ok(())
    }

    /// The arrays of the labels that are left.
    fn labels(&self, source: &Snapshot) -> Result<Vec<Snapshot>> {
        let labels = source.schema().dimension_labels.iter();
        let labels = labels.filter(|label| !self.lost_labels.contains(&label.name));
        labels.map(|label| source.open_label(label)).collect()
    }

    /// Writes the metadata and the cells of an array to a new one.
    fn copy(&self, source: &Snapshot, target: &ArrayPlace) -> Result<u64> {
        let metadata = source.place().metadata(TimeRange::ALL)?;
        let entries = metadata.into_iter().map(|(key, value)| MetadataEntry { key, value: Some(value) });
        let entries: Vec<MetadataEntry> = entries.collect();
        if !entries.is_empty() {
            target.put_known_metadata(entries, None)?;
        }
        if source.fragments().is_empty() {
            return Ok(0);
        }
        let new = Snapshot::open(target.clone(), TimeRange::ALL)?;
        if source.schema().is_dense() {
            self.copy_dense(source, &new)
        } else {
            self.copy_sparse(source, &new)
        }
    }

    /// The schema of the new array, without enumerations and labels that are lost.
    fn definitions(&mut self, source: &Snapshot, labels: &[Snapshot]) -> (ArraySchema, Definitions) {
        let mut schema = creatable(source);
        schema.dimension_labels.retain(|label| !self.lost_labels.contains(&label.name));
        let labels = labels.iter().map(creatable).collect();
        let mut definitions = Definitions { labels, ..Definitions::default() };
        for (name, _) in std::mem::take(&mut schema.enumerations) {
            match source.enumeration(&name) {
                Ok(enumeration) => definitions.enumerations.push((*enumeration).clone()),
                Err(error) => {
                    for attribute in &mut schema.attributes {
                        if attribute.enumeration.as_ref() == Some(&name) {
                            attribute.enumeration = None;
                        }
                    }
                    self.lost.push(LostCells {
                        name: format!("enumeration {name:?}"),
                        tile: None,
                        field: None,
                        cell_count: None,
                        reason: format!("its labels are lost, codes are kept: {}", error.message()),
                    });
                }
            }
        }
        (schema, definitions)
    }
}

/// A schema in a version that arrays can be created in.
fn creatable(source: &Snapshot) -> ArraySchema {
    let mut schema = (**source.schema()).clone();
    if !schema.version.has(Rule::CommitsFolder) {
        schema.version = Version::DEFAULT;
    }
    schema
}

/// Another path in the same store, with the same key and surroundings.
fn beside(place: &ArrayPlace, path: &str) -> ArrayPlace {
    let key = place.cipher().map(|cipher| cipher.key.clone());
    ArrayPlace::in_store(place.store().clone(), path.to_owned(), key, place.env().clone())
        .with_metadata_limit(place.metadata_limit())
}

fn columns<'a>(fields: &[ResultField], batch: &'a Batch, is_dense: bool) -> Vec<(String, ColumnRef<'a>)> {
    let wanted = fields.iter().zip(&batch.columns).filter(|(field, _)| !is_dense || !field.is_dimension);
    wanted.map(|(field, column)| (field.name.clone(), column.as_ref())).collect()
}

impl Salvage {
    fn copy_sparse(&self, source: &Snapshot, new: &Snapshot) -> Result<u64> {
        let batches =
            read(source, &ReadRequest { layout: Some(Layout::GlobalOrder), ..ReadRequest::default() })?;
        let fields = batches.fields().to_vec();
        // The oldest writers kept an order of their own, which a write in global order does not take.
        let is_ordered =
            source.fragments().iter().all(|fragment| !fragment.version().has(Rule::UnsoundBounds));
        let mut writer = None;
        let mut cell_count = 0;
        for batch in batches {
            let batch = batch?;
            self.progress.check()?;
            cell_count += batch.cell_count as u64;
            let columns = columns(&fields, &batch, false);
            if is_ordered {
                let writer = match &mut writer {
                    Some(writer) => writer,
                    none => {
                        let writer = GlobalWriter::new(new, None, None)?;
                        none.insert(writer.watched(Arc::clone(&self.progress), None))
                    }
                };
                writer.submit(&columns)?;
                self.progress.advance(Phase::Copying, Unit::Cells, batch.cell_count as u64);
            } else if batch.cell_count > 0 {
                let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
                write(
                    new,
                    &WriteRequest {
                        columns,
                        subarray: None,
                        layout,
                        at: None,
                        duplicates,
                        progress: Some(Arc::clone(&self.progress)),
                    },
                )?;
            }
        }
        if let Some(writer) = writer.filter(|_| cell_count > 0) {
            writer.finalize()?;
        }
        Ok(cell_count)
    }

    fn copy_dense(&self, source: &Snapshot, new: &Snapshot) -> Result<u64> {
        let mut cell_count = 0;
        for region in written_regions(source)? {
            cell_count += self.copy_region(source, new, &region)?;
        }
        Ok(cell_count)
    }

    /// Copies the cells of a rectangle, slab by slab.
    fn copy_region(&self, source: &Snapshot, new: &Snapshot, region: &[Extent]) -> Result<u64> {
        let schema = source.schema();
        let sides: Vec<(u64, u64)> = region
            .iter()
            .map(|side| match side {
                Extent::Num { lo, hi } => Ok((*lo, *hi)),
                Extent::Str { .. } => Err(Error::corrupt("a dense dimension of strings")),
            })
            .collect::<Result<_>>()?;
        let Some((&(first, last), inner)) = sides.split_first() else { return Ok(0) };
        let row =
            inner.iter().fold(1_u64, |cells, (lo, hi)| cells.saturating_mul((hi - lo).saturating_add(1)));
        let extent =
            schema.dimensions.first().and_then(|dimension| dimension.extent_len()).unwrap_or(1).max(1);
        // Slabs of whole tiles, so that no tile is written twice.
        let rows = (SLAB_CELL_COUNT / row.max(1)).max(1).div_ceil(extent).saturating_mul(extent);
        let start = schema
            .dimensions
            .first()
            .and_then(|dimension| dimension.domain)
            .map_or(first, |(lo, _)| lo.ordinal());
        let mut cell_count = 0;
        let mut at = first;
        loop {
            let into_slab = (at.saturating_sub(start)) % rows;
            let end = at.saturating_add(rows - 1 - into_slab).min(last);
            let mut subarray = region.to_vec();
            subarray[0] = Extent::Num { lo: at, hi: end };
            let request = ReadRequest {
                ranges: subarray.iter().map(|side| vec![side.clone()]).collect(),
                layout: Some(Layout::RowMajor),
                batch_cell_count: Some(usize::MAX),
                ..ReadRequest::default()
            };
            let mut batches = read(source, &request)?;
            let slab = batches.join()?;
            self.progress.check()?;
            cell_count += slab.cell_count as u64;
            self.progress.advance(Phase::Copying, Unit::Cells, slab.cell_count as u64);
            let columns = columns(batches.fields(), &slab, true);
            let (layout, duplicates) = (Layout::RowMajor, Duplicates::Refuse);
            write(
                new,
                &WriteRequest {
                    columns,
                    subarray: Some(subarray),
                    layout,
                    at: None,
                    duplicates,
                    progress: Some(Arc::clone(&self.progress)),
                },
            )?;
            match end.checked_add(1).filter(|_| end < last) {
                Some(next) => at = next,
                None => return Ok(cell_count),
            }
        }
    }
}

/// A box in parts of at most [`SLAB_CELL_COUNT`] cells.
fn parts_of(extents: &[Extent]) -> impl Iterator<Item = Vec<Extent>> {
    let mut pending = vec![extents.to_vec()];
    std::iter::from_fn(move || {
        loop {
            let mut part = pending.pop()?;
            if cell_count_of(&part) <= SLAB_CELL_COUNT {
                return Some(part);
            }
            let longest = (0..part.len()).max_by_key(|dim| side_len(&part[*dim]))?;
            let Extent::Num { lo, hi } = part[longest] else { return None };
            let middle = lo + (hi - lo) / 2;
            let mut first = part.clone();
            first[longest] = Extent::Num { lo, hi: middle };
            part[longest] = Extent::Num { lo: middle + 1, hi };
            pending.extend([part, first]);
        }
    })
}

fn side_len(side: &Extent) -> u64 {
    match side {
        Extent::Num { lo, hi } => (hi - lo).saturating_add(1),
        Extent::Str { .. } => 1,
    }
}

fn cell_count_of(extents: &[Extent]) -> u64 {
    extents.iter().map(side_len).fold(1, u64::saturating_mul)
}

/// Writes fill values to a box of a dense array.
fn write_fill(snapshot: &Snapshot, subarray: Vec<Extent>) -> Result<()> {
    let cell_count = usize::try_from(cell_count_of(&subarray)).unwrap_or(usize::MAX);
    let mut made = Vec::new();
    for attribute in &snapshot.schema().attributes {
        let fill = &attribute.fill_value;
        let mut data = AlignedBuf::zeroed(cell_count.saturating_mul(fill.len()))?;
        for value in data.as_mut_slice().chunks_mut(fill.len().max(1)) {
            value.copy_from_slice(fill);
        }
        let is_var = attribute.cell_val_num.fixed().is_none();
        let offsets =
            is_var.then(|| (0..=cell_count as u64).map(|cell| cell * fill.len() as u64).collect::<Vec<_>>());
        let validity = attribute.nullable.then(|| vec![u8::from(attribute.fill_valid); cell_count]);
        made.push((data, offsets, validity));
    }
    let mut columns = Vec::new();
    for (attribute, (data, offsets, validity)) in snapshot.schema().attributes.iter().zip(&made) {
        let mut cells = match offsets {
            Some(offsets) => ColumnRef::var(data.as_slice(), offsets),
            None => ColumnRef::fixed(data.as_slice()),
        };
        if let Some(validity) = validity {
            cells = cells.with_validity(validity);
        }
        columns.push((attribute.name.clone(), cells));
    }
    let (layout, duplicates) = (Layout::RowMajor, Duplicates::Refuse);
    let (subarray, progress) = (Some(subarray), None);
    write(snapshot, &WriteRequest { columns, subarray, layout, at: None, duplicates, progress })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_box_are_small_and_hold_it_all() {
        let whole = [Extent::Num { lo: 3, hi: 4_002 }, Extent::Num { lo: 0, hi: 9_999 }];
        let parts: Vec<Vec<Extent>> = parts_of(&whole).collect();
        assert!(parts.iter().all(|part| cell_count_of(part) <= SLAB_CELL_COUNT));
        assert_eq!(parts.iter().map(|part| cell_count_of(part)).sum::<u64>(), cell_count_of(&whole));
        assert!(parts_of(&[Extent::Num { lo: 0, hi: u64::MAX }]).next().is_some());
    }
}
