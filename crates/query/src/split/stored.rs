//! The written form of a split.
//!
//! ```text
//! magic      8 bytes   "smSPLIT\n"
//! version    u32       1
//! uri        u32 length, UTF-8
//! content    u64 length, a generic tile: encrypted with the array's key where it has one
//! checksum   16 bytes  XXH3 of all that stands before
//! ```
//!
//! All numbers are little-endian. The key of an array is never in it. A reader refuses other versions by name; the checksum finds what was
//! torn or changed, and every length is checked against what is left, for a checksum can be made for anything.

use super::Split;
use crate::condition::Condition;
use crate::part::{Coordinate, OrderPart};
use crate::request::ReadRequest;
use smalti_array::{ArrayPlace, Manifest};
use smalti_format::{ConditionTree, Reader, Version};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, Extent, Layout, Result, TimeRange};
use twox_hash::XxHash3_128;

const MAGIC: &[u8; 8] = b"smSPLIT\n";

/// The version that is written, and the last that is read.
const VERSION: u32 = 1;

const CHECKSUM_BYTE_LEN: usize = 16;

const LAYOUTS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

impl Split {
    /// The split as bytes, for another process.
    ///
    /// # Errors
    /// `Io` when there is no randomness to encrypt with; `InvalidArgument` when a delete condition cannot be written.
    pub fn to_bytes(&self, place: &ArrayPlace) -> Result<Vec<u8>> {
        Split::with_content(&self.uri, &self.content()?, place)
    }

    /// The written form of any content, whether or not it is that of a split: for tests of what reads it.
    ///
    /// # Errors
    /// As [`to_bytes`](Split::to_bytes).
    pub fn with_content(uri: &str, content: &[u8], place: &ArrayPlace) -> Result<Vec<u8>> {
        let mut tile = Vec::new();
        write_generic_tile(content, Version::DEFAULT, place.cipher(), &mut tile, &mut Scratch::new())?;
        let mut out = Output::default();
        out.0.extend_from_slice(MAGIC);
        out.u32(VERSION);
        out.text(uri);
        out.u64(tile.len() as u64);
        out.0.extend_from_slice(&tile);
        let checksum = XxHash3_128::oneshot(&out.0);
        out.0.extend_from_slice(&checksum.to_le_bytes());
        Ok(out.0)
    }

    /// The address of the array of a split.
    ///
    /// # Errors
    /// As [`from_bytes`](Split::from_bytes).
    pub fn uri_of(bytes: &[u8]) -> Result<String> {
        Ok(opened(bytes)?.0)
    }

    /// A split from bytes, with the place of its array, whose key opens it.
    ///
    /// # Errors
    /// `Unsupported` when a newer smalti made it; `Corrupt` when it is torn or was changed; `Permission` for a wrong key.
    pub fn from_bytes(bytes: &[u8], place: &ArrayPlace) -> Result<Split> {
        let (uri, tile) = opened(bytes)?;
        let (content, byte_len) = place.open_tile(tile).map_err(|error| error.context("a split"))?;
        if byte_len != tile.len() as u64 {
            return Err(Error::corrupt("a split with bytes behind its content"));
        }
        let split = parsed(uri, content.as_slice());
        split.map_err(|error| Error::new(error.kind(), error.message()).context("a split"))
    }

    /// What is written of the split, before it is filtered.
    ///
    /// # Errors
    /// `InvalidArgument` when a delete condition cannot be written.
    pub fn content(&self) -> Result<Vec<u8>> {
        let mut out = Output::default();
        let Manifest { time, schema_name, fragments, deletes } = &self.manifest;
        out.u32(self.number);
        out.u32(self.count);
        out.u64(self.byte_len);
        out.u64(time.start);
        out.u64(time.end);
        out.text(schema_name);
        out.list(fragments, |out, name| out.text(name));
        out.u32(deletes.len() as u32);
        for (name, stays) in deletes {
            out.text(name);
            out.bytes(&stays.encode()?);
        }
        let request = &self.request;
        out.list(&request.fields, |out, name| out.text(name));
        out.list(&request.ranges, |out, ranges| out.list(ranges, Output::extent));
        out.u8(request
            .layout
            .and_then(|layout| LAYOUTS.iter().position(|known| *known == layout))
            .map_or(0, |at| at as u8 + 1));
        out.optional(request.batch_cell_count.map(|count| count as u64));
        out.optional(request.memory_byte_len.map(|byte_len| byte_len as u64));
        out.optional(request.limit);
        out.u8(u8::from(request.leaves_out) | u8::from(request.written_only) << 1);
        out.u8(u8::from(request.condition.is_some()));
        if let Some(condition) = &request.condition {
            out.text(&condition.to_string());
        }
        let part = request.part.clone().unwrap_or_default();
        for place in [part.from, part.until] {
            out.u8(u8::from(place.is_some()));
            out.list(&place.unwrap_or_default(), Output::coordinate);
        }
        Ok(out.0)
    }
}

/// The array's address and the content of a written split, still filtered.
fn opened(bytes: &[u8]) -> Result<(String, &[u8])> {
    let torn = || Error::corrupt("a split that is torn or was changed; make it again");
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(Error::corrupt("these bytes are no split of smalti"));
    };
    let version = Reader::new(body).u32().map_err(|_| torn())?;
    if version > VERSION {
        return Err(Error::unsupported(format!(
            "a split of version {version}, made by a newer smalti; this one knows versions up to {VERSION}: make the splits \
             with the smalti that reads them"
        )));
    }
    let Some((checked, checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTE_LEN>() else { return Err(torn()) };
    if version != VERSION || XxHash3_128::oneshot(checked).to_le_bytes() != *checksum {
        return Err(torn());
    }
    let mut reader = Reader::new(&checked[MAGIC.len()..]);
    let parse = |reader: &mut Reader<'_>| -> Result<String> {
        reader.u32()?;
        text(reader)
    };
    let uri = parse(&mut reader).map_err(|_| torn())?;
    let byte_len = reader.u64().map_err(|_| torn())?;
    if reader.remaining() != byte_len {
        return Err(torn());
    }
    let from = checked.len() - usize::try_from(byte_len).map_err(|_| torn())?;
    Ok((uri, &checked[from..]))
}

