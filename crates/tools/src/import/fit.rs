//! A table beside the fields of an array: which column each takes its cells from, and what does not fit.

use super::kind::Kind;
use super::npy::Member;
use super::options::TableOptions;
use super::plan::{Plan, ROW, type_of};
use super::source::{Rows, Source};
use super::survey::{Question, Survey};
use super::types::{cast, kind_of_field};
use super::write::{Origin, WrittenField};
use crate::failure::{Failure, Outcome};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow_schema::{Field, Schema};
use smalti::arrow::{ArrowForm, arrow_field};
use smalti::format::{ArraySchema, Attribute, Dimension, default_fill_value};
use smalti::{Array, CellShape, Datatype, Extent, Scalar};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// Options that shape a new array have no meaning for one that is there.
pub(super) fn check_options(table: &TableOptions) -> Outcome {
    let given = [
        ("--dims", !table.dims.is_empty()),
        ("--domain", !table.domain.is_empty()),
        ("--tile", !table.tile.is_empty()),
        ("--capacity", table.capacity.is_some()),
        ("--enum", !table.enumerate.is_empty()),
        ("--allow-dups", table.allow_dups),
        ("--dense", table.dense),
        ("--sparse", table.sparse),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} is for a new array; the array is there, and has its schema. Leave the option out to append to it, or give \
             another name"
        ))),
        None => Ok(()),
    }
}

fn shape_of_dimension(dimension: &Dimension) -> CellShape {
    let (datatype, cell_val_num) = (dimension.datatype, dimension.cell_val_num);
    CellShape { datatype, cell_val_num, is_nullable: false }
}

fn shape_of_attribute(attribute: &Attribute) -> CellShape {
    let (datatype, cell_val_num) = (attribute.datatype, attribute.cell_val_num);
    CellShape { datatype, cell_val_num, is_nullable: attribute.nullable }
}

/// What a first pass asks of a table for an array that is there; the source is told the types of its fields.
///
/// # Errors
/// Fields that text cannot be imported to.
pub(super) fn questions(source: &Source<'_>, array: &Array, extends: bool) -> Outcome<Survey> {
    let schema: &ArraySchema = &array.schema();
    let is_text = source.has_text();
    let mut survey = Survey { is_text, ..Survey::default() };
    let mut kinds: Vec<(String, Kind)> = Vec::new();
    let mut expect = |name: &str, shape: CellShape| {
        // What cannot be read as text is refused when the file has the column.
        if let Ok(kind) = kind_of_field(name, shape) {
            kinds.push((name.to_owned(), kind));
        }
    };
    for dimension in &schema.dimensions {
        expect(&dimension.name, shape_of_dimension(dimension));
        let question = Question {
            wants_bounds: true,
            refuses_nulls: Some("it is a dimension, and coordinates are never null"),
            is_ascii: dimension.datatype == Datatype::StringAscii,
            dimension: Some(current(schema, dimension)),
            ..Question::default()
        };
        survey.questions.insert(dimension.name.clone(), question);
    }
    for attribute in &schema.attributes {
        let mut question = Question::default();
        if !attribute.nullable {
            question.refuses_nulls = Some("the attribute is not nullable");
        }
        question.is_ascii = attribute.datatype == Datatype::StringAscii;
        let mut shape = shape_of_attribute(attribute);
        if let Some(name) = &attribute.enumeration {
            let enumeration = array.enumeration(name)?;
            shape = CellShape {
                datatype: enumeration.datatype,
                cell_val_num: enumeration.cell_val_num,
                is_nullable: attribute.nullable,
            };
            let is_text = matches!(enumeration.datatype, Datatype::StringUtf8 | Datatype::StringAscii);
            question.wants_labels = is_text;
            if is_text && !extends {
                question.known_labels =
                    Some(enumeration.elements().map(|label| (label.to_vec(), ())).collect());
            }
        }
        expect(&attribute.name, shape);
        survey.questions.insert(attribute.name.clone(), question);
    }
    source.expect(kinds);
    Ok(survey)
}

/// A dimension whose domain is the current one.
fn current(schema: &ArraySchema, dimension: &Dimension) -> Dimension {
    let mut current = dimension.clone();
    let rectangle = schema.current_domain.rectangle();
    let side =
        schema.dimension(&dimension.name).and_then(|(idx, _)| rectangle.and_then(|sides| sides.get(idx)));
    if let (Some(Extent::Num { lo, hi }), Some(_)) = (side, dimension.domain) {
        let scalar = |ordinal: u64| {
            Scalar::read(dimension.datatype, &dimension.datatype.bytes_of_ordinal(ordinal)).ok()
        };
        current.domain = scalar(*lo).zip(scalar(*hi)).or(dimension.domain);
    }
    current
}

