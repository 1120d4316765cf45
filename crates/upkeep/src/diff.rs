//! The cells in which two arrays, or one array at two times, differ.
//!
//! Both are read in row-major order and merged by their coordinates, so that memory stays bounded whatever the sizes. Values are
//! compared as they are stored, bit by bit, and what counts is what counts in a [digest](crate::digest): two arrays with the
//! same fields have no differences if and only if their digests are equal.

mod cursor;

use cursor::{Cursor, Row};
use smalti_array::Snapshot;
use smalti_format::{ArraySchema, Attribute};
use smalti_query::{Phase, Progress, Unit};
use smalti_tile::CellShape;
use smalti_types::{Error, Result};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a comparison may take.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// The most bytes held at once by both reads together; `None` for twice the default of reads.
    pub memory_byte_len: Option<usize>,
    /// Where the reads tell how far they are, and listen for the word to stop.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

/// How a cell of the second array differs from the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is in the second alone.
    Added,
    /// It is in the first alone.
    Removed,
    /// It is in both with other values.
    Changed,
}

/// What is on one side of a difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// No cell.
    Absent,
    /// Null.
    Null,
    /// A value, as it is stored.
    Value(Vec<u8>),
}

/// An attribute in which a cell differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldDifference {
    /// Its place in [`DiffFields::attributes`].
    pub attribute: usize,
    /// In the first array.
    pub before: Side,
    /// In the second array.
    pub after: Side,
}

/// A cell that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CellDifference {
    /// How.
    pub change: Change,
    /// A coordinate for each dimension, as it is stored.
    pub coordinates: Vec<Vec<u8>>,
    /// The attributes that differ; of a cell that is in one array alone, all.
    pub fields: Vec<FieldDifference>,
}

/// The fields that two arrays are compared in.
#[derive(Debug, Clone)]
pub struct DiffFields {
    /// Names and shapes of the dimensions.
    pub dimensions: Vec<(String, CellShape)>,
    /// Names and shapes of the attributes that both have.
    pub attributes: Vec<(String, CellShape)>,
    /// Attributes that only one has, or that are of different types: a phrase each. They are not compared.
    pub different: Vec<String>,
}

/// How many cells differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffSummary {
    /// Cells of the second array alone.
    pub added: u64,
    /// Cells of the first array alone.
    pub removed: u64,
    /// Cells of both with other values.
    pub changed: u64,
    /// Cells that are the same.
    pub same: u64,
    /// Whether the visitor ended the comparison before its end: there may be more differences.
    pub is_cut: bool,
}

impl DiffSummary {
    /// Whether no difference was found.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0 && self.changed == 0
    }
}

impl DiffFields {
    /// What two arrays have in common.
    ///
    /// # Errors
    /// `InvalidArgument` when their dimensions differ: their cells cannot be matched then.
    pub fn of(a: &ArraySchema, b: &ArraySchema) -> Result<DiffFields> {
        let dimensions = |schema: &ArraySchema| -> Vec<(String, CellShape)> {
            let shape = |dimension: &smalti_format::Dimension| CellShape {
                datatype: dimension.datatype,
                cell_val_num: dimension.cell_val_num,
                is_nullable: false,
            };
            schema.dimensions.iter().map(|dimension| (dimension.name.clone(), shape(dimension))).collect()
        };
        let (ours, theirs) = (dimensions(a), dimensions(b));
        if ours != theirs {
            let shown = |list: &[(String, CellShape)]| {
                let one = |(name, shape): &(String, CellShape)| format!("{name:?} {}", shape.datatype);
                list.iter().map(one).collect::<Vec<_>>().join(", ")
            };
            return Err(Error::invalid(format!(
                "the dimensions differ, so that cells cannot be matched: {} in the first, {} in the second",
                shown(&ours),
                shown(&theirs)
            )));
        }
        let (mut attributes, mut different) = (Vec::new(), Vec::new());
        for attribute in &a.attributes {
            let (name, shape) = (&attribute.name, shape_of(attribute));
            match b.attribute(name).map(|(_, other)| shape_of(other)) {
                Some(other) if other == shape => attributes.push((name.clone(), shape)),
                Some(other) => different.push(format!(
                    "attribute {name:?} is {} in the first, {} in the second",
                    described(shape),
                    described(other)
                )),
                None => different.push(format!("attribute {name:?} is in the first alone")),
            }
        }
        let only_second = b.attributes.iter().filter(|attribute| a.attribute(&attribute.name).is_none());
        different.extend(
            only_second.map(|attribute| format!("attribute {:?} is in the second alone", attribute.name)),
        );
        Ok(DiffFields { dimensions: ours, attributes, different })
    }

    fn names(&self) -> Vec<String> {
        self.dimensions.iter().chain(&self.attributes).map(|(name, _)| name.clone()).collect()
    }
}

fn shape_of(attribute: &Attribute) -> CellShape {
    CellShape {
        datatype: attribute.datatype,
        cell_val_num: attribute.cell_val_num,
        is_nullable: attribute.nullable,
    }
}

fn described(shape: CellShape) -> String {
    let number = match shape.cell_val_num.fixed() {
        Some(1) => String::new(),
        Some(number) => format!(" times {number}"),
        None => " of any length".to_owned(),
    };
    format!("{}{number}{}", shape.datatype, if shape.is_nullable { " or null" } else { "" })
}

