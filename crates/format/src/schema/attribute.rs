//! The attributes of a schema, and their default fill values.

use super::Attribute;
use crate::leaf::List32;
use crate::record::{Cx, Leaf, Record};
use crate::{Reader, Rule, Writer};
use smalti_types::{CellValNum, Datatype, Error, Result};

/// The most bytes that fill values which are not stored may take in one schema. A few bytes of an attribute could
/// otherwise ask for gigabytes.
const MAX_UNSTORED_FILL_LEN: usize = 16 << 20;

/// The bytes of a cell of the default fill value; one value for cells of any number of values.
pub fn default_fill_value(datatype: Datatype, cell_val_num: CellValNum) -> Vec<u8> {
    datatype.default_fill().repeat(cell_val_num.fixed().unwrap_or(1))
}

/// The fill value of an attribute that does not store one.
///
/// # Errors
/// `Corrupt` for cells of unreasonable length.
pub(super) fn unstored_fill_value(datatype: Datatype, cell_val_num: CellValNum) -> Result<Vec<u8>> {
    let cell_len = cell_val_num.fixed().unwrap_or(1).saturating_mul(datatype.byte_len());
    check_unstored(cell_len)?;
    Ok(default_fill_value(datatype, cell_val_num))
}

/// The default fill value of an attribute that is made anew.
///
/// # Errors
/// `InvalidArgument` for cells of unreasonable length.
pub fn new_fill_value(datatype: Datatype, cell_val_num: CellValNum) -> Result<Vec<u8>> {
    unstored_fill_value(datatype, cell_val_num).map_err(|error| {
        Error::invalid(format!("{}; cells of any number of values have no such limit", error.message()))
    })
}

fn check_unstored(byte_len: usize) -> Result<()> {
    if byte_len <= MAX_UNSTORED_FILL_LEN {
        return Ok(());
    }
    Err(Error::corrupt(format!("cells of {byte_len} bytes are beyond the limit of {MAX_UNSTORED_FILL_LEN}")))
}

/// The attributes behind their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttributeList;

impl Leaf<Vec<Attribute>> for AttributeList {
    fn on_disk() -> String {
        <List32 as Leaf<Vec<Attribute>>>::on_disk()
    }
    fn show(value: &Vec<Attribute>) -> String {
        List32::show(value)
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<Attribute>> {
        let mut left = reader.framing("count", "u32", Reader::u32)?;
        let is_stored = Rule::FillValues.span().contains(cx.version);
        let mut unstored_len = 0;
        let mut attributes = Vec::new();
        reader.items(|reader| {
            if left == 0 {
                return Ok(false);
            }
            left -= 1;
            let attribute = Attribute::read(reader, cx)?;
            unstored_len += if is_stored { 0 } else { attribute.fill_value.len() };
            check_unstored(unstored_len)?;
            attributes.push(attribute);
            Ok(true)
        })?;
        Ok(attributes)
    }
    fn write(&self, value: &Vec<Attribute>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        List32.write(value, writer, cx)
    }
}
