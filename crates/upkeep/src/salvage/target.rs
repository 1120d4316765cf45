//! What was salvaged, in a new array.

use super::{LostCells, Salvage};
use smalti_array::{ArrayPlace, Definitions, Snapshot};
use smalti_format::{ArraySchema, MetadataEntry, Rule, Version};
use smalti_query::{Batch, Duplicates, GlobalWriter, ReadRequest, ResultField, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{AlignedBuf, Error, Extent, Layout, Result, TimeRange};

/// Cells of a dense array that are read and written at once, as far as its tiles let them be cut.
const SLAB_CELL_COUNT: u64 = 1 << 22;

impl Salvage {
    /// Creates an array at `target` with the newest schema, and writes what the view shows: cells as of now, and metadata.
    /// Times of writes and arrays of dimension labels are not taken along. Returns the number of cells.
    ///
    /// # Errors
    /// `AlreadyExists` when something is at the target; what reads and writes report, after which the target may have some of
    /// the cells.
    pub fn write_to(&mut self, target: &ArrayPlace) -> Result<u64> {
        let source = Snapshot::open(self.place.clone(), TimeRange::ALL)?;
        let (schema, definitions) = self.definitions(&source);
        target.create_with(&schema, &definitions)?;
        let metadata = source.place().metadata(TimeRange::ALL)?;
        let entries = metadata.into_iter().map(|(key, value)| MetadataEntry { key, value: Some(value) });
        let entries: Vec<MetadataEntry> = entries.collect();
        if !entries.is_empty() {
            target.put_metadata(entries, None)?;
        }
        if source.fragments().is_empty() {
            return Ok(0);
        }
        let new = Snapshot::open(target.clone(), TimeRange::ALL)?;
        if source.schema().is_dense() { copy_dense(&source, &new) } else { copy_sparse(&source, &new) }
    }

    /// The schema of the new array, without enumerations that are lost.
    fn definitions(&mut self, source: &Snapshot) -> (ArraySchema, Definitions) {
        let mut schema = (**source.schema()).clone();
        if !schema.version.has(Rule::CommitsFolder) {
            schema.version = Version::DEFAULT;
        }
        schema.dimension_labels.clear();
        let mut definitions = Definitions::default();
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

fn columns<'a>(fields: &[ResultField], batch: &'a Batch, is_dense: bool) -> Vec<(String, ColumnRef<'a>)> {
    let wanted = fields.iter().zip(&batch.columns).filter(|(field, _)| !is_dense || !field.is_dimension);
    wanted.map(|(field, column)| (field.name.clone(), column.as_ref())).collect()
}

fn copy_sparse(source: &Snapshot, new: &Snapshot) -> Result<u64> {
    let batches = read(source, &ReadRequest { layout: Some(Layout::GlobalOrder), ..ReadRequest::default() })?;
    let fields = batches.fields().to_vec();
    // The oldest writers kept an order of their own, which a write in global order does not take.
    let is_ordered = source.fragments().iter().all(|fragment| !fragment.version().has(Rule::UnsoundBounds));
    let mut writer = None;
    let mut cell_count = 0;
    for batch in batches {
        let batch = batch?;
        cell_count += batch.cell_count as u64;
        let columns = columns(&fields, &batch, false);
        if is_ordered {
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(GlobalWriter::new(new, None, None)?),
            };
            writer.submit(&columns)?;
        } else if batch.cell_count > 0 {
            let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
            write(new, &WriteRequest { columns, subarray: None, layout, at: None, duplicates })?;
        }
    }
    if let Some(writer) = writer.filter(|_| cell_count > 0) {
        writer.finalize()?;
    }
    Ok(cell_count)
}

fn copy_dense(source: &Snapshot, new: &Snapshot) -> Result<u64> {
    let schema = source.schema();
    let domain = source.non_empty_domain().unwrap_or_default();
    let sides: Vec<(u64, u64)> = domain
        .iter()
        .map(|side| match side {
            Extent::Num { lo, hi } => Ok((*lo, *hi)),
            Extent::Str { .. } => Err(Error::corrupt("a dense dimension of strings")),
        })
        .collect::<Result<_>>()?;
    let Some((&(first, last), inner)) = sides.split_first() else { return Ok(0) };
    let row = inner.iter().fold(1_u64, |cells, (lo, hi)| cells.saturating_mul((hi - lo).saturating_add(1)));
    let extent = schema.dimensions.first().and_then(|dimension| dimension.extent_len()).unwrap_or(1).max(1);
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
        let mut subarray = domain.clone();
        subarray[0] = Extent::Num { lo: at, hi: end };
        let request = ReadRequest {
            ranges: subarray.iter().map(|side| vec![side.clone()]).collect(),
            layout: Some(Layout::RowMajor),
            batch_cell_count: Some(usize::MAX),
            ..ReadRequest::default()
        };
        let batches = read(source, &request)?;
        let fields = batches.fields().to_vec();
        let mut slab: Option<Batch> = None;
        for batch in batches {
            let batch = batch?;
            match &mut slab {
                Some(slab) => append(slab, &batch)?,
                none => *none = Some(batch),
            }
        }
        let Some(slab) = slab else { return Err(Error::corrupt("a slab without cells")) };
        cell_count += slab.cell_count as u64;
        let columns = columns(&fields, &slab, true);
        let (layout, duplicates) = (Layout::RowMajor, Duplicates::Refuse);
        write(new, &WriteRequest { columns, subarray: Some(subarray), layout, at: None, duplicates })?;
        match end.checked_add(1).filter(|_| end < last) {
            Some(next) => at = next,
            None => return Ok(cell_count),
        }
    }
}

/// Puts the cells of a batch behind those of another.
fn append(slab: &mut Batch, batch: &Batch) -> Result<()> {
    for (column, more) in slab.columns.iter_mut().zip(&batch.columns) {
        let start = column.data.len() as u64;
        extend(&mut column.data, more.data.as_slice())?;
        if let (Some(offsets), Some(more)) = (&mut column.offsets, &more.offsets) {
            let shifted: Vec<u64> =
                more.values::<u64>().iter().skip(1).map(|offset| offset + start).collect();
            extend(offsets, bytemuck::cast_slice(&shifted))?;
        }
        if let (Some(validity), Some(more)) = (&mut column.validity, &more.validity) {
            extend(validity, more.as_slice())?;
        }
    }
    slab.cell_count += batch.cell_count;
    Ok(())
}

fn extend(buffer: &mut AlignedBuf, bytes: &[u8]) -> Result<()> {
    let start = buffer.len();
    buffer.resize(start + bytes.len())?;
    buffer.as_mut_slice()[start..].copy_from_slice(bytes);
    Ok(())
}
