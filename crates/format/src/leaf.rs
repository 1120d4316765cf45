//! On-disk types that many structures share.

use crate::record::{Cx, Leaf, Record};
use crate::{Reader, Version, Writer};
use smalti_types::{CellValNum, Datatype, Error, Result};
use std::fmt::Debug;

macro_rules! integers {
    ($($(#[doc = $doc:literal])+ $leaf:ident($t:ty) $name:literal,)*) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $leaf;

        impl Leaf<$t> for $leaf {
            fn on_disk() -> String {
                $name.into()
            }
            fn fixed_len(_: &Cx<'_>) -> Option<u64> {
                Some(size_of::<$t>() as u64)
            }
            fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<$t> {
                reader.array().map(<$t>::from_le_bytes)
            }
            fn write(&self, value: &$t, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
                writer.put(&value.to_le_bytes());
                Ok(())
            }
        }
    )*};
}
integers! {
    /// A byte.
    U8(u8) "u8",
    /// Two bytes, little-endian.
    U16(u16) "u16",
    /// Four bytes, little-endian.
    U32(u32) "u32",
    /// Eight bytes, little-endian.
    U64(u64) "u64",
    /// A signed number in four bytes, little-endian.
    I32(i32) "i32",
    /// A 32-bit float.
    F32(f32) "f32",
    /// A 64-bit float.
    F64(f64) "f64",
}

/// A flag in one byte, 0 or 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bool8;

impl Leaf<bool> for Bool8 {
    fn on_disk() -> String {
        "u8, 0 or 1".into()
    }
    fn fixed_len(_: &Cx<'_>) -> Option<u64> {
        Some(1)
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<bool> {
        match reader.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::corrupt(format!("a flag is 0 or 1, this one is {other}"))),
        }
    }
    fn write(&self, value: &bool, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        writer.put(&[u8::from(*value)]);
        Ok(())
    }
}

/// A value with a one-byte tag.
pub(crate) trait Tagged: Sized + Copy + Debug + 'static {
    /// What the values are, for errors.
    const KIND: &'static str;
    /// The values and their tags, for the documentation.
    fn listing() -> String;
    /// The value of a tag.
    fn from_tag(tag: u8) -> Option<Self>;
    /// The tag of a value.
    fn tag(self) -> u8;
}

/// The tag of a [`Tagged`] value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag8;

