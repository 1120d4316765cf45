//! The sections of fragment metadata with one entry for each tile or field.

use crate::leaf::{Bytes64, BytesOf, U64, U64List, put_u64s, utf8};
use crate::record::{Cx, Leaf, Record, record};
use crate::{Reader, Writer};
use smalti_types::{Error, Result};
use std::ops::Range;

record! {
    /// One number for each tile of a field: offsets, sizes, sums or null counts.
    pub struct TileNumbers in "tile numbers", spec "fragment.md#tile-offsets" {
        /// The numbers. A sum is the 64 bits of an i64, u64 or f64, as the field's type is.
        3..  values: Vec<u64> as U64List,
    }
}

record! {
    /// The least or greatest value in each tile of a field.
    pub struct TileBounds in "tile bounds", spec "fragment.md#tile-mins-maxes" {
        /// Bytes of `fixed`. The specification says "number of values"; bytes it is.
        11..  let fixed_len: u64 as U64 => fixed.len() as u64,
        /// Bytes of `var`.
        11..  let var_len: u64 as U64 => var.len() as u64,
        /// A value for each tile; for strings a u64, where the tile's value starts in `var`.
        11..  fixed: Vec<u8> as BytesOf(*fixed_len),
        /// Strings, one after the other.
        11..  var: Vec<u8> as BytesOf(*var_len),
    }
}

record! {
    /// What is known of a field over the whole fragment.
    pub struct FieldStatistics in "field statistics", spec "fragment.md#tile-fragment-min-max-sum-null-count" {
        /// The least value; empty where none is kept.
        12..  min: Vec<u8> as Bytes64,
        /// The greatest value; empty where none is kept.
        12..  max: Vec<u8> as Bytes64,
        /// The sum: the 64 bits of an i64, u64 or f64, as the field's type is.
        12..  sum: u64 as U64,
        /// The number of nulls.
        12..  null_count: u64 as U64,
    }
}

record! {
    /// What is known of each field over the whole fragment.
    pub struct FragmentStatistics in "fragment statistics", spec "fragment.md#tile-fragment-min-max-sum-null-count" {
        /// An entry for each field, in the order of the footer's lists.
        12..  fields: Vec<FieldStatistics> as ToEnd,
    }
}

record! {
    /// The delete conditions that the fragment's cells have already been through.
    pub struct ProcessedConditions in "processed conditions", spec "fragment.md#tile-processed-conditions" {
        /// Paths of the delete commits relative to the array, sorted.
        15..  conditions: Vec<String> as Strings64,
    }
}

/// Structures up to the end of the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToEnd;

impl<T: Record> Leaf<Vec<T>> for ToEnd {
    fn on_disk() -> String {
        format!("[{}] up to the end", T::STRUCTURE.name)
    }
    fn show(value: &Vec<T>) -> String {
        format!("{} of {}", value.len(), T::STRUCTURE.name)
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        reader.items(|reader| {
            let before = reader.remaining();
            if before == 0 {
                return Ok(false);
            }
            items.push(T::read(reader, cx)?);
            if reader.remaining() == before {
                return Err(Error::corrupt("an entry of no bytes"));
            }
            Ok(true)
        })?;
        Ok(items)
    }
    fn write(&self, value: &Vec<T>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        value.iter().try_for_each(|item| item.write(writer, cx))
    }
}

/// Strings behind their number, each behind its length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strings64;

impl Leaf<Vec<String>> for Strings64 {
    fn on_disk() -> String {
        "u64 count, that many of: u64 length, UTF-8 bytes".into()
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<Vec<String>> {
        let count = reader.u64()?;
        let mut strings = Vec::new();
        for _ in 0..count {
            let byte_len = reader.u64()?;
            strings.push(utf8(reader.take(byte_len)?)?.to_owned());
        }
        Ok(strings)
    }
    fn write(&self, value: &Vec<String>, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        put_u64s(writer, &[value.len() as u64]);
        for string in value {
            put_u64s(writer, &[string.len() as u64]);
            writer.put(string.as_bytes());
        }
        Ok(())
    }
}

macro_rules! whole_tile {
    ($($Section:ident)*) => {$(
        impl $Section {
            /// Reads the section from its unfiltered tile.
            ///
            /// # Errors
            /// `Corrupt`.
            pub fn decode(tile: &[u8]) -> Result<Self> {
                Self::decode_from(&mut Reader::new(tile))
            }

            /// As [`decode`](Self::decode), from a reader that may keep a trace.
            ///
            /// # Errors
            /// As [`decode`](Self::decode).
            pub fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
                Self::from_reader(reader, &Cx::unversioned())
            }

            /// The bytes of the section's tile before filtering.
            pub fn encode(&self) -> Vec<u8> {
                self.to_bytes(&Cx::unversioned()).expect("these tables hold every value in every version")
            }
        }
    )*};
}
whole_tile! { TileNumbers TileBounds FragmentStatistics ProcessedConditions }

impl TileBounds {
    /// The value of a tile of a field whose values are all `value_len` bytes long.
    pub fn fixed_value(&self, tile_idx: usize, value_len: usize) -> Option<&[u8]> {
        let start = tile_idx.checked_mul(value_len)?;
        self.fixed.get(start..start.checked_add(value_len)?)
    }

    /// The value of a tile of a field of strings.
    pub fn var_value(&self, tile_idx: usize) -> Option<&[u8]> {
        let start_of = |idx: usize| {
            let bytes = self.fixed_value(idx, 8)?;
            usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
        };
        let start = start_of(tile_idx)?;
        let is_last = (tile_idx + 2).checked_mul(8).is_none_or(|end| end > self.fixed.len());
        let end = if is_last { self.var.len() } else { start_of(tile_idx + 1)? };
        self.var.get(start..end)
    }

