//! What most programs use: `use smalti::{Array, Dimension, prelude::*};`
//!
//! [`Array`](crate::Array) and [`Dimension`](crate::Dimension) are named beside the prelude, because other crates have these names too:
//! `arrow_array` an `Array`, and the prelude of `ndarray` both. So all of them can be imported together, and what the names mean
//! is what is said once:
//!
//! ```
//! use smalti::arrow_array::*;
//! use smalti::ndarray::prelude::*;
//! use smalti::prelude::*;
//! use smalti::{Array, Dimension};
//!
//! let schema = Schema::dense()
//!     .dimension(Dimension::new("y", 0..=1))
//!     .dimension(Dimension::new("x", 0..=2))
//!     .attribute(Attribute::of::<f64>("a"))
//!     .build()?;
//! let array = Array::create("mem://prelude-docs", &schema)?;
//! array.write().column("a", &Array2::from_shape_fn((2, 3), |(y, x)| (y + x) as f64)).commit()?;
//! let batch: RecordBatch = array.read().filter(field("a").gt(1.5)).matching_only().collect()?;
//! assert_eq!(batch.column(0).len(), 3);
//! # Ok::<(), smalti::Error>(())
//! ```
//!
//! The methods of Arrow's arrays, such as `len` above, come with this prelude.

pub use crate::{
    Attribute, Columns, Condition, Datatype, EncryptionKey, Enumeration, Error, ErrorKind, Filter, Group,
    Label, Layout, Options, Schema, Value, field,
};
pub use arrow_array::Array as _;
