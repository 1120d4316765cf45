//! Arrays.

use crate::call::{briefly, work};
use crate::capsule;
use crate::condition::Condition;
use crate::errors::ForPython;
use crate::options::{Options, given};
use crate::request::{Request, first_ordinal};
use crate::scan::Scan;
use crate::upkeep::{Files, SharedConsolidation};
use crate::value::{Range, Told, told, told_interval};
use crate::write::{NumpyInput, Write, share_of, write_columns, write_table};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use smalti::upkeep::{FragmentOptions, UpkeepOptions, VacuumOptions};
use smalti::{DiffOptions, DigestOptions, Progress, SchemaChange, TimeRange};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A handle on an array.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Array {
    pub(crate) array: smalti::Array,
}

/// A field as Python sees it: name, datatype, values in a cell (none for any number of them), whether it may be null, its fill value,
/// its enumeration.
type ToldAttribute<'py> = (String, &'static str, Option<u32>, bool, Told<'py>, Option<String>);

/// A dimension: name, datatype, the ends of its domain, its tile extent.
type ToldDimension<'py> = (String, &'static str, Option<(Told<'py>, Told<'py>)>, Option<Told<'py>>);

/// A fragment: name, first and last time, cells, bytes, whether it is dense, format version.
type ToldFragment = (String, u64, u64, Option<u64>, u64, bool, u32);

fn progress() -> Arc<Progress> {
    Arc::new(Progress::new())
}

#[pymethods]
impl Array {
    #[staticmethod]
    #[pyo3(signature = (uri, options=None))]
    fn open(py: Python<'_>, uri: &str, options: Option<&Bound<'_, Options>>) -> PyResult<Self> {
        let options = given(options);
        work(py, &progress(), None, || smalti::Array::open_with(uri, &options)).map(|array| Array { array })
    }

    /// Creates an array with a schema in smalti's JSON.
    #[staticmethod]
    #[pyo3(signature = (uri, schema, options=None))]
    fn create(
        py: Python<'_>,
        uri: &str,
        schema: &str,
        options: Option<&Bound<'_, Options>>,
    ) -> PyResult<Self> {
        let schema = smalti::json::schema_from_json(schema).and_then(|file| file.build()).for_python(py)?;
        let options = given(options);
        let array = work(py, &progress(), None, || smalti::Array::create_with(uri, &schema, &options))?;
        Ok(Array { array })
    }

    /// The same array as it is now, or at the end of its time range.
    fn reopen(&self, py: Python<'_>) -> PyResult<Self> {
        work(py, &progress(), None, || self.array.reopen()).map(|array| Array { array })
    }

    #[getter]
    fn uri(&self) -> String {
        self.array.uri()
    }

    #[getter]
    fn is_dense(&self) -> bool {
        self.array.schema().is_dense()
    }

    /// The schema in smalti's JSON.
    fn schema_json(&self, py: Python<'_>) -> PyResult<String> {
        let schema = self.array.schema();
        let enumerations = briefly(py, || {
            let names = schema.enumerations.iter().map(|(name, _)| self.array.enumeration(name));
            names.map(|found| Ok((*found?).clone())).collect::<smalti::Result<Vec<_>>>()
        })?;
        Ok(smalti::json::schema_to_json(&schema, &enumerations).to_string())
    }

