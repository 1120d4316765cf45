//! What programs around smalti share: the command line, the Python package, and others to come. It uses the public crate alone, as
//! any program can.
//!
//! Nothing here prints, asks for a terminal, or catches signals. Reports go to a writer, warnings to whoever [takes](Warn) them, and
//! how far work is to a [`smalti::Progress`].
#![forbid(unsafe_code)]

pub mod cells;
pub mod condition;
mod counted;
mod distinct;
pub mod draw;
mod environment;
mod failure;
pub mod formats;
pub mod human;
pub mod import;
pub mod notation;
pub mod output;
pub mod picture;
pub mod ranges;
pub mod report;
mod warning;
pub mod when;
pub mod write;

pub use distinct::Distinct;
pub use environment::Environment;
pub use failure::{Failure, Outcome};
pub use warning::{Warn, Warning};
pub use when::When;
