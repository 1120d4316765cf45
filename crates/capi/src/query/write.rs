//! Writes.

use super::buffers::{Buffers, OffsetForm};
use super::state::{ORIGIN, QueryHandle, STATUS, Status, Written};
use crate::boundary::handle::locked;
use crate::failure::{Failure, Fallible, fail};
use crate::statistics::Work;
use crate::uris;
use crate::values::{count, index};
use smalti::{ColumnRef, Columns, Duplicates, Layout, Unchecked, WriteRequest, WrittenFragment};
use std::sync::Arc;

/// The cells of a field, with offsets in the engine's form.
struct Cells<'a> {
    name: &'a str,
    data: &'a [u8],
    offsets: Option<Vec<u64>>,
    validity: Option<&'a [u8]>,
}

impl Cells<'_> {
    /// Whether there is no cell, where cells vary in length.
    fn has_no_offsets(&self) -> bool {
        self.offsets.as_ref().is_none_or(|offsets| offsets.len() <= 1)
    }

    fn column(&self) -> ColumnRef<'_> {
        ColumnRef { data: self.data, offsets: self.offsets.as_deref(), validity: self.validity }
    }
}

/// A failure of a write; those of cells that repeat or leave the domain in libtiledb's words, which clients look for.
fn told(error: smalti::Error) -> Failure {
    let message = error.message();
    match repeated(message).or_else(|| outside(message)).or_else(|| unsorted(message)) {
        Some(failure) => failure,
        None => Failure::told("Writer", error),
    }
}

/// The values of a place in a message of the engine: `(x = 1, y = 2)`.
fn values(place: &str) -> String {
    let place = place.trim_matches(['(', ')']).split(", ");
    let values: Vec<_> = place.map(|part| part.split_once(" = ").map_or(part, |(_, value)| value)).collect();
    values.join(", ")
}

fn repeated(message: &str) -> Option<Failure> {
    let (_, rest) = message.split_once(" have the same coordinates ")?;
    let (place, _) = rest.split_once(", which")?;
    let words = format!("Duplicate coordinates ({}) are not allowed", values(place));
    Some(Failure::told("[TileDB::Writer] Error", words))
}

fn unsorted(message: &str) -> Option<Failure> {
    let (cell, rest) = message.split_once(" belongs before the cell in front of it at ")?;
    let (_, later) = cell.split_once(" at ")?;
    let (earlier, _) = rest.split_once("; a write in global order")?;
    let (earlier, across) = match earlier.strip_suffix(", in another tile") {
        Some(earlier) => (earlier, " due to writes across tiles"),
        None => (earlier, ""),
    };
    let (one, other) = (values(earlier), values(later));
    let words = format!("Write failed; Coordinates ({one}) succeed ({other}) in the global order{across}");
    Some(Failure::told("[TileDB::Writer] Error", words))
}

fn outside(message: &str) -> Option<Failure> {
    let (_, rest) = message.split_once(" has the coordinate ")?;
    let (value, rest) = rest.split_once(" on dimension \"")?;
    let (name, domain) = rest.split_once("\", outside its domain ")?;
    let (lo, hi) = domain.split_once(':')?;
    let words = format!("Coordinate {value} is out of domain bounds [{lo}, {hi}] on dimension '{name}'");
    Some(Failure::told("[TileDB::Dimension] Error", format!("Dimension: {words}")))
}

