//! A section that is too long to be held: bytes of it are read when they are wanted.

use super::bytes::{MetadataBytes, MetadataPlace};
use crate::decoders::Decoders;
use crate::section_blocks::SectionBlocks;
use bytes::Bytes;
use smalti_format::GenericTileHeader;
use smalti_format::fragment::Section;
use smalti_store::{ByteRange, Request, Store, StoreExt};
use smalti_tile::ChunkedTile;
use smalti_types::{AlignedBuf, Error, Result};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// What is read at once of a near store to find the next chunk: its header, and those behind it if the chunks are that short. Passing over the
/// chunks copies a fortieth of a long section, at some microseconds a chunk, and a disk reads a fifth of it, a page a chunk; to read it all
/// through takes longer.
const NEAR_WINDOW_BYTE_LEN: u64 = 512;

/// What is asked of a distant store at once to find chunks. A request for each of 50,000 chunks would take an hour, so such a section is
/// read through.
const DISTANT_WINDOW_BYTE_LEN: u64 = 16 << 20;

/// A long section of the metadata of a fragment.
#[derive(Debug)]
pub(super) struct ChunkedSection {
    section: Section,
    tile: ChunkedTile,
    /// Where the filtered bytes begin in the file.
    start: u64,
    /// The filtered bytes, where they are in memory.
    held: Option<Bytes>,
    store: Arc<dyn Store>,
    path: String,
    blocks: Arc<SectionBlocks>,
    decoders: Arc<Decoders>,
    /// Its name among the blocks.
    id: u64,
}

impl ChunkedSection {
    /// Finds the chunks of a section whose filtered bytes begin at a place of the file; `None` for one that has to be read as a whole.
    pub(super) fn open(
        at: MetadataPlace<'_>,
        metadata: &MetadataBytes,
        section: Section,
        start: u64,
        header: &GenericTileHeader,
    ) -> Result<Option<ChunkedSection>> {
        let (place, store) = (at.place, at.place.store());
        let end = start
            .checked_add(header.filtered_len)
            .ok_or_else(|| Error::corrupt("a section beyond the end of all files"))?;
        metadata.check(at, &(start..end))?;
        // What is short enough was asked for ahead, or is one request now.
        let is_held = store.is_distant() && header.filtered_len <= place.whole_section_byte_len();
        let held = is_held.then(|| metadata.bytes(at, start..end)).transpose()?;
        let window_byte_len = if store.is_distant() { DISTANT_WINDOW_BYTE_LEN } else { NEAR_WINDOW_BYTE_LEN };
        let read = |range: Range<u64>| match &held {
            Some(held) => part(held, &range),
            None => metadata.bytes(at, start + range.start..start + range.end),
        };
        let opened = ChunkedTile::open(header, place.cipher(), place.metadata_limit(), window_byte_len, read)
            .map_err(|error| error.at_offset(start))?;
        let Some(tile) = opened else { return Ok(None) };
        let blocks = Arc::clone(place.section_blocks());
        let id = blocks.new_section();
        Ok(Some(ChunkedSection {
            section,
            tile,
            start,
            held,
            store: Arc::clone(store),
            path: at.path(),
            blocks,
            decoders: Arc::clone(place.resources().decoders()),
            id,
        }))
    }

    /// Bytes of the section, unfiltered.
    pub(super) fn byte_len(&self) -> u64 {
        self.tile.byte_len()
    }

    /// Reads bytes from a place on, which alone are wanted there; whoever reads many uses a [`SectionReader`].
    pub(super) fn read_into(&self, at: u64, dest: &mut [u8]) -> Result<()> {
        SectionReader::new(self).read_into(at, dest)
    }

