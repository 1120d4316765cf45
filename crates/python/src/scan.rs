//! Reads: streams of record batches, columns for NumPy, splits.

use crate::call::{briefly, work};
use crate::capsule;
use crate::errors::ForPython;
use crate::memory::Buffer;
use crate::options::{Options, given};
use crate::request::{form, watched};
use crate::value::{Told, told};
use arrow_array::RecordBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use smalti::{Aggregate, Count, Function, Progress, ReadBuilder, RecordBatches};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A column for NumPy: its name, datatype, values in a cell (none for any number of them), and its memory: data, offsets, validity.
type NumpyColumn = (String, &'static str, Option<u32>, Buffer, Option<Buffer>, Option<Buffer>);

/// A planned read. Nothing of its cells is read before it is asked for them.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Scan {
    pub(crate) read: ReadBuilder,
}

impl Scan {
    pub(crate) fn new(read: ReadBuilder) -> Self {
        Scan { read }
    }
}

#[pymethods]
impl Scan {
    /// Starts the read: its record batches.
    #[pyo3(signature = (hook=None))]
    fn batches(&self, py: Python<'_>, hook: Option<&Bound<'_, PyAny>>) -> PyResult<Batches> {
        let (read, progress) = watched(self.read.clone());
        let batches = work(py, &progress, hook, || read.batches())?;
        Ok(Batches::new(batches))
    }

    /// Reads all cells as one record batch.
    #[pyo3(signature = (hook=None))]
    fn collect(&self, py: Python<'_>, hook: Option<&Bound<'_, PyAny>>) -> PyResult<Batch> {
        let (read, progress) = watched(self.read.clone());
        work(py, &progress, hook, || read.collect()).map(|batch| Batch { batch })
    }

    /// Reads all cells as columns in the engine's memory, and their number.
    #[pyo3(signature = (hook=None))]
    fn columns(
        &self,
        py: Python<'_>,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(usize, Vec<NumpyColumn>)> {
        let (read, progress) = watched(self.read.clone());
        let (fields, batch) = work(py, &progress, hook, || {
            let mut batches = read.columns()?;
            let batch = batches.join()?;
            Ok((batches.fields().to_vec(), batch))
        })?;
        let columns = fields.into_iter().zip(batch.columns).map(|(field, column)| {
            let values = field.shape.cell_val_num;
            let count = values.fixed().and_then(|count| u32::try_from(count).ok());
            let (data, offsets, validity) = (column.data, column.offsets, column.validity);
            let (offsets, validity) = (offsets.map(Buffer::new), validity.map(Buffer::new));
            (field.name, field.shape.datatype.name(), count, Buffer::new(data), offsets, validity)
        });
        Ok((batch.cell_count, columns.collect()))
    }

    /// Aggregates of pairs of a function's name and a field; `None` where no cell has a value.
    #[pyo3(signature = (wanted, hook=None))]
    fn aggregate<'py>(
        &self,
        py: Python<'py>,
        wanted: Vec<(String, Option<String>)>,
        hook: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Option<Told<'py>>>> {
        let wanted = wanted.into_iter().map(|(function, field)| aggregate_of(&function, field));
        let wanted = wanted.collect::<PyResult<Vec<_>>>()?;
        let (read, progress) = watched(self.read.clone());
        let values = work(py, &progress, hook, || read.aggregate(wanted))?;
        Ok(values.iter().map(|value| value.as_ref().map(|value| told(py, value))).collect())
    }

    /// The number of cells, and whether it is exact, not a bound.
    fn cell_count(&self, py: Python<'_>) -> PyResult<(u64, bool)> {
        let (read, progress) = watched(self.read.clone());
        let scan = work(py, &progress, None, || read.scan())?;
        Ok(counted(scan.cell_count()))
    }

    /// The bytes of the columns, as `cell_count`, or `None` where that is not known.
    fn byte_len(&self, py: Python<'_>) -> PyResult<Option<(u64, bool)>> {
        let (read, progress) = watched(self.read.clone());
        Ok(work(py, &progress, None, || read.scan()?.byte_len())?.map(counted))
    }

    /// For each field its name, least and greatest value, whether they are exact, and the number of nulls.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Statistics<'py>>> {
        let (read, progress) = watched(self.read.clone());
        let known = work(py, &progress, None, || read.scan()?.statistics())?;
        let told_of = |value: &Option<smalti::Value>| value.as_ref().map(|value| told(py, value));
        let one = |field: smalti::FieldStatistics| {
            let nulls = field.null_count.map(counted);
            (field.name, told_of(&field.least), told_of(&field.greatest), field.is_exact, nulls)
        };
        Ok(known.into_iter().map(one).collect())
    }

    /// Divides the read into so many splits, or fewer.
    fn splits(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Split>> {
        let (read, progress) = watched(self.read.clone());
        let splits = work(py, &progress, None, || read.scan()?.splits(count))?;
        Ok(splits.into_iter().map(|split| Split { split }).collect())
    }

    /// The Arrow schema of the batches.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let (read, progress) = watched(self.read.clone());
        let batches = work(py, &progress, None, || read.batches())?;
        capsule::schema(py, batches.schema())
    }
}

