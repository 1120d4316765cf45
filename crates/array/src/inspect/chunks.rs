//! The chunks of a filtered tile (specification: `tile.md`).

use super::output::field;
use crate::ArrayPlace;
use bytes::Bytes;
use smalti_codecs::Codec;
use smalti_format::{TraceDetail, TraceEntry};
use smalti_store::{ByteRange, StoreExt};
use smalti_types::{Error, Result};
use std::ops::Range;

/// Chunks of a tile that a folded trace lists.
const MAX_LISTED_CHUNKS: u64 = 8;

/// Bytes that are read at once where only headers are looked at.
const WINDOW_BYTE_LEN: u64 = 256 << 10;

/// The longest metadata of a chunk that is told apart by filter.
const MAX_METADATA_BYTE_LEN: u64 = 16 << 20;

/// The bytes of a file, of which a stretch is in memory.
pub(super) struct Window<'a> {
    file: &'a ArrayPlace,
    byte_len: u64,
    start: u64,
    bytes: Bytes,
}

impl<'a> Window<'a> {
    /// A file that is read as it is looked at.
    pub(super) fn of(file: &'a ArrayPlace, byte_len: u64) -> Self {
        Window { file, byte_len, start: 0, bytes: Bytes::new() }
    }

    /// A file that is in memory.
    pub(super) fn whole(file: &'a ArrayPlace, bytes: Bytes) -> Self {
        Window { file, byte_len: bytes.len() as u64, start: 0, bytes }
    }

    fn take(&mut self, range: Range<u64>) -> Result<Bytes> {
        let wanted = range.end.saturating_sub(range.start);
        let loaded_end = self.start + self.bytes.len() as u64;
        if range.start < self.start || range.end > loaded_end {
            let byte_len = wanted.max(WINDOW_BYTE_LEN).min(self.byte_len.saturating_sub(range.start));
            let range = ByteRange { start: range.start, byte_len };
            self.bytes = self.file.store().read_at(self.file.path(), range)?;
            self.start = range.start;
        }
        let at = usize::try_from(range.start - self.start).unwrap_or(usize::MAX);
        let end = at.saturating_add(usize::try_from(wanted).unwrap_or(usize::MAX));
        if end > self.bytes.len() {
            return Err(Error::corrupt("the file ends early").at_offset(range.start));
        }
        Ok(self.bytes.slice(at..end))
    }

    fn number<const N: usize>(&mut self, at: u64, end: u64, name: &'static str) -> Result<[u8; N]> {
        if end.saturating_sub(at) < N as u64 {
            return Err(Error::corrupt(format!("{N} bytes are needed, {} are left", end.saturating_sub(at)))
                .in_field("tile", name)
                .at_offset(at));
        }
        let bytes = self.take(at..at + N as u64)?;
        bytes.as_ref().try_into().map_err(|_| Error::corrupt("the file ends early").at_offset(at))
    }
}

/// What the data of a chunk means.
pub(super) struct Meaning<'a> {
    /// Of some unfiltered bytes of the tile.
    pub(super) of_range: &'a dyn Fn(Range<u64>) -> String,
    /// The filters, where they are known.
    pub(super) codec: Option<&'a Codec>,
}

/// The fields of a filtered tile.
pub(super) struct TileChunks {
    pub(super) fields: Vec<TraceEntry>,
    /// Where the chunks end in the file; with damage, where it begins.
    pub(super) end: u64,
    pub(super) chunk_count: u64,
    pub(super) unfiltered_len: u64,
    pub(super) damage: Option<Error>,
}

/// Explains the filtered tile that takes up some bytes of a file.
pub(super) fn explain(
    window: &mut Window<'_>,
    range: Range<u64>,
    meaning: &Meaning<'_>,
    detail: TraceDetail,
) -> TileChunks {
    let mut tile =
        TileChunks { fields: Vec::new(), end: range.start, chunk_count: 0, unfiltered_len: 0, damage: None };
    if let Err(error) = tile.read(window, range.end, meaning, detail) {
        tile.damage = Some(error);
    }
    tile
}

