//! Cells as numbers to draw.

use crate::failure::{Failure, Outcome};
use crate::picture::Unit;
use smalti::format::ArraySchema;
use smalti::{Array, CellValNum, Column, Datatype, Physical, Scalar, dispatch_physical};

/// An attribute or dimension that can be drawn.
#[derive(Debug, Clone)]
pub(super) struct Drawable {
    pub(super) name: String,
    pub(super) datatype: Datatype,
    pub(super) unit: Unit,
    /// The value of cells that nobody wrote, which is shown as missing.
    fill: Option<f64>,
}

/// Labels that are read for a legend; an enumeration of more is drawn by its codes.
const MAX_LABELS: usize = 1000;
/// Characters of a label in a legend.
const MAX_LABEL_CHARS: usize = 40;

impl Drawable {
    /// An attribute, or a dimension, by its name.
    ///
    /// # Errors
    /// When there is none, or its cells are no single numbers.
    pub(super) fn find(array: &Array, name: &str) -> Outcome<Drawable> {
        let schema = array.schema();
        if let Some((_, dimension)) = schema.dimension(name) {
            if dimension.is_var() {
                return Err(undrawable(name, dimension.datatype));
            }
            return Ok(Drawable::of(name, dimension.datatype, None));
        }
        let Some((_, attribute)) = schema.attribute(name) else {
            let known: Vec<&str> = schema.fields().map(|field| field.name()).collect();
            return Err(Failure::invalid(format!(
                "there is no field {name:?}; there are {}",
                known.join(", ")
            )));
        };
        if attribute.cell_val_num != CellValNum::ONE || !is_number(attribute.datatype) {
            return Err(undrawable(name, attribute.datatype));
        }
        let has_fill = schema.is_dense() && attribute.datatype != Datatype::Bool;
        let fill = Scalar::read(attribute.datatype, &attribute.fill_value).ok().filter(|_| has_fill);
        let mut drawable = Drawable::of(name, attribute.datatype, fill.map(Scalar::as_f64));
        if attribute.datatype == Datatype::Bool {
            drawable.unit = Unit::Names(vec!["false".into(), "true".into()]);
        }
        if let Some(enumeration) = &attribute.enumeration {
            let labels = array.enumeration(enumeration)?.labels();
            if (1..=MAX_LABELS).contains(&labels.len()) {
                let name = |label: &smalti::Value| match label.as_str() {
                    Some(text) => text.chars().take(MAX_LABEL_CHARS).collect(),
                    None => label.to_string().chars().take(MAX_LABEL_CHARS).collect::<String>(),
                };
                drawable.unit = Unit::Names(labels.iter().map(name).collect());
            }
        }
        Ok(drawable)
    }

    fn of(name: &str, datatype: Datatype, fill: Option<f64>) -> Drawable {
        let unit = if datatype.is_datetime() || datatype.is_time() {
            Unit::Date(datatype)
        } else if datatype.is_float() {
            Unit::Number
        } else {
            Unit::Integer
        };
        Drawable { name: name.into(), datatype, unit, fill }
    }

    /// The attributes that can be drawn, in the order of the schema.
    pub(super) fn all(array: &Array) -> Outcome<Vec<Drawable>> {
        let is_drawable = |name: &str| {
            let schema = array.schema();
            let found = schema.attribute(name);
            found.is_some_and(|(_, attribute)| {
                attribute.cell_val_num == CellValNum::ONE && is_number(attribute.datatype)
            })
        };
        let schema: &ArraySchema = &array.schema();
        let names = schema.attributes.iter().map(|attribute| attribute.name.as_str());
        names.filter(|name| is_drawable(name)).map(|name| Drawable::find(array, name)).collect()
    }

    /// Whether values stand between others, so that a mean of them says something.
    pub(super) fn has_means(&self) -> bool {
        !matches!(self.unit, Unit::Names(_))
    }

    /// The cells of a column; NaN where there is none.
    pub(super) fn numbers(&self, column: &Column) -> Vec<f64> {
        fn all<T: Physical + Into<Scalar>>(column: &Column) -> Vec<f64> {
            column.data.values::<T>().iter().map(|value| (*value).into().as_f64()).collect()
        }
        let mut numbers = dispatch_physical!(self.datatype, T => all::<T>(column));
        if let Some(fill) = self.fill {
            numbers.iter_mut().filter(|number| **number == fill).for_each(|number| *number = f64::NAN);
        }
        if let Some(validity) = &column.validity {
            let cells = numbers.iter_mut().zip(validity.as_slice());
            cells.filter(|(_, valid)| **valid == 0).for_each(|(number, _)| *number = f64::NAN);
        }
        numbers
    }
}

fn is_number(datatype: Datatype) -> bool {
    datatype.is_integer()
        || datatype.is_float()
        || datatype.is_datetime()
        || datatype.is_time()
        || datatype == Datatype::Bool
}

fn undrawable(name: &str, datatype: Datatype) -> Failure {
    Failure::invalid(format!(
        "field {name:?} of type {datatype} is no single number a cell; name another with --field"
    ))
}