    /// The section for a field of strings, one value for each tile.
    pub fn of_strings<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut bounds = TileBounds { fixed: Vec::new(), var: Vec::new() };
        for value in values {
            bounds.fixed.extend((bounds.var.len() as u64).to_le_bytes());
            bounds.var.extend(value);
        }
        bounds
    }
}

impl TileNumbers {
    /// Bytes in front of the first number: how many there are.
    pub const HEAD_BYTE_LEN: u64 = 8;

    /// The bytes of a section of so many numbers.
    pub fn section_byte_len(count: u64) -> Option<u64> {
        count.checked_mul(8)?.checked_add(TileNumbers::HEAD_BYTE_LEN)
    }

    /// The bytes of a number in its section, if it has that many.
    pub fn number(tile_idx: u64) -> Option<Range<u64>> {
        Some(
            TileNumbers::section_byte_len(tile_idx)?
                ..TileNumbers::section_byte_len(tile_idx.checked_add(1)?)?,
        )
    }

    /// How many numbers a section of so many bytes holds that begins with these.
    ///
    /// # Errors
    /// `Corrupt` when it says that there are more or fewer.
    pub fn count(byte_len: u64, head: &[u8]) -> Result<u64> {
        let count = Reader::new(head).u64()?;
        match TileNumbers::section_byte_len(count) {
            Some(held) if held == byte_len => Ok(count),
            _ => Err(Error::corrupt(format!("{count} numbers in {byte_len} bytes"))
                .in_field(TileNumbers::STRUCTURE.name, "values")),
        }
    }
}

/// Where the values of [`TileBounds`] lie in their unfiltered tile: what it takes to read one without those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundsOutline {
    fixed_len: u64,
    var_len: u64,
}

impl BoundsOutline {
    /// Bytes in front of the first value.
    pub const HEAD_BYTE_LEN: u64 = 16;

    /// Reads the outline from the first bytes of a tile of so many. It succeeds just where [`TileBounds::decode`] does.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn read(byte_len: u64, head: &[u8]) -> Result<BoundsOutline> {
        let mut reader = Reader::new(head);
        let (fixed_len, var_len) = (reader.u64()?, reader.u64()?);
        let held =
            fixed_len.checked_add(var_len).and_then(|len| len.checked_add(BoundsOutline::HEAD_BYTE_LEN));
        if held != Some(byte_len) {
            let message = format!("{fixed_len} and {var_len} bytes of values in {byte_len} bytes");
            return Err(Error::corrupt(message).in_field(TileBounds::STRUCTURE.name, "fixed"));
        }
        Ok(BoundsOutline { fixed_len, var_len })
    }

    /// The bytes of the value of a tile of a field whose values are all `value_len` bytes long.
    pub fn fixed_value(&self, tile_idx: u64, value_len: u64) -> Option<Range<u64>> {
        let start = tile_idx.checked_mul(value_len)?;
        let end = start.checked_add(value_len).filter(|end| *end <= self.fixed_len)?;
        Some(BoundsOutline::HEAD_BYTE_LEN + start..BoundsOutline::HEAD_BYTE_LEN + end)
    }

    /// The bytes of the value of a tile of a field of strings; `read` gives those of a start.
    ///
    /// # Errors
    /// What `read` reports.
    pub fn var_value(
        &self,
        tile_idx: u64,
        mut read: impl FnMut(Range<u64>) -> Result<[u8; 8]>,
    ) -> Result<Option<Range<u64>>> {
        let mut start_of = |idx: Option<u64>| {
            let place = idx.and_then(|idx| self.fixed_value(idx, 8));
            place.map(|place| read(place).map(u64::from_le_bytes)).transpose()
        };
        let Some(start) = start_of(Some(tile_idx))? else { return Ok(None) };
        let end = start_of(tile_idx.checked_add(1))?.unwrap_or(self.var_len);
        let first = BoundsOutline::HEAD_BYTE_LEN + self.fixed_len;
        Ok((start <= end && end <= self.var_len).then(|| first + start..first + end))
    }
}

/// What stands behind a number of bytes of eight, and as many bytes as that says.
fn behind_bytes(rest: &[u8]) -> Option<&[u8]> {
    let (byte_len, rest) = rest.split_first_chunk()?;
    rest.get(usize::try_from(u64::from_le_bytes(*byte_len)).ok()?..)
}

impl TileBounds {
    /// Whether these bytes are bounds: told without a copy of them. Why they are none, decoding tells.
    pub fn fits(bytes: &[u8]) -> bool {
        let Some((fixed, rest)) = bytes.split_first_chunk() else { return false };
        let Some((var, values)) = rest.split_first_chunk() else { return false };
        u64::from_le_bytes(*fixed).checked_add(u64::from_le_bytes(*var)) == Some(values.len() as u64)
    }
}

impl FragmentStatistics {
    /// Whether these bytes are statistics: told without a copy of them. Why they are none, decoding tells.
    pub fn fits(bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            // Bounds of any length; a sum and the number of nulls.
            let behind = behind_bytes(rest).and_then(behind_bytes).and_then(|rest| rest.get(16..));
            let Some(behind) = behind else { return false };
            rest = behind;
        }
        true
    }
}

impl FragmentStatistics {
    /// Checks that there is an entry for each field.
    ///
    /// # Errors
    /// `Corrupt` otherwise.
    pub fn check(&self, footer: &super::Footer, shape: &crate::Shape) -> Result<()> {
        let expected = footer.slot_count(shape);
        if self.fields.len() == expected {
            return Ok(());
        }
        Err(Error::corrupt(format!("{} entries for {expected} fields", self.fields.len()))
            .in_field(Self::STRUCTURE.name, "fields"))
    }
}
