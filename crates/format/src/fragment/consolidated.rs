//! Consolidated fragment metadata: the footers of many fragments in one file.

use crate::leaf::{List32, Str64, U64};
use crate::names;
use crate::names::{NameIndex, TimestampedName};
use crate::record::{Cx, Record, record};
use crate::{Reader, Rule, Version};
use smalti_types::{Error, Result};
use std::ops::Range;

record! {
    /// The head of a consolidated fragment metadata file; the footers follow. The file is one generic tile.
    pub(crate) struct ConsolidatedHead in "consolidated fragment metadata", spec "consolidated_fragment_metadata_file.md" {
        /// The fragments. The specification omits their number.
        3..  entries: Vec<ConsolidatedEntry> as List32,
    }
}

record! {
    /// A fragment whose footer is in the file.
    pub struct ConsolidatedEntry in "consolidated footer", spec "consolidated_fragment_metadata_file.md" {
        /// The fragment's folder name; before version 9 its absolute URI.
        3..  name: String as Str64,
        /// Where the footer starts, counted from the start of the unfiltered tile.
        3..  footer_offset: u64 as U64,
    }
}

/// What a file of the footers of many fragments says of them.
#[derive(Debug, Clone)]
pub struct ConsolidatedFooters {
    /// The fragments.
    pub entries: Vec<ConsolidatedEntry>,
}

/// Where the footers of fragments are in an unfiltered tile, and the tile: found without keeping a name.
#[derive(Debug, Clone)]
pub struct FooterIndex<T> {
    tile: T,
    places: NameIndex<FooterPlace>,
}

#[derive(Debug, Clone)]
struct FooterPlace {
    /// Where the folder name of the fragment is in the tile.
    name: Range<usize>,
    footer: Range<usize>,
    /// The version that stands at the start of the footer.
    version: Option<Version>,
}

impl ConsolidatedFooters {
    /// Reads the head alone, from a reader that may keep a trace: which fragments there are, and where their footers start.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn read_head(reader: &mut Reader<'_>) -> Result<Vec<ConsolidatedEntry>> {
        Ok(ConsolidatedHead::read(reader, &Cx::unversioned())?.entries)
    }

    /// Reads the head of the unfiltered tile, and checks that every footer starts behind it.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn decode(tile: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(tile);
        let entries = ConsolidatedFooters::read_head(&mut reader)?;
        let footers = reader.byte_offset()..tile.len() as u64;
        if let Some(stray) = entries.iter().find(|entry| !footers.contains(&entry.footer_offset)) {
            return Err(Error::corrupt(format!(
                "the footer of {:?} is said to start at byte {}; footers lie in bytes {} to {}",
                stray.name, stray.footer_offset, footers.start, footers.end
            ))
            .in_field(ConsolidatedEntry::STRUCTURE.name, "footer_offset"));
        }
        Ok(ConsolidatedFooters { entries })
    }

    /// The unfiltered tile for fragments, each given by folder name and footer.
    ///
    /// # Errors
    /// `InvalidArgument` for more fragments than a u32 counts.
    pub fn encode(fragments: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
        let entry =
            |(name, _): &(String, Vec<u8>)| ConsolidatedEntry { name: name.clone(), footer_offset: 0 };
        let mut head = ConsolidatedHead { entries: fragments.iter().map(entry).collect() };
        let mut offset = head.to_bytes(&Cx::unversioned())?.len() as u64;
        for (entry, (_, footer)) in head.entries.iter_mut().zip(fragments) {
            entry.footer_offset = offset;
            offset += footer.len() as u64;
        }
        let mut tile = head.to_bytes(&Cx::unversioned())?;
        for (_, footer) in fragments {
            tile.extend(footer);
        }
        Ok(tile)
    }
}

