//! Columns as they are given, and as the engine takes them.

use super::cell::Cell;
use super::{Bytes, Offsets};
use crate::Number;
use crate::arrow::column_of;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::Buffer;
use ndarray::{ArrayBase, Data};
use rayon::prelude::*;
use smalti_array::{Snapshot, label_shape};
use smalti_format::{ArraySchema, Field};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel::Shareable as _;
use smalti_types::{AlignedBuf, CellValNum, Datatype, Error, Result};

/// Cells for one field, whose type is checked against the schema when they are written.
#[derive(Debug, Clone)]
pub struct InputColumn<'a>(pub(super) Repr<'a>);

/// How many values the cells of a Rust type hold.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Single,
    Fixed(usize),
    Var,
}

#[derive(Debug, Clone)]
pub(super) enum Repr<'a> {
    Cells {
        datatype: Datatype,
        form: Form,
        data: Bytes<'a>,
        /// For var-sized cells, `u64` in bytes.
        offsets: Option<Buffer>,
        /// Only where a cell is null.
        validity: Option<Vec<u8>>,
    },
    /// In row-major order.
    NdArray {
        datatype: Datatype,
        shape: Vec<usize>,
        data: Bytes<'a>,
    },
    Arrow(ArrayRef),
    Raw(ColumnRef<'a>),
}

/// What a column can be made from: slices, arrays and vectors of [cells](Cell), `ndarray` arrays (dense, row-major),
/// Arrow arrays, and [raw columns](crate::ColumnRef).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no column of cells",
    label = "not a reference to a slice, array or vector of cells, nor an `ndarray` or Arrow array",
    note = "columns are given by reference: `&[1, 2]`, `&vec`, `&ndarray_array`",
    note = "an Arrow array is given as `ArrayRef`, `&ArrayRef` or `&array as &dyn smalti::arrow_array::Array`; a record batch with `record_batch`",
    note = "cells are the ten number types, `bool`, `&str`, `String`, `Vec` and `[T; N]` of numbers, and `Option` of these: see `smalti::Cell`"
)]
pub trait IntoColumn<'a> {
    /// The column.
    fn into_column(self) -> InputColumn<'a>;
}

impl<'a> IntoColumn<'a> for InputColumn<'a> {
    fn into_column(self) -> InputColumn<'a> {
        self
    }
}

impl<'a, C: Cell> IntoColumn<'a> for &'a [C] {
    fn into_column(self) -> InputColumn<'a> {
        C::column(self)
    }
}

impl<'a, C: Cell, const N: usize> IntoColumn<'a> for &'a [C; N] {
    fn into_column(self) -> InputColumn<'a> {
        C::column(self)
    }
}

impl<'a, C: Cell> IntoColumn<'a> for &'a Vec<C> {
    fn into_column(self) -> InputColumn<'a> {
        C::column(self)
    }
}

impl<'a> IntoColumn<'a> for ArrayRef {
    fn into_column(self) -> InputColumn<'a> {
        InputColumn(Repr::Arrow(self))
    }
}

impl<'a> IntoColumn<'a> for &ArrayRef {
    fn into_column(self) -> InputColumn<'a> {
        InputColumn(Repr::Arrow(self.clone()))
    }
}

impl<'a> IntoColumn<'a> for &dyn Array {
    fn into_column(self) -> InputColumn<'a> {
        InputColumn(Repr::Arrow(make_array(self.to_data())))
    }
}

impl<'a> IntoColumn<'a> for ColumnRef<'a> {
    fn into_column(self) -> InputColumn<'a> {
        InputColumn(Repr::Raw(self))
    }
}

impl<'a, T: Number, S: Data<Elem = T>, D: ndarray::Dimension> IntoColumn<'a> for &'a ArrayBase<S, D> {
    fn into_column(self) -> InputColumn<'a> {
        let data = match self.as_slice() {
            Some(values) => Bytes::Slice(bytemuck::cast_slice(values)),
            None => Bytes::Buffer(Buffer::from_vec(self.iter().copied().collect::<Vec<T>>())),
        };
        InputColumn(Repr::NdArray { datatype: T::DATATYPE, shape: self.shape().to_vec(), data })
    }
}

