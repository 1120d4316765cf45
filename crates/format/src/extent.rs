//! Intervals and rectangles: MBRs, non-empty domains, current domains.

use crate::record::DimensionShape;
use crate::{Reader, Writer};
use smalti_types::{Datatype, Error, Extent, ExtentRef, RectList, Result};

/// Reads the interval of one dimension.
///
/// Numbers: low and high value. Strings: u64 length of both together, u64 length of the low one, their bytes.
pub(crate) fn read_extent<'a>(reader: &mut Reader<'a>, shape: DimensionShape) -> Result<ExtentRef<'a>> {
    let byte_offset = reader.byte_offset();
    let extent = if shape.is_var {
        let (both_len, lo_len) = (reader.u64()?, reader.u64()?);
        let both = reader.take(both_len)?;
        let (lo, hi) = usize::try_from(lo_len)
            .ok()
            .and_then(|lo_len| both.split_at_checked(lo_len))
            .ok_or_else(|| {
                Error::corrupt(format!("a low end of {lo_len} bytes in an interval of {both_len}"))
                    .at_offset(byte_offset)
            })?;
        ExtentRef::Str { lo, hi: Some(hi) }
    } else {
        let value_len = shape.datatype.byte_len();
        let (lo, hi) = reader.take(2 * value_len as u64)?.split_at(value_len);
        ExtentRef::Num { lo: shape.datatype.ordinal(lo)?, hi: shape.datatype.ordinal(hi)? }
    };
    Ok(extent)
}

/// Writes the interval of one dimension.
pub(crate) fn put_extent(writer: &mut Writer, shape: DimensionShape, extent: ExtentRef<'_>) -> Result<()> {
    match extent {
        ExtentRef::Num { lo, hi } if !shape.is_var => {
            for ordinal in [lo, hi] {
                put_ordinal(writer, shape.datatype, ordinal);
            }
        }
        ExtentRef::Str { lo, hi: Some(hi) } if shape.is_var => {
            writer.put(&((lo.len() + hi.len()) as u64).to_le_bytes());
            writer.put(&(lo.len() as u64).to_le_bytes());
            writer.put(lo);
            writer.put(hi);
        }
        other => {
            return Err(Error::invalid(format!(
                "the interval {other:?} does not fit a dimension of {shape:?}"
            )));
        }
    }
    Ok(())
}

fn put_ordinal(writer: &mut Writer, datatype: Datatype, ordinal: u64) {
    writer.put(&datatype.bytes_of_ordinal(ordinal));
}

/// Reads one interval for each dimension.
pub(crate) fn read_rect(reader: &mut Reader<'_>, dimensions: &[DimensionShape]) -> Result<Vec<Extent>> {
    dimensions.iter().map(|shape| read_extent(reader, *shape).map(ExtentRef::to_owned)).collect()
}

/// Writes one interval for each dimension.
pub(crate) fn put_rect(writer: &mut Writer, dimensions: &[DimensionShape], rect: &[Extent]) -> Result<()> {
    if rect.len() != dimensions.len() {
        return Err(Error::invalid(format!(
            "a rectangle of {} intervals in {} dimensions",
            rect.len(),
            dimensions.len()
        )));
    }
    dimensions.iter().zip(rect).try_for_each(|(shape, extent)| put_extent(writer, *shape, extent.as_ref()))
}

/// Reads `count` rectangles.
pub(crate) fn read_rects(
    reader: &mut Reader<'_>,
    dimensions: &[DimensionShape],
    count: u64,
) -> Result<RectList> {
    let mut rects = RectList::new(dimensions.iter().map(|shape| shape.is_var).collect::<Box<[bool]>>());
    if dimensions.is_empty() {
        return Err(Error::corrupt("rectangles of no dimensions"));
    }
    for _ in 0..count {
        for shape in dimensions {
            rects.push_extent(read_extent(reader, *shape)?)?;
        }
    }
    Ok(rects)
}

/// Writes rectangles.
pub(crate) fn put_rects(writer: &mut Writer, dimensions: &[DimensionShape], rects: &RectList) -> Result<()> {
    if rects.dim_count() != dimensions.len() {
        return Err(Error::invalid(format!(
            "rectangles of {} dimensions in {} dimensions",
            rects.dim_count(),
            dimensions.len()
        )));
    }
    for idx in 0..rects.len() {
        for (dim, shape) in dimensions.iter().enumerate() {
            put_extent(writer, *shape, rects.extent(idx, dim))?;
        }
    }
    Ok(())
}
