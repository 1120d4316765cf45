//! The current domain of a schema.

use crate::extent::{put_rect, read_rect};
use crate::leaf::{Bool8, OwnVersion, U8};
use crate::record::{Cx, DimensionShape, Leaf, Record, record};
use crate::{Reader, Writer};
use smalti_types::{Error, Extent, Result};

/// The part of an array's domain that is in use.
#[derive(Debug, Clone, PartialEq)]
pub enum CurrentDomain {
    /// The whole domain is.
    Empty,
    /// A rectangle: one interval for each dimension.
    Rectangle(Vec<Extent>),
}

impl CurrentDomain {
    /// The rectangle, if there is one.
    pub fn rectangle(&self) -> Option<&[Extent]> {
        match self {
            CurrentDomain::Empty => None,
            CurrentDomain::Rectangle(extents) => Some(extents),
        }
    }
}

record! {
    /// The head of a current domain; a rectangle follows if it is not empty, laid out as an MBR.
    pub(crate) struct CurrentDomainHead in "current domain", spec "array_schema.md#current-domain" {
        /// The version of this structure: 0, although the specification says 1.
        0..  version: u32 as OwnVersion(0, 0),
        /// Whether nothing follows.
        0..  is_empty: bool as Bool8,
        /// The kind of region: 0 for a rectangle.
        0..  kind: u8 as KindUnlessEmpty(*is_empty),
    }
}

/// A byte that is there only if the argument is false.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindUnlessEmpty(pub(crate) bool);

impl Leaf<u8> for KindUnlessEmpty {
    fn on_disk() -> String {
        "u8, absent if empty".into()
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<u8> {
        match if self.0 { 0 } else { reader.u8()? } {
            0 => Ok(0),
            other => Err(Error::unsupported(format!("current domains of kind {other} are unknown"))),
        }
    }
    fn write(&self, value: &u8, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        if self.0 { Ok(()) } else { U8.write(value, writer, cx) }
    }
}

/// A current domain over the dimensions in the argument.
#[derive(Debug, Clone)]
pub(crate) struct CurrentDomainOf(pub(crate) Vec<DimensionShape>);

impl Leaf<CurrentDomain> for CurrentDomainOf {
    fn on_disk() -> String {
        "[current domain], then its rectangle".into()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<CurrentDomain> {
        let head = CurrentDomainHead::read(reader, cx)?;
        if head.is_empty {
            return Ok(CurrentDomain::Empty);
        }
        read_rect(reader, &self.0).map(|sides| CurrentDomain::Rectangle(sides.into_vec()))
    }
    fn write(&self, value: &CurrentDomain, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let rectangle = value.rectangle();
        CurrentDomainHead { version: 0, is_empty: rectangle.is_none(), kind: 0 }.write(writer, cx)?;
        rectangle.map_or(Ok(()), |extents| put_rect(writer, &self.0, extents))
    }
}
