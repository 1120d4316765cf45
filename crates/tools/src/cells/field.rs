//! What formats need to know of a dimension or an attribute.

use super::Labels;
use crate::failure::{Failure, Outcome};
use crate::notation::{Dates, Enums, Notation};
use smalti::format::{ArraySchema, DimensionLabel};
use smalti::json::CellNotation;
use smalti::{Array, CellShape, CellValNum, Datatype};
use std::sync::Arc;

/// The field of a read that tells when each cell was written.
pub const TIMESTAMPS: &str = "__timestamps";

/// A dimension or attribute as the formats see it.
#[derive(Debug, Clone)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The datatype.
    pub datatype: Datatype,
    /// Values in a cell.
    pub cell_val_num: CellValNum,
    /// Whether cells can be null.
    pub nullable: bool,
    /// Whether it is a dimension.
    pub is_dimension: bool,
    /// The labels of its codes, where they are wanted.
    pub labels: Option<Arc<Labels>>,
    /// Whether dates are ISO 8601.
    pub iso_dates: bool,
}

impl Field {
    /// The dimensions and attributes of an array in a notation.
    ///
    /// # Errors
    /// When an enumeration cannot be read.
    pub fn of_array(array: &Array, notation: Notation) -> Outcome<Vec<Field>> {
        Field::all_of(&array.schema(), notation, |name| {
            Ok(Arc::new(Labels::new((*array.enumeration(name)?).clone())))
        })
    }

    /// All dimensions, then all attributes. `labels` gives the labels of an enumeration by name.
    ///
    /// # Errors
    /// Those of `labels`.
    pub fn all_of(
        schema: &ArraySchema,
        notation: Notation,
        mut labels: impl FnMut(&str) -> Outcome<Arc<Labels>>,
    ) -> Outcome<Vec<Field>> {
        let iso_dates = notation.dates == Dates::Iso;
        let dimensions = schema.dimensions.iter().map(|dimension| Field {
            name: dimension.name.clone(),
            datatype: dimension.datatype,
            cell_val_num: dimension.cell_val_num,
            nullable: false,
            is_dimension: true,
            labels: None,
            iso_dates,
        });
        let mut fields: Vec<Field> = dimensions.collect();
        for attribute in &schema.attributes {
            let wanted = attribute.enumeration.as_deref().filter(|_| notation.enums == Enums::Labels);
            fields.push(Field {
                name: attribute.name.clone(),
                datatype: attribute.datatype,
                cell_val_num: attribute.cell_val_num,
                nullable: attribute.nullable,
                is_dimension: false,
                labels: wanted.map(&mut labels).transpose()?,
                iso_dates,
            });
        }
        Ok(fields)
    }

    /// The field of cell timestamps.
    pub fn timestamps() -> Field {
        Field {
            name: TIMESTAMPS.into(),
            datatype: Datatype::UInt64,
            cell_val_num: CellValNum::ONE,
            nullable: false,
            is_dimension: false,
            labels: None,
            iso_dates: false,
        }
    }

    /// The dimension labels, which are read only if they are selected.
    pub fn labels_of(schema: &ArraySchema, notation: Notation) -> Vec<Field> {
        let field = |label: &DimensionLabel| Field {
            name: label.name.clone(),
            datatype: label.datatype,
            cell_val_num: label.cell_val_num,
            nullable: false,
            is_dimension: false,
            labels: None,
            iso_dates: notation.dates == Dates::Iso,
        };
        schema.dimension_labels.iter().map(field).collect()
    }

    /// Those of `all` and `more` that `--select` names, in its order; all of `all` without `--select`.
    ///
    /// # Errors
    /// When a name is unknown, or given twice.
    pub fn select(
        all: Vec<Field>,
        more: Vec<Field>,
        select: &[String],
        timestamps: bool,
    ) -> Outcome<Vec<Field>> {
        let mut selected = if select.is_empty() { all } else { named(&[all, more].concat(), select)? };
        if timestamps && selected.iter().all(|field| field.name != TIMESTAMPS) {
            selected.push(Field::timestamps());
        }
        Ok(selected)
    }

