//! Aggregates: count, sum, minimum, maximum, mean and null count of fields, over ranges and by condition.
//!
//! Tiles that are wholly selected are answered from their statistics in the fragment's metadata, where these say enough;
//! the others are folded as they are decoded, and nothing is kept of them.

use crate::condition::Condition;
use crate::fields::result_fields;
use crate::folded::Folded;
use crate::progress::Progress;
use crate::ranges;
use crate::read::read_cells;
use crate::request::{LabelRange, ReadRequest};
use smalti_array::Snapshot;
use smalti_format::ArraySchema;
use smalti_tile::{CellShape, StatsBuilder, StatsKind, Total};
use smalti_types::{Datatype, Error, Extent, Layout, Result, Scalar};
use std::sync::Arc;

/// What to compute of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Function {
    /// The number of cells, null ones included.
    Count,
    /// The sum of the cells that are not null; 0 where no cell was ever written. NaN makes it NaN.
    Sum,
    /// The least cell that is neither null nor NaN.
    Min,
    /// The greatest cell that is neither null nor NaN.
    Max,
    /// The sum divided by the number of cells that are not null.
    Mean,
    /// The number of cells that are null.
    NullCount,
}

impl Function {
    /// What commands and messages call it.
    fn name(self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::Sum => "sum",
            Function::Min => "min",
            Function::Max => "max",
            Function::Mean => "mean",
            Function::NullCount => "null_count",
        }
    }

    /// Whether it can be computed of cells of a shape.
    fn takes(self, shape: CellShape) -> bool {
        let kind = StatsKind::new(shape.datatype, shape.cell_val_num, false);
        match self {
            Function::Count | Function::NullCount => true,
            Function::Sum | Function::Mean => kind.has_sum && shape.datatype != Datatype::Char,
            Function::Min | Function::Max => kind.has_min_max,
        }
    }
}

/// One aggregate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    /// What to compute.
    pub function: Function,
    /// Of which attribute or dimension; [`Function::Count`] needs none.
    pub field: Option<String>,
}

impl Aggregate {
    /// A function of a field.
    pub fn new(function: Function, field: impl Into<String>) -> Self {
        Aggregate { function, field: Some(field.into()) }
    }

    /// The number of cells.
    pub fn count() -> Self {
        Aggregate { function: Function::Count, field: None }
    }

    /// The sum of a field.
    pub fn sum(field: impl Into<String>) -> Self {
        Aggregate::new(Function::Sum, field)
    }

    /// The least cell of a field.
    pub fn min(field: impl Into<String>) -> Self {
        Aggregate::new(Function::Min, field)
    }

    /// The greatest cell of a field.
    pub fn max(field: impl Into<String>) -> Self {
        Aggregate::new(Function::Max, field)
    }

    /// The mean of a field.
    pub fn mean(field: impl Into<String>) -> Self {
        Aggregate::new(Function::Mean, field)
    }

    /// The number of nulls of a field.
    pub fn null_count(field: impl Into<String>) -> Self {
        Aggregate::new(Function::NullCount, field)
    }
}

/// What to aggregate. The default computes nothing over everything.
#[derive(Debug, Clone, Default)]
pub struct AggregateRequest {
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
    /// As in [`ReadRequest`](crate::ReadRequest).
    pub ranges: Vec<Vec<Extent>>,
    /// As in [`ReadRequest`](crate::ReadRequest).
    pub is_strict: bool,
    /// As in [`ReadRequest`](crate::ReadRequest).
    pub label_ranges: Vec<LabelRange>,
    /// Which cells; in dense arrays too the others do not count.
    pub condition: Option<Condition>,
    /// As in [`ReadRequest`](crate::ReadRequest).
    pub memory_byte_len: Option<usize>,
    /// Whether sums that leave 64 bits are given as the nearest bound, as libtiledb gives them, instead of an error.
    pub saturates: bool,
    /// As in [`ReadRequest`](crate::ReadRequest).
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

/// The value of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum AggregateValue {
    /// There is none: no cell that is neither null nor NaN, or of a dense array none that was ever written.
    Nothing,
    /// A number: a count, a sum (`I64`, `U64` or `F64`), a mean (`F64`), or a cell of the field's type.
    Number(Scalar),
    /// A cell of text.
    Text(Vec<u8>),
}

