//! Labels of an enumeration to codes.

use super::input::{FieldCells, Form, InputColumn, Repr, cells};
use super::{Bytes, Offsets};
use crate::arrow::column_of;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use smalti_format::Enumeration;
use smalti_tile::CellShape;
use smalti_types::{Error, Result, Scalar};
use std::collections::HashMap;

impl InputColumn<'_> {
    /// Whether the column holds labels rather than codes: everything but plain integers and raw columns does.
    /// Dictionaries do even if their values are integers.
    pub(super) fn holds_labels(&self) -> bool {
        match &self.0 {
            Repr::Raw(_) => false,
            Repr::NdArray { datatype, .. } => !datatype.is_integer(),
            Repr::Cells { datatype, form, .. } => *form != Form::Single || !datatype.is_integer(),
            Repr::Arrow(array) => match array.data_type() {
                DataType::RunEndEncoded(_, values) => is_label_type(values.data_type()),
                own => is_label_type(own),
            },
        }
    }

    /// The codes of a column of labels, for an attribute of a shape.
    ///
    /// # Errors
    /// `InvalidArgument` names the first cell whose label the enumeration lacks.
    pub(super) fn into_codes(
        self,
        shape: CellShape,
        enumeration: &Enumeration,
    ) -> Result<FieldCells<'static>> {
        let known = enumeration.codes();
        if let Repr::Arrow(array) = &self.0
            && matches!(array.data_type(), DataType::Dictionary(..))
        {
            return dictionary_codes(array, shape, enumeration, &known);
        }
        let labels = Labels::new(self, enumeration)?;
        let mut codes = Codes::new(shape, labels.count());
        // Each label is looked up among all once.
        let mut found: HashMap<&[u8], Code> = HashMap::new();
        let mut last: Option<(&[u8], Code)> = None;
        for cell in 0..labels.count() {
            let code = match (labels.get(cell), last) {
                (None, _) => None,
                (Some(label), Some((same, code))) if same == label => Some(code),
                (Some(label), _) => {
                    let code = match found.get(label) {
                        Some(code) => *code,
                        None => {
                            let code = codes.stored(code_of(label, cell, enumeration, &known)?, cell)?;
                            *found.entry(label).or_insert(code)
                        }
                    };
                    last = Some((label, code));
                    Some(code)
                }
            };
            codes.push(code);
        }
        codes.finish()
    }
}

fn is_label_type(data_type: &DataType) -> bool {
    !data_type.is_integer() && *data_type != DataType::Null
}

/// Each label of the dictionary is looked up once, and only if a cell uses it.
fn dictionary_codes(
    array: &ArrayRef,
    shape: CellShape,
    enumeration: &Enumeration,
    known: &HashMap<&[u8], u64>,
) -> Result<FieldCells<'static>> {
    let dictionary = array.as_any_dictionary();
    let labels = Labels::new(InputColumn(Repr::Arrow(dictionary.values().clone())), enumeration)?;
    // By label, its code as the attribute stores it.
    let mut found: Vec<Option<Code>> = vec![None; labels.count()];
    let keys = if labels.count() > 0 { dictionary.normalized_keys() } else { vec![0; array.len()] };
    let nulls = dictionary.keys().nulls();
    let mut codes = Codes::new(shape, array.len());
    for (cell, key) in keys.into_iter().enumerate() {
        let is_null = nulls.is_some_and(|nulls| nulls.is_null(cell));
        let code = match found.get(key) {
            Some(Some(code)) if !is_null => Some(*code),
            _ if is_null => None,
            _ => match labels.get(key) {
                Some(label) => {
                    let code = codes.stored(code_of(label, cell, enumeration, known)?, cell)?;
                    found.get_mut(key).map(|slot| *slot.insert(code))
                }
                None => None,
            },
        };
        codes.push(code);
    }
    codes.finish()
}

fn code_of(label: &[u8], cell: usize, enumeration: &Enumeration, known: &HashMap<&[u8], u64>) -> Result<u64> {
    known.get(label).copied().ok_or_else(|| {
        Error::invalid(format!(
            "{} in cell {cell} is no label of the enumeration {:?}; extend the enumeration first, by an evolution of the \
             array, or write another label",
            enumeration.shown(label),
            enumeration.name
        ))
    })
}

/// Labels as cells.
struct Labels<'a> {
    cells: FieldCells<'a>,
    cell_byte_len: usize,
}

impl<'a> Labels<'a> {
    fn new(column: InputColumn<'a>, enumeration: &Enumeration) -> Result<Self> {
        let Enumeration { datatype, cell_val_num, .. } = *enumeration;
        let shape = CellShape { datatype, cell_val_num, is_nullable: true };
        let cells = match column.0 {
            Repr::Arrow(array) => column_of(&array, shape),
            other => InputColumn(other).into_cells(shape),
        };
        let cells = cells.map_err(|error| {
            error.context(format_args!("labels of the enumeration {:?}", enumeration.name))
        })?;
        Ok(Labels { cells, cell_byte_len: shape.cell_byte_len() })
    }

    fn count(&self) -> usize {
        match &self.cells.offsets {
            Some(offsets) => offsets.as_slice().len().saturating_sub(1),
            None => self.cells.data.as_slice().len() / self.cell_byte_len,
        }
    }

    /// The bytes of a label; `None` if it is null.
    fn get(&self, cell: usize) -> Option<&[u8]> {
        let is_null = |validity: &Bytes<'_>| validity.as_slice().get(cell) == Some(&0);
        if self.cells.validity.as_ref().is_some_and(is_null) {
            return None;
        }
        let (start, end) = match self.cells.offsets.as_ref().map(Offsets::as_slice) {
            Some(offsets) => (*offsets.get(cell)? as usize, *offsets.get(cell + 1)? as usize),
            None => (cell * self.cell_byte_len, (cell + 1) * self.cell_byte_len),
        };
        self.cells.data.as_slice().get(start..end)
    }
}

/// A code as it is stored, little-endian, and zeros behind it.
type Code = [u8; 8];

/// Codes in the type of an attribute.
struct Codes {
    shape: CellShape,
    data: Vec<u8>,
    validity: Vec<u8>,
}

impl Codes {
    fn new(shape: CellShape, count: usize) -> Self {
        let data = Vec::with_capacity(count * shape.datatype.byte_len());
        Codes { shape, data, validity: Vec::with_capacity(count) }
    }

    /// A code as it is stored.
    fn stored(&self, code: u64, cell: usize) -> Result<Code> {
        let code = Scalar::U64(code).cast(self.shape.datatype);
        let code = code.map_err(|error| error.context(format_args!("the code of cell {cell}")))?;
        let mut bytes = Code::default();
        for (byte, stored) in bytes.iter_mut().zip(code.to_le_bytes()) {
            *byte = stored;
        }
        Ok(bytes)
    }

    /// The code of the next cell, or that it is null.
    fn push(&mut self, code: Option<Code>) {
        self.validity.push(u8::from(code.is_some()));
        let bytes = code.unwrap_or_default();
        // Of a length that is known when this is compiled, for all types that codes have.
        match self.shape.datatype.byte_len() {
            1 => self.data.push(bytes[0]),
            2 => self.data.extend_from_slice(&bytes[..2]),
            4 => self.data.extend_from_slice(&bytes[..4]),
            _ => self.data.extend_from_slice(&bytes),
        }
    }

    fn finish(self) -> Result<FieldCells<'static>> {
        cells(self.shape, Bytes::Buffer(self.data.into()), None, Some(self.validity))
    }
}
