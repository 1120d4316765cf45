//! Writes.

use crate::call::{tool_error, work};
use crate::capsule;
use crate::errors::ForPython;
use crate::memory::Bytes;
use crate::request::{first_ordinal, layout_of};
use crate::value::{Bounds, Range, bounds, datatype_of};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smalti::{
    ColumnRef, Duplicates, Extent, Layout, MetadataBuilder, Progress, Schema, SharedWrite, Value,
    WriteRequest,
};
use smalti_tools::write::{Input as Cells, WriteOptions, write};
use std::sync::Arc;

/// A column of NumPy: the field, its data, offsets of its cells in bytes, and a byte for each cell that says whether it has a value.
#[derive(FromPyObject)]
pub(crate) struct NumpyInput {
    field: String,
    data: PyBuffer<u8>,
    offsets: Option<PyBuffer<u64>>,
    validity: Option<PyBuffer<u8>>,
}

/// Where cells go, and how.
#[derive(FromPyObject)]
pub(crate) struct Write {
    /// Positions from the least coordinate on, the first and the last for each dimension of a dense array; all where there are none.
    positions: Option<Vec<(u64, u64)>>,
    pub(crate) order: Option<String>,
    pub(crate) at: Option<u64>,
    /// Whether the first of cells with equal coordinates is kept.
    keep_first: bool,
    /// The text of the write that this is a part of.
    share: Option<String>,
}

impl Write {
    fn layout(&self, schema: &Schema) -> PyResult<Layout> {
        match &self.order {
            Some(name) => layout_of(name),
            None if schema.is_dense() => Ok(Layout::RowMajor),
            None => Ok(Layout::Unordered),
        }
    }

    pub(crate) fn rectangle(&self, schema: &Schema) -> PyResult<Option<Vec<Extent>>> {
        let Some(positions) = &self.positions else { return Ok(None) };
        let side = |(idx, (first, last)): (usize, &(u64, u64))| {
            let start = first_ordinal(schema, idx)?;
            Ok(Extent::Num { lo: start.wrapping_add(*first), hi: start.wrapping_add(*last) })
        };
        positions.iter().enumerate().map(side).collect::<PyResult<Vec<_>>>().map(Some)
    }
}

/// The memory of columns while the interpreter's lock is given up.
struct Held {
    field: String,
    data: Bytes<u8>,
    offsets: Option<Bytes<u64>>,
    validity: Option<Bytes<u8>>,
}

impl Held {
    fn of(py: Python<'_>, input: NumpyInput) -> PyResult<Self> {
        let NumpyInput { field, data, offsets, validity } = input;
        Ok(Held {
            field,
            data: Bytes::new(py, data)?,
            offsets: offsets.map(|buffer| Bytes::new(py, buffer)).transpose()?,
            validity: validity.map(|buffer| Bytes::new(py, buffer)).transpose()?,
        })
    }

    fn column(&self) -> ColumnRef<'_> {
        ColumnRef {
            data: self.data.as_slice(),
            offsets: self.offsets.as_ref().map(Bytes::as_slice),
            validity: self.validity.as_ref().map(Bytes::as_slice),
        }
    }
}

/// The write that a text stands for.
pub(crate) fn share_of(py: Python<'_>, text: &str) -> PyResult<SharedWrite> {
    text.parse().for_python(py)
}

/// Writes columns as one fragment, visible at once, or as a part of a shared write: its name.
pub(crate) fn write_columns(
    py: Python<'_>,
    array: &smalti::Array,
    columns: Vec<NumpyInput>,
    request: &Write,
    hook: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let schema = array.schema();
    let held = columns.into_iter().map(|input| Held::of(py, input)).collect::<PyResult<Vec<_>>>()?;
    let progress = Arc::new(Progress::new());
    let share = request.share.as_deref().map(|text| share_of(py, text)).transpose()?;
    let request = WriteRequest {
        columns: held.iter().map(|held| (held.field.clone(), held.column())).collect(),
        subarray: request.rectangle(&schema)?,
        layout: request.layout(&schema)?,
        at: request.at,
        duplicates: if request.keep_first { Duplicates::KeepFirst } else { Duplicates::Refuse },
        progress: Some(Arc::clone(&progress)),
    };
    let written = work(py, &progress, hook, || match &share {
        Some(share) => array.put_raw(&request, share),
        None => array.write_raw(&request),
    })?;
    Ok(written.name().to_owned())
}

/// Writes a table into an array: the names of the fragments.
pub(crate) fn write_table(
    py: Python<'_>,
    array: &smalti::Array,
    table: &Bound<'_, PyAny>,
    request: &Write,
    memory: Option<u64>,
    hook: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let reader = capsule::reader_of(table)?;
    let schema = array.schema();
    let options = WriteOptions {
        subarray: request.rectangle(&schema)?,
        global_order: request.order.as_deref() == Some("global"),
        at: request.at,
        share: request.share.as_deref().map(|text| share_of(py, text)).transpose()?,
        memory,
        ..WriteOptions::default()
    };
    let progress = Arc::new(Progress::new());
    let written = work(py, &progress, hook, || {
        write(array, Cells::Batches(reader), &options, &progress).map_err(tool_error)
    })?;
    Ok(written.fragments.iter().map(|fragment| fragment.name().to_owned()).collect())
}

/// A change of metadata.
pub(crate) fn metadata<'a>(
    py: Python<'_>,
    mut change: MetadataBuilder<'a>,
    put: Vec<(String, String, Vec<u8>)>,
    delete: Vec<String>,
    at: Option<u64>,
) -> PyResult<MetadataBuilder<'a>> {
    for (key, datatype, bytes) in put {
        let value = Value::from_le_bytes(datatype_of(&datatype)?, bytes).for_python(py)?;
        change = change.put(key, value);
    }
    change = delete.into_iter().fold(change, MetadataBuilder::delete);
    Ok(match at {
        Some(time) => change.at(time),
        None => change,
    })
}

/// A side of a current domain.
pub(crate) fn side_of(py: Python<'_>, schema: &Schema, name: &str, range: &Range) -> PyResult<Extent> {
    let Some((_, dimension)) = schema.dimension(name) else {
        return Err(PyValueError::new_err(format!("there is no dimension {name:?}")));
    };
    let domain = dimension.domain;
    let number = |end: std::ops::Bound<smalti::Scalar>, other: Option<smalti::Scalar>| match end {
        std::ops::Bound::Included(scalar) | std::ops::Bound::Excluded(scalar) => {
            Value::of_datatype(dimension.datatype, scalar)
                .for_python(py)?
                .as_scalar()
                .or(other)
                .ok_or_else(|| PyValueError::new_err("an end of a range is one number"))
        }
        std::ops::Bound::Unbounded => {
            other.ok_or_else(|| PyValueError::new_err("the dimension has no domain"))
        }
    };
    match bounds(range)? {
        Bounds::Numbers(lo, hi) => {
            let (lo, hi) = (number(lo, domain.map(|ends| ends.0))?, number(hi, domain.map(|ends| ends.1))?);
            Extent::between(lo, hi).for_python(py)
        }
        Bounds::Texts(lo, hi) => {
            let text = |end: std::ops::Bound<&[u8]>| match end {
                std::ops::Bound::Included(text) | std::ops::Bound::Excluded(text) => Some(text.to_vec()),
                std::ops::Bound::Unbounded => None,
            };
            let lo = text(lo).unwrap_or_default();
            match text(hi) {
                Some(hi) => Extent::between_strings(&lo, &hi).for_python(py),
                None => Ok(Extent::Str { lo: lo.into(), hi: None }),
            }
        }
    }
}
