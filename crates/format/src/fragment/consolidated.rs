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

/// The footers of many fragments, borrowed from their unfiltered tile.
#[derive(Debug, Clone)]
pub struct ConsolidatedFooters<'a> {
    /// The fragments.
    pub entries: Vec<ConsolidatedEntry>,
    tile: &'a [u8],
}

/// Where the footers of fragments are in an unfiltered tile: see [`ConsolidatedFooters::index`].
#[derive(Debug, Clone)]
pub struct FooterIndex<N = String> {
    places: NameIndex<N, FooterPlace>,
}

#[derive(Debug, Clone)]
struct FooterPlace {
    range: Range<usize>,
    /// The version that stands at its start.
    version: Option<Version>,
}

impl<'a> ConsolidatedFooters<'a> {
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
    pub fn decode(tile: &'a [u8]) -> Result<Self> {
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
        Ok(ConsolidatedFooters { entries, tile })
    }

    /// Finds footers by fragment.
    pub fn index(&self) -> FooterIndex<&str> {
        let names = self.entries.iter().map(|entry| names::last_part(&entry.name));
        FooterIndex::new(names, self.places())
    }

    /// As [`index`](ConsolidatedFooters::index), with names of its own, so that it can be kept beside the tile.
    pub fn into_index(self) -> FooterIndex {
        let places = self.places();
        let names = self.entries.into_iter().map(|ConsolidatedEntry { name, .. }| {
            let last = names::last_part(&name);
            if last.len() == name.len() { name } else { last.to_owned() }
        });
        FooterIndex::new(names, places)
    }

    /// Where the footer of each entry is: it ends where the next one starts, whosever that is.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "decoding checked that footers start inside the tile, which is in memory"
    )]
    fn places(&self) -> Vec<FooterPlace> {
        let mut starts: Vec<usize> = self.entries.iter().map(|entry| entry.footer_offset as usize).collect();
        starts.sort_unstable();
        starts.dedup();
        // Mostly they are in the order of their entries.
        let mut at = 0;
        let place_of = |entry: &ConsolidatedEntry| {
            let start = entry.footer_offset as usize;
            if starts.get(at) != Some(&start) {
                at = starts.partition_point(|other| *other < start);
            }
            at += 1;
            let range = start..starts.get(at).copied().unwrap_or(self.tile.len());
            let version = self.tile.get(range.clone()).and_then(|footer| Reader::new(footer).u32().ok());
            FooterPlace { range, version: version.and_then(|version| Version::new(version).ok()) }
        };
        self.entries.iter().map(place_of).collect()
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

impl<N: AsRef<str>> FooterIndex<N> {
    fn new(names: impl DoubleEndedIterator<Item = N> + ExactSizeIterator, places: Vec<FooterPlace>) -> Self {
        // The last entry of a name counts.
        FooterIndex { places: names.zip(places).rev().collect() }
    }

    /// The bytes of a fragment's footer in the unfiltered tile, up to the next one: read them with
    /// [`Footer::decode`](super::Footer::decode). The fragment is found by its folder name, whether the
    /// file gives that or a URI.
    ///
    /// `None` too where the bytes do not start with the fragment's version: newer releases miscount footers of
    /// versions 3, 4 and 11. Whoever finds no footer here, or cannot read it, takes the fragment's own file.
    pub fn footer<'f>(&self, tile: &'f [u8], fragment: &TimestampedName) -> Option<&'f [u8]> {
        tile.get(self.range(fragment)?)
    }

    /// Where in the unfiltered tile the bytes are that [`footer`](FooterIndex::footer) gives.
    pub fn range(&self, fragment: &TimestampedName) -> Option<Range<usize>> {
        let FooterPlace { range, version } = self.places.find(fragment.as_str())?;
        let (version, named) = ((*version)?, fragment.fragment_version().ok()?);
        // Names do not tell versions 3 and 4 apart.
        let is_same =
            version == named || !version.has(Rule::VersionEndsNames) && !named.has(Rule::VersionEndsNames);
        is_same.then(|| range.clone())
    }
}
