//! Tile extents that nobody gave.

use super::{ArraySchema, Dimension};
use smalti_types::{Layout, PhysicalKind, Scalar};

impl ArraySchema {
    /// Gives every dimension without a tile extent one tile over its whole domain, as the reference does when a schema
    /// is made. Not in Hilbert order, which has no space tiles; strings, which have none either, and domains that no extent can
    /// span, of 2^64 cells, of more than the largest float or of a single one, stay as they are.
    pub fn fill_absent_extents(&mut self) {
        if self.cell_order == Layout::Hilbert {
            return;
        }
        for dimension in &mut self.dimensions {
            if dimension.tile_extent.is_none() {
                dimension.tile_extent = dimension.whole_domain();
            }
        }
    }
}

impl Dimension {
    /// The stored extent of one tile over the domain: the number of cells, whose bits count as unsigned (see
    /// [`Dimension::extent_len`]), or for floats the distance of the bounds.
    fn whole_domain(&self) -> Option<Scalar> {
        let (lo, hi) = self.domain?;
        if let (Scalar::F32(lo), Scalar::F32(hi)) = (lo, hi) {
            return Some(hi - lo).filter(|len| len.is_finite() && *len > 0.0).map(Scalar::F32);
        }
        if let (Scalar::F64(lo), Scalar::F64(hi)) = (lo, hi) {
            return Some(hi - lo).filter(|len| len.is_finite() && *len > 0.0).map(Scalar::F64);
        }
        let len = u64::try_from(hi.as_i128()? - lo.as_i128()? + 1).ok()?;
        Some(match self.datatype.physical() {
            PhysicalKind::I8 => Scalar::I8(u8::try_from(len).ok()?.cast_signed()),
            PhysicalKind::U8 => Scalar::U8(u8::try_from(len).ok()?),
            PhysicalKind::I16 => Scalar::I16(u16::try_from(len).ok()?.cast_signed()),
            PhysicalKind::U16 => Scalar::U16(u16::try_from(len).ok()?),
            PhysicalKind::I32 => Scalar::I32(u32::try_from(len).ok()?.cast_signed()),
            PhysicalKind::U32 => Scalar::U32(u32::try_from(len).ok()?),
            PhysicalKind::I64 => Scalar::I64(len.cast_signed()),
            PhysicalKind::U64 => Scalar::U64(len),
            PhysicalKind::F32 | PhysicalKind::F64 => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::{CellValNum, Datatype, FilterPipeline};

    fn extent(datatype: Datatype, lo: Scalar, hi: Scalar) -> Option<Scalar> {
        Dimension {
            name: "d".into(),
            datatype,
            cell_val_num: CellValNum::ONE,
            filters: FilterPipeline::default(),
            domain: Some((lo, hi)),
            tile_extent: None,
        }
        .whole_domain()
    }

    #[test]
    fn an_absent_extent_spans_the_domain() {
        assert_eq!(extent(Datatype::UInt16, Scalar::U16(0), Scalar::U16(99)), Some(Scalar::U16(100)));
        assert_eq!(extent(Datatype::Float32, Scalar::F32(-1.0), Scalar::F32(8.5)), Some(Scalar::F32(9.5)));
    }

    #[test]
    fn a_span_that_the_signed_type_cannot_hold_is_stored_as_unsigned() {
        assert_eq!(extent(Datatype::Int8, Scalar::I8(-100), Scalar::I8(100)), Some(Scalar::I8(201_u8 as i8)));
    }

    #[test]
    fn a_domain_of_floats_that_no_extent_spans_has_none() {
        for (lo, hi) in [(f64::MIN, f64::MAX), (1.5, 1.5)] {
            assert_eq!(extent(Datatype::Float64, Scalar::F64(lo), Scalar::F64(hi)), None);
        }
    }

    #[test]
    fn a_domain_of_all_values_has_no_extent() {
        assert_eq!(extent(Datatype::Int8, Scalar::I8(-128), Scalar::I8(127)), None);
        assert_eq!(extent(Datatype::UInt64, Scalar::U64(0), Scalar::U64(u64::MAX)), None);
    }
}