    /// Asks a distant store at once for the blocks that hold some bytes, and decodes them. Elsewhere each is read when it is needed.
    pub(super) fn prepare(&self, ranges: impl Iterator<Item = Range<u64>>) -> Result<()> {
        if self.held.is_some() || !self.store.is_distant() {
            return Ok(());
        }
        let mut wanted = BTreeSet::new();
        for range in ranges.filter(|range| !range.is_empty()) {
            let ends = self.tile.block_of(range.start).zip(self.tile.block_of(range.end - 1));
            wanted.extend(ends.into_iter().flat_map(|(first, last)| first..=last));
        }
        wanted.retain(|idx| self.blocks.block(self.id, *idx).is_none());
        let request = |idx: &usize| Request::Range { path: self.path.clone(), range: self.place_of(*idx) };
        let answers = self.store.submit(wanted.iter().map(request).collect());
        for (idx, answer) in wanted.into_iter().zip(answers) {
            let filtered = answer.wait()?.bytes()?;
            self.decode(idx, &filtered)?;
        }
        Ok(())
    }

    /// Where the filtered bytes of a block are in the file.
    fn place_of(&self, idx: usize) -> ByteRange {
        let range = self.tile.filtered_block(idx);
        ByteRange { start: self.start + range.start, byte_len: range.end - range.start }
    }

    fn block(&self, idx: usize) -> Result<Arc<AlignedBuf>> {
        if let Some(known) = self.blocks.block(self.id, idx) {
            return Ok(known);
        }
        match &self.held {
            Some(held) => self.decode(idx, &part(held, &self.tile.filtered_block(idx))?),
            None => self.decode(idx, &self.store.read_at(&self.path, self.place_of(idx))?),
        }
    }

    fn decode(&self, idx: usize, filtered: &[u8]) -> Result<Arc<AlignedBuf>> {
        let decoded = self.decoders.with(|decoder| self.tile.decode(idx, filtered, decoder));
        let block = Arc::new(decoded.map_err(|error| self.named(error.at_offset(self.place_of(idx).start)))?);
        self.blocks.keep(self.id, idx, &block);
        Ok(block)
    }

    /// The error, said of the section and its file.
    pub(super) fn named(&self, error: Error) -> Error {
        error.context(format_args!("section {:?}", self.section)).at_uri(self.store.address(&self.path))
    }
}

fn part(bytes: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let place = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    let place = place.filter(|(start, end)| start <= end && *end <= bytes.len());
    let (start, end) = place.ok_or_else(|| Error::corrupt("a section that is cut short"))?;
    Ok(bytes.slice(start..end))
}

/// Reads bytes that lie close to those before them: it holds the last block.
#[derive(Debug)]
pub(super) struct SectionReader<'s> {
    section: &'s ChunkedSection,
    block: Option<(Range<u64>, Arc<AlignedBuf>)>,
}

impl<'s> SectionReader<'s> {
    pub(super) fn new(section: &'s ChunkedSection) -> Self {
        SectionReader { section, block: None }
    }

    pub(super) fn section(&self) -> &'s ChunkedSection {
        self.section
    }

    /// Reads bytes from a place on.
    pub(super) fn read_into(&mut self, at: u64, dest: &mut [u8]) -> Result<()> {
        let (mut at, mut dest) = (at, dest);
        while !dest.is_empty() {
            let bytes = self.bytes_from(at)?;
            let len = bytes.len().min(dest.len());
            let (now, later) = dest.split_at_mut(len);
            now.copy_from_slice(bytes.get(..len).unwrap_or_default());
            (at, dest) = (at + len as u64, later);
        }
        Ok(())
    }

    /// The bytes from a place to the end of its block: at least one.
    pub(super) fn bytes_from(&mut self, at: u64) -> Result<&[u8]> {
        if !self.block.as_ref().is_some_and(|(range, _)| range.contains(&at)) {
            let tile = &self.section.tile;
            let idx = tile.block_of(at).ok_or_else(|| {
                let message = format!("byte {at} of a section of {} bytes", tile.byte_len());
                self.section.named(Error::corrupt(message))
            })?;
            self.block = Some((tile.block(idx), self.section.block(idx)?));
        }
        let held = self.block.as_ref().and_then(|(range, block)| {
            let offset = usize::try_from(at.checked_sub(range.start)?).ok()?;
            block.as_slice().get(offset..).filter(|bytes| !bytes.is_empty())
        });
        held.ok_or_else(|| self.section.named(Error::corrupt("a block that is cut short")))
    }
}
