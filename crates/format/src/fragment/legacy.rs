//! Fragment metadata of versions 1 and 2: one generic tile with everything.

use super::{FieldNumbers, Footer, PerField, PerVarField, Sides, surroundings};
use crate::extent::{put_rect, put_rects, read_rect, read_rects};
use crate::leaf::{FormatVersion, U64, put_u64s, u64s};
use crate::names::OLD_SCHEMA_FILE;
use crate::record::{Cx, Leaf, Record, Shape, record, shortened};
use crate::{Reader, Version, Writer};
use smalti_types::{Error, RectList, Result};

record! {
    /// The metadata file of a fragment of version 1 or 2: one generic tile.
    /// It does not say whether the fragment is dense: it is, unless it has a file `__coords.tdb`.
    pub struct LegacyFragmentMetadata in "legacy fragment metadata", spec "fragment.md#legacy-fragment-metadata-file" {
        /// The format version of the fragment.
        1..3  version: Version as FormatVersion,
        /// The least rectangle around all cells.
        1..3  non_empty_domain: Option<Sides> as SizedRect,
        /// The MBR of each tile of a sparse fragment.
        1..3  mbrs: RectList as CountedRects,
        /// First and last cell of each tile of a sparse fragment.
        1..3  bounding_coordinates: RectList as CountedRects,
        /// Where the tiles of each attribute, then of the coordinates, start in their file.
        1..3  tile_offsets: Vec<Vec<u64>> as NumbersPerAttributeAndCoordinates,
        /// Where the tiles of variable-length values of each attribute start in their file.
        1..3  tile_var_offsets: Vec<Vec<u64>> as NumbersPerAttribute,
        /// Unfiltered sizes of the tiles of variable-length values of each attribute.
        1..3  tile_var_sizes: Vec<Vec<u64>> as NumbersPerAttribute,
        /// Cells in the last tile of a sparse fragment.
        1..3  last_tile_cell_count: u64 as U64,
        /// Bytes of the data file of each attribute, then of the coordinates.
        1..3  file_sizes: FieldNumbers as PerField(false, false),
        /// Bytes of each attribute's file of variable-length values.
        1..3  file_var_sizes: FieldNumbers as PerVarField(false, false),
    }
}

impl LegacyFragmentMetadata {
    /// Reads the metadata from its unfiltered tile.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(tile: &[u8], shape: &Shape) -> Result<Self> {
        LegacyFragmentMetadata::decode_from(&mut Reader::new(tile), shape)
    }

    /// As [`decode`](LegacyFragmentMetadata::decode), from a reader that may keep a trace.
    ///
    /// # Errors
    /// As [`decode`](LegacyFragmentMetadata::decode).
    pub fn decode_from(reader: &mut Reader<'_>, shape: &Shape) -> Result<Self> {
        if !shape.all_dimensions_fixed() {
            return Err(Error::corrupt("fragments of versions 1 and 2 cannot have string dimensions"));
        }
        LegacyFragmentMetadata::from_reader(reader, &surroundings(Version::MIN, shape))
    }

    /// The same facts as a footer: it points to no sections. Whether the fragment is dense must be known otherwise.
    pub fn footer(&self, is_dense: bool) -> Footer {
        Footer {
            non_empty_domain: self.non_empty_domain.clone(),
            sparse_tile_count: self.mbrs.len() as u64,
            last_tile_cell_count: self.last_tile_cell_count,
            file_sizes: self.file_sizes.clone(),
            file_var_sizes: self.file_var_sizes.clone(),
            ..Footer::new(self.version, OLD_SCHEMA_FILE, is_dense)
        }
    }

    /// The bytes of the metadata's tile before filtering.
    ///
    /// # Errors
    /// `InvalidArgument` when a list does not have one entry for each attribute.
    pub fn encode(&self, shape: &Shape) -> Result<Vec<u8>> {
        self.to_bytes(&surroundings(self.version, shape))
    }
}

/// A rectangle behind its length in bytes; none if the length is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizedRect;

impl Leaf<Option<Sides>> for SizedRect {
    fn on_disk() -> String {
        "u64 length (0: none), then an MBR".into()
    }
    fn show(value: &Option<Sides>) -> String {
        value.as_ref().map_or("none".into(), |rect| format!("{} intervals", rect.len()))
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Option<Sides>> {
        match reader.framing("byte_len", "u64", Reader::u64)? {
            0 => Ok(None),
            byte_len => reader.within(byte_len, |reader| read_rect(reader, &cx.shape.dimensions)).map(Some),
        }
    }
    fn write(&self, value: &Option<Sides>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let mut rect = Writer::new();
        if let Some(extents) = value {
            put_rect(&mut rect, &cx.shape.dimensions, extents)?;
        }
        put_u64s(writer, &[rect.byte_len()]);
        writer.put(&rect.into_bytes());
        Ok(())
    }
}

/// Rectangles behind their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedRects;

impl Leaf<RectList> for CountedRects {
    fn on_disk() -> String {
        "u64 count, that many MBRs".into()
    }
    fn show(value: &RectList) -> String {
        format!("{} MBRs", value.len())
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<RectList> {
        let count = reader.framing("count", "u64", Reader::u64)?;
        read_rects(reader, &cx.shape.dimensions, count)
    }
    fn write(&self, value: &RectList, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        put_u64s(writer, &[value.len() as u64]);
        put_rects(writer, &cx.shape.dimensions, value)
    }
}

macro_rules! numbers_per {
    ($($(#[doc = $doc:literal])+ $leaf:ident $text:literal $extra:literal;)*) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $leaf;

        impl Leaf<Vec<Vec<u64>>> for $leaf {
            fn on_disk() -> String {
                concat!("for ", $text, ": u64 count, that many u64").into()
            }
            fn show(value: &Vec<Vec<u64>>) -> String {
                format!("{} lists", value.len())
            }
            fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<Vec<u64>>> {
                (0..cx.shape.attribute_count + $extra)
                    .map(|_| {
                        let read = |reader: &mut Reader<'_>| {
                            let count = reader.u64()?;
                            u64s(reader, count)
                        };
                        reader.part("numbers", "u64 count, that many u64", "A number for each tile.", shortened, read)
                    })
                    .collect()
            }
            fn write(&self, value: &Vec<Vec<u64>>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
                if value.len() != cx.shape.attribute_count + $extra {
                    return Err(Error::invalid(format!("{} lists are given for {}", value.len(), $text)));
                }
                for list in value {
                    put_u64s(writer, &[list.len() as u64]);
                    put_u64s(writer, list);
                }
                Ok(())
            }
        }
    )*};
}
numbers_per! {
    /// Lists of numbers, one for each attribute.
    NumbersPerAttribute "each attribute" 0;
    /// Lists of numbers, one for each attribute and one for the coordinates.
    NumbersPerAttributeAndCoordinates "each attribute and the coordinates" 1;
}
