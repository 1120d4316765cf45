//! Fields of fragments, as reads want them.

use crate::kept::KeptName;
use smalti_array::{FieldId, Fragment, Snapshot};
use smalti_format::Rule;
use smalti_tile::{CellShape, FieldCodec};
use smalti_types::{CellValNum, Error, ErrorKind, Result};
use std::sync::Arc;

/// A field of a fragment, ready to read.
#[derive(Clone)]
pub(crate) struct FieldSource {
    pub(crate) fragment: Arc<Fragment>,
    /// The field, by the fragment's own schema.
    pub(crate) field: FieldId,
    pub(crate) codec: Arc<FieldCodec>,
    /// The dimension that is wanted of tiles with the coordinates of all dimensions.
    pub(crate) coordinate: Option<usize>,
    pub(crate) name: KeptName,
}

impl FieldSource {
    /// The source of an attribute that a read wants in a shape; `None` where the fragment lacks the attribute.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    pub(crate) fn of_attribute(
        snapshot: &Snapshot,
        fragment: &Arc<Fragment>,
        name: &str,
        shape: CellShape,
    ) -> Result<Option<Self>> {
        let Some(field) = attribute_in(fragment, name, shape)? else { return Ok(None) };
        let codec = snapshot.field_codec(fragment, field)?;
        Ok(Some(FieldSource {
            fragment: Arc::clone(fragment),
            field,
            codec,
            coordinate: None,
            name: KeptName::default(),
        }))
    }

    /// Adds why a damaged tile is damaged, where that is known.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let shape = self.codec.shape();
        let is_mixed = error.kind() == ErrorKind::Corrupt
            && !self.fragment.is_dense()
            && self.fragment.version().has(Rule::MixedNullableCells)
            && shape.is_nullable
            && !shape.is_var();
        if !is_mixed {
            return error;
        }
        error.context(
            "libtiledb 2.2.1 and 2.2.2, whose format version 7 this fragment has, mixed values and validity of \
             fixed-size nullable attributes in sparse arrays, and nobody can read them; select other fields",
        )
    }

    /// What the decoded column holds.
    pub(crate) fn column_shape(&self) -> CellShape {
        let shape = self.codec.shape();
        match self.coordinate {
            Some(_) => CellShape { cell_val_num: CellValNum::ONE, ..shape },
            None => shape,
        }
    }

    /// Finds a field of a fragment.
    ///
    /// # Errors
    /// `Unsupported` for filters that cannot run on the field.
    pub(crate) fn new(snapshot: &Snapshot, fragment: &Arc<Fragment>, field: FieldId) -> Result<Self> {
        let (field, coordinate) = match field {
            FieldId::Dimension(dim) => match fragment.coordinates_of(dim) {
                FieldId::Coordinates => (FieldId::Coordinates, Some(dim)),
                own => (own, None),
            },
            other => (other, None),
        };
        let codec = snapshot.field_codec(fragment, field)?;
        Ok(FieldSource {
            fragment: Arc::clone(fragment),
            field,
            codec,
            coordinate,
            name: KeptName::default(),
        })
    }
}

/// Where a fragment has an attribute, by its own schema. One of the same name that was of another type is another attribute, which was
/// dropped before this one was added: nobody wrote cells of this one then. libtiledb takes the old bytes for values of the new type, unless
/// one of the two is of any length.
///
/// # Errors
/// `Corrupt` from the fragment's metadata.
pub(crate) fn attribute_in(fragment: &Fragment, name: &str, shape: CellShape) -> Result<Option<FieldId>> {
    let Some((idx, _)) = fragment.schema().attribute(name) else { return Ok(None) };
    let field = FieldId::Attribute(idx);
    Ok((fragment.field_shape(field)? == shape).then_some(field))
}
