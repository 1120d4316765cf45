//! The labels of an enumeration and their codes.

use smalti::format::Enumeration;
use smalti::json::CellNotation;
use smalti::{CellValNum, Datatype, Scalar};
use std::collections::HashMap;

/// The labels of an enumeration.
#[derive(Debug)]
pub struct Labels {
    enumeration: Enumeration,
    codes: HashMap<Vec<u8>, i64>,
}

impl Labels {
    /// Those of an enumeration, to be looked up both ways.
    pub fn new(enumeration: Enumeration) -> Self {
        let codes = enumeration.elements().zip(0..).map(|(element, code)| (element.to_vec(), code)).collect();
        Labels { enumeration, codes }
    }

    /// The enumeration's name.
    pub fn name(&self) -> &str {
        &self.enumeration.name
    }

    /// The datatype of labels.
    pub fn datatype(&self) -> Datatype {
        self.enumeration.datatype
    }

    /// Values in a label.
    pub fn cell_val_num(&self) -> CellValNum {
        self.enumeration.cell_val_num
    }

    /// The JSON notation of labels.
    pub fn json_notation(&self, iso_dates: bool) -> CellNotation {
        CellNotation::new(self.datatype(), self.cell_val_num(), iso_dates)
    }

    /// The label of a stored code, or the code where it has none.
    pub fn label(&self, datatype: Datatype, cell: &[u8]) -> Result<&[u8], i128> {
        let code = Scalar::read(datatype, cell).ok().and_then(Scalar::as_i128).unwrap_or(-1);
        usize::try_from(code).ok().and_then(|idx| self.enumeration.element(idx)).ok_or(code)
    }

    /// The code of a label.
    pub fn code(&self, label: &[u8]) -> Option<i64> {
        self.codes.get(label).copied()
    }
}
