//! Conditions on the values of cells: what a read filters by, and what a delete names.
//!
//! A [`Condition`] is what a user says. [Binding](BoundCondition::bind) it checks it against a schema before any
//! data is read; a [`BoundCondition`] is then [evaluated](BoundCondition::evaluate) over whole columns, and
//! [judged](BoundCondition::verdict) by statistics alone. The conditions of delete commits
//! [come](BoundCondition::of_stored) from their stored trees and [go](BoundCondition::to_stored_negated) there.
//!
//! # What holds when
//!
//! Measured on libtiledb 2.30, whose results these are except where it says otherwise.
//!
//! - A comparison with a null cell does not hold, whatever the operator; only null tests see nulls. A negation is pushed
//!   down to the comparisons (`not (a > 5)` is `a <= 5`), so null cells fulfil neither a comparison nor its negation:
//!   the three-valued logic of SQL.
//! - Floats compare as IEEE 754 says: -0.0 equals 0.0; NaN fulfils `!=` alone, so neither `a < 5` nor `not (a < 5)`.
//!   Members of a set compare by their bits: `a in (0.0)` leaves -0.0 out, and NaN is in a set that holds the same NaN.
//! - Text compares byte by byte, without a collation. libtiledb compares fixed-size `CHAR` cells by their first byte
//!   alone, as a signed number; here all bytes count.
//! - Labels of an enumeration stand for their codes, and the order of labels is the order of the enumeration's elements,
//!   if it is an ordered one. No cell equals a label that the enumeration lacks, nor is less or greater; every cell that
//!   is not null differs from it.
//! - `is null` on a field that is never null holds nowhere, `is not null` everywhere.
//! - Bytes without an order (`BLOB`, `GEOM_WKB`, `GEOM_WKT`, `ANY`) can be equal or in a set; libtiledb refuses that. Text
//!   in UTF-16, UTF-32 and UCS, and cells of several numbers, can only be tested for null, there and here.
//! - An `or` directly in an `or` is one `or`. libtiledb 2.30 never stores that, and takes the inner one for an `and` where it
//!   meets it; nothing that is stored here has it.
//! - Cells of fragments that lack a field: see [`Absent`].
//!
//! # Deletes
//!
//! A delete commit stores the negated condition, and the cells for which that holds stay. So a delete takes every cell for
//! which its condition is not known to be false: `a > 5` deletes the cells where `a` is null or NaN as well, in
//! libtiledb and here. No stored form that libtiledb 2.30 reads can say otherwise.
//! [`taken_with`](BoundCondition::taken_with) names the fields where this can strike. A comparison with a label that does not exist holds
//! for no cell, and this is known: it takes nothing but null cells.

mod bind;
mod bound;
mod cells;
mod display;
mod evaluate;
mod labels;
mod nearest;
mod operand;
mod parse;
mod prefix;
mod set;
mod stored;
mod test;
#[cfg(test)]
mod tests;
mod told;
mod tree;
mod verdict;

pub use bound::{Absent, BoundCondition, BoundField};
pub use labels::UnknownLabel;
pub use nearest::nearest_labels;
pub use told::told;
pub use tree::{Condition, Literal, Relation};
pub use verdict::{FieldBounds, Verdict};
