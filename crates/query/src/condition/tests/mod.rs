//! Conditions against a naive model, and what is refused.

mod binding;
mod model;
mod stored;
mod text;
mod told;

use super::{BoundCondition, Condition, FieldBounds};
use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, Enumeration, Version, default_fill_value,
};
use smalti_space::UNSTOPPED;
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, CellValNum, Datatype, Error, FilterPipeline, Layout, Result, Scalar};
use std::sync::Arc;

fn attribute(name: &str, datatype: Datatype, cell_val_num: CellValNum, nullable: bool) -> Attribute {
    Attribute {
        name: name.into(),
        datatype,
        cell_val_num,
        filters: FilterPipeline::default(),
        fill_value: default_fill_value(datatype, cell_val_num),
        nullable,
        fill_valid: false,
        order: DataOrder::Unordered,
        enumeration: None,
    }
}

fn enumerated(name: &str, datatype: Datatype, enumeration: &str) -> Attribute {
    let enumeration = Some(enumeration.to_owned());
    Attribute { enumeration, ..attribute(name, datatype, CellValNum::ONE, true) }
}

/// A sparse schema on `x`, of type INT32.
fn schema(attributes: Vec<Attribute>) -> ArraySchema {
    let dimension = Dimension {
        name: "x".into(),
        datatype: Datatype::Int32,
        cell_val_num: CellValNum::ONE,
        filters: FilterPipeline::default(),
        domain: Some((Scalar::I32(0), Scalar::I32(1000))),
        tile_extent: None,
    };
    ArraySchema {
        version: Version::DEFAULT,
        allows_dups: true,
        array_type: ArrayType::Sparse,
        tile_order: Layout::RowMajor,
        cell_order: Layout::RowMajor,
        capacity: 100,
        coords_filters: FilterPipeline::default(),
        offsets_filters: FilterPipeline::default(),
        validity_filters: FilterPipeline::default(),
        dimensions: vec![dimension],
        attributes,
        dimension_labels: Vec::new(),
        enumerations: Vec::new(),
        current_domain: CurrentDomain::Empty,
    }
}

/// `colors`, which has no order, `sizes`, which has one, and `primes`, which are numbers.
fn enumeration(name: &str) -> Result<Arc<Enumeration>> {
    let labels = |labels: &[&str], is_ordered| {
        let offsets = labels.iter().scan(0, |at, label| {
            let start = *at;
            *at += label.len() as u64;
            Some(start)
        });
        Enumeration {
            version: 0,
            name: name.into(),
            file: "file".into(),
            datatype: Datatype::StringAscii,
            cell_val_num: CellValNum::Var,
            is_ordered,
            data: labels.concat().into_bytes(),
            offsets: offsets.collect(),
        }
    };
    Ok(Arc::new(match name {
        "colors" => labels(&["red", "green", "blue"], false),
        "sizes" => labels(&["small", "medium", "large"], true),
        "primes" => Enumeration {
            datatype: Datatype::Int32,
            cell_val_num: CellValNum::ONE,
            data: [2i32, 3, 5].iter().flat_map(|prime| prime.to_le_bytes()).collect(),
            offsets: Vec::new(),
            ..labels(&[], false)
        },
        _ => return Err(Error::not_found(format!("no enumeration {name:?}"))),
    }))
}

fn bind(schema: &ArraySchema, text: &str) -> Result<BoundCondition> {
    BoundCondition::bind(&text.parse::<Condition>()?, schema, &enumeration)
}

/// The cells that fulfil a condition.
fn holding(bound: &BoundCondition, columns: &[Option<ColumnRef<'_>>], cell_count: usize) -> Vec<usize> {
    bound.evaluate(columns, cell_count, UNSTOPPED).unwrap().iter_cells().collect()
}

fn numbers<T: bytemuck::Pod>(values: &[T]) -> Option<ColumnRef<'_>> {
    Some(ColumnRef::fixed(bytemuck::cast_slice(values)))
}

/// Text and its offsets.
fn texts<T: AsRef<[u8]>>(values: &[T]) -> (Vec<u8>, Vec<u64>) {
    let mut offsets = vec![0];
    let mut data = Vec::new();
    for value in values {
        data.extend_from_slice(value.as_ref());
        offsets.push(data.len() as u64);
    }
    (data, offsets)
}

fn no_bounds(_: usize) -> Result<Option<FieldBounds<'static>>> {
    Ok(None)
}