impl QueryHandle {
    /// Takes the cells of a submit.
    pub(super) fn submit_write(&mut self) -> Fallible<Status> {
        let is_ordered = matches!(self.layout, Layout::RowMajor | Layout::ColMajor);
        if self.is_dense() && self.layout == Layout::Unordered {
            return fail(ORIGIN, "Cannot set layout; Unordered writes are only possible for sparse arrays");
        }
        if !self.is_dense() && is_ordered {
            return fail(ORIGIN, "Cannot set layout; Ordered writes are only possible for dense arrays");
        }
        let has_data =
            |name: &str| self.fields.iter().any(|(known, buffers)| known == name && buffers.data.is_some());
        let has_coordinates = self.schema.schema.dimensions.iter().all(|dimension| has_data(&dimension.name));
        if !self.is_dense() && !has_coordinates && !self.config.flag("sm.allow_separate_attribute_writes")? {
            let words = "Sparse array writes expect the coordinates of the cells to be written";
            return fail(STATUS, words);
        }
        if self.layout == Layout::GlobalOrder {
            return self.submit_global();
        }
        let form = OffsetForm::of(&self.config)?;
        let mut cells = self.cells(form)?;
        if !self.is_dense() {
            let (labels, others) = cells.into_iter().partition(|cells| self.is_label(cells.name));
            self.write_labels(labels, &others)?;
            cells = others;
        }
        if !self.is_dense() && cells.iter().all(|cells| cells.data.is_empty() && cells.has_no_offsets()) {
            return Ok(Status::Completed);
        }
        let request = WriteRequest {
            columns: cells.iter().map(|cells| (cells.name.to_owned(), cells.column())).collect(),
            subarray: if self.is_dense() { self.subarray.rectangle()? } else { None },
            layout: self.layout,
            at: self.at,
            duplicates: self.duplicates()?,
            progress: Some(Arc::clone(&self.progress)),
        };
        let written = self.array.write_raw_unchecked(&request, self.unchecked()?).map_err(told)?;
        drop(cells);
        self.note(&written);
        Ok(Status::Completed)
    }

    fn duplicates(&self) -> Fallible<Duplicates> {
        Ok(match (self.config.flag("sm.dedup_coords")?, self.config.flag("sm.check_coord_dups")?) {
            (true, _) => Duplicates::KeepFirst,
            (false, true) => Duplicates::Refuse,
            (false, false) => Duplicates::KeepAll,
        })
    }

    fn unchecked(&self) -> Fallible<Unchecked> {
        Ok(Unchecked {
            domain: !self.config.flag("sm.check_coord_oob")?,
            order: !self.config.flag("sm.check_global_order")?,
        })
    }