/// Computes aggregates, in their order.
///
/// # Errors
/// `InvalidArgument` for unknown fields, functions that a field's type does not have, sums and means of codes of labels, and sums that leave 64 bits; what
/// a [`read`](crate::read) reports.
pub fn aggregate(snapshot: &Snapshot, request: &AggregateRequest) -> Result<Vec<AggregateValue>> {
    let schema = snapshot.schema();
    ranges::check(schema, &request.ranges, request.is_strict)?;
    let mut names: Vec<String> = Vec::new();
    for field in request.aggregates.iter().filter_map(|aggregate| aggregate.field.as_ref()) {
        if !names.contains(field) {
            names.push(field.clone());
        }
    }
    let named = names.len();
    if names.is_empty() {
        // Something to count: coordinates cost nothing in dense arrays, and are read in sparse ones only where needed.
        names.extend(schema.dimensions.first().map(|dimension| dimension.name.clone()));
    }
    let fields = result_fields(schema, &names)?;
    let mut folded: Vec<Folded> = fields
        .iter()
        .map(|(_, field)| {
            let kind = StatsKind::new(field.shape.datatype, field.shape.cell_val_num, false);
            Folded {
                shape: field.shape,
                kind,
                stats: StatsBuilder::new(kind),
                cell_count: 0,
                is_counted_only: named == 0,
                is_unwritten: false,
            }
        })
        .collect();
    for aggregate in &request.aggregates {
        check(schema, aggregate, &names[..named], &folded)?;
    }
    let single = request.ranges.iter().all(|ranges| ranges.len() <= 1);
    let layout = match schema.is_dense() {
        true if single => Layout::GlobalOrder,
        true => Layout::RowMajor,
        false => Layout::Unordered,
    };
    let read = ReadRequest {
        fields: names.clone(),
        ranges: request.ranges.clone(),
        label_ranges: request.label_ranges.clone(),
        layout: Some(layout),
        memory_byte_len: request.memory_byte_len,
        condition: request.condition.clone(),
        leaves_out: true,
        progress: request.progress.clone(),
        ..ReadRequest::default()
    };
    let read = match crate::labels::resolved(snapshot, &read)? {
        Some(read) => read,
        None => return finish(request, &names, folded),
    };
    let mut batches = read_cells(snapshot, &read)?;
    let is_unwritten = batches.is_unwritten();
    while batches.fold_next(&mut folded)? {}
    let is_dimension = |name: &String| schema.dimension(name).is_some();
    if is_unwritten {
        // Fill values stand for what nobody knows: they are counted, and say nothing.
        for (folded, _) in folded.iter_mut().zip(&names).filter(|(_, name)| !is_dimension(name)) {
            folded.is_unwritten = true;
        }
    }
    finish(request, &names, folded)
}

fn check(schema: &ArraySchema, aggregate: &Aggregate, names: &[String], folded: &[Folded]) -> Result<()> {
    let function = aggregate.function;
    let Some(name) = &aggregate.field else {
        return match function {
            Function::Count => Ok(()),
            function => Err(Error::invalid(format!(
                "the aggregate {} needs a field; {}",
                function.name(),
                candidates(schema, function)
            ))),
        };
    };
    let Some(folded) = names.iter().position(|known| known == name).map(|idx| &folded[idx]) else {
        return Ok(());
    };
    if let Some(enumeration) = enumeration_of(schema, function, name) {
        return Err(Error::invalid(format!(
            "the cells of field {name:?} are codes of the enumeration {enumeration:?}, and the numbers of labels add up to nothing; \
             {}",
            candidates(schema, function)
        )));
    }
    if function.takes(folded.shape) {
        return Ok(());
    }
    let what = if matches!(function, Function::Min | Function::Max) { "least and greatest" } else { "sum" };
    Err(Error::invalid(format!(
        "cells of field {name:?} ({}) have no {what}; {}",
        folded.shape.datatype,
        candidates(schema, function)
    )))
}

