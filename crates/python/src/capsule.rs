//! Record batches in and out through Arrow's capsules
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>), without a copy.

#![expect(unsafe_code, reason = "capsules hold structures of C")]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::sync::Arc;

fn refused(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A stream of record batches for whoever takes Arrow's streams.
pub(crate) fn stream(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// A schema for whoever takes Arrow's schemas.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| refused(&error))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// A record batch, as a schema and an array.
pub(crate) fn batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
    Ok((schema(py, batch.schema_ref())?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
}

/// The record batches of an object that has `__arrow_c_stream__`, or `__arrow_c_array__` for one of them.
///
/// # Errors
/// `TypeError` for objects that have neither; what they raise themselves.
pub(crate) fn reader_of(object: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds a stream that the protocol lets its taker move out of it, which leaves a released one
        // behind; the capsule lives until the end of this block.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
        return Ok(Box::new(reader.map_err(|error| refused(&error))?));
    }
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
        // SAFETY: a capsule of this name holds a schema, which is only looked at; the capsule lives until the end of this block.
        let schema = unsafe { schema.as_ref() };
        let schema = Schema::try_from(schema).map_err(|error| refused(&error))?;
        // SAFETY: a capsule of this name holds an array that its taker may move out; what is left is a released one.
        let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
        let datatype = DataType::Struct(schema.fields().clone());
        // SAFETY: the two capsules come from one call, so the schema is that of the array.
        let data = unsafe { from_ffi_and_data_type(array, datatype) };
        let cells = StructArray::from(data.map_err(|error| refused(&error))?);
        if cells.null_count() > 0 {
            return Err(PyValueError::new_err(
                "rows of a table are never null as a whole; their fields may be",
            ));
        }
        let batch = RecordBatch::from(cells);
        let schema: SchemaRef = Arc::new(schema);
        let batch = batch.with_schema(Arc::clone(&schema)).map_err(|error| refused(&error))?;
        return Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    }
    Err(PyTypeError::new_err(format!(
        "{} has no Arrow interface (__arrow_c_stream__ or __arrow_c_array__); give a table of pyarrow, pandas, polars or DuckDB",
        object.get_type().name()?
    )))
}
