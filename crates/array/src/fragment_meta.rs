//! Consolidated fragment metadata: the footers of many fragments from one file, so that opening an array of a thousand
//! fragments is one read.
//!
//! It repeats what the fragments' own files say, and is never needed. A name in it only selects a fragment of our own
//! listing; whatever is damaged, missing or does not fit the fragment is taken from the fragment's own file.

use crate::fragment::ShapedSchema;
use crate::{ArrayPlace, Fragment, ListedFragment, Listing};
use bytes::Bytes;
use smalti_format::fragment::ConsolidatedFooters;
use smalti_types::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Files that are looked into at most: one covers everything after each consolidation, and older ones help little.
const MAX_FILE_COUNT: usize = 16;

/// The footers of listed fragments that consolidated metadata holds.
#[derive(Debug, Default)]
pub(crate) struct FoundFooters {
    files: Vec<FooterFile>,
    /// Where the footer of each fragment of the listing is, by its place there.
    footers: Vec<Option<(usize, Range<usize>)>>,
}

#[derive(Debug)]
struct FooterFile {
    address: String,
    tile: Bytes,
    /// Footers that were of no use, and what was wrong with the first of them.
    refused: Mutex<(usize, Option<Error>)>,
}

impl FoundFooters {
    /// Reads the newest files until no two fragments are left that another could help.
    pub(crate) fn read(place: &ArrayPlace, listing: &mut Listing) -> FoundFooters {
        let mut found = FoundFooters { files: Vec::new(), footers: vec![None; listing.fragments.len()] };
        for (name, path) in listing.fragment_meta.iter().take(MAX_FILE_COUNT) {
            let open = listing.fragments.iter().zip(&found.footers);
            let may_help = |(fragment, footer): &(&ListedFragment, &Option<_>)| {
                footer.is_none() && name.range().contains(fragment.name.range())
            };
            if open.filter(may_help).take(2).count() < 2 {
                continue;
            }
            match found.add(place, path, &listing.fragments) {
                // A vacuum took the file since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => listing.warnings.push(format!(
                    "consolidated fragment metadata is of no use, each fragment's own is read instead: {error}"
                )),
                Ok(()) => {}
            }
        }
        found
    }

    fn add(&mut self, place: &ArrayPlace, path: &str, fragments: &[ListedFragment]) -> Result<()> {
        let path = place.join(path);
        let tile = place.read_tile_file(&path)?;
        let address = place.store().address(&path);
        let file =
            ConsolidatedFooters::decode(tile.as_slice()).map_err(|error| error.at_uri(address.clone()))?;
        let index = file.index();
        for (fragment, footer) in fragments.iter().zip(&mut self.footers) {
            if footer.is_none() {
                *footer = index.range(&fragment.name).map(|range| (self.files.len(), range));
            }
        }
        self.files.push(FooterFile { address, tile: Bytes::from_owner(tile), refused: Mutex::default() });
        Ok(())
    }

    /// Whether there is a footer for every fragment.
    pub(crate) fn are_complete(&self) -> bool {
        self.footers.iter().all(Option::is_some)
    }

    /// Opens a fragment of the listing, given by its place there.
    ///
    /// # Errors
    /// As opening the fragment from its own file.
    pub(crate) fn open(
        &self,
        place: &Arc<ArrayPlace>,
        idx: usize,
        listed: &ListedFragment,
        schema_of: impl Fn(&str) -> Result<ShapedSchema>,
    ) -> Result<Fragment> {
        let Some((file, range)) = self.footers.get(idx).cloned().flatten() else {
            return Fragment::open(place, listed, schema_of);
        };
        let file = &self.files[file];
        // The range was found in this tile.
        let footer = file.tile.slice(range);
        Fragment::open_with_footer(place, listed, footer, &schema_of).or_else(|error| {
            let mut refused = file.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.0 += 1;
            refused.1.get_or_insert(error);
            drop(refused);
            Fragment::open(place, listed, schema_of)
        })
    }

    /// What was wrong with footers that were of no use.
    pub(crate) fn warnings(self) -> impl Iterator<Item = String> {
        self.files.into_iter().filter_map(|file| {
            let (count, error) = file.refused.into_inner().unwrap_or_else(PoisonError::into_inner);
            let error = error?;
            Some(format!(
                "{}: {count} footers do not fit their fragments, whose own metadata is read instead: {error}",
                file.address
            ))
        })
    }
}