/// The enumeration of a field whose codes a function would add up.
fn enumeration_of<'a>(schema: &'a ArraySchema, function: Function, name: &str) -> Option<&'a String> {
    let (_, attribute) = schema.attribute(name)?;
    attribute.enumeration.as_ref().filter(|_| matches!(function, Function::Sum | Function::Mean))
}

/// The fields that a function can be computed of, for messages.
fn candidates(schema: &ArraySchema, function: Function) -> String {
    let fields = result_fields(schema, &[]).unwrap_or_default();
    let names: Vec<String> = fields
        .into_iter()
        .filter(|(_, field)| {
            function.takes(field.shape) && enumeration_of(schema, function, &field.name).is_none()
        })
        .map(|(_, field)| field.name)
        .collect();
    match names.is_empty() {
        true => format!("no field of the array has a {}", function.name()),
        false => format!("{} can be asked of {}", function.name(), names.join(", ")),
    }
}

fn finish(request: &AggregateRequest, names: &[String], folded: Vec<Folded>) -> Result<Vec<AggregateValue>> {
    let value = |aggregate: &Aggregate| {
        let idx = aggregate.field.as_ref().and_then(|field| names.iter().position(|name| name == field));
        let folded = &folded[idx.unwrap_or(0)];
        let valid_count = folded.cell_count.saturating_sub(folded.stats.null_count());
        let number = |scalar| Ok(AggregateValue::Number(scalar));
        let total = match folded.is_unwritten {
            true => StatsBuilder::new(folded.kind).total(),
            false => folded.stats.total(),
        };
        match aggregate.function {
            Function::Mean | Function::Min | Function::Max if folded.is_unwritten => {
                Ok(AggregateValue::Nothing)
            }
            Function::Count => number(Scalar::U64(folded.cell_count)),
            Function::NullCount => number(Scalar::U64(folded.stats.null_count())),
            Function::Sum => sum(total, request.saturates).map(AggregateValue::Number).map_err(|error| {
                error.context(format_args!("sum of {:?}", aggregate.field.as_deref().unwrap_or("")))
            }),
            Function::Mean if valid_count == 0 => Ok(AggregateValue::Nothing),
            Function::Mean => number(Scalar::F64(match total {
                Total::Signed(total) => total as f64 / valid_count as f64,
                Total::Unsigned(total) => total as f64 / valid_count as f64,
                Total::Float(total) => total / valid_count as f64,
            })),
            Function::Min => bound(folded, folded.stats.min()),
            Function::Max => bound(folded, folded.stats.max()),
        }
    };
    request.aggregates.iter().map(value).collect()
}

fn bound(folded: &Folded, bytes: Option<&[u8]>) -> Result<AggregateValue> {
    let Some(bytes) = bytes else { return Ok(AggregateValue::Nothing) };
    if folded.shape.datatype.is_string() || folded.shape.datatype == Datatype::Char {
        return Ok(AggregateValue::Text(bytes.to_vec()));
    }
    Scalar::read(folded.shape.datatype, bytes).map(AggregateValue::Number)
}

fn sum(total: Total, saturates: bool) -> Result<Scalar> {
    let overflow = |total: &dyn std::fmt::Display| {
        Error::invalid(format!(
            "the sum is {total}, beyond 64 bits; ask for a saturating sum, or for the mean"
        ))
    };
    match total {
        Total::Signed(total) => match i64::try_from(total) {
            Ok(sum) => Ok(Scalar::I64(sum)),
            Err(_) if saturates => Ok(Scalar::I64(if total < 0 { i64::MIN } else { i64::MAX })),
            Err(_) => Err(overflow(&total)),
        },
        Total::Unsigned(total) => match u64::try_from(total) {
            Ok(sum) => Ok(Scalar::U64(sum)),
            Err(_) if saturates => Ok(Scalar::U64(u64::MAX)),
            Err(_) => Err(overflow(&total)),
        },
        Total::Float(sum) if saturates && sum.is_infinite() => {
            Ok(Scalar::F64(if sum < 0.0 { f64::MIN } else { f64::MAX }))
        }
        Total::Float(sum) => Ok(Scalar::F64(sum)),
    }
}