/// Compares what two snapshots show, and hands every difference to `visit`, in row-major order, until it says to stop.
///
/// # Errors
/// `InvalidArgument` when the dimensions differ; what the reads and `visit` report.
pub fn diff(
    a: &Snapshot,
    b: &Snapshot,
    options: &DiffOptions,
    visit: &mut dyn FnMut(&DiffFields, CellDifference) -> Result<ControlFlow<()>>,
) -> Result<DiffSummary> {
    let fields = DiffFields::of(a.schema(), b.schema())?;
    let names = fields.names();
    let progress = options.progress.clone().unwrap_or_default();
    let options = &DiffOptions { progress: Some(Arc::clone(&progress)), ..options.clone() };
    let _announced = progress.announce(&[Phase::Comparing]);
    let counts = a.held_cell_count().zip(b.held_cell_count());
    progress.enter(Phase::Comparing, Unit::Cells, counts.and_then(|(a, b)| a.checked_add(b)));
    let mut diff = Diff {
        a: Cursor::new(a, &fields, &names, options)?,
        b: Cursor::new(b, &fields, &names, options)?,
        has_duplicates: a.schema().allows_dups || b.schema().allows_dups,
        fields: &fields,
        summary: DiffSummary::default(),
    };
    diff.summary.is_cut = diff.run(visit)?.is_break();
    if !diff.summary.is_cut {
        progress.complete(Phase::Comparing);
    }
    Ok(diff.summary)
}

struct Diff<'a> {
    a: Cursor,
    b: Cursor,
    has_duplicates: bool,
    fields: &'a DiffFields,
    summary: DiffSummary,
}

type Visit<'v> = &'v mut dyn FnMut(&DiffFields, CellDifference) -> Result<ControlFlow<()>>;

impl Diff<'_> {
    fn run(&mut self, visit: Visit<'_>) -> Result<ControlFlow<()>> {
        loop {
            let flow = match (self.a.settle()?, self.b.settle()?) {
                (false, false) => return Ok(ControlFlow::Continue(())),
                (true, false) => self.alone(Change::Removed, visit)?,
                (false, true) => self.alone(Change::Added, visit)?,
                (true, true) => match self.a.compare(&self.b)? {
                    Ordering::Less => self.alone(Change::Removed, visit)?,
                    Ordering::Greater => self.alone(Change::Added, visit)?,
                    Ordering::Equal if self.has_duplicates => self.groups(visit)?,
                    Ordering::Equal if self.a.has_values_of(&self.b) => {
                        self.summary.same += 1;
                        self.a.step();
                        self.b.step();
                        ControlFlow::Continue(())
                    }
                    Ordering::Equal => {
                        let (before, after) = (self.a.row(), self.b.row());
                        self.a.step();
                        self.b.step();
                        self.both(before, after, visit)?
                    }
                },
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
    }

    fn alone(&mut self, change: Change, visit: Visit<'_>) -> Result<ControlFlow<()>> {
        let cursor = if change == Change::Added { &mut self.b } else { &mut self.a };
        let row = cursor.row();
        cursor.step();
        self.one(change, row, visit)
    }

    fn one(&mut self, change: Change, row: Row, visit: Visit<'_>) -> Result<ControlFlow<()>> {
        let count = if change == Change::Added { &mut self.summary.added } else { &mut self.summary.removed };
        *count += 1;
        let field = |(attribute, value): (usize, Side)| match change {
            Change::Added => FieldDifference { attribute, before: Side::Absent, after: value },
            _ => FieldDifference { attribute, before: value, after: Side::Absent },
        };
        let fields = row.values.into_iter().enumerate().map(field).collect();
        visit(self.fields, CellDifference { change, coordinates: row.coordinates, fields })
    }

    fn both(&mut self, before: Row, after: Row, visit: Visit<'_>) -> Result<ControlFlow<()>> {
        let coordinates = before.coordinates;
        let pairs = before.values.into_iter().zip(after.values).enumerate();
        let fields: Vec<FieldDifference> = pairs
            .filter(|(_, (before, after))| before != after)
            .map(|(attribute, (before, after))| FieldDifference { attribute, before, after })
            .collect();
        if fields.is_empty() {
            self.summary.same += 1;
            return Ok(ControlFlow::Continue(()));
        }
        self.summary.changed += 1;
        visit(self.fields, CellDifference { change: Change::Changed, coordinates, fields })
    }

    /// Cells of equal coordinates, of which there may be several: those that have no equal on the other side are paired as
    /// they come.
    fn groups(&mut self, visit: Visit<'_>) -> Result<ControlFlow<()>> {
        let (mut before, mut after) = (self.a.group()?, self.b.group()?);
        before.sort_by(|a, b| a.values.cmp(&b.values));
        after.sort_by(|a, b| a.values.cmp(&b.values));
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let (mut before, mut after) = (before.into_iter().peekable(), after.into_iter().peekable());
        while let (Some(a), Some(b)) = (before.peek(), after.peek()) {
            match a.values.cmp(&b.values) {
                Ordering::Less => removed.extend(before.next()),
                Ordering::Greater => added.extend(after.next()),
                Ordering::Equal => {
                    self.summary.same += 1;
                    before.next();
                    after.next();
                }
            }
        }
        removed.extend(before);
        added.extend(after);
        let (mut removed, mut added) = (removed.into_iter(), added.into_iter());
        loop {
            let flow = match (removed.next(), added.next()) {
                (None, None) => return Ok(ControlFlow::Continue(())),
                (Some(a), Some(b)) => self.both(a, b, visit)?,
                (Some(a), None) => self.one(Change::Removed, a, visit)?,
                (None, Some(b)) => self.one(Change::Added, b, visit)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
    }
}
