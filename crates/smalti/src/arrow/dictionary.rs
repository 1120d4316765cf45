//! Codes of enumerations as Arrow dictionaries.

use super::export::bits_of;
use super::{ArrowForm, arrow_array, arrow_field, data_type, value_type};
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, DictionaryArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use rayon::prelude::*;
use smalti_format::Enumeration;
use smalti_space::{CELLS_BETWEEN_CHECKS, Check};
use smalti_tile::{CellShape, Column};
use smalti_types::parallel::Shareable as _;
use smalti_types::{AlignedBuf, CellValNum, Error, PhysicalKind, Result};
use std::sync::Arc;

/// The key in an Arrow field's metadata under which the name of the enumeration stands.
pub const ENUMERATION_KEY: &str = "tiledb:enumeration";

/// The labels of an enumeration as the values of Arrow dictionaries.
#[derive(Debug, Clone)]
pub(crate) struct Dictionary {
    name: String,
    is_ordered: bool,
    values: ArrayRef,
    values_type: DataType,
}

impl Dictionary {
    pub(crate) fn new(enumeration: &Enumeration, form: ArrowForm) -> Result<Dictionary> {
        let Enumeration { datatype, cell_val_num, .. } = *enumeration;
        let shape = CellShape { datatype, cell_val_num, is_nullable: false };
        let mut column = Column::default();
        column.data.extend_from_slice(&enumeration.data)?;
        if cell_val_num == CellValNum::Var {
            let mut offsets = AlignedBuf::new();
            let ends: Vec<u64> =
                enumeration.offsets.iter().copied().chain([enumeration.data.len() as u64]).collect();
            offsets.extend_from_slice(bytemuck::cast_slice(&ends))?;
            column.offsets = Some(offsets);
        }
        let values = arrow_array(column, shape, enumeration.element_count(), form)
            .map_err(|error| error.context(format_args!("enumeration {:?}", enumeration.name)))?;
        Ok(Dictionary {
            name: enumeration.name.clone(),
            is_ordered: enumeration.is_ordered,
            values,
            values_type: data_type(shape, form),
        })
    }

    /// The Arrow field of an attribute. It is always nullable: a code without a label, such as most fill values, has no
    /// other form.
    pub(crate) fn field(&self, name: &str, shape: CellShape, form: ArrowForm) -> Field {
        let mut metadata = arrow_field(name, shape, form).metadata().clone();
        metadata.insert(ENUMERATION_KEY.to_owned(), self.name.clone());
        let dictionary =
            DataType::Dictionary(Box::new(value_type(shape.datatype)), Box::new(self.values_type.clone()));
        Field::new(name, dictionary, true).with_dict_is_ordered(self.is_ordered).with_metadata(metadata)
    }

    /// The codes of a column as keys.
    pub(crate) fn array(&self, column: Column, shape: CellShape, check: Check<'_>) -> Result<ArrayRef> {
        match shape.datatype.physical() {
            PhysicalKind::I8 => self.keyed::<Int8Type>(column, check),
            PhysicalKind::I16 => self.keyed::<Int16Type>(column, check),
            PhysicalKind::I32 => self.keyed::<Int32Type>(column, check),
            PhysicalKind::I64 => self.keyed::<Int64Type>(column, check),
            PhysicalKind::U8 => self.keyed::<UInt8Type>(column, check),
            PhysicalKind::U16 => self.keyed::<UInt16Type>(column, check),
            PhysicalKind::U32 => self.keyed::<UInt32Type>(column, check),
            PhysicalKind::U64 => self.keyed::<UInt64Type>(column, check),
            PhysicalKind::F32 | PhysicalKind::F64 => Err(Error::corrupt("codes that are no integers")),
        }
    }

    fn keyed<K: ArrowDictionaryKeyType>(&self, column: Column, check: Check<'_>) -> Result<ArrayRef>
    where
        K::Native: smalti_types::Physical + TryInto<usize>,
    {
        let label_count = self.values.len();
        let valid = |code: K::Native| code.try_into().is_ok_and(|code: usize| code < label_count);
        let Column { mut data, validity, .. } = column;
        let codes = data.values_mut::<K::Native>();
        let mut bits = bits_of(codes, valid, check)?;
        if let Some(validity) = &validity {
            if validity.len() != codes.len() {
                return Err(Error::corrupt("a column has more or fewer validity bytes than cells"));
            }
            bits = &bits & &bits_of(validity.as_slice(), |byte| byte != 0, check)?;
        }
        // Under a null too keys have to lie among the values.
        codes.par_chunks_mut(CELLS_BETWEEN_CHECKS).shared().try_for_each(|codes| {
            codes.iter_mut().filter(|code| !valid(**code)).for_each(|code| *code = K::Native::default());
            check()
        })?;
        let nulls = (bits.count_set_bits() < bits.len()).then(|| NullBuffer::new(bits));
        let keys = keys::<K>(data, nulls)?;
        let array = DictionaryArray::<K>::try_new(keys, Arc::clone(&self.values))
            .map_err(|error| Error::corrupt(format!("the codes make no dictionary: {error}")))?;
        Ok(Arc::new(array))
    }
}

fn keys<K: ArrowPrimitiveType>(data: AlignedBuf, nulls: Option<NullBuffer>) -> Result<PrimitiveArray<K>> {
    PrimitiveArray::try_new(ScalarBuffer::from(super::export::buffer(data)), nulls)
        .map_err(|error| Error::corrupt(format!("the codes make no keys: {error}")))
}