    /// Labels of a sparse array: the positions that they are for are the coordinates beside them, which have to follow each other.
    fn write_labels(&self, labels: Vec<Cells<'_>>, others: &[Cells<'_>]) -> Fallible<()> {
        for label in labels {
            let stored = self.schema.schema.dimension_labels.iter().find(|other| other.name == label.name);
            let idx = self.subarray.label_dimension(label.name).unwrap_or_default();
            let (Some(stored), Ok(dimension)) = (stored, self.subarray.dimension(idx)) else { continue };
            let Some(positions) = others.iter().find(|cells| cells.name == dimension.name) else {
                return fail(
                    "Writer",
                    format!("Cannot write label '{}'; its dimension is not set", label.name),
                );
            };
            let width = dimension.datatype.byte_len();
            let ordinals = positions.data.chunks_exact(width).map(|value| dimension.datatype.ordinal(value));
            let ordinals = ordinals.collect::<smalti::Result<Vec<u64>>>()?;
            let (Some(lo), Some(hi)) = (ordinals.first().copied(), ordinals.last().copied()) else {
                continue;
            };
            if ordinals
                .windows(2)
                .any(|pair| !matches!(pair, [one, next] if one.checked_add(1) == Some(*next)))
            {
                // Labels are an array of their own along the dimension, and a write fills a range of it.
                return fail(
                    "DimensionLabelQuery",
                    format!(
                        "Failed to initialize the data query for label '{}'. DimensionLabelQuery: The dimension data must contain consecutive points when writing to a dimension label.",
                        label.name
                    ),
                );
            }
            let request = WriteRequest {
                columns: vec![(stored.attribute.clone(), label.column())],
                subarray: Some(vec![smalti::Extent::Num { lo, hi }]),
                layout: Layout::RowMajor,
                at: self.at,
                duplicates: Duplicates::Refuse,
                progress: Some(Arc::clone(&self.progress)),
            };
            self.array.label(label.name)?.write_raw(&request).map_err(Failure::of("Writer"))?;
        }
        Ok(())
    }

    fn submit_global(&mut self) -> Fallible<Status> {
        let form = OffsetForm::of(&self.config)?;
        let mut writer = locked(&self.writer);
        if writer.is_none() {
            let builder = self.array.global_writer().order(Layout::GlobalOrder);
            let mut builder = builder.duplicates(self.duplicates()?).unchecked(self.unchecked()?);
            if let Some(at) = self.at {
                builder = builder.at(at);
            }
            if self.is_dense()
                && let Some(sides) = self.subarray.rectangle()?
            {
                builder = builder.rectangle(sides);
            }
            *writer = Some(builder.start().map_err(Failure::of("GlobalOrderWriter"))?);
        }
        let cells = self.cells(form)?;
        if cells.iter().all(|cells| cells.data.is_empty() && cells.has_no_offsets()) {
            return Ok(Status::Completed);
        }
        let columns =
            cells.iter().fold(Columns::new(), |columns, cells| columns.column(cells.name, cells.column()));
        let submitted = writer.as_mut().map_or(Ok(()), |writer| writer.submit(columns));
        if let Err(error) = submitted {
            // Nothing of the fragment is left then, as in libtiledb.
            *writer = None;
            return Err(told(error));
        }
        Ok(Status::Completed)
    }

    /// Commits a write in global order; for others there is nothing left to do.
    pub(super) fn finalize(&mut self) -> Fallible<()> {
        let writer = locked(&self.writer).take();
        let Some(writer) = writer else { return Ok(()) };
        let work = Work::begin();
        let written = writer.commit();
        self.tell(work, "Context.Query.Writer.finalize");
        let written = written.map_err(Failure::of("GlobalOrderWriter"))?;
        self.note(&written);
        self.set_status(Status::Completed);
        Ok(())
    }

    fn note(&mut self, written: &WrittenFragment) {
        let uri = uris::shown(&self.uri);
        let uri = format!("{}/__fragments/{}", uri.trim_end_matches('/'), written.name());
        self.written.push(Written { uri, timestamp: written.timestamp() });
    }

    fn cells(&self, form: OffsetForm) -> Fallible<Vec<Cells<'_>>> {
        self.fields.iter().map(|(name, buffers)| self.cells_of(name, buffers, form)).collect()
    }

    fn cells_of<'a>(&'a self, name: &'a str, buffers: &'a Buffers, form: OffsetForm) -> Fallible<Cells<'a>> {
        let Some(shape) = self.shape(name) else {
            return fail(ORIGIN, format!("There is no field '{name}'"));
        };
        let data = buffers.data.as_ref().map_or(&[][..], |data| data.bytes());
        let validity = match &buffers.validity {
            Some(validity) => Some(validity.bytes()),
            None if shape.is_nullable => {
                return fail(
                    "Writer",
                    format!(
                        "Cannot initialize writer; Validity buffer of nullable attribute '{name}' is not set"
                    ),
                );
            }
            None => None,
        };
        if !shape.is_var() {
            return Ok(Cells { name, data, offsets: None, validity });
        }
        let Some(offsets) = &buffers.offsets else {
            return fail(
                "Writer",
                format!("Cannot initialize writer; Offsets buffer of '{name}' is not set"),
            );
        };
        let mut starts = form.read(offsets.bytes(), count(shape.datatype.byte_len()));
        check_offsets(name, &starts, data.len(), form.extra)?;
        if !form.extra {
            starts.push(count(data.len()));
        }
        // Cells may begin later in the data, as those of slices do.
        let skipped = starts.first().copied().unwrap_or(0);
        starts.iter_mut().for_each(|start| *start -= skipped);
        let data = data.get(index(skipped)..).unwrap_or_default();
        Ok(Cells { name, data, offsets: Some(starts), validity })
    }
}

fn check_offsets(name: &str, starts: &[u64], byte_len: usize, has_extra: bool) -> Fallible<()> {
    let bad = |what: &str| fail("Writer", format!("Invalid offsets for attribute {name}; {what}"));
    if !starts.is_sorted() {
        return bad("offsets must be given in strictly ascending order");
    }
    if starts.last().is_some_and(|last| index(*last) > byte_len) {
        return bad("offset is larger than the data buffer");
    }
    if has_extra && starts.last().is_some_and(|last| index(*last) != byte_len) {
        return bad(&format!(
            "the last offset: {} is not equal to the size of the data buffer: {byte_len}",
            starts.last().unwrap_or(&0)
        ));
    }
    Ok(())
}
