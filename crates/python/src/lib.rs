//! `smalti._smalti`: the extension module under the Python package `smalti`.
//!
//! It is thin: handles on the engine's arrays, groups and scans, conversions of values, and memory that goes to NumPy and Arrow as it
//! is. How things look to Python's users (indexing, labels, times, mappings, pictures) is written in Python, in `python/smalti`.
//!
//! Every call that works gives up the interpreter's lock, can be interrupted, and reports errors as exceptions of `smalti.errors`.
#![deny(unsafe_code)]

mod array;
mod call;
mod capsule;
mod condition;
mod context;
mod errors;
mod group;
mod intake;
mod memory;
mod options;
mod report;
mod request;
mod scan;
mod upkeep;
mod value;
mod write;

use pyo3::prelude::*;

#[pymodule]
mod _smalti {
    #[pymodule_export]
    use crate::array::Array;
    #[pymodule_export]
    use crate::condition::Condition;
    #[pymodule_export]
    use crate::context::{Context, private_keys};
    #[pymodule_export]
    use crate::group::{Group, children, kind_of};
    #[pymodule_export]
    use crate::intake::{dense_tiles, import_stream, span_of};
    #[pymodule_export]
    use crate::memory::{Buffer, distinct};
    #[pymodule_export]
    use crate::options::Options;
    #[pymodule_export]
    use crate::report::{describe_array, describe_group, draw, explain, history_of_array, history_of_group};
    #[pymodule_export]
    use crate::scan::{Batch, Batches, Scan, Split};
    #[pymodule_export]
    use crate::upkeep::{SharedConsolidation, fsck, merge_part, repair};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
