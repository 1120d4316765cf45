//! Enumerations: the labels that the codes of an attribute stand for.

use crate::column::Form;
use crate::{Array, Cell, Value};
use arrow_buffer::MutableBuffer;
use smalti_format::Enumeration as StoredEnumeration;
use smalti_types::{CellValNum, Datatype, Error, Result};
use std::ops::Deref;
use std::sync::Arc;

/// A list of labels that attributes of integers index: made with a schema or by [evolution](crate::Evolution), or read
/// from an [array](Array::enumeration). Cheap to clone, and a [`format::Enumeration`](crate::format::Enumeration) to look at.
///
/// Labels are any [cells](Cell): text, numbers, arrays of numbers. None may be given twice.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
///
/// let schema = Schema::sparse()
///     .dimension(Dimension::new("x", 0..=99))
///     .enumeration(Enumeration::new("colors", ["red", "green", "blue"]))
///     .attribute(Attribute::of::<u8>("color").enumeration("colors"))
///     .build()?;
/// let array = Array::create("mem://enumerations-docs", &schema)?;
/// array.write().column("x", &[1, 2]).column("color", &["blue", "red"]).commit()?;
/// array.write().column("x", &[3]).column("color", &[1_u8]).commit()?; // integers are codes
/// assert_eq!(array.enumeration("colors")?.labels()[1].as_str(), Some("green"));
///
/// let error = array.write().column("x", &[4]).column("color", &["pink"]).commit().unwrap_err();
/// assert!(error.message().contains("pink"));
/// array.evolve().extend_enumeration("colors", ["pink"]).commit()?;
/// array.write().column("x", &[4]).column("color", &["pink"]).commit()?;
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Enumeration {
    stored: Arc<StoredEnumeration>,
    /// The first thing that was wrong, for the call that builds the schema.
    refused: Option<String>,
}

impl Enumeration {
    /// An enumeration of labels, in the order of their codes: the first has the code 0.
    pub fn new<C: Cell>(name: impl Into<String>, labels: impl IntoIterator<Item = C>) -> Enumeration {
        let mut stored = StoredEnumeration::new(name, C::DATATYPE, values_per_cell::<C>());
        let refused =
            encoded(labels).and_then(|labels| labels.iter().try_for_each(|label| stored.push(label)));
        Enumeration {
            stored: Arc::new(stored),
            refused: refused.err().map(|error| error.message().to_owned()),
        }
    }

    /// Says that the order of the labels means something: that one is less than the next.
    #[must_use]
    pub fn ordered(mut self) -> Enumeration {
        Arc::make_mut(&mut self.stored).is_ordered = true;
        self
    }

    /// Another datatype for the labels: `STRING_ASCII` for text, or dates for 64-bit integers.
    #[must_use]
    pub fn datatype(mut self, datatype: Datatype) -> Enumeration {
        let own = self.stored.datatype;
        let alike = own.is_bytes() && datatype.is_bytes()
            || !own.is_bytes() && !datatype.is_bytes() && own.physical() == datatype.physical();
        if !alike || datatype.text_fault(&self.stored.data).is_some() {
            self.refused.get_or_insert_with(|| format!("labels of type {own} cannot be of type {datatype}"));
        }
        Arc::make_mut(&mut self.stored).datatype = datatype;
        self
    }

    /// The labels, in the order of their codes.
    pub fn labels(&self) -> Vec<Value> {
        let value = |label: &[u8]| Value::from_le_bytes(self.stored.datatype, label).ok();
        self.stored.elements().filter_map(value).collect()
    }

    pub(crate) fn from_stored(stored: Arc<StoredEnumeration>) -> Enumeration {
        Enumeration { stored, refused: None }
    }

    pub(crate) fn build(self) -> Result<StoredEnumeration> {
        match self.refused {
            Some(message) => Err(Error::invalid(format!("enumeration {:?}: {message}", self.stored.name))),
            None => Ok(Arc::unwrap_or_clone(self.stored)),
        }
    }
}

impl Deref for Enumeration {
    type Target = StoredEnumeration;

    fn deref(&self) -> &StoredEnumeration {
        &self.stored
    }
}

fn values_per_cell<C: Cell>() -> CellValNum {
    match C::FORM {
        Form::Single => CellValNum::ONE,
        Form::Fixed(count) => {
            u32::try_from(count).ok().and_then(CellValNum::from_raw).unwrap_or(CellValNum::Var)
        }
        Form::Var => CellValNum::Var,
    }
}

/// The bytes of each label.
///
/// # Errors
/// `InvalidArgument` when one is null.
pub(crate) fn encoded<C: Cell>(labels: impl IntoIterator<Item = C>) -> Result<Vec<Vec<u8>>> {
    let one = |label: C| {
        if label.is_null() {
            return Err(Error::invalid("a label is null; null cells of nullable attributes need none"));
        }
        let mut bytes = MutableBuffer::new(0);
        label.push_bytes(&mut bytes);
        Ok(bytes.as_slice().to_vec())
    };
    labels.into_iter().map(one).collect()
}

impl Array {
    /// An enumeration of the schema at the end of the time range, by the name that attributes give it.
    ///
    /// # Errors
    /// `NotFound` when the schema has no enumeration of that name; `Corrupt` and `Permission`, with the file named.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<u8>("a")).build()?;
    /// # let array = Array::create("mem://enumeration-docs", &schema)?;
    /// assert_eq!(array.enumeration("colors").unwrap_err().kind(), ErrorKind::NotFound);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn enumeration(&self, name: &str) -> Result<Enumeration> {
        self.snapshot()?.enumeration(name).map(Enumeration::from_stored)
    }
}