    fn arrow_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = briefly(py, || self.array.arrow_schema())?;
        capsule::schema(py, &schema)
    }

    fn dimensions<'py>(&self, py: Python<'py>) -> Vec<ToldDimension<'py>> {
        let schema = self.array.schema();
        let scalar = |datatype, value: smalti::Scalar| -> Told<'py> {
            let datatype: smalti::Datatype = datatype;
            (datatype.name(), pyo3::types::PyBytes::new(py, &value.to_le_bytes()))
        };
        let one = |dimension: &smalti::format::Dimension| {
            let datatype = dimension.datatype;
            let domain = dimension.domain.map(|(lo, hi)| (scalar(datatype, lo), scalar(datatype, hi)));
            let tile = dimension.tile_extent.map(|extent| scalar(datatype, extent));
            (dimension.name.clone(), datatype.name(), domain, tile)
        };
        schema.dimensions.iter().map(one).collect()
    }

    fn attributes<'py>(&self, py: Python<'py>) -> Vec<ToldAttribute<'py>> {
        let schema = self.array.schema();
        let one = |attribute: &smalti::format::Attribute| {
            let count = attribute.cell_val_num.fixed().and_then(|count| u32::try_from(count).ok());
            let fill = pyo3::types::PyBytes::new(py, &attribute.fill_value);
            let name = attribute.datatype.name();
            (
                attribute.name.clone(),
                name,
                count,
                attribute.nullable,
                (name, fill),
                attribute.enumeration.clone(),
            )
        };
        schema.attributes.iter().map(one).collect()
    }

    /// Dimension labels: name, dimension, datatype.
    fn labels(&self) -> Vec<(String, String, &'static str)> {
        let schema = self.array.schema();
        let one = |label: &smalti::format::DimensionLabel| {
            let idx = usize::try_from(label.dimension_idx).ok();
            let dimension = idx.and_then(|idx| schema.dimensions.get(idx));
            let dimension = dimension.map_or_else(String::new, |dimension| dimension.name.clone());
            (label.name.clone(), dimension, label.datatype.name())
        };
        schema.dimension_labels.iter().map(one).collect()
    }

    /// The array that holds a dimension label.
    fn label(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        work(py, &progress(), None, || self.array.label(name)).map(|array| Array { array })
    }

    /// The number of positions on each dimension of a dense array, of its current domain where it has one.
    ///
    /// # Errors
    /// `ValueError` for dimensions without a domain of whole numbers.
    #[getter]
    fn shape(&self) -> PyResult<Vec<u64>> {
        let schema = self.array.schema();
        let current = schema.current_domain.rectangle();
        let one = |(idx, dimension): (usize, &smalti::format::Dimension)| {
            let lo = first_ordinal(&schema, idx)?;
            let hi = match (current.and_then(|current| current.get(idx)), dimension.domain) {
                (Some(smalti::Extent::Num { hi, .. }), _) => *hi,
                (_, Some((_, hi))) => hi.ordinal(),
                _ => lo,
            };
            // A domain of all 64-bit numbers has one position more than can be told.
            Ok(hi.saturating_sub(lo).saturating_add(1))
        };
        schema.dimensions.iter().enumerate().map(one).collect()
    }

    /// The current domain: a pair of ends for each dimension; `None` where there is none.
    fn current_domain<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<(Told<'py>, Option<Told<'py>>)>>> {
        let schema = self.array.schema();
        let Some(sides) = schema.current_domain.rectangle() else { return Ok(None) };
        let one = |(extent, dimension): (&smalti::Extent, &smalti::format::Dimension)| {
            let interval = smalti::Interval::from_extent(dimension.datatype, extent).for_python(py)?;
            Ok(told_interval(py, &interval))
        };
        sides.iter().zip(&schema.dimensions).map(one).collect::<PyResult<Vec<_>>>().map(Some)
    }

    /// The non-empty domain, as `current_domain`.
    fn non_empty_domain<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Vec<(Told<'py>, Option<Told<'py>>)>>> {
        let found = briefly(py, || self.array.non_empty_domain())?;
        Ok(found.map(|sides| sides.iter().map(|side| told_interval(py, side)).collect()))
    }

    fn fragments(&self, py: Python<'_>) -> PyResult<Vec<ToldFragment>> {
        let fragments = work(py, &progress(), None, || self.array.fragments())?;
        let one = |fragment: &smalti::Fragment| {
            let TimeRange { start, end } = fragment.time();
            let (name, version) = (fragment.name().to_owned(), fragment.format_version());
            (name, start, end, fragment.cell_count(), fragment.data_byte_len(), fragment.is_dense(), version)
        };
        Ok(fragments.iter().map(one).collect())
    }

    fn unfiltered_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        work(py, &progress(), None, || self.array.unfiltered_byte_len())
    }

    /// The labels of an enumeration: their datatype and each as bytes, and whether they are ordered.
    fn enumeration<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(Vec<Told<'py>>, bool)> {
        let found = work(py, &progress(), None, || self.array.enumeration(name))?;
        Ok((found.labels().iter().map(|label| told(py, label)).collect(), found.is_ordered))
    }

    /// The metadata: keys, and values as a datatype and bytes.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Told<'py>)>> {
        let metadata = work(py, &progress(), None, || self.array.metadata())?;
        Ok(metadata.iter().map(|(key, value)| (key.clone(), told(py, value))).collect())
    }

    /// Changes metadata: keys to put with a datatype and bytes, keys to delete.
    #[pyo3(signature = (put, delete, at=None))]
    fn write_metadata(
        &self,
        py: Python<'_>,
        put: Vec<(String, String, Vec<u8>)>,
        delete: Vec<String>,
        at: Option<u64>,
    ) -> PyResult<u64> {
        let change = crate::write::metadata(py, self.array.write_metadata(), put, delete, at)?;
        work(py, &progress(), None, || change.commit())
    }

    /// A read; see [`Scan`].
    fn scan(&self, request: Request) -> PyResult<Scan> {
        request.build(&self.array).map(Scan::new)
    }

    /// Writes columns of NumPy, as one fragment: its name.
    #[pyo3(signature = (columns, request, hook=None))]
    fn write(
        &self,
        py: Python<'_>,
        columns: Vec<NumpyInput>,
        request: Write,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        write_columns(py, &self.array, columns, &request, hook)
    }

    /// Writes a table of Arrow: the names of its fragments, which become visible at one moment.
    #[pyo3(signature = (table, request, memory=None, hook=None))]
    fn write_batches(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        request: Write,
        memory: Option<u64>,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        write_table(py, &self.array, table, &request, memory, hook)
    }

    /// Begins a write that several processes do together: its text.
    #[pyo3(signature = (at=None))]
    fn share_write(&self, py: Python<'_>, at: Option<u64>) -> PyResult<String> {
        let share = work(py, &progress(), None, || match at {
            Some(time) => self.array.share_write_at(time),
            None => self.array.share_write(),
        })?;
        Ok(share.to_string())
    }

    /// Makes fragments of a shared write visible at one moment.
    fn commit_shared(&self, py: Python<'_>, share: &str, names: Vec<String>) -> PyResult<()> {
        let share = share_of(py, share)?;
        work(py, &progress(), None, || self.array.commit_shared(&share, &names).map(drop))
    }

    /// Removes the fragments of a shared write: how many there were.
    fn abandon_shared(&self, py: Python<'_>, share: &str) -> PyResult<usize> {
        let share = share_of(py, share)?;
        work(py, &progress(), None, || self.array.abandon_shared(&share))
    }

    /// Deletes the cells that fulfil a condition: the time of the delete.
    #[pyo3(signature = (condition, at=None))]
    fn delete(&self, py: Python<'_>, condition: &Bound<'_, Condition>, at: Option<u64>) -> PyResult<u64> {
        let condition = condition.get().condition.clone();
        work(py, &progress(), None, || {
            let delete = self.array.delete(condition);
            let delete = match at {
                Some(time) => delete.at(time),
                None => delete,
            };
            delete.commit().map(|written| written.timestamp())
        })
    }

    /// The number of cells that fulfil a condition, so that a delete would take them.
    fn delete_count(&self, py: Python<'_>, condition: &Bound<'_, Condition>) -> PyResult<u64> {
        let condition = condition.get().condition.clone();
        work(py, &progress(), None, || self.array.delete(condition).cell_count())
    }

    /// Changes the schema: attributes and enumerations in smalti's JSON, names, and sides of the current domain.
    #[pyo3(signature = (*, add_attributes, drop_attributes, add_enumerations, extend_enumerations, drop_enumerations, current_domain, at=None))]
    fn evolve(
        &self,
        py: Python<'_>,
        add_attributes: Vec<String>,
        drop_attributes: Vec<String>,
        add_enumerations: Vec<String>,
        extend_enumerations: Vec<(String, Vec<Vec<u8>>)>,
        drop_enumerations: Vec<String>,
        current_domain: Vec<(String, Range)>,
        at: Option<u64>,
    ) -> PyResult<u64> {
        let attributes = add_attributes.iter().map(|text| smalti::json::attribute_from_json(text));
        let enumerations = add_enumerations.iter().map(|text| smalti::json::enumeration_from_json(text));
        let mut change = SchemaChange {
            add_attributes: attributes.collect::<smalti::Result<Vec<_>>>().for_python(py)?,
            drop_attributes,
            add_enumerations: enumerations.collect::<smalti::Result<Vec<_>>>().for_python(py)?,
            extend_enumerations,
            drop_enumerations,
            at,
            ..SchemaChange::default()
        };
        let schema = self.array.schema();
        for (name, range) in &current_domain {
            let side = crate::write::side_of(py, &schema, name, range)?;
            change.current_domain.push((name.clone(), side));
        }
        work(py, &progress(), None, || self.array.evolve_raw(&change))
    }

    /// A digest of all cells, as hexadecimal digits, and their number.
    #[pyo3(signature = (includes_times=false, hook=None))]
    fn digest(
        &self,
        py: Python<'_>,
        includes_times: bool,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, u64)> {
        let progress = progress();
        let options = DigestOptions {
            includes_times,
            progress: Some(Arc::clone(&progress)),
            ..DigestOptions::default()
        };
        let digest = work(py, &progress, hook, || self.array.digest(&options))?;
        Ok((digest.to_string(), digest.cell_count))
    }

    /// How many cells another array has more, less, with other values, and alike.
    #[pyo3(signature = (other, hook=None))]
    fn diff(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Array>,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u64, u64, u64)> {
        let progress = progress();
        let options = DiffOptions { progress: Some(Arc::clone(&progress)), ..DiffOptions::default() };
        let other = &other.get().array;
        let summary = work(py, &progress, hook, || {
            self.array.diff(other, &options, |_, _| Ok(ControlFlow::Continue(())))
        })?;
        Ok((summary.added, summary.removed, summary.changed, summary.same))
    }

    /// Merges fragments: for each merge its inputs and outputs.
    #[pyo3(signature = (*, purge=false, memory=None, verify=true, hook=None))]
    fn consolidate(
        &self,
        py: Python<'_>,
        purge: bool,
        memory: Option<usize>,
        verify: bool,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(Vec<String>, Vec<String>)>> {
        let progress = progress();
        let options = FragmentOptions {
            purges: purge,
            memory_byte_len: memory,
            verifies: verify,
            progress: Some(Arc::clone(&progress)),
            ..FragmentOptions::default()
        };
        let done = work(py, &progress, hook, || self.array.consolidate(&options))?;
        Ok(done.merges.into_iter().map(|merge| (merge.inputs, merge.outputs)).collect())
    }

    /// Plans a consolidation for several processes.
    #[pyo3(signature = (parts, *, purge=false))]
    fn share_consolidation(
        &self,
        py: Python<'_>,
        parts: usize,
        purge: bool,
    ) -> PyResult<SharedConsolidation> {
        let options = FragmentOptions { purges: purge, ..FragmentOptions::default() };
        let shared = work(py, &progress(), None, || self.array.share_consolidation(&options, parts))?;
        Ok(SharedConsolidation::new(shared))
    }

    /// Removes fragments that others replace: their names, the bytes that they took, and whether open handles keep them.
    #[pyo3(signature = (*, dry_run=false, hook=None))]
    fn vacuum(
        &self,
        py: Python<'_>,
        dry_run: bool,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<String>, u64, bool)> {
        let progress = progress();
        let options = VacuumOptions {
            is_dry_run: dry_run,
            progress: Some(Arc::clone(&progress)),
            ..VacuumOptions::default()
        };
        let mut array = self.array.clone();
        let done = work(py, &progress, hook, || array.vacuum(&options))?;
        Ok((done.fragments, done.byte_len, done.waits_for_readers))
    }

    /// Consolidates or vacuums files of metadata, commits or footers.
    #[pyo3(signature = (which, vacuum, dry_run=false))]
    fn upkeep_files(&self, py: Python<'_>, which: &str, vacuum: bool, dry_run: bool) -> PyResult<Files> {
        let progress = progress();
        let options =
            UpkeepOptions { dry_run, progress: Some(Arc::clone(&progress)), ..UpkeepOptions::default() };
        let array = &self.array;
        let report = work(py, &progress, None, || match (which, vacuum) {
            ("fragment_metadata", false) => array.consolidate_fragment_meta(&options),
            ("fragment_metadata", true) => array.vacuum_fragment_meta(&options),
            ("commits", false) => array.consolidate_commits(&options),
            ("commits", true) => array.vacuum_commits(&options),
            ("metadata", false) => array.consolidate_metadata(&options),
            ("metadata", true) => array.vacuum_metadata(&options),
            _ => Err(smalti::Error::invalid(format!(
                "there is nothing called {which:?} to consolidate; there are fragments, fragment_metadata, commits and metadata"
            ))),
        })?;
        Ok(Files::of(report))
    }

    /// Requests, bytes and rounds since the handle was opened.
    fn traffic(&self) -> (u64, u64, u64) {
        let traffic = self.array.traffic();
        (traffic.request_count(), traffic.read_byte_len, traffic.round_count)
    }

    fn schema_timestamp(&self) -> Option<u64> {
        self.array.schema_timestamp()
    }
}
