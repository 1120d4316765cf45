//! Dimension labels: arrays of their own inside an array.

use crate::{ArrayPlace, Snapshot};
use smalti_format::DimensionLabel;
use smalti_tile::CellShape;
use smalti_types::{Error, Result};

/// What the values of a label are.
pub fn label_shape(label: &DimensionLabel) -> CellShape {
    CellShape { datatype: label.datatype, cell_val_num: label.cell_val_num, is_nullable: false }
}

impl Snapshot {
    /// The dimension label of a name.
    ///
    /// # Errors
    /// `NotFound` when the schema has none of that name.
    pub fn find_label(&self, name: &str) -> Result<&DimensionLabel> {
        self.schema().label(name).ok_or_else(|| {
            let known: Vec<&str> =
                self.schema().dimension_labels.iter().map(|label| label.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Error::not_found(format!("there is no dimension label {name:?}; there are {known}"))
                .at_uri(self.place().uri())
        })
    }

    /// Where the array of a label is.
    ///
    /// # Errors
    /// `Unsupported` for a label outside the array; `Corrupt` for one whose place is none.
    pub fn label_place(&self, label: &DimensionLabel) -> Result<ArrayPlace> {
        let place = self.place();
        let path = label.path().map_err(|error| error.at_uri(place.uri()))?;
        Ok(place.beside(&place.join(path)))
    }

    /// The array of a label in the same time range.
    ///
    /// # Errors
    /// As [`open`](Snapshot::open) and [`label_place`](Snapshot::label_place); `Corrupt` when it is no array of the label.
    pub fn open_label(&self, label: &DimensionLabel) -> Result<Snapshot> {
        let labels = Snapshot::open(self.label_place(label)?, self.time())?;
        let checked = self.schema().check_label_array(label, labels.schema());
        checked.map_err(|error| Error::corrupt(error.message()).at_uri(labels.place().uri()))?;
        Ok(labels)
    }
}