/// As [`Scan::statistics`] tells it.
type Statistics<'py> = (String, Option<Told<'py>>, Option<Told<'py>>, bool, Option<(u64, bool)>);

fn counted(count: Count) -> (u64, bool) {
    (count.most(), count.is_exact())
}

fn aggregate_of(function: &str, field: Option<String>) -> PyResult<Aggregate> {
    let function = match function {
        "count" => return Ok(Aggregate::count()),
        "sum" => Function::Sum,
        "min" => Function::Min,
        "max" => Function::Max,
        "mean" => Function::Mean,
        "null_count" => Function::NullCount,
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no aggregate {function:?}; there are count, sum, min, max, mean and null_count"
            )));
        }
    };
    let field = field.ok_or_else(|| PyValueError::new_err("all aggregates but count are of a field"))?;
    Ok(Aggregate::new(function, field))
}

/// The record batches of a read, as they are asked for.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Batches {
    /// Gone once the stream was handed on.
    batches: Mutex<Option<RecordBatches>>,
    progress: Arc<Progress>,
    is_unwritten: bool,
}

impl Batches {
    fn new(batches: RecordBatches) -> Self {
        let (progress, is_unwritten) = (Arc::clone(batches.progress()), batches.is_unwritten());
        Batches { batches: Mutex::new(Some(batches)), progress, is_unwritten }
    }

    fn held(&self) -> MutexGuard<'_, Option<RecordBatches>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Batches {
    /// The next record batch, or `None` at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = || match self.held().as_mut() {
            Some(batches) => batches.next().transpose(),
            None => Ok(None),
        };
        let is_ready = py.detach(|| self.held().as_ref().is_none_or(RecordBatches::is_ready));
        let next = if is_ready { briefly(py, next)? } else { work(py, &self.progress, None, next)? };
        Ok(next.map(|batch| Batch { batch }))
    }

    /// All that is left, for whoever takes Arrow's streams; nothing is left here then.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = py.detach(|| self.held().take());
        let batches = batches.ok_or_else(|| {
            PyValueError::new_err("the stream was handed on already, and can be read once; read again")
        })?;
        capsule::stream(py, Box::new(batches.into_reader()))
    }

    /// Whether nothing was ever written where it reads of a dense array.
    #[getter]
    fn is_unwritten(&self) -> bool {
        self.is_unwritten
    }

    /// What it has done: cells, tiles, tiles from the cache, requests, bytes.
    #[getter]
    fn statistics(&self) -> (u64, u64, u64, u64, u64) {
        let done = self.progress.statistics();
        (done.cell_count, done.tile_count, done.kept_tile_count, done.request_count, done.byte_len)
    }

    /// Stops the read, and lets go of what it holds.
    fn close(&self, py: Python<'_>) {
        self.progress.cancel();
        let batches = py.detach(|| self.held().take());
        py.detach(|| drop(batches));
    }
}

/// A record batch.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Batch {
    batch: RecordBatch,
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        capsule::batch(py, &self.batch)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, self.batch.schema_ref())
    }
}

/// A part of a read that another process can carry out.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Split {
    split: smalti::Split,
}

impl Split {
    pub(crate) fn new(split: smalti::Split) -> Self {
        Split { split }
    }

    pub(crate) fn split(&self) -> &smalti::Split {
        &self.split
    }
}

#[pymethods]
impl Split {
    /// Reads a split that was written down.
    #[staticmethod]
    #[pyo3(signature = (bytes, options=None))]
    fn from_bytes(py: Python<'_>, bytes: &[u8], options: Option<&Bound<'_, Options>>) -> PyResult<Self> {
        let options = given(options);
        let split = briefly(py, || smalti::Split::from_bytes(bytes, &options))?;
        Ok(Split { split })
    }

    /// Writes it down; with the key of an encrypted array.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.split.to_bytes().for_python(py)?))
    }

    #[getter]
    fn uri(&self) -> &str {
        self.split.uri()
    }

    #[getter]
    fn number(&self) -> u32 {
        self.split.number()
    }

    #[getter]
    fn count(&self) -> u32 {
        self.split.count()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.split.byte_len()
    }

    /// Starts its part of the read.
    #[pyo3(signature = (codes=false))]
    fn batches(&self, py: Python<'_>, codes: bool) -> PyResult<Batches> {
        let split = self.split.clone().arrow_form(form(codes));
        let progress = Arc::new(Progress::new());
        Ok(Batches::new(work(py, &progress, None, || split.batches())?))
    }
}
