//! Encodings of dimensions that changed, and their domains.

use super::Dimension;
use crate::leaf::{Bool8, U32, U64, records};
use crate::record::{Cx, Leaf, Record};
use crate::{Reader, Version, Writer};
use smalti_types::{CellValNum, Datatype, Error, Extent, ExtentRef, Result, Scalar};

impl Dimension {
    /// An interval without the other zero where the domain ends in one. Ranges of floats that end in a zero take in both, but
    /// a current domain stays inside the domain.
    pub fn within_zeros(&self, extent: Extent) -> Extent {
        let (Some((first, last)), &Extent::Num { mut lo, mut hi }) = (self.domain, &extent) else {
            return extent;
        };
        let is_zero = |value: Scalar| self.datatype.is_float() && value.as_f64() == 0.0;
        if is_zero(first) && lo.checked_add(1) == Some(first.ordinal()) {
            lo += 1;
        }
        if is_zero(last) && hi.checked_sub(1) == Some(last.ordinal()) {
            hi -= 1;
        }
        Extent::Num { lo, hi }
    }

    /// An interval for messages: `low:high`, strings in quotes, dates and times as `low..high`, since they hold colons.
    pub fn shown(&self, extent: ExtentRef<'_>) -> String {
        let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
        match extent {
            ExtentRef::Num { lo, hi } => {
                let end = |ordinal: u64| self.datatype.shown_ordinal(ordinal);
                let is_time = self.datatype.is_datetime() || self.datatype.is_time();
                format!("{}{}{}", end(lo), if is_time { ".." } else { ":" }, end(hi))
            }
            ExtentRef::Str { lo, hi } => format!("{}:{}", text(lo), hi.map(text).unwrap_or_default()),
        }
    }
}

/// The dimensions behind their number; the argument is the datatype that they share before version 5.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DimensionList(pub Datatype);

impl Leaf<Vec<Dimension>> for DimensionList {
    fn on_disk() -> String {
        "u32 count, that many of [dimension]".into()
    }
    fn show(value: &Vec<Dimension>) -> String {
        format!("{} of dimension", value.len())
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<Dimension>> {
        let count = reader.framing("count", "u32", Reader::u32)?;
        records(count.into(), reader, &Cx { domain_datatype: self.0, ..*cx })
    }
    fn write(&self, value: &Vec<Dimension>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let count = u32::try_from(value.len()).map_err(|_| Error::invalid("too many dimensions"))?;
        U32.write(&count, writer, cx)?;
        let cx = Cx { domain_datatype: self.0, ..*cx };
        value.iter().try_for_each(|dimension| dimension.write(writer, &cx))
    }
}

/// The datatype of all dimensions.
///
/// # Errors
/// `InvalidArgument` when they have none in common.
pub(super) fn shared_datatype(dimensions: &[Dimension]) -> Result<Datatype> {
    let first = dimensions.first().ok_or_else(|| Error::invalid("the schema has no dimensions"))?;
    match dimensions.iter().find(|dimension| dimension.datatype != first.datatype) {
        None => Ok(first.datatype),
        Some(other) => Err(Error::invalid(format!(
            "dimensions of types {} and {} need a newer format version; version {} writes them",
            first.datatype,
            other.datatype,
            Version::DEFAULT
        ))),
    }
}

/// The number of values in a coordinate where it is not stored.
pub(super) fn usual_cell_val_num(datatype: Datatype) -> CellValNum {
    if datatype.is_string() { CellValNum::Var } else { CellValNum::ONE }
}

/// The two ends of a dimension's domain, of the argument's type: behind their length from version 5, bare before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DomainBounds(pub Datatype);

impl Leaf<Option<(Scalar, Scalar)>> for DomainBounds {
    fn on_disk() -> String {
        "from 5: u64 length (0: none), then low and high value; before: low and high value".into()
    }
    fn show(value: &Option<(Scalar, Scalar)>) -> String {
        value.map_or("none".into(), |(lo, hi)| format!("{lo} to {hi}"))
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Option<(Scalar, Scalar)>> {
        let expected = 2 * self.0.byte_len() as u64;
        let stored = if has_length(cx) { reader.u64()? } else { expected };
        if stored == 0 {
            return Ok(None);
        }
        if stored != expected {
            return Err(Error::corrupt(format!(
                "a domain of type {} has {expected} bytes, not {stored}",
                self.0
            )));
        }
        let (lo, hi) = reader.take(stored)?.split_at(self.0.byte_len());
        Ok(Some((Scalar::read(self.0, lo)?, Scalar::read(self.0, hi)?)))
    }
    fn write(&self, value: &Option<(Scalar, Scalar)>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let bytes = match value {
            Some((lo, hi)) => [typed(*lo, self.0)?, typed(*hi, self.0)?].concat(),
            None if has_length(cx) => Vec::new(),
            None => {
                return Err(Error::invalid("a dimension without a domain needs format version 5 or newer"));
            }
        };
        if has_length(cx) {
            U64.write(&(bytes.len() as u64), writer, cx)?;
        }
        writer.put(&bytes);
        Ok(())
    }
}

/// Domains have a stated length since dimensions have types of their own.
fn has_length(cx: &Cx<'_>) -> bool {
    crate::Rule::DimensionFiles.span().contains(cx.version)
}

/// The length of a space tile, of the argument's type, behind a flag that says that there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileExtent(pub Datatype);

impl Leaf<Option<Scalar>> for TileExtent {
    fn on_disk() -> String {
        "u8 flag (1: none); if 0: a value".into()
    }
    fn show(value: &Option<Scalar>) -> String {
        value.map_or("none".into(), |extent| extent.to_string())
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Option<Scalar>> {
        if Bool8.read(reader, cx)? {
            return Ok(None);
        }
        Scalar::read(self.0, reader.take(self.0.byte_len() as u64)?).map(Some)
    }
    fn write(&self, value: &Option<Scalar>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        Bool8.write(&value.is_none(), writer, cx)?;
        if let Some(extent) = value {
            writer.put(&typed(*extent, self.0)?);
        }
        Ok(())
    }
}

/// The bytes of a value that must already be of the type.
fn typed(value: Scalar, datatype: Datatype) -> Result<Vec<u8>> {
    let bytes = value.to_le_bytes();
    let same = Scalar::read(datatype, &bytes)
        .is_ok_and(|read| std::mem::discriminant(&read) == std::mem::discriminant(&value));
    if same { Ok(bytes) } else { Err(Error::invalid(format!("{value} is no value of type {datatype}"))) }
}
