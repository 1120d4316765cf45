//! Columns that grow a cell at a time.

use super::Field;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _};
use smalti::json::{CellSeed, ParsedCell};
use smalti::{AlignedBuf, CellValNum, Column, Datatype, Result, Scalar};

/// Takes the cells of one field.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    field: Field,
    /// What is parsed: the field's own type, or that of its labels.
    datatype: Datatype,
    cell_val_num: CellValNum,
    data: Vec<u8>,
    offsets: Vec<u64>,
    validity: Vec<u8>,
    cell_count: usize,
    label: Vec<u8>,
}

impl ColumnBuilder {
    /// No cells of a field yet.
    pub(crate) fn new(field: &Field) -> Self {
        let labels = field.labels.as_ref();
        ColumnBuilder {
            field: field.clone(),
            datatype: labels.map_or(field.datatype, |labels| labels.datatype()),
            cell_val_num: labels.map_or(field.cell_val_num, |labels| labels.cell_val_num()),
            data: Vec::new(),
            offsets: vec![0],
            validity: Vec::new(),
            cell_count: 0,
            label: Vec::new(),
        }
    }

    /// The field.
    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// The number of cells so far.
    pub(crate) fn cell_count(&self) -> usize {
        self.cell_count
    }

    /// The bytes of the cells so far.
    pub(crate) fn byte_len(&self) -> u64 {
        (self.data.len() + size_of_val(self.offsets.as_slice()) + self.validity.len()) as u64
    }

    /// The type that texts are parsed as: that of the labels for fields that have them.
    pub(crate) fn parsed_type(&self) -> (Datatype, CellValNum) {
        (self.datatype, self.cell_val_num)
    }

    /// Appends a cell from its JSON.
    pub(crate) fn push_json<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let (datatype, cell_val_num, start) = (self.datatype, self.cell_val_num, self.data.len());
        let parsed = if self.field.labels.is_some() {
            self.label.clear();
            CellSeed { datatype, cell_val_num, out: &mut self.label }.deserialize(deserializer)?
        } else {
            CellSeed { datatype, cell_val_num, out: &mut self.data }.deserialize(deserializer)?
        };
        match parsed {
            ParsedCell::Null => self.push_null(),
            ParsedCell::Code(code) => self.push_code(code),
            ParsedCell::Value if self.field.labels.is_some() => self.push_label(),
            ParsedCell::Value => self.field.check_cell(&self.data[start..]).map(|()| self.end_cell(true)),
        }
        .map_err(D::Error::custom)
    }

    /// Appends a cell from the bytes of its values, or of its label.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        let wanted = self.cell_val_num.fixed().map(|count| count * self.datatype.byte_len());
        if wanted.is_some_and(|wanted| wanted != bytes.len()) {
            return Err(format!("{} bytes where a cell has {}", bytes.len(), wanted.unwrap_or_default()));
        }
        if self.field.labels.is_some() {
            self.label = bytes.to_vec();
            return self.push_label();
        }
        self.field.check_cell(bytes)?;
        self.data.extend_from_slice(bytes);
        self.end_cell(true);
        Ok(())
    }

    /// Appends null; its bytes are zeros.
    pub(crate) fn push_null(&mut self) -> Result<(), String> {
        if !self.field.nullable {
            return Err("null, but the field is not nullable".into());
        }
        self.data.resize(self.data.len() + self.field.cell_byte_len(), 0);
        self.end_cell(false);
        Ok(())
    }

    fn push_code(&mut self, code: i64) -> Result<(), String> {
        if self.field.labels.is_none() {
            return Err("a code where the field has no labels".into());
        }
        let code =
            Scalar::I64(code).cast(self.field.datatype).map_err(|error| error.message().to_string())?;
        self.data.extend(code.to_le_bytes());
        self.end_cell(true);
        Ok(())
    }

    fn push_label(&mut self) -> Result<(), String> {
        let Some(labels) = self.field.labels.clone() else { return Err("the field has no labels".into()) };
        let Some(code) = labels.code(&self.label) else {
            let mut shown = Vec::new();
            labels.json_notation(self.field.iso_dates).push(&mut shown, &self.label);
            let shown = String::from_utf8_lossy(&shown);
            let name = labels.name();
            return Err(format!(
                "{shown} is no label of the enumeration {name:?}; extend it with `smalti evolve ARRAY \
                 --extend-enumeration {name}=...`"
            ));
        };
        self.push_code(code)
    }

    fn end_cell(&mut self, is_valid: bool) {
        if self.field.cell_val_num.is_var() {
            self.offsets.push(self.data.len() as u64);
        }
        if self.field.nullable {
            self.validity.push(is_valid.into());
        }
        self.cell_count += 1;
    }

    /// The column.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn finish(self) -> Result<Column> {
        let aligned = |bytes: &[u8]| {
            let mut buf = AlignedBuf::new();
            buf.extend_from_slice(bytes).map(|()| buf)
        };
        let is_var = self.field.cell_val_num.is_var();
        Ok(Column {
            data: aligned(&self.data)?,
            offsets: is_var.then(|| aligned(bytemuck::cast_slice(&self.offsets))).transpose()?,
            validity: self.field.nullable.then(|| aligned(&self.validity)).transpose()?,
        })
    }
}
