//! Intervals and rectangles: MBRs, non-empty domains, current domains.

use crate::record::{DimensionShape, shortened};
use crate::{Reader, Writer};
use smallvec::SmallVec;
use smalti_types::{Datatype, Error, Extent, ExtentRef, RectList, Result, Scalar};

/// The sides of a rectangle, one for each dimension: those of a plane in place, as readers of many fragments hold a rectangle for each.
pub type Sides = SmallVec<[Extent; SIDES_IN_PLACE]>;

const SIDES_IN_PLACE: usize = 2;

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
pub(crate) fn read_rect(reader: &mut Reader<'_>, dimensions: &[DimensionShape]) -> Result<Sides> {
    let read = |reader: &mut Reader<'_>, shape: &DimensionShape| {
        read_extent(reader, *shape).map(ExtentRef::to_owned)
    };
    let mut rect = Sides::with_capacity(dimensions.len());
    for shape in dimensions {
        rect.push(reader.part(
            "interval",
            "low and high value",
            "The interval on a dimension, in the order of the dimensions.",
            |extent: &Extent| shown(*shape, extent.as_ref()),
            |reader| read(reader, shape),
        )?);
    }
    Ok(rect)
}

/// An interval as text.
fn shown(shape: DimensionShape, extent: ExtentRef<'_>) -> String {
    let number = |ordinal| match Scalar::read(shape.datatype, &shape.datatype.bytes_of_ordinal(ordinal)) {
        Ok(value) => value.to_string(),
        Err(_) => format!("{ordinal}"),
    };
    match extent {
        ExtentRef::Num { lo, hi } => format!("{} to {}", number(lo), number(hi)),
        ExtentRef::Str { lo, hi } => {
            let text = |bytes: &[u8]| shortened(&String::from_utf8_lossy(bytes));
            format!("{} to {}", text(lo), hi.map_or("the end".into(), text))
        }
    }
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
    let mut left = count;
    reader.items(|reader| {
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        let first = rects.len();
        reader.part(
            "MBR",
            "an interval for each dimension",
            "The least rectangle around the cells of a tile, or of several.",
            |()| String::new(),
            |reader| dimensions.iter().try_for_each(|shape| rects.push_extent(read_extent(reader, *shape)?)),
        )?;
        if reader.is_traced() {
            let intervals = dimensions.iter().enumerate();
            let text: Vec<String> =
                intervals.map(|(dim, shape)| shown(*shape, rects.extent(first, dim))).collect();
            reader.set_last_value(text.join(", "));
        }
        Ok(true)
    })?;
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