/// Columns by the names of their fields: the cells of one [submission](crate::GlobalWriter::submit).
///
/// ```
/// use smalti::Columns;
///
/// let columns = Columns::new().column("x", &[1, 2, 3]).column("name", &["a", "b", "c"]);
/// assert_eq!(columns.names().collect::<Vec<_>>(), ["x", "name"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Columns<'a> {
    columns: Vec<(String, InputColumn<'a>)>,
}

impl<'a> Columns<'a> {
    /// No columns yet.
    pub fn new() -> Self {
        Columns::default()
    }

    /// Adds the column of a field.
    #[must_use]
    pub fn column(mut self, field: impl Into<String>, cells: impl IntoColumn<'a>) -> Self {
        self.columns.push((field.into(), cells.into_column()));
        self
    }

    /// Adds the columns of a record batch, by name; see [`arrow`](crate::arrow) for the types.
    #[must_use]
    pub fn record_batch(mut self, batch: &RecordBatch) -> Self {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        self.columns.extend(fields.map(|(field, array)| (field.name().clone(), array.into_column())));
        self
    }

    /// The names of the fields, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The shape of the first `ndarray` column, without the axis of several values a cell.
    pub(crate) fn grid_shape(&self, schema: &ArraySchema) -> Option<(&str, &[usize])> {
        self.columns.iter().find_map(|(name, InputColumn(repr))| match repr {
            Repr::NdArray { shape, .. } if schema.label(name).is_none() => {
                Some((name.as_str(), shape.get(..schema.dimensions.len()).unwrap_or(shape)))
            }
            _ => None,
        })
    }

    /// The columns as the engine takes them: labels of enumerations as codes.
    ///
    /// # Errors
    /// `InvalidArgument` for a field that the schema lacks, and for cells that a field cannot hold.
    pub(crate) fn prepare(self, snapshot: &Snapshot) -> Result<Prepared<'a>> {
        let schema = snapshot.schema();
        let prepare = |(name, column): (String, InputColumn<'a>)| {
            if let Some(label) = schema.label(&name) {
                let cells = column.into_cells(label_shape(label));
                let cells = cells.map_err(|error| error.context(format_args!("column {name:?}")))?;
                return Ok((name, cells));
            }
            let field = schema.field(&name).ok_or_else(|| unknown_field(schema, &name))?;
            let shape = CellShape {
                datatype: field.datatype(),
                cell_val_num: field.cell_val_num(),
                is_nullable: field.is_nullable(),
            };
            let enumeration = match field {
                Field::Attribute(_, attribute) => attribute.enumeration.as_deref(),
                Field::Dimension(..) => None,
            };
            let cells = match enumeration {
                Some(name) if column.holds_labels() => {
                    column.into_codes(shape, &*snapshot.enumeration(name)?)
                }
                _ => column.into_cells(shape),
            };
            let cells = cells.map_err(|error| error.context(format_args!("column {name:?}")))?;
            Ok((name, cells))
        };
        // The first column's error counts, whichever is found first.
        let prepared: Vec<Result<_>> = self.columns.into_par_iter().shared().map(prepare).collect();
        prepared.into_iter().collect::<Result<Vec<_>>>().map(Prepared)
    }
}

/// The error for a field that a schema lacks.
pub(crate) fn unknown_field(schema: &ArraySchema, name: &str) -> Error {
    let mut names: Vec<&str> = schema.fields().map(|field| field.name()).collect();
    names.extend(schema.dimension_labels.iter().map(|label| label.name.as_str()));
    Error::invalid(format!("there is no field {name:?}; the fields are {}", names.join(", ")))
}

/// Columns in the layout of the engine.
#[derive(Debug)]
pub(crate) struct Prepared<'a>(Vec<(String, FieldCells<'a>)>);