fn parsed(uri: String, content: &[u8]) -> Result<Split> {
    let reader = &mut Reader::new(content);
    let (number, count, byte_len) = (reader.u32()?, reader.u32()?, reader.u64()?);
    if number == 0 || number > count {
        return Err(Error::corrupt(format!("split {number} of {count}")));
    }
    let time = TimeRange { start: reader.u64()?, end: reader.u64()? };
    let schema_name = text(reader)?;
    let fragments = list(reader, text)?;
    let deletes = list(reader, |reader| Ok((text(reader)?, ConditionTree::decode(bytes(reader)?)?)))?;
    let fields = list(reader, text)?;
    let ranges = list(reader, |reader| list(reader, extent))?;
    let layout = match reader.u8()? {
        0 => None,
        at => match LAYOUTS.get(usize::from(at) - 1) {
            Some(layout) => Some(*layout),
            None => return Err(Error::corrupt(format!("there is no order {at}"))),
        },
    };
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let batch_cell_count = optional(reader)?.map(size);
    let memory_byte_len = optional(reader)?.map(size);
    let limit = optional(reader)?;
    let flags = reader.u8()?;
    let condition = match flag(reader)? {
        true => {
            let text = text(reader)?;
            let condition: Result<Condition> = text.parse();
            Some(condition.map_err(|error| Error::corrupt(format!("its condition: {}", error.message())))?)
        }
        false => None,
    };
    let mut place = || -> Result<Option<Vec<Coordinate>>> {
        let is_there = flag(reader)?;
        let place = list(reader, coordinate)?;
        Ok(is_there.then_some(place))
    };
    let part = OrderPart { from: place()?, until: place()? };
    reader.expect_end()?;
    if flags > 3 {
        return Err(Error::corrupt(format!("unknown flags {flags}")));
    }
    let request = ReadRequest {
        fields,
        ranges,
        layout,
        batch_cell_count,
        memory_byte_len,
        limit,
        part: (part != OrderPart::default()).then_some(part),
        condition,
        leaves_out: flags & 1 != 0,
        written_only: flags & 2 != 0,
        ..ReadRequest::default()
    };
    let manifest = Manifest { time, schema_name, fragments, deletes };
    Ok(Split { uri, manifest, request, number, count, byte_len, snapshot: None })
}

fn bytes<'b>(reader: &mut Reader<'b>) -> Result<&'b [u8]> {
    let byte_len = reader.u32()?;
    reader.take(u64::from(byte_len))
}

fn text(reader: &mut Reader<'_>) -> Result<String> {
    let bytes = bytes(reader)?;
    let text = std::str::from_utf8(bytes).map_err(|_| Error::corrupt("a text that is no UTF-8"))?;
    Ok(text.to_owned())
}

/// A list. Each item takes a byte at least, so it grows no further than the bytes that are there.
fn list<T>(reader: &mut Reader<'_>, mut item: impl FnMut(&mut Reader<'_>) -> Result<T>) -> Result<Vec<T>> {
    let count = reader.u32()?;
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(item(reader)?);
    }
    Ok(items)
}

fn flag(reader: &mut Reader<'_>) -> Result<bool> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::corrupt(format!("{other} is neither no nor yes"))),
    }
}

fn optional(reader: &mut Reader<'_>) -> Result<Option<u64>> {
    Ok(if flag(reader)? { Some(reader.u64()?) } else { None })
}

fn extent(reader: &mut Reader<'_>) -> Result<Extent> {
    Ok(match reader.u8()? {
        0 => Extent::Num { lo: reader.u64()?, hi: reader.u64()? },
        1 => Extent::Str { lo: bytes(reader)?.into(), hi: Some(bytes(reader)?.into()) },
        2 => Extent::Str { lo: bytes(reader)?.into(), hi: None },
        other => return Err(Error::corrupt(format!("there is no kind {other} of ranges"))),
    })
}

fn coordinate(reader: &mut Reader<'_>) -> Result<Coordinate> {
    Ok(match reader.u8()? {
        0 => Coordinate::Number(reader.u64()?),
        1 => Coordinate::Text(bytes(reader)?.into()),
        other => return Err(Error::corrupt(format!("there is no kind {other} of coordinates"))),
    })
}

/// Bytes as they are put together.
#[derive(Default)]
struct Output(Vec<u8>);

impl Output {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn optional(&mut self, value: Option<u64>) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            self.u64(value);
        }
    }

    fn list<T>(&mut self, items: &[T], put: impl Fn(&mut Output, &T)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| put(self, item));
    }

    fn extent(&mut self, extent: &Extent) {
        match extent {
            Extent::Num { lo, hi } => {
                self.u8(0);
                self.u64(*lo);
                self.u64(*hi);
            }
            Extent::Str { lo, hi: Some(hi) } => {
                self.u8(1);
                self.bytes(lo);
                self.bytes(hi);
            }
            Extent::Str { lo, hi: None } => {
                self.u8(2);
                self.bytes(lo);
            }
        }
    }

    fn coordinate(&mut self, coordinate: &Coordinate) {
        match coordinate {
            Coordinate::Number(ordinal) => {
                self.u8(0);
                self.u64(*ordinal);
            }
            Coordinate::Text(text) => {
                self.u8(1);
                self.bytes(text);
            }
        }
    }
}