    /// Checks what a cell holds that was not checked by its parser: ASCII text is ASCII.
    ///
    /// # Errors
    /// What is wrong, with the value.
    pub fn check_cell(&self, cell: &[u8]) -> Result<(), String> {
        let is_ascii_asked = self.datatype == Datatype::StringAscii && self.labels.is_none();
        if !is_ascii_asked || self.datatype.text_fault(cell).is_none() {
            return Ok(());
        }
        let shown = short(cell);
        Err(format!(
            "{shown:?} is not ASCII, as the type STRING_ASCII asks for; STRING_UTF8 takes all text, CHAR all bytes"
        ))
    }

    /// Bytes of a cell; 0 for cells of any size.
    pub fn cell_byte_len(&self) -> usize {
        self.cell_val_num.fixed().unwrap_or(0).saturating_mul(self.datatype.byte_len())
    }

    /// What a cell is as it is shown: its label, or the stored values.
    pub fn shown_shape(&self) -> CellShape {
        let (datatype, cell_val_num) = match &self.labels {
            Some(labels) => (labels.datatype(), labels.cell_val_num()),
            None => (self.datatype, self.cell_val_num),
        };
        CellShape { datatype, cell_val_num, is_nullable: self.nullable }
    }

    /// The JSON notation of the stored values.
    pub fn json_notation(&self) -> CellNotation {
        CellNotation::new(self.datatype, self.cell_val_num, self.iso_dates)
    }
}

/// The start of a text that people gave, for messages.
pub(crate) fn short(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_CHARS)]);
    let mut out: String = text.chars().take(MAX_CHARS).collect();
    if out.len() < bytes.len() && text.chars().count() >= MAX_CHARS {
        out.push('…');
    }
    out
}

fn named(all: &[Field], select: &[String]) -> Outcome<Vec<Field>> {
    let mut names = Vec::new();
    for list in select {
        if list.starts_with('[') {
            let parsed: Vec<String> = serde_json::from_str(list).map_err(|error| {
                Failure::usage(format!("--select {list}: no JSON list of names: {error}"))
            })?;
            names.extend(parsed);
        } else {
            // Spaces around a name are its own only where a field is so called.
            let is_field = |name: &str| all.iter().any(|field| field.name == name);
            let plain = |name| if is_field(name) { name } else { name.trim() };
            names.extend(list.split(',').map(|name| plain(name).to_string()));
        }
    }
    let mut fields: Vec<Field> = Vec::new();
    for name in names {
        if fields.iter().any(|field| field.name == name) {
            return Err(Failure::usage(format!("--select names {name:?} twice")));
        }
        let field = all.iter().find(|field| field.name == name).cloned();
        let field = field.or_else(|| (name == TIMESTAMPS).then(Field::timestamps));
        fields.push(field.ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|field| field.name.as_str()).collect();
            Failure::invalid(format!("there is no field {name:?}; there are {}", known.join(", ")))
        })?);
    }
    Ok(fields)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A field for tests: `cell_val_num` 0 stands for any number of values.
    pub fn field(name: &str, datatype: Datatype, cell_val_num: u32, nullable: bool) -> Field {
        let raw = if cell_val_num == 0 { u32::MAX } else { cell_val_num };
        Field {
            name: name.into(),
            datatype,
            cell_val_num: CellValNum::from_raw(raw).unwrap(),
            nullable,
            is_dimension: false,
            labels: None,
            iso_dates: true,
        }
    }

    #[test]
    fn select_keeps_its_order_and_names_what_is_unknown() {
        let all = || vec![field("a", Datatype::Int8, 1, false), field("b,c", Datatype::Int8, 1, false)];
        let names = |fields: Vec<Field>| fields.into_iter().map(|field| field.name).collect::<Vec<_>>();
        assert_eq!(names(Field::select(all(), Vec::new(), &[], true).unwrap()), ["a", "b,c", TIMESTAMPS]);
        assert_eq!(
            names(Field::select(all(), Vec::new(), &["[\"b,c\"]".into(), "a".into()], false).unwrap()),
            ["b,c", "a"]
        );
        let failure = Field::select(all(), Vec::new(), &["a,x".into()], false).unwrap_err();
        assert!(failure.to_string().contains("no field \"x\"; there are a, b,c"), "{failure}");
        assert!(Field::select(all(), Vec::new(), &["a,a".into()], false).is_err());
    }
}