impl Prepared<'_> {
    pub(crate) fn columns(&self) -> Vec<(String, ColumnRef<'_>)> {
        self.0.iter().map(|(name, cells)| (name.clone(), cells.as_ref())).collect()
    }
}

/// The cells of one field in the layout of the engine.
#[derive(Debug)]
pub(crate) struct FieldCells<'a> {
    pub(crate) data: Bytes<'a>,
    pub(crate) offsets: Option<Offsets<'a>>,
    pub(crate) validity: Option<Bytes<'a>>,
}

impl FieldCells<'_> {
    fn as_ref(&self) -> ColumnRef<'_> {
        ColumnRef {
            data: self.data.as_slice(),
            offsets: self.offsets.as_ref().map(Offsets::as_slice),
            validity: self.validity.as_ref().map(Bytes::as_slice),
        }
    }

    /// A copy that owns its bytes.
    pub(crate) fn to_column(&self) -> Result<Column> {
        let aligned = |bytes: &[u8]| {
            let mut buf = AlignedBuf::new();
            buf.extend_from_slice(bytes).map(|()| buf)
        };
        let cells = self.as_ref();
        Ok(Column {
            data: aligned(cells.data)?,
            offsets: cells.offsets.map(|offsets| aligned(bytemuck::cast_slice(offsets))).transpose()?,
            validity: cells.validity.map(aligned).transpose()?,
        })
    }
}

impl<'a> InputColumn<'a> {
    pub(super) fn into_cells(self, shape: CellShape) -> Result<FieldCells<'a>> {
        match self.0 {
            Repr::Raw(ColumnRef { data, offsets, validity }) => Ok(FieldCells {
                data: Bytes::Slice(data),
                offsets: offsets.map(Offsets::Slice),
                validity: validity.map(Bytes::Slice),
            }),
            Repr::Arrow(array) => column_of(&array, shape),
            Repr::NdArray { datatype, data, .. } => {
                check_datatype(datatype, shape, Form::Single)?;
                cells(shape, data, None, None)
            }
            Repr::Cells { datatype, form, data, offsets, validity } => {
                check_datatype(datatype, shape, form)?;
                if let (Form::Fixed(count), Some(wanted)) = (form, shape.cell_val_num.fixed())
                    && count != wanted
                {
                    return Err(Error::invalid(format!(
                        "cells of {count} values; the field has {wanted} a cell"
                    )));
                }
                if let (Form::Single, CellValNum::Var) = (form, shape.cell_val_num) {
                    return Err(Error::invalid(
                        "single values; the field holds any number a cell: give text, or slices of slices",
                    ));
                }
                let offsets = match (offsets, form, shape.cell_val_num) {
                    (None, Form::Fixed(count), CellValNum::Var) => {
                        Some(even_offsets(data.as_slice().len(), count * shape.datatype.byte_len()))
                    }
                    (offsets, ..) => offsets,
                };
                cells(shape, data, offsets, validity)
            }
        }
    }
}

/// Offsets of cells that are all of one size, up to the end of the data.
fn even_offsets(byte_len: usize, cell_byte_len: usize) -> Buffer {
    let count = byte_len.checked_div(cell_byte_len).unwrap_or(0);
    Buffer::from_vec((0..=count).map(|cell| (cell * cell_byte_len) as u64).collect::<Vec<u64>>())
}

fn check_datatype(given: Datatype, shape: CellShape, form: Form) -> Result<()> {
    let field = shape.datatype;
    let fits = if given == Datatype::StringUtf8 {
        field.is_bytes()
    } else if given == Datatype::Bool {
        field == Datatype::Bool
    } else {
        given.physical() == field.physical()
    };
    if fits {
        return Ok(());
    }
    let what = if given == Datatype::StringUtf8 { "text".to_owned() } else { given.name().to_lowercase() };
    let wanted = if field.is_bytes() && form == Form::Var {
        "text or bytes".to_owned()
    } else if field == Datatype::Bool {
        "bool".to_owned()
    } else {
        format!("{:?}", field.physical()).to_lowercase()
    };
    Err(Error::invalid(format!("cells of {what}; the field is of type {field}: give {wanted}")))
}