/// The columns of a new array's fields.
pub(super) fn fields_of_new(source: &Source<'_>, array: &Array) -> Outcome<Vec<WrittenField>> {
    let schema: &ArraySchema = &array.schema();
    let columns = source.fields.borrow();
    let field = |name: &str, shape: CellShape| -> Outcome<WrittenField> {
        let column = columns.iter().find(|column| column.name() == name);
        let origin = match column {
            Some(column) => Origin::Column(type_of(column)?.arrow),
            None => Origin::RowNumber,
        };
        Ok(WrittenField { name: name.to_owned(), shape, origin })
    };
    let dimensions = schema.dimensions.iter().map(|one| field(&one.name, shape_of_dimension(one)));
    let attributes = schema.attributes.iter().map(|one| field(&one.name, shape_of_attribute(one)));
    dimensions.chain(attributes).collect()
}

/// The columns of the fields of an array that is there.
///
/// # Errors
/// Columns without a field, and fields that cannot do without a column.
pub(super) fn fields_of_existing(source: &Source<'_>, array: &Array) -> Outcome<Vec<WrittenField>> {
    let schema: &ArraySchema = &array.schema();
    let columns = source.fields.borrow();
    let wrong = |problem: String| source.in_all(Failure::invalid(problem));
    let known = |name: &str| schema.dimension(name).is_some() || schema.attribute(name).is_some();
    let extra: Vec<&str> =
        columns.iter().map(|column| column.name().as_str()).filter(|name| !known(name)).collect();
    if let Some(name) = extra.first() {
        if schema.label(name).is_some() {
            return Err(wrong(format!(
                "column {name:?} is a dimension label, which `smalti write` writes; leave it out by naming the others with --columns"
            )));
        }
        return Err(wrong(format!(
            "the array has no field for the columns {}; leave them out by naming the others with --columns, or add attributes with \
             `smalti evolve`",
            extra.join(", ")
        )));
    }
    let column = |name: &str| columns.iter().find(|column| column.name() == name);
    let is_text = source.has_text();
    let mut fields = Vec::new();
    for dimension in &schema.dimensions {
        let origin = if let Some(column) = column(&dimension.name) {
            Origin::Column(column.data_type().clone())
        } else if dimension.name == ROW
            && dimension.datatype == Datatype::UInt64
            && schema.dimensions.len() == 1
        {
            Origin::RowNumber
        } else {
            return Err(wrong(format!(
                "there is no column for the dimension {:?}; --rename gives one its name",
                dimension.name
            )));
        };
        if is_text && column(&dimension.name).is_some() {
            kind_of_field(&dimension.name, shape_of_dimension(dimension)).map_err(&wrong)?;
        }
        fields.push(WrittenField {
            name: dimension.name.clone(),
            shape: shape_of_dimension(dimension),
            origin,
        });
    }
    for attribute in &schema.attributes {
        let default = default_fill_value(attribute.datatype, attribute.cell_val_num);
        let origin = if let Some(column) = column(&attribute.name) {
            if is_text && attribute.enumeration.is_none() {
                kind_of_field(&attribute.name, shape_of_attribute(attribute)).map_err(&wrong)?;
            }
            Origin::Column(column.data_type().clone())
        } else if attribute.nullable {
            Origin::Null
        } else if attribute.fill_value != default {
            Origin::Fill(attribute.fill_value.clone())
        } else {
            return Err(wrong(format!(
                "there is no column for the attribute {:?}, which is neither nullable nor has a fill value of its own; add the column, or \
                 give one this name with --rename",
                attribute.name
            )));
        };
        fields.push(WrittenField {
            name: attribute.name.clone(),
            shape: shape_of_attribute(attribute),
            origin,
        });
    }
    Ok(fields)
}

/// The labels of a table that the enumerations of an array lack.
pub(super) fn new_labels(array: &Array, survey: &Survey) -> Vec<(String, Vec<Vec<u8>>)> {
    let mut more: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
    for attribute in &array.schema().attributes {
        let Some(name) = &attribute.enumeration else { continue };
        let Some(facts) = survey.facts.get(&attribute.name) else { continue };
        let Ok(enumeration) = array.enumeration(name) else { continue };
        let mut known: HashMap<Vec<u8>, ()> =
            enumeration.elements().map(|label| (label.to_vec(), ())).collect();
        if let Some((_, labels)) = more.iter().find(|(other, _)| other == name) {
            known.extend(labels.iter().map(|label| (label.clone(), ())));
        }
        let labels = facts.labels.iter().map(|label| label.as_bytes().to_vec());
        let labels: Vec<Vec<u8>> = labels.filter(|label| !known.contains_key(label)).collect();
        if labels.is_empty() {
            continue;
        }
        match more.iter_mut().find(|(other, _)| other == name) {
            Some((_, all)) => all.extend(labels),
            None => more.push((name.clone(), labels)),
        }
    }
    more
}

