//! Lists with an entry for each tile: in memory where they are short, otherwise read where they are asked.

use super::chunked::{ChunkedSection, SectionReader};
use smalti_format::fragment::{BoundsOutline, TileBounds, TileNumbers, TileOffsets};
use smalti_types::{Error, Result};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The longest bound of a tile that is read out of a long section. Longer ones say less than they take.
const MAX_BOUND_BYTE_LEN: u64 = 1 << 20;

/// A number for each tile of a field: sums, null counts, lengths.
#[derive(Debug)]
pub struct NumbersOfTiles(Numbers);

#[derive(Debug)]
enum Numbers {
    Whole(Vec<u64>),
    Chunked(Arc<ChunkedSection>, u64),
}

impl NumbersOfTiles {
    pub(super) fn whole(numbers: Vec<u64>) -> Self {
        NumbersOfTiles(Numbers::Whole(numbers))
    }

    pub(super) fn chunked(section: Arc<ChunkedSection>) -> Result<Self> {
        let byte_len = section.byte_len();
        let mut head = vec![0; head_byte_len(TileNumbers::HEAD_BYTE_LEN, byte_len)];
        section.read_into(0, &mut head)?;
        let count = TileNumbers::count(byte_len, &head).map_err(|error| section.named(error))?;
        Ok(NumbersOfTiles(Numbers::Chunked(section, count)))
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Numbers::Whole(numbers) => numbers.len() as u64,
            Numbers::Chunked(_, count) => *count,
        }
    }

    /// The number of a tile; `None` where the list is shorter.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn of_tile(&self, tile_idx: usize) -> Result<Option<u64>> {
        match &self.0 {
            Numbers::Whole(numbers) => Ok(numbers.get(tile_idx).copied()),
            Numbers::Chunked(..) => Ok(self.of_neighbours(tile_idx, 1)?.first().copied()),
        }
    }

    /// The number of a tile, if the list is in memory.
    pub(super) fn known_of_tile(&self, tile_idx: usize) -> Option<u64> {
        match &self.0 {
            Numbers::Whole(numbers) => numbers.get(tile_idx).copied(),
            Numbers::Chunked(..) => None,
        }
    }

    /// The numbers of a tile and of so many less one behind it, as far as the list has them.
    fn of_neighbours(&self, tile_idx: usize, count: usize) -> Result<Cow<'_, [u64]>> {
        match &self.0 {
            Numbers::Whole(numbers) => {
                let end = tile_idx.saturating_add(count).min(numbers.len());
                Ok(Cow::Borrowed(numbers.get(tile_idx..end).unwrap_or_default()))
            }
            Numbers::Chunked(section, held) => {
                let left = held.saturating_sub(tile_idx as u64);
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(count);
                let Some(place) = TileNumbers::number(tile_idx as u64).filter(|_| count > 0) else {
                    return Ok(Cow::Borrowed(&[]));
                };
                let mut bytes = vec![0; count * 8];
                section.read_into(place.start, &mut bytes)?;
                Ok(numbers_of(&bytes).collect())
            }
        }
    }

    /// Their sum.
    ///
    /// # Errors
    /// As [`of_tile`](NumbersOfTiles::of_tile).
    pub fn sum(&self) -> Result<u64> {
        let (section, count) = match &self.0 {
            Numbers::Whole(numbers) => {
                return Ok(numbers.iter().fold(0, |sum, number| sum.saturating_add(*number)));
            }
            Numbers::Chunked(section, count) => (section, *count),
        };
        const NUMBERS_AT_ONCE: u64 = 1 << 12;
        let (mut sum, mut at) = (0u64, 0);
        let mut reader = SectionReader::new(section);
        let mut bytes = Vec::new();
        while at < count {
            let now = NUMBERS_AT_ONCE.min(count - at);
            bytes.resize(usize::try_from(now * 8).unwrap_or_default(), 0);
            let Some(place) = TileNumbers::number(at) else { break };
            reader.read_into(place.start, &mut bytes)?;
            sum = numbers_of(&bytes).fold(sum, u64::saturating_add);
            at += now;
        }
        Ok(sum)
    }
}

fn numbers_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The bytes of a head, or all where there are fewer.
fn head_byte_len(head_byte_len: u64, byte_len: u64) -> usize {
    usize::try_from(head_byte_len.min(byte_len)).unwrap_or_default()
}