/// Cells whose values have the right type, in the layout of a field.
pub(crate) fn cells<'a>(
    shape: CellShape,
    data: Bytes<'a>,
    offsets: Option<Buffer>,
    validity: Option<Vec<u8>>,
) -> Result<FieldCells<'a>> {
    let byte_len = shape.cell_byte_len();
    let offsets = offsets.map(Offsets::Buffer);
    let cell_count = match &offsets {
        Some(offsets) => offsets.as_slice().len().saturating_sub(1),
        None => data.as_slice().len() / byte_len,
    };
    let validity = match (shape.is_nullable, validity) {
        (true, Some(validity)) => Some(Bytes::Buffer(validity.into())),
        (true, None) => Some(Bytes::Buffer(vec![1_u8; cell_count].into())),
        (false, None) => None,
        (false, Some(validity)) => match validity.iter().position(|&byte| byte == 0) {
            None => None,
            Some(cell) => {
                return Err(Error::invalid(format!("cell {cell} is null, but the field is not nullable")));
            }
        },
    };
    if let Some(offsets) = &offsets {
        check_text(shape.datatype, data.as_slice(), offsets.as_slice())?;
    }
    let mut data = data;
    let offsets = match (offsets, shape.cell_val_num) {
        (Some(offsets), CellValNum::Fixed(_)) => {
            data = even_cells(data, offsets.as_slice(), byte_len, validity.as_ref())?;
            None
        }
        (offsets, _) => offsets,
    };
    Ok(FieldCells { data, offsets, validity })
}

/// Var-sized cells for a field of fixed size: the same bytes, if every cell has that size; null cells may be empty.
fn even_cells<'a>(
    data: Bytes<'a>,
    offsets: &[u64],
    byte_len: usize,
    validity: Option<&Bytes<'_>>,
) -> Result<Bytes<'a>> {
    if offsets.windows(2).all(|ends| ends[1] - ends[0] == byte_len as u64) {
        return Ok(data);
    }
    let mut even = Vec::with_capacity((offsets.len() - 1) * byte_len);
    for (cell, ends) in offsets.windows(2).enumerate() {
        let bytes = data.as_slice().get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
        let is_null = validity.is_some_and(|validity| validity.as_slice().get(cell) == Some(&0));
        if bytes.len() == byte_len {
            even.extend_from_slice(bytes);
        } else if is_null {
            even.resize(even.len() + byte_len, 0);
        } else {
            return Err(Error::invalid(format!(
                "cell {cell} has {} bytes; every cell of the field has {byte_len}",
                bytes.len()
            )));
        }
    }
    Ok(Bytes::Buffer(even.into()))
}

/// Checks the text of all cells; see [`Datatype::text_fault`].
fn check_text(datatype: Datatype, data: &[u8], offsets: &[u64]) -> Result<()> {
    if !matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8 | Datatype::GeomWkt) {
        return Ok(());
    }
    // Cells that end inside a character are only seen one by one.
    let ends_inside = |&end: &u64| data.get(end as usize).is_some_and(|byte| byte & 0xc0 == 0x80);
    if datatype.text_fault(data).is_none() && !offsets.iter().any(ends_inside) {
        return Ok(());
    }
    let fault = offsets.windows(2).enumerate().find_map(|(cell, ends)| {
        let text = data.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
        datatype.text_fault(text).map(|what| (cell, what))
    });
    fault.map_or(Ok(()), |(cell, what)| {
        let text = data.get(offsets[cell] as usize..offsets[cell + 1] as usize).unwrap_or_default();
        let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
        Err(Error::invalid(format!(
            "the text of cell {cell}, {shown:?}, is not {what}, as the field demands"
        )))
    })
}
