//! Metadata of arrays and groups: keys with typed values.

use crate::fragment::ToEnd;
use crate::leaf::{Bool8, Str32, Tag8, U32};
use crate::record::{Cx, Leaf, Record, record};
use crate::{Reader, Writer};
use smalti_types::{Datatype, Error, Result};

record! {
    /// A file of metadata entries in `__meta`: one generic tile. Later files win over earlier ones.
    pub struct MetadataFile in "metadata file", spec "metadata.md#metadata-file" {
        /// The entries.
        4..  entries: Vec<MetadataEntry> as ToEnd,
    }
}

record! {
    /// A key with a value, or the deletion of a key.
    pub struct MetadataEntry in "metadata entry", spec "metadata.md#metadata-file" {
        /// The key.
        4..  key: String as Str32,
        /// Whether the key is deleted; then nothing follows.
        4..  let is_deletion: bool as Bool8 => value.is_none(),
        /// The value.
        4..  value: Option<MetadataValue> as ValueUnless(*is_deletion),
    }
}

record! {
    /// The value of a metadata key.
    pub struct MetadataValue in "metadata value", spec "metadata.md#metadata-file" {
        /// The datatype.
        4..  datatype: Datatype as Tag8,
        /// The number of values; 0 for an empty value.
        4..  let count: u32 as U32 => value_count(*datatype, bytes)?,
        /// The values.
        4..  bytes: Vec<u8> as Values(*datatype, *count),
    }
}

impl MetadataFile {
    /// Reads a metadata file from its unfiltered tile.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(tile: &[u8]) -> Result<Self> {
        MetadataFile::decode_from(&mut Reader::new(tile))
    }

    /// As [`decode`](MetadataFile::decode), from a reader that may keep a trace.
    ///
    /// # Errors
    /// As [`decode`](MetadataFile::decode).
    pub fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
        MetadataFile::from_reader(reader, &Cx::unversioned())
    }

    /// The bytes of the file's tile before filtering.
    ///
    /// # Errors
    /// `InvalidArgument` when the bytes of a value are not whole values of its type.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.to_bytes(&Cx::unversioned())
    }
}

impl MetadataValue {
    /// The number of values.
    pub fn count(&self) -> usize {
        self.bytes.len() / self.datatype.byte_len()
    }
}

fn value_count(datatype: Datatype, bytes: &[u8]) -> Result<u32> {
    let whole = bytes.len().is_multiple_of(datatype.byte_len());
    let count = u32::try_from(bytes.len() / datatype.byte_len()).ok().filter(|_| whole);
    count.ok_or_else(|| Error::invalid(format!("{} bytes are no values of type {datatype}", bytes.len())))
}

/// A value that is there only if the argument is false.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueUnless(pub(crate) bool);

impl Leaf<Option<MetadataValue>> for ValueUnless {
    fn on_disk() -> String {
        "[metadata value], absent if deleted".into()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Option<MetadataValue>> {
        if self.0 { Ok(None) } else { MetadataValue::read(reader, cx).map(Some) }
    }
    fn write(&self, value: &Option<MetadataValue>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        value.as_ref().map_or(Ok(()), |value| value.write(writer, cx))
    }
}

/// As many values of a type as the arguments say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values(pub(crate) Datatype, pub(crate) u32);

impl Leaf<Vec<u8>> for Values {
    fn on_disk() -> String {
        "that many values of the datatype".into()
    }
    fn show_value(&self, value: &Vec<u8>) -> String {
        if self.0.is_string() || self.0 == Datatype::Char {
            return crate::record::shortened(&String::from_utf8_lossy(value));
        }
        let numbers: Option<Vec<String>> = value
            .chunks_exact(self.0.byte_len())
            .map(|bytes| smalti_types::Scalar::read(self.0, bytes).ok().map(|number| number.to_string()))
            .collect();
        numbers.map_or_else(|| crate::record::shortened(value), |numbers| numbers.join(", "))
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<Vec<u8>> {
        reader.take_items(self.1.into(), self.0.byte_len() as u64).map(<[u8]>::to_vec)
    }
    fn write(&self, value: &Vec<u8>, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        writer.put(value);
        Ok(())
    }
}
