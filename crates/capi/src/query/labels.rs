//! Ranges on dimension labels.

use super::buffers::{Buffers, OffsetForm};
use super::resume::Resume;
use super::subarray::ORIGIN;
use super::{QueryHandle, SubarrayHandle};
use crate::boundary::entry::entries;
use crate::boundary::{Data, DataOut, In, Out, OutText, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::values::{count, ends, extent, index};
use smalti::{Datatype, LabelRange, ReadRequest};
use std::collections::BTreeSet;
use std::ffi::c_void;

impl SubarrayHandle {
    fn label_datatype(&self, name: &str) -> Fallible<Datatype> {
        let found = self.schema.dimension_labels.iter().find(|label| label.name == name);
        found
            .map(|label| label.datatype)
            .ok_or_else(|| Failure::told(ORIGIN, format!("No dimension label named '{name}'")))
    }

    fn add_label(&mut self, name: &str, lo: &[u8], hi: &[u8]) -> Fallible<()> {
        let datatype = self.label_datatype(name)?;
        let idx = self.label_dimension(name);
        if idx.and_then(|idx| self.ranges.get(idx)).is_some_and(|ranges| !ranges.is_empty()) {
            return fail(
                ORIGIN,
                format!("Cannot add range to label '{name}'; a range is already set on its dimension"),
            );
        }
        let is_other = |label: &&LabelRange| label.label != name && self.label_dimension(&label.label) == idx;
        if let Some(other) = self.labels.iter().find(is_other) {
            return fail(
                ORIGIN,
                format!(
                    "[add_label_range] Dimension is already to set to use dimension label '{}'",
                    other.label
                ),
            );
        }
        let range = extent(datatype, lo, hi)?;
        match self.labels.iter_mut().find(|label| label.label == name) {
            Some(label) => label.ranges.push(range),
            None => self.labels.push(LabelRange { label: name.to_owned(), ranges: vec![range] }),
        }
        Ok(())
    }

    fn label_range(&self, name: &str, idx: u64) -> Fallible<(Vec<u8>, Vec<u8>)> {
        let datatype = self.label_datatype(name)?;
        let found = self.labels.iter().find(|label| label.label == name);
        match found.and_then(|label| label.ranges.get(index(idx))) {
            Some(range) => Ok(ends(datatype, range)),
            None => fail(ORIGIN, format!("Cannot get label range for label '{name}'; Invalid range index")),
        }
    }

    fn label_on(&self, idx: usize) -> Option<&str> {
        let found = self.labels.iter().find(|label| self.label_dimension(&label.label) == Some(idx));
        found.map(|label| label.label.as_str())
    }
}

impl QueryHandle {
    /// Whether a field is a dimension label.
    pub(super) fn is_label(&self, name: &str) -> bool {
        self.subarray.label_dimension(name).is_some()
    }

    /// Reads the labels of the positions that the ranges on their dimension take: one for each position, not for each cell. All of
    /// them have to fit.
    pub(super) fn read_label(&mut self, name: &str, mut buffers: Buffers, form: OffsetForm) -> Fallible<()> {
        let told = Failure::of("OrderedDimLabelReader");
        let idx = self.subarray.label_dimension(name).unwrap_or_default();
        let wanted = self.subarray.wanted()?;
        let on_dimension = |label: &&LabelRange| self.subarray.label_dimension(&label.label) == Some(idx);
        let alone = |(at, ranges)| if at == idx { ranges } else { Vec::new() };
        let request = ReadRequest {
            fields: vec![name.to_owned()],
            ranges: wanted.into_iter().enumerate().map(alone).collect(),
            label_ranges: self.subarray.labels.iter().filter(on_dimension).cloned().collect(),
            ..ReadRequest::default()
        };
        let mut resume = Resume::new(self.array.read_raw(&request).map_err(told)?, form);
        buffers.measure();
        match resume.fill(&mut [buffers], form)? {
            true => Ok(()),
            false => fail(
                "OrderedDimLabelReader",
                format!("Failed to read labels '{name}'; the buffers are too small"),
            ),
        }
    }

    /// That there is a label in each of the ranges' dimensions: a read of none is refused, as libtiledb does.
    pub(super) fn check_label_ranges(&self) -> Fallible<()> {
        let told = Failure::of("OrderedDimLabelReader");
        for label in &self.subarray.labels {
            let request = ReadRequest {
                fields: vec![label.label.clone()],
                label_ranges: vec![label.clone()],
                limit: Some(1),
                ..ReadRequest::default()
            };
            let mut cells = 0;
            for batch in self.array.read_raw(&request).map_err(&told)? {
                cells += batch.map_err(&told)?.cell_count;
            }
            if cells == 0 {
                return fail(
                    "DimensionLabelQuery",
                    format!("Cannot read; no data of label '{}' lies in its ranges", label.label),
                );
            }
        }
        Ok(())
    }

    /// Finds the positions whose labels lie in the ranges, and puts ranges of positions in the place of those of labels.
    pub(super) fn resolve_labels(&mut self) -> Fallible<()> {
        let told = Failure::of("OrderedDimLabelReader");
        for label in std::mem::take(&mut self.subarray.labels) {
            let Some(idx) = self.subarray.label_dimension(&label.label) else { continue };
            // One position of each other dimension is enough.
            let others = self.subarray.schema.dimensions.iter().enumerate().map(|(at, dimension)| {
                let first = dimension.domain.filter(|_| at != idx).map(|(first, _)| first.ordinal());
                first.map_or_else(Vec::new, |lo| vec![smalti::Extent::Num { lo, hi: lo }])
            });
            let request = ReadRequest {
                fields: vec![label.label.clone(), self.subarray.dimension(idx)?.name.clone()],
                ranges: others.collect(),
                label_ranges: vec![label],
                ..ReadRequest::default()
            };
            let mut positions = BTreeSet::new();
            let datatype = self.subarray.dimension(idx)?.datatype;
            for batch in self.array.read_raw(&request).map_err(&told)? {
                let batch = batch.map_err(&told)?;
                let column = batch.columns.get(1).map(|column| column.data.as_slice()).unwrap_or_default();
                for position in column.chunks_exact(datatype.byte_len()) {
                    positions.insert(datatype.ordinal(position)?);
                }
            }
            let mut found: Vec<(u64, u64)> = Vec::new();
            for at in positions {
                match found.last_mut() {
                    Some((_, end)) if end.checked_add(1) == Some(at) => *end = at,
                    _ => found.push((at, at)),
                }
            }
            let ranges = found.into_iter().map(|(lo, hi)| smalti::Extent::Num { lo, hi });
            if ranges.len() == 0 {
                self.subarray.unmet.push(idx);
            }
            if let Some(place) = self.subarray.ranges.get_mut(idx) {
                *place = ranges.collect();
            }
        }
        Ok(())
    }
}

entries! {
    fn tiledb_subarray_add_label_range(
        ctx,
        subarray: In<SubarrayHandle>,
        label_name: Text,
        start: Data,
        end: Data,
        stride: Data,
    ) {
        if !stride.is_null() {
            return fail("C API", "Stride is currently unsupported");
        }
        let mut subarray = subarray.write()?;
        let name = label_name.get("label_name")?;
        let width = count(subarray.label_datatype(name)?.byte_len());
        subarray.add_label(name, start.bytes(width, "start")?, end.bytes(width, "end")?)
    }

    fn tiledb_subarray_add_label_range_var(
        ctx,
        subarray: In<SubarrayHandle>,
        label_name: Text,
        start: Data,
        start_size: u64,
        end: Data,
        end_size: u64,
    ) {
        let (lo, hi) = (start.bytes(start_size, "start")?, end.bytes(end_size, "end")?);
        let name = label_name.get("label_name")?;
        if !subarray.read()?.label_datatype(name)?.is_string() {
            let words = "Cannot add a variable-sized range to a fixed-sized dimension label";
            return fail(ORIGIN, format!("[add_label_range_var] {words}"));
        }
        subarray.write()?.add_label(name, lo, hi)
    }

    fn tiledb_subarray_get_label_name(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        label_name: OutText,
    ) {
        let slot = subarray.slot()?;
        match slot.read().label_on(index(dim_idx)) {
            Some(name) => label_name.put(slot.lend_text(name)),
            None => fail(ORIGIN, format!("No dimension label ranges set on dimension {dim_idx}")),
        }
    }

    fn tiledb_subarray_get_label_range(
        ctx,
        subarray: In<SubarrayHandle>,
        label_name: Text,
        range_idx: u64,
        start: Out<*const c_void>,
        end: Out<*const c_void>,
        stride: Out<*const c_void>,
    ) {
        let slot = subarray.slot()?;
        let (lo, hi) = slot.read().label_range(label_name.get("label_name")?, range_idx)?;
        start.put(slot.lend(&lo))?;
        end.put(slot.lend(&hi))?;
        stride.put_if(std::ptr::null());
        Ok(())
    }

    fn tiledb_subarray_get_label_range_num(
        ctx,
        subarray: In<SubarrayHandle>,
        label_name: Text,
        range_num: Out<u64>,
    ) {
        let subarray = subarray.read()?;
        let name = label_name.get("label_name")?;
        subarray.label_datatype(name)?;
        let found = subarray.labels.iter().find(|label| label.label == name);
        range_num.put(found.map_or(0, |label| count(label.ranges.len())))
    }

    fn tiledb_subarray_get_label_range_var(
        ctx,
        subarray: In<SubarrayHandle>,
        label_name: Text,
        range_idx: u64,
        start: DataOut,
        end: DataOut,
    ) {
        let (lo, hi) = subarray.read()?.label_range(label_name.get("label_name")?, range_idx)?;
        start.put(&lo)?;
        end.put(&hi)
    }

    fn tiledb_subarray_get_label_range_var_size(
        ctx,
        subarray: In<SubarrayHandle>,
        label_name: Text,
        range_idx: u64,
        start_size: Out<u64>,
        end_size: Out<u64>,
    ) {
        let (lo, hi) = subarray.read()?.label_range(label_name.get("label_name")?, range_idx)?;
        start_size.put(count(lo.len()))?;
        end_size.put(count(hi.len()))
    }

    fn tiledb_subarray_has_label_ranges(
        ctx,
        subarray: In<SubarrayHandle>,
        dim_idx: u32,
        has_label_range: Out<i32>,
    ) {
        has_label_range.put(subarray.read()?.label_on(index(dim_idx)).is_some().into())
    }
}
