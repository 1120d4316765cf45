//! Enumerations: lists of values that attributes index.

use crate::leaf::{Bool8, Bytes64, List32, OwnVersion, Str32, Tag8, ValuesPerCell, put_u64s, u64s};
use crate::record::{Cx, Leaf, Record, record};
use crate::{Reader, Writer};
use smalti_types::{CellValNum, Datatype, Error, Result};

record! {
    /// An enumeration. The file is one generic tile in `__schema/__enumerations`.
    pub struct Enumeration in "enumeration", spec "enumeration.md" {
        /// The version of this structure.
        0..  version: u32 as OwnVersion(0, 0),
        /// The name, as attributes give it.
        0..  name: String as Str32,
        /// The name of the enumeration's own file.
        0..  file: String as Str32,
        /// The datatype of values.
        0..  datatype: Datatype as Tag8,
        /// Values in an element.
        0..  cell_val_num: CellValNum as ValuesPerCell,
        /// Whether the order of the elements means something.
        0..  is_ordered: bool as Bool8,
        /// The elements, one after the other.
        0..  data: Vec<u8> as Bytes64,
        /// Where each element starts in `data`, in bytes; empty for elements of a fixed number of values.
        0..  offsets: Vec<u64> as OffsetsIfVar(*cell_val_num),
    }
}

/// Offsets behind their length in bytes, there only for elements of any number of values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OffsetsIfVar(pub CellValNum);

impl Leaf<Vec<u64>> for OffsetsIfVar {
    fn on_disk() -> String {
        "absent unless variable: u64 length in bytes, that many bytes of u64".into()
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<Vec<u64>> {
        if !self.0.is_var() {
            return Ok(Vec::new());
        }
        let byte_len = reader.u64()?;
        if !byte_len.is_multiple_of(8) {
            return Err(Error::corrupt(format!("{byte_len} bytes of offsets are not whole offsets")));
        }
        u64s(reader, byte_len / 8)
    }
    fn write(&self, value: &Vec<u64>, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        if self.0.is_var() {
            writer.put(&(value.len() as u64 * 8).to_le_bytes());
            put_u64s(writer, value);
            return Ok(());
        }
        if value.is_empty() {
            Ok(())
        } else {
            Err(Error::invalid("elements of a fixed size have no offsets"))
        }
    }
}

impl Enumeration {
    /// Reads an enumeration from its unfiltered tile, and checks that its offsets rise inside its data.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(tile: &[u8]) -> Result<Self> {
        Enumeration::decode_from(&mut Reader::new(tile))
    }

    /// As [`decode`](Enumeration::decode), from a reader that may keep a trace.
    ///
    /// # Errors
    /// As [`decode`](Enumeration::decode).
    pub fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
        let enumeration = Enumeration::from_reader(reader, &Cx::unversioned())?;
        enumeration.check().map_err(|error| error.in_field(Self::STRUCTURE.name, "offsets"))?;
        Ok(enumeration)
    }

    /// The bytes of the enumeration's tile before filtering.
    ///
    /// # Errors
    /// `InvalidArgument` when the offsets do not fit the data.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.check().map_err(|error| Error::invalid(error.message()))?;
        self.to_bytes(&Cx::unversioned())
    }

    /// The number of elements.
    pub fn element_count(&self) -> usize {
        match self.element_len() {
            Some(element_len) => self.data.len() / element_len,
            None => self.offsets.len(),
        }
    }

    /// The bytes of an element.
    pub fn element(&self, idx: usize) -> Option<&[u8]> {
        if let Some(element_len) = self.element_len() {
            let start = idx.checked_mul(element_len)?;
            return self.data.get(start..start.checked_add(element_len)?);
        }
        let start = usize::try_from(*self.offsets.get(idx)?).ok()?;
        let end = match self.offsets.get(idx + 1) {
            Some(end) => usize::try_from(*end).ok()?,
            None => self.data.len(),
        };
        self.data.get(start..end)
    }

    fn element_len(&self) -> Option<usize> {
        self.cell_val_num.fixed().map(|count| count.saturating_mul(self.datatype.byte_len()))
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some(element_len) = self.element_len() {
            if !self.data.len().is_multiple_of(element_len) {
                return Err(Error::corrupt(format!(
                    "{} bytes are not whole elements of {element_len} bytes",
                    self.data.len()
                )));
            }
            return Ok(());
        }
        let ends_inside = self.offsets.last().is_none_or(|last| *last <= self.data.len() as u64);
        if !self.offsets.is_sorted() || !ends_inside || self.offsets.first().is_some_and(|first| *first != 0)
        {
            return Err(Error::corrupt(format!(
                "offsets must rise from 0 to at most the {} bytes of data",
                self.data.len()
            )));
        }
        if self.offsets.is_empty() && !self.data.is_empty() {
            return Err(Error::corrupt(format!("{} bytes of data belong to no element", self.data.len())));
        }
        Ok(())
    }
}

record! {
    /// An enumeration that a schema uses.
    pub(crate) struct EnumerationFile in "enumeration file", spec "array_schema.md" {
        /// The enumeration's name.
        20..  name: String as Str32,
        /// The name of its file in `__schema/__enumerations`.
        20..  file: String as Str32,
    }
}

/// Names and files of enumerations behind their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnumerationFiles;

impl Leaf<Vec<(String, String)>> for EnumerationFiles {
    fn on_disk() -> String {
        <List32 as Leaf<Vec<EnumerationFile>>>::on_disk()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<(String, String)>> {
        let files: Vec<EnumerationFile> = List32.read(reader, cx)?;
        Ok(files.into_iter().map(|EnumerationFile { name, file }| (name, file)).collect())
    }
    fn write(&self, value: &Vec<(String, String)>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let file =
            |(name, file): &(String, String)| EnumerationFile { name: name.clone(), file: file.clone() };
        List32.write(&value.iter().map(file).collect::<Vec<_>>(), writer, cx)
    }
}
