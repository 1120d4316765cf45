//! The elements of enumerations: made one by one, looked up, and checked before they are stored.

use super::{Attribute, Enumeration};
use smalti_types::{CellValNum, Datatype, Error, PhysicalKind, Result, Scalar};
use std::collections::HashMap;

impl Enumeration {
    /// An enumeration without elements; its file has no name yet.
    pub fn new(name: impl Into<String>, datatype: Datatype, cell_val_num: CellValNum) -> Self {
        Enumeration {
            version: 0,
            name: name.into(),
            file: String::new(),
            datatype,
            cell_val_num,
            is_ordered: false,
            data: Vec::new(),
            offsets: Vec::new(),
        }
    }

    /// Appends an element.
    ///
    /// # Errors
    /// `InvalidArgument` when its bytes are not the values of one element.
    pub fn push(&mut self, element: &[u8]) -> Result<()> {
        let fits = match self.cell_val_num.fixed() {
            Some(count) => count.checked_mul(self.datatype.byte_len()) == Some(element.len()),
            None => element.len().is_multiple_of(self.datatype.byte_len()),
        };
        if !fits {
            return Err(Error::invalid(format!(
                "an element of {} bytes; the enumeration {:?} holds {:?} values of type {} in an element",
                element.len(),
                self.name,
                self.cell_val_num,
                self.datatype
            )));
        }
        if self.cell_val_num.is_var() {
            self.offsets.push(self.data.len() as u64);
        }
        self.data.extend_from_slice(element);
        Ok(())
    }

    /// All elements, in order.
    pub fn elements(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.element_count()).filter_map(|idx| self.element(idx))
    }

    /// The index of every element.
    pub fn codes(&self) -> HashMap<&[u8], u64> {
        self.elements().zip(0..).collect()
    }

    /// Checks an enumeration before it is stored, by the reference's rules.
    ///
    /// # Errors
    /// `InvalidArgument` when it has no name, or an element twice.
    pub fn check_new(&self) -> Result<()> {
        if self.name.is_empty() {
            return Err(Error::invalid("an enumeration needs a name"));
        }
        self.check().map_err(|error| Error::invalid(error.message()))?;
        let mut seen = HashMap::new();
        for (element, idx) in self.elements().zip(0_u64..) {
            if let Some(first) = seen.insert(element, idx) {
                return Err(Error::invalid(format!(
                    "the enumeration {:?} has {} twice, as elements {first} and {idx}",
                    self.name,
                    self.shown(element)
                )));
            }
        }
        Ok(())
    }

    /// Checks that an attribute can index every element. The reference leaves the greatest value of the type free.
    ///
    /// # Errors
    /// `InvalidArgument` when its type is too small.
    pub fn check_indexed_by(&self, attribute: &Attribute) -> Result<()> {
        let greatest: u64 = match attribute.datatype.physical() {
            PhysicalKind::I8 => i8::MAX as u64,
            PhysicalKind::U8 => u8::MAX.into(),
            PhysicalKind::I16 => i16::MAX as u64,
            PhysicalKind::U16 => u16::MAX.into(),
            PhysicalKind::I32 => i32::MAX as u64,
            PhysicalKind::U32 => u32::MAX.into(),
            PhysicalKind::I64 => i64::MAX as u64,
            _ => u64::MAX,
        };
        let count = self.element_count();
        if (count as u64) < greatest {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "attribute {:?} of type {} cannot index the {count} elements of the enumeration {:?}; it has room for {}",
            attribute.name,
            attribute.datatype,
            self.name,
            greatest - 1
        )))
    }

    /// An element for messages: text in quotes, a number, or hexadecimal digits.
    pub fn shown(&self, element: &[u8]) -> String {
        if self.datatype.is_string() && self.datatype.byte_len() == 1 || self.datatype == Datatype::Char {
            return format!("{:?}", String::from_utf8_lossy(element));
        }
        match Scalar::read(self.datatype, element) {
            Ok(value) if element.len() == self.datatype.byte_len() => {
                self.datatype.shown_ordinal(value.ordinal())
            }
            _ => element.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::check::tests::attribute;

    fn colors(labels: &[&str]) -> Enumeration {
        let mut colors = Enumeration::new("colors", Datatype::StringUtf8, CellValNum::Var);
        labels.iter().for_each(|label| colors.push(label.as_bytes()).unwrap());
        colors
    }

    #[test]
    fn elements_that_are_pushed_come_back_with_their_index() {
        let colors = colors(&["red", "", "blue"]);
        assert_eq!(colors.elements().collect::<Vec<_>>(), [&b"red"[..], b"", b"blue"]);
        assert_eq!(colors.codes()[&b"blue"[..]], 2);
        colors.check_new().unwrap();
        assert_eq!(Enumeration::decode(&colors.encode().unwrap()).unwrap(), colors);
        let mut pairs = Enumeration::new("pairs", Datatype::Int16, CellValNum::from_raw(2).unwrap());
        pairs.push(&[1, 0, 2, 0]).unwrap();
        assert!(pairs.push(&[1, 0]).unwrap_err().to_string().contains("\"pairs\""));
        assert_eq!(pairs.element_count(), 1);
    }

    #[test]
    fn what_cannot_be_an_enumeration_is_named() {
        let complaint = |enumeration: &Enumeration| enumeration.check_new().unwrap_err().to_string();
        assert!(complaint(&colors(&["a", "b", "a"])).contains("\"a\" twice, as elements 0 and 2"));
        assert!(complaint(&Enumeration { name: String::new(), ..colors(&[]) }).contains("name"));
        colors(&[]).check_new().unwrap();
    }

    #[test]
    fn an_attribute_has_room_for_one_element_less_than_its_type_has_positive_values() {
        let mut numbers = Enumeration::new("numbers", Datatype::UInt16, CellValNum::ONE);
        (0..126_u16).for_each(|number| numbers.push(&number.to_le_bytes()).unwrap());
        let mut narrow = attribute("a");
        narrow.datatype = Datatype::Int8;
        numbers.check_indexed_by(&narrow).unwrap();
        numbers.push(&[200, 0]).unwrap();
        assert!(numbers.check_indexed_by(&narrow).unwrap_err().to_string().contains("127 elements"));
        numbers.check_indexed_by(&attribute("a")).unwrap();
    }
}