impl<T: Tagged> Leaf<T> for Tag8 {
    fn on_disk() -> String {
        format!("u8: {}", T::listing())
    }
    fn fixed_len(_: &Cx<'_>) -> Option<u64> {
        Some(1)
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<T> {
        let tag = reader.u8()?;
        T::from_tag(tag).ok_or_else(|| Error::corrupt(format!("{tag} is no {}", T::KIND)))
    }
    fn write(&self, value: &T, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        writer.put(&[value.tag()]);
        Ok(())
    }
}

/// Implements [`Tagged`] for an enumeration by listing its values.
macro_rules! tagged {
    ($T:ty, $kind:literal, $($value:path = $tag:literal),+ $(,)?) => {
        impl $crate::leaf::Tagged for $T {
            const KIND: &'static str = $kind;
            fn listing() -> String {
                [$(format!("{} {:?}", $tag, $value)),+].join(", ")
            }
            fn from_tag(tag: u8) -> Option<Self> {
                match tag {
                    $($tag => Some($value),)+
                    _ => None,
                }
            }
            fn tag(self) -> u8 {
                match self { $($value => $tag,)+ }
            }
        }
    };
}
pub(crate) use tagged;

impl Tagged for Datatype {
    const KIND: &'static str = "datatype";
    fn listing() -> String {
        "a datatype".into()
    }
    fn from_tag(tag: u8) -> Option<Self> {
        Datatype::from_tag(tag)
    }
    fn tag(self) -> u8 {
        Datatype::tag(self)
    }
}

/// The number of values in a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValuesPerCell;

impl Leaf<CellValNum> for ValuesPerCell {
    fn on_disk() -> String {
        "u32, 4294967295 for variable".into()
    }
    fn fixed_len(_: &Cx<'_>) -> Option<u64> {
        Some(4)
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<CellValNum> {
        CellValNum::from_raw(reader.u32()?).ok_or_else(|| Error::corrupt("a cell cannot hold 0 values"))
    }
    fn write(&self, value: &CellValNum, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        writer.put(&value.raw().to_le_bytes());
        Ok(())
    }
}

/// The format version; the rows below exist as it says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormatVersion;

impl Leaf<Version> for FormatVersion {
    fn on_disk() -> String {
        "u32".into()
    }
    fn fixed_len(_: &Cx<'_>) -> Option<u64> {
        Some(4)
    }
    fn surroundings<'a>(&self, value: &Version, cx: Cx<'a>) -> Cx<'a> {
        Cx { version: value.number(), ..cx }
    }
    fn show(value: &Version) -> String {
        value.to_string()
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<Version> {
        Version::new(reader.u32()?)
    }
    fn write(&self, value: &Version, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        writer.put(&value.number().to_le_bytes());
        Ok(())
    }
}

/// A structure's own version, from the first to the second argument; the rows below exist as it says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnVersion(pub u32, pub u32);

impl Leaf<u32> for OwnVersion {
    fn on_disk() -> String {
        "u32, a version of this structure's own".into()
    }
    fn surroundings<'a>(&self, value: &u32, cx: Cx<'a>) -> Cx<'a> {
        Cx { version: *value, ..cx }
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<u32> {
        let version = reader.u32()?;
        let OwnVersion(first, last) = *self;
        if (first..=last).contains(&version) {
            return Ok(version);
        }
        Err(Error::unsupported(format!("version {version} is unknown; {first} to {last} can be read")))
    }
    fn write(&self, value: &u32, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        let OwnVersion(first, last) = *self;
        if !(first..=last).contains(value) {
            return Err(Error::invalid(format!(
                "version {value} is unknown; {first} to {last} can be written"
            )));
        }
        writer.put(&value.to_le_bytes());
        Ok(())
    }
}

macro_rules! lengths {
    ($($Bytes:ident $Str:ident $List:ident $Count:ty, $name:literal;)*) => {$(
        #[doc = concat!("Bytes behind their number, a ", $name, ".")]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $Bytes;

        impl Leaf<Vec<u8>> for $Bytes {
            fn on_disk() -> String {
                concat!($name, " length, bytes").into()
            }
            fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<Vec<u8>> {
                let byte_len = <$Count>::from_le_bytes(reader.array()?);
                reader.take(byte_len.into()).map(<[u8]>::to_vec)
            }
            fn write(&self, value: &Vec<u8>, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
                writer.put(&count_of::<$Count>(value.len(), "bytes")?.to_le_bytes());
                writer.put(value);
                Ok(())
            }
        }

        #[doc = concat!("UTF-8 text behind its number of bytes, a ", $name, ".")]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $Str;

        impl Leaf<String> for $Str {
            fn on_disk() -> String {
                concat!($name, " length, UTF-8 bytes").into()
            }
            fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<String> {
                let byte_len = <$Count>::from_le_bytes(reader.array()?);
                utf8(reader.take(byte_len.into())?).map(str::to_owned)
            }
            fn write(&self, value: &String, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
                writer.put(&count_of::<$Count>(value.len(), "bytes")?.to_le_bytes());
                writer.put(value.as_bytes());
                Ok(())
            }
        }

        #[doc = concat!("Structures behind their number, a ", $name, ".")]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $List;

        impl<T: Record> Leaf<Vec<T>> for $List {
            fn on_disk() -> String {
                format!(concat!($name, " count, that many of [{}]"), T::STRUCTURE.name)
            }
            fn show(value: &Vec<T>) -> String {
                format!("{} of {}", value.len(), T::STRUCTURE.name)
            }
            fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<T>> {
                let count = reader.framing("count", $name, |reader| {
                    reader.array().map(<$Count>::from_le_bytes)
                })?;
                records(u64::from(count), reader, cx)
            }
            fn write(&self, value: &Vec<T>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
                writer.put(&count_of::<$Count>(value.len(), T::STRUCTURE.name)?.to_le_bytes());
                value.iter().try_for_each(|item| item.write(writer, cx))
            }
        }
    )*};
}
lengths! {
    Bytes32 Str32 List32 u32, "u32";
    Bytes64 Str64 List64 u64, "u64";
}

