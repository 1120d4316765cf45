//! What a read is asked for, in Python's words.

use crate::condition::Condition;
use crate::value::{Bounds, Range, bounds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smalti::arrow::ArrowForm;
use smalti::{Extent, Layout, Progress, ReadBuilder};
use std::sync::Arc;

/// A read: which cells of which fields, in which order. The attributes of the object that it is taken from have these names.
#[derive(FromPyObject)]
pub(crate) struct Request {
    /// Fields by name; all where there are none.
    columns: Vec<String>,
    /// Dimensions or labels by name, and their ranges.
    ranges: Vec<(String, Vec<Range>)>,
    /// Dimensions by number, and positions from the least coordinate on, as pairs of the first and the last.
    positions: Vec<(usize, Vec<(u64, u64)>)>,
    condition: Option<Py<Condition>>,
    order: Option<String>,
    limit: Option<u64>,
    memory: Option<usize>,
    batch_cells: Option<usize>,
    timestamps: bool,
    strict: bool,
    /// Whether cells of dense arrays that the condition rules out are left out, instead of filled.
    matching_only: bool,
    /// Whether codes of enumerations are given as they are, instead of labels.
    codes: bool,
}

impl Request {
    /// The read of an array.
    ///
    /// # Errors
    /// `ValueError` for what no array has; what the array lacks is found when the read starts.
    pub(crate) fn build(&self, array: &smalti::Array) -> PyResult<ReadBuilder> {
        let schema = array.schema();
        let mut read = array.read().select(self.columns.iter().cloned());
        if self.timestamps {
            read = read.timestamps();
        }
        for (name, ranges) in &self.ranges {
            let is_label = schema.dimension(name).is_none() && schema.label(name).is_some();
            for range in ranges {
                read = match (bounds(range)?, is_label) {
                    (Bounds::Numbers(lo, hi), false) => read.range(name, (lo, hi)),
                    (Bounds::Texts(lo, hi), false) => read.range::<&[u8]>(name, (lo, hi)),
                    (Bounds::Numbers(lo, hi), true) => read.label_range(name, (lo, hi)),
                    (Bounds::Texts(lo, hi), true) => read.label_range::<&[u8]>(name, (lo, hi)),
                };
            }
        }
        for (idx, stretches) in &self.positions {
            let start = first_ordinal(&schema, *idx)?;
            let Some(dimension) = schema.dimensions.get(*idx) else { continue };
            for (first, last) in stretches {
                let extent = Extent::Num { lo: start.wrapping_add(*first), hi: start.wrapping_add(*last) };
                read = read.extent(&dimension.name, extent);
            }
        }
        if let Some(condition) = &self.condition {
            read = read.filter(condition.get().condition.clone());
        }
        if let Some(name) = &self.order {
            read = read.order(layout_of(name)?);
        }
        if let Some(count) = self.limit {
            read = read.limit(count);
        }
        if let Some(byte_len) = self.memory {
            read = read.memory(byte_len);
        }
        if let Some(count) = self.batch_cells {
            read = read.batch_cells(count);
        }
        if self.strict {
            read = read.strict();
        }
        if self.matching_only {
            read = read.matching_only();
        }
        Ok(read.arrow_form(form(self.codes)))
    }
}

/// The Arrow types of what goes to Python.
pub(crate) fn form(codes: bool) -> ArrowForm {
    ArrowForm::default().codes_as_integers(codes)
}

/// The read with a way to stop it.
pub(crate) fn watched(read: ReadBuilder) -> (ReadBuilder, Arc<Progress>) {
    let progress = Arc::new(Progress::new());
    (read.progress(Arc::clone(&progress)), progress)
}

pub(crate) fn layout_of(name: &str) -> PyResult<Layout> {
    let layouts =
        [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered, Layout::Hilbert];
    let aliases = [("C", Layout::RowMajor), ("F", Layout::ColMajor)];
    let by_name = layouts.into_iter().find(|layout| layout.name() == name);
    let by_alias = aliases.into_iter().find(|(alias, _)| *alias == name).map(|(_, layout)| layout);
    by_name.or(by_alias).ok_or_else(|| {
        let names = layouts.map(Layout::name).join(", ");
        PyValueError::new_err(format!("there is no order {name:?}; the orders are {names}"))
    })
}

/// The ordinal of the least coordinate of a dimension: of its current domain where there is one.
///
/// # Errors
/// `ValueError` for dimensions without a domain.
pub(crate) fn first_ordinal(schema: &smalti::Schema, idx: usize) -> PyResult<u64> {
    let current = schema.current_domain.rectangle().and_then(|current| current.get(idx));
    let dimension = schema.dimensions.get(idx);
    match (current, dimension.and_then(|dimension| dimension.domain)) {
        (Some(Extent::Num { lo, .. }), _) => Ok(*lo),
        (_, Some((lo, _))) => Ok(lo.ordinal()),
        _ => Err(PyValueError::new_err(format!("dimension {idx} has no domain to count positions in"))),
    }
}