impl<T: AsRef<[u8]>> FooterIndex<T> {
    /// Reads the head of the unfiltered tile.
    ///
    /// # Errors
    /// As [`ConsolidatedFooters::decode`].
    pub fn decode(tile: T) -> Result<Self> {
        let bytes = tile.as_ref();
        let Some(mut places) = FooterPlace::read_all(bytes) else {
            // What is wrong is told by who reads it row by row.
            let refused = ConsolidatedFooters::decode(bytes).map(drop);
            return Err(refused
                .err()
                .unwrap_or_else(|| Error::corrupt("a head that is read in one way only")));
        };
        let mut starts: Vec<usize> = places.iter().map(|place| place.footer.start).collect();
        starts.sort_unstable();
        starts.dedup();
        // Mostly they are in the order of their entries.
        let mut at = 0;
        for FooterPlace { footer, version, .. } in &mut places {
            if starts.get(at) != Some(&footer.start) {
                at = starts.partition_point(|other| *other < footer.start);
            }
            at += 1;
            // Each ends where the next one starts, whosever that is.
            footer.end = starts.get(at).copied().unwrap_or(bytes.len());
            let number = bytes.get(footer.clone()).and_then(|footer| Reader::new(footer).u32().ok());
            *version = number.and_then(|number| Version::new(number).ok());
        }
        // The last entry of a name counts.
        places.reverse();
        let places = NameIndex::new(places, |place| place.name_in(bytes));
        Ok(FooterIndex { tile, places })
    }

    /// The bytes of a fragment's footer, up to the next one: read them with
    /// [`Footer::decode`](super::Footer::decode). The fragment is found by its folder name, whether the
    /// file gives that or a URI.
    ///
    /// `None` too where the bytes do not start with the fragment's version: newer releases miscount footers of
    /// versions 3, 4 and 11. Whoever finds no footer here, or cannot read it, takes the fragment's own file.
    pub fn footer(&self, fragment: &TimestampedName) -> Option<&[u8]> {
        self.tile.as_ref().get(self.range(fragment)?)
    }

    /// Where in the tile the bytes are that [`footer`](FooterIndex::footer) gives.
    pub fn range(&self, fragment: &TimestampedName) -> Option<Range<usize>> {
        let tile = self.tile.as_ref();
        let place = self.places.find(fragment.as_str(), |place| place.name_in(tile))?;
        let (version, named) = (place.version?, fragment.fragment_version().ok()?);
        // Names do not tell versions 3 and 4 apart.
        let is_same =
            version == named || !version.has(Rule::VersionEndsNames) && !named.has(Rule::VersionEndsNames);
        is_same.then(|| place.footer.clone())
    }

    /// The unfiltered tile.
    pub fn tile(&self) -> &T {
        &self.tile
    }
}

impl FooterPlace {
    /// The places of a head's entries, with the starts of footers alone. `None` just where [`ConsolidatedFooters::decode`] fails.
    fn read_all(tile: &[u8]) -> Option<Vec<FooterPlace>> {
        /// About that of a name with an id of 32 digits, its length and the offset of the footer. Room is made for no more than such
        /// entries in the tile, whatever their number is said to be.
        const ENTRY_LEN: usize = 64;
        let mut reader = Reader::new(tile);
        let count = usize::try_from(reader.u32().ok()?).ok()?;
        let mut places = Vec::with_capacity(count.min(tile.len() / ENTRY_LEN));
        for _ in 0..count {
            let name_len = reader.u64().ok()?;
            let name = std::str::from_utf8(reader.take(name_len).ok()?).ok()?;
            let name_end = tile.len() - reader.rest().len();
            let start = usize::try_from(reader.u64().ok()?).ok().filter(|start| *start < tile.len())?;
            let trimmed_end = name_end - (name.len() - name.trim_end_matches('/').len());
            let name = trimmed_end - names::last_part(name).len()..trimmed_end;
            places.push(FooterPlace { name, footer: start..start, version: None });
        }
        let head_len = tile.len() - reader.rest().len();
        places.iter().all(|place| place.footer.start >= head_len).then_some(places)
    }

    fn name_in<'t>(&self, tile: &'t [u8]) -> &'t [u8] {
        tile.get(self.name.clone()).unwrap_or_default()
    }
}