/// A string that is absent when its `u32` length is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionalStr32;

impl Leaf<Option<String>> for OptionalStr32 {
    fn on_disk() -> String {
        "u32 length (0: none), UTF-8 bytes".into()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Option<String>> {
        let text: String = Str32.read(reader, cx)?;
        Ok((!text.is_empty()).then_some(text))
    }
    fn write(&self, value: &Option<String>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        match value {
            Some(text) if text.is_empty() => Err(Error::invalid("an empty name cannot be told from none")),
            Some(text) => Str32.write(text, writer, cx),
            None => U32.write(&0, writer, cx),
        }
    }
}

/// A string behind a flag that says whether it is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlaggedStr64;

impl Leaf<Option<String>> for FlaggedStr64 {
    fn on_disk() -> String {
        "u8 flag; if 1: u64 length, UTF-8 bytes".into()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Option<String>> {
        if Bool8.read(reader, cx)? { Str64.read(reader, cx).map(Some) } else { Ok(None) }
    }
    fn write(&self, value: &Option<String>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        Bool8.write(&value.is_some(), writer, cx)?;
        value.as_ref().map_or(Ok(()), |text| Str64.write(text, writer, cx))
    }
}

/// Bytes of a length that rows above give.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BytesOf(pub u64);

impl Leaf<Vec<u8>> for BytesOf {
    fn on_disk() -> String {
        "bytes".into()
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<Vec<u8>> {
        reader.take(self.0).map(<[u8]>::to_vec)
    }
    fn write(&self, value: &Vec<u8>, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        if value.len() as u64 != self.0 {
            return Err(Error::invalid(format!("{} bytes are given where {} belong", value.len(), self.0)));
        }
        writer.put(value);
        Ok(())
    }
}

/// Numbers behind their count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct U64List;

impl Leaf<Vec<u64>> for U64List {
    fn on_disk() -> String {
        "u64 count, that many u64".into()
    }
    fn read(&self, reader: &mut Reader<'_>, _: &Cx<'_>) -> Result<Vec<u64>> {
        let count = reader.u64()?;
        u64s(reader, count)
    }
    fn write(&self, value: &Vec<u64>, writer: &mut Writer, _: &Cx<'_>) -> Result<()> {
        writer.put(&(value.len() as u64).to_le_bytes());
        put_u64s(writer, value);
        Ok(())
    }
}

/// Reads `count` structures; every one uses up bytes, so a false count ends at the end of the bytes.
pub(crate) fn records<T: Record>(count: u64, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<T>> {
    let mut items = Vec::new();
    let mut left = count;
    reader.items(|reader| {
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        let before = reader.remaining();
        items.push(T::read(reader, cx)?);
        if reader.remaining() == before {
            return Err(Error::corrupt(format!("{count} empty {}s are listed", T::STRUCTURE.name)));
        }
        Ok(true)
    })?;
    Ok(items)
}

/// Reads `count` numbers.
pub(crate) fn u64s(reader: &mut Reader<'_>, count: u64) -> Result<Vec<u64>> {
    let bytes = reader.take_items(count, 8)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
}

/// Writes numbers without their count.
pub(crate) fn put_u64s(writer: &mut Writer, values: &[u64]) {
    for value in values {
        writer.put(&value.to_le_bytes());
    }
}

/// Text from disk.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        Error::unsupported(format!("the name {:?} is not UTF-8", String::from_utf8_lossy(bytes)))
    })
}

fn count_of<T: TryFrom<usize>>(count: usize, what: &str) -> Result<T> {
    T::try_from(count)
        .map_err(|_| Error::invalid(format!("{count} {what} are more than the format can count")))
}