/// What an import would do to an array that is there: where its fields take their cells from, and how many labels are new.
///
/// # Errors
/// Those of the engine.
pub(super) fn plan(array: &Array, fields: &[WrittenField], more: &[(String, Vec<Vec<u8>>)]) -> Outcome<Plan> {
    let definitions: Vec<_> = array.schema().enumerations.iter().map(|(name, _)| name.clone()).collect();
    let enumerations = definitions
        .iter()
        .map(|name| array.enumeration(name).map(|one| (*one).clone()))
        .collect::<smalti::Result<Vec<_>>>()?;
    let schema = smalti::json::schema_to_json(&array.schema(), &enumerations);
    let told = |origin: &Origin| match origin {
        Origin::Column(_) => "the column of this name",
        Origin::RowNumber => "the numbers of the rows, behind those that are there",
        Origin::Null => "null: there is no column of this name",
        Origin::Fill(_) => "the fill value: there is no column of this name",
    };
    let fields = fields.iter().map(|field| (field.name.clone(), told(&field.origin).to_owned()));
    let more = more.iter().map(|(name, labels)| (name.clone(), format!("{} new labels", labels.len())));
    Ok(Plan { is_new: false, schema, reasons: fields.chain(more).collect() })
}

/// The rectangle of a dense array that the rows of a table lie in.
pub(super) fn sides(array: &Array, survey: &Survey) -> Outcome<Vec<Extent>> {
    let side = |dimension: &Dimension| {
        let bounds = survey.facts.get(&dimension.name).and_then(|facts| facts.bounds);
        let (lo, hi) = match bounds {
            Some(bounds) => bounds,
            // Rows that are numbered.
            None => (Scalar::U64(0), Scalar::U64(survey.row_count.saturating_sub(1))),
        };
        let ordinal = |value: Scalar| value.cast(dimension.datatype).map(Scalar::ordinal);
        Ok(Extent::Num { lo: ordinal(lo)?, hi: ordinal(hi)? })
    };
    array.schema().dimensions.iter().map(side).collect()
}

/// Rows as the fields of an array take them.
pub(super) fn converted(
    source: &Source<'_>,
    fields: &[WrittenField],
    rows: Rows,
    number: &Cell<u64>,
) -> Outcome<Rows> {
    let row_count = rows.batch.num_rows();
    let first = number.get();
    number.set(first + row_count as u64);
    let mut own = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for field in fields {
        let array: ArrayRef = match (&field.origin, rows.batch.column_by_name(&field.name)) {
            (Origin::RowNumber, _) => {
                Arc::new(UInt64Array::from_iter_values(first..first + row_count as u64))
            }
            (Origin::Column(to), Some(array)) => cast(array, to).map_err(|problem| {
                let place = source.place(rows.file, rows.first_row);
                Failure::invalid(format!("{place} and behind: column {:?}: {problem}", field.name))
            })?,
            (_, Some(array)) => array.clone(),
            // Null, or the fill value: what a dense write puts where no row is.
            (_, None) if field.shape.is_nullable => {
                new_null_array(arrow_field("", field.shape, ArrowForm::default()).data_type(), row_count)
            }
            (_, None) => {
                return Err(Failure::invalid(format!(
                    "there is no column for the attribute {:?}",
                    field.name
                )));
            }
        };
        own.push(Field::new(&field.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(own)), arrays, &options);
    Ok(Rows { batch: batch.map_err(|error| Failure::invalid(error.to_string()))?, ..rows })
}

/// Checks that the arrays of a NumPy file fit the attributes and the domain of a dense array.
pub(super) fn check_grid(array: &Array, members: &[Member]) -> Outcome {
    let schema: &ArraySchema = &array.schema();
    let names =
        || schema.attributes.iter().map(|attribute| attribute.name.as_str()).collect::<Vec<_>>().join(", ");
    for member in members {
        let Some((_, attribute)) = schema.attribute(&member.name) else {
            return Err(Failure::invalid(format!(
                "the array has no attribute {:?}; it has {}: --rename gives a column another name, --columns leaves others out",
                member.name,
                names()
            )));
        };
        if attribute.datatype != member.datatype || attribute.cell_val_num != smalti::CellValNum::ONE {
            return Err(Failure::invalid(format!(
                "{:?}: the file holds values of type {}, the attribute those of {}; convert them with astype",
                member.name, member.datatype, attribute.datatype
            )));
        }
    }
    if let Some(missing) =
        schema.attributes.iter().find(|one| members.iter().all(|member| member.name != one.name))
    {
        return Err(Failure::invalid(format!(
            "the file has no array {:?}, which the array has as attribute",
            missing.name
        )));
    }
    let sides: Vec<u128> = (0..schema.dimensions.len())
        .map(|idx| match crate::ranges::whole(schema, idx) {
            Extent::Num { lo, hi } => u128::from(hi - lo) + 1,
            Extent::Str { .. } => 0,
        })
        .collect();
    let shape: Vec<u128> = members
        .first()
        .map(|member| member.shape.iter().map(|len| *len as u128).collect())
        .unwrap_or_default();
    if shape != sides {
        return Err(Failure::invalid(format!(
            "the file has shape {shape:?}, the array {sides:?}; `smalti write --range` writes a part"
        )));
    }
    Ok(())
}