/// Where the tiles of a field lie in one of its files.
#[derive(Debug)]
pub(super) enum TilePlaces {
    /// Checked as a whole.
    Whole(TileOffsets),
    /// Checked where they are asked for.
    Chunked { starts: NumbersOfTiles, file_len: u64 },
}

impl TilePlaces {
    /// The places of so many tiles that begin at some bytes of a file.
    pub(super) fn new(starts: NumbersOfTiles, tile_count: u64, file_len: u64) -> Result<TilePlaces> {
        match starts {
            NumbersOfTiles(Numbers::Whole(starts)) => {
                TileOffsets::new(starts, tile_count, file_len).map(TilePlaces::Whole)
            }
            starts if starts.count() != tile_count => {
                Err(Error::corrupt(format!("{} offsets for {tile_count} tiles", starts.count())))
            }
            starts => Ok(TilePlaces::Chunked { starts, file_len }),
        }
    }

    /// The bytes of a tile; `None` where there is none.
    pub(super) fn byte_range(&self, tile_idx: usize) -> Result<Option<Range<u64>>> {
        let (starts, file_len) = match self {
            TilePlaces::Whole(offsets) => return Ok(offsets.byte_range(tile_idx)),
            TilePlaces::Chunked { starts, file_len } => (starts, *file_len),
        };
        let ends = starts.of_neighbours(tile_idx, 2)?;
        let Some(&start) = ends.first() else { return Ok(None) };
        let end = ends.get(1).copied().unwrap_or(file_len);
        if start > end || end > file_len {
            return Err(Error::corrupt(format!(
                "tile {tile_idx} is at bytes {start}..{end} of a file of {file_len}"
            )));
        }
        Ok(Some(start..end))
    }
}

/// The least, or the greatest, value of each tile of a field.
#[derive(Debug)]
pub struct BoundsOfTiles(Bounds);

#[derive(Debug)]
enum Bounds {
    Whole(TileBounds),
    Chunked(Arc<ChunkedSection>, BoundsOutline),
}

impl BoundsOfTiles {
    pub(super) fn whole(bounds: TileBounds) -> Self {
        BoundsOfTiles(Bounds::Whole(bounds))
    }

    pub(super) fn chunked(section: Arc<ChunkedSection>) -> Result<Self> {
        let byte_len = section.byte_len();
        let mut head = vec![0; head_byte_len(BoundsOutline::HEAD_BYTE_LEN, byte_len)];
        section.read_into(0, &mut head)?;
        let outline = BoundsOutline::read(byte_len, &head).map_err(|error| section.named(error))?;
        Ok(BoundsOfTiles(Bounds::Chunked(section, outline)))
    }

    /// The value of a tile of a field whose values are all `value_len` bytes long; `None` where there is none.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn fixed_value(&self, tile_idx: usize, value_len: usize) -> Result<Option<Cow<'_, [u8]>>> {
        match &self.0 {
            Bounds::Whole(bounds) => Ok(bounds.fixed_value(tile_idx, value_len).map(Cow::Borrowed)),
            Bounds::Chunked(section, outline) => {
                value(section, outline.fixed_value(tile_idx as u64, value_len as u64))
            }
        }
    }

    /// The value of a tile of a field of strings; `None` where there is none, or it is too long to be of use.
    ///
    /// # Errors
    /// As [`fixed_value`](BoundsOfTiles::fixed_value).
    pub fn var_value(&self, tile_idx: usize) -> Result<Option<Cow<'_, [u8]>>> {
        match &self.0 {
            Bounds::Whole(bounds) => Ok(bounds.var_value(tile_idx).map(Cow::Borrowed)),
            Bounds::Chunked(section, outline) => {
                let start = |place: Range<u64>| {
                    let mut bytes = [0; 8];
                    section.read_into(place.start, &mut bytes).map(|()| bytes)
                };
                value(section, outline.var_value(tile_idx as u64, start)?)
            }
        }
    }
}

fn value<'b>(section: &ChunkedSection, place: Option<Range<u64>>) -> Result<Option<Cow<'b, [u8]>>> {
    let Some(place) = place.filter(|place| place.end - place.start <= MAX_BOUND_BYTE_LEN) else {
        return Ok(None);
    };
    let mut bytes = vec![0; usize::try_from(place.end - place.start).unwrap_or_default()];
    section.read_into(place.start, &mut bytes)?;
    Ok(Some(Cow::Owned(bytes)))
}