impl TileChunks {
    fn read(
        &mut self,
        window: &mut Window<'_>,
        tile_end: u64,
        meaning: &Meaning<'_>,
        detail: TraceDetail,
    ) -> Result<()> {
        let start = self.end;
        let chunk_count = u64::from_le_bytes(window.number(start, tile_end, "chunk_count")?);
        self.end = start + 8;
        let doc = "The number of chunks.";
        let count = field("tile", "chunk_count", "u64", doc, start..self.end, chunk_count.to_string());
        self.fields.push(count);
        self.chunk_count = chunk_count;
        let mut folded: Option<(u64, u64)> = None;
        let mut outcome = Ok(());
        for idx in 0..chunk_count {
            let is_listed = detail == TraceDetail::Full || idx < MAX_LISTED_CHUNKS;
            if !is_listed && folded.is_none() {
                folded = Some((self.end, idx));
            }
            outcome = self.chunk(window, tile_end, meaning, is_listed, idx);
            if outcome.is_err() {
                break;
            }
            if let Some((start, first)) = folded
                && idx + 1 == chunk_count
            {
                self.folded(start, idx + 1 - first);
            }
        }
        if let (Some((start, _)), Err(_)) = (folded, &outcome)
            && self.end > start
        {
            self.folded(start, 0);
        }
        outcome
    }

    fn folded(&mut self, start: u64, count: u64) {
        let value = if count == 0 { "more, up to the damage".to_owned() } else { format!("{count} more") };
        let doc = "Chunks like those above.";
        self.fields.push(field("tile", "chunks", "as above", doc, start..self.end, value));
    }

    fn chunk(
        &mut self,
        window: &mut Window<'_>,
        tile_end: u64,
        meaning: &Meaning<'_>,
        is_listed: bool,
        idx: u64,
    ) -> Result<()> {
        let start = self.end;
        let mut lens = [0_u64; 3];
        for (idx, (len, name)) in
            lens.iter_mut().zip(["unfiltered_len", "filtered_len", "metadata_len"]).enumerate()
        {
            *len = u64::from(u32::from_le_bytes(window.number(start + 4 * idx as u64, tile_end, name)?));
        }
        let [unfiltered_len, filtered_len, metadata_len] = lens;
        let metadata_start = start + 12;
        let (data_start, end) = (metadata_start + metadata_len, metadata_start + metadata_len + filtered_len);
        if end > tile_end {
            return Err(Error::corrupt(format!(
                "chunk {idx} has {filtered_len} bytes and {metadata_len} of metadata, {} are left",
                tile_end - metadata_start
            ))
            .in_field("tile", "filtered_len")
            .at_offset(start));
        }
        if is_listed {
            let value =
                format!("{idx}: {unfiltered_len} bytes as {filtered_len}, and {metadata_len} of metadata");
            self.fields.push(field(
                "tile",
                "chunk",
                "lengths, metadata, data",
                "A chunk.",
                start..end,
                value,
            ));
            let named = [
                ("unfiltered_len", "Bytes of the chunk before filtering.", unfiltered_len),
                ("filtered_len", "Bytes of the data.", filtered_len),
                ("metadata_len", "Bytes of the filters' metadata.", metadata_len),
            ];
            for (idx, (name, doc, value)) in named.into_iter().enumerate() {
                let at = start + 4 * idx as u64;
                self.inner(name, "u32", doc, at..at + 4, value.to_string(), true);
            }
            self.metadata(window, metadata_start..data_start, meaning)?;
            let holds = (meaning.of_range)(self.unfiltered_len..self.unfiltered_len + unfiltered_len);
            self.inner("data", "filtered bytes", "The filtered data.", data_start..end, holds, false);
        }
        self.unfiltered_len += unfiltered_len;
        self.end = end;
        Ok(())
    }

    fn metadata(&mut self, window: &mut Window<'_>, range: Range<u64>, meaning: &Meaning<'_>) -> Result<()> {
        let doc = "What a filter has to know to undo itself; of the last filter first.";
        let mut at = range.start;
        if let Some(codec) = meaning.codec
            && range.end - range.start <= MAX_METADATA_BYTE_LEN
        {
            for (name, span) in codec.metadata_spans(&window.take(range.clone())?) {
                let end = range.start + span.end as u64;
                self.inner("metadata", "bytes", doc, at..end, format!("of {name}"), false);
                at = end;
            }
        }
        if at < range.end {
            self.inner("metadata", "bytes", doc, at..range.end, "of the filters".to_owned(), false);
        }
        Ok(())
    }

    fn inner(
        &mut self,
        name: &'static str,
        on_disk: &str,
        doc: &'static str,
        range: Range<u64>,
        value: String,
        is_framing: bool,
    ) {
        let entry = field("chunk", name, on_disk, doc, range, value);
        self.fields.push(TraceEntry { depth: 1, is_framing, ..entry });
    }
}
