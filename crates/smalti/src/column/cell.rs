//! Which Rust types are cells, and slices of them columns.

use super::Bytes;
use super::input::{Form, InputColumn, Repr};
use crate::Number;
use arrow_buffer::{Buffer, MutableBuffer};
use smalti_types::Datatype;

/// A Rust value that is one cell.
///
/// | type | a cell of |
/// |---|---|
/// | the ten number types | one value; in a field of *n* values a cell, *n* of them in a row |
/// | `bool` | `BOOL` |
/// | `[T; N]` of numbers | *N* values |
/// | `Vec<T>`, `&[T]` of numbers | any number of values; of `u8`: bytes and text too |
/// | `&str`, `String` | text or bytes of any length |
/// | `Option` of these | the same in a nullable field |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no cell",
    label = "no type of cells",
    note = "cells are the ten number types from `i8` to `f64`, `bool`, `&str`, `String`, `Vec<T>`, `&[T]` and `[T; N]` of numbers, and \
            `Option` of these",
    note = "dates and times are given as `i64` in the unit of the field, or as Arrow arrays"
)]
pub trait Cell: Sized {
    /// The datatype of the values.
    #[doc(hidden)]
    const DATATYPE: Datatype;
    /// How many values a cell holds.
    #[doc(hidden)]
    const FORM: Form;

    /// Appends the bytes of the cell.
    #[doc(hidden)]
    fn push_bytes(&self, data: &mut MutableBuffer);

    /// Whether the cell is null; then its bytes are nothing, or zeros of the right length.
    #[doc(hidden)]
    fn is_null(&self) -> bool {
        false
    }

    /// A column of such cells: without a copy where cells lie in memory as columns do.
    #[doc(hidden)]
    fn column(cells: &[Self]) -> InputColumn<'_> {
        let mut data = MutableBuffer::new(0);
        let mut offsets = Vec::new();
        if Self::FORM == Form::Var {
            offsets.reserve(cells.len() + 1);
            offsets.push(0_u64);
        }
        for cell in cells {
            cell.push_bytes(&mut data);
            if Self::FORM == Form::Var {
                offsets.push(data.len() as u64);
            }
        }
        let validity = cells
            .iter()
            .any(Cell::is_null)
            .then(|| cells.iter().map(|cell| u8::from(!cell.is_null())).collect::<Vec<u8>>());
        InputColumn(Repr::Cells {
            datatype: Self::DATATYPE,
            form: Self::FORM,
            data: Bytes::Buffer(data.into()),
            offsets: (Self::FORM == Form::Var).then(|| Buffer::from_vec(offsets)),
            validity,
        })
    }
}

macro_rules! number_cells {
    ($($t:ty)*) => {$(
        impl Cell for $t {
            const DATATYPE: Datatype = <$t as Number>::DATATYPE;
            const FORM: Form = Form::Single;

            fn push_bytes(&self, data: &mut MutableBuffer) {
                data.extend_from_slice(bytemuck::bytes_of(self));
            }

            fn column(cells: &[Self]) -> InputColumn<'_> {
                single(<$t as Number>::DATATYPE, bytemuck::cast_slice(cells))
            }
        }
    )*};
}
number_cells!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

fn single(datatype: Datatype, data: &[u8]) -> InputColumn<'_> {
    let data = Bytes::Slice(data);
    InputColumn(Repr::Cells { datatype, form: Form::Single, data, offsets: None, validity: None })
}

impl Cell for bool {
    const DATATYPE: Datatype = Datatype::Bool;
    const FORM: Form = Form::Single;

    fn push_bytes(&self, data: &mut MutableBuffer) {
        data.push(u8::from(*self));
    }

    fn column(cells: &[Self]) -> InputColumn<'_> {
        single(Datatype::Bool, bytemuck::cast_slice(cells))
    }
}

impl<T: Number, const N: usize> Cell for [T; N] {
    const DATATYPE: Datatype = T::DATATYPE;
    const FORM: Form = Form::Fixed(N);

    fn push_bytes(&self, data: &mut MutableBuffer) {
        data.extend_from_slice(bytemuck::cast_slice::<T, u8>(self));
    }

    fn column(cells: &[Self]) -> InputColumn<'_> {
        let data = Bytes::Slice(bytemuck::cast_slice(cells.as_flattened()));
        InputColumn(Repr::Cells {
            datatype: T::DATATYPE,
            form: Form::Fixed(N),
            data,
            offsets: None,
            validity: None,
        })
    }
}

impl<T: Number> Cell for &[T] {
    const DATATYPE: Datatype = T::DATATYPE;
    const FORM: Form = Form::Var;

    fn push_bytes(&self, data: &mut MutableBuffer) {
        data.extend_from_slice(bytemuck::cast_slice::<T, u8>(self));
    }
}

impl<T: Number> Cell for Vec<T> {
    const DATATYPE: Datatype = T::DATATYPE;
    const FORM: Form = Form::Var;

    fn push_bytes(&self, data: &mut MutableBuffer) {
        data.extend_from_slice(bytemuck::cast_slice::<T, u8>(self));
    }
}

impl Cell for &str {
    const DATATYPE: Datatype = Datatype::StringUtf8;
    const FORM: Form = Form::Var;

    fn push_bytes(&self, data: &mut MutableBuffer) {
        data.extend_from_slice(self.as_bytes());
    }
}

impl Cell for String {
    const DATATYPE: Datatype = Datatype::StringUtf8;
    const FORM: Form = Form::Var;

    fn push_bytes(&self, data: &mut MutableBuffer) {
        data.extend_from_slice(self.as_bytes());
    }
}

impl<C: Cell> Cell for Option<C> {
    const DATATYPE: Datatype = C::DATATYPE;
    const FORM: Form = C::FORM;

    fn push_bytes(&self, data: &mut MutableBuffer) {
        match (self, C::FORM) {
            (Some(cell), _) => cell.push_bytes(data),
            (None, Form::Single) => data.extend_zeros(C::DATATYPE.byte_len()),
            (None, Form::Fixed(count)) => data.extend_zeros(count * C::DATATYPE.byte_len()),
            (None, Form::Var) => {}
        }
    }

    fn is_null(&self) -> bool {
        self.as_ref().is_none_or(Cell::is_null)
    }
}
