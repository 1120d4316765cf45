//! Consolidated fragment metadata: the footers of many fragments from one file, so that opening an array of a thousand
//! fragments is one read.
//!
//! It repeats what the fragments' own files say, and is never needed. A name in it only selects a fragment of our own
//! listing; whatever is damaged, missing or does not fit the fragment is taken from the fragment's own file.

use crate::fragment::{Kin, Kinship};
use crate::listing::fragment_meta_files;
use crate::{ArrayPlace, Fragment, ListedFragment, Listing};
use bytes::Bytes;
use smalti_format::Rule;
use smalti_format::fragment::FooterIndex;
use smalti_types::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Files that are looked into at most: one covers everything after each consolidation, and older ones help little.
const MAX_FILE_COUNT: usize = 16;

/// A file of consolidated fragment metadata, and where in it the footers are.
#[derive(Debug)]
struct IndexedFooters {
    index: FooterIndex<Bytes>,
    /// Fragments that were opened with it already, in the order of their names.
    opened: Vec<Arc<Fragment>>,
}

/// The newest file of consolidated fragment metadata, read before it was known whether it is needed.
#[derive(Debug)]
pub(crate) struct EarlyFooters {
    /// Its path, relative to the array.
    path: String,
    read: Result<IndexedFooters>,
}

/// The footers of listed fragments that consolidated metadata holds.
#[derive(Debug, Default)]
pub(crate) struct FoundFooters {
    files: Vec<FooterFile>,
    /// What there is of each fragment of the listing, by its place there.
    footers: Vec<Option<FoundFooter>>,
}

#[derive(Debug, Clone)]
enum FoundFooter {
    /// The footer, in that file.
    In(usize, Range<usize>),
    /// The fragment, opened with its footer in one of the files.
    Opened(Arc<Fragment>),
}

#[derive(Debug)]
struct FooterFile {
    address: String,
    tile: Bytes,
    /// Footers that were of no use, and what was wrong with the first of them.
    refused: Mutex<(usize, Option<Error>)>,
}

impl IndexedFooters {
    fn read(place: &ArrayPlace, path: &str) -> Result<Self> {
        let path = place.join(path);
        let tile = Bytes::from_owner(place.read_tile_file(&path)?);
        let index = FooterIndex::decode(tile).map_err(|error| error.at_uri(place.store().address(&path)))?;
        Ok(IndexedFooters { index, opened: Vec::new() })
    }
}

impl EarlyFooters {
    /// Reads the newest file, if there is one; `root` are names in the array's folder.
    pub(crate) fn newest(place: &ArrayPlace, root: &[String]) -> Option<Self> {
        let (_, path) = fragment_meta_files(place, root).ok()?.into_iter().next()?;
        let read = IndexedFooters::read(place, &path);
        Some(EarlyFooters { path, read })
    }

    /// Opens fragments of the newest schema as long as something else is waited for. They come in the order of their names. Of what cannot
    /// be opened here it is told when it is asked for.
    pub(crate) fn open_while<'l>(
        mut self,
        fragments: impl Iterator<Item = &'l ListedFragment>,
        (schema_name, kin): (&str, &Arc<Kin>),
        is_awaited: impl Fn() -> bool,
    ) -> Self {
        /// So many are opened before it is asked again: some microseconds.
        const SHARE: usize = 16;
        let Ok(IndexedFooters { index, opened }) = &mut self.read else { return self };
        let kinship = Kinship::new(|name| match name == schema_name {
            true => Ok(Arc::clone(kin)),
            false => Err(Error::not_found("this schema is not read yet")),
        });
        let ranges = fragments.filter_map(|listed| Some((listed, index.range(&listed.name)?)));
        for (idx, (listed, range)) in ranges.enumerate() {
            if idx % SHARE == 0 && !is_awaited() {
                break;
            }
            match Fragment::open_with_footer(listed, index.tile().slice(range), &kinship) {
                Ok(fragment) => opened.push(Arc::new(fragment)),
                Err(_) => break,
            }
        }
        self
    }
}

impl FoundFooters {
    /// None, for so many fragments: each has its own.
    pub(crate) fn none(count: usize) -> FoundFooters {
        FoundFooters { files: Vec::new(), footers: vec![None; count] }
    }

    /// Reads the newest files until no two fragments are left that another could help.
    pub(crate) fn read(
        place: &ArrayPlace,
        listing: &mut Listing,
        mut early: Option<EarlyFooters>,
    ) -> FoundFooters {
        let mut found = FoundFooters { files: Vec::new(), footers: vec![None; listing.fragments.len()] };
        for (name, path) in listing.fragment_meta.iter().take(MAX_FILE_COUNT) {
            let open = listing.fragments.iter().zip(&found.footers);
            let may_help = |(fragment, footer): &(&ListedFragment, &Option<_>)| {
                footer.is_none() && name.range().contains(fragment.name.range())
            };
            if open.filter(may_help).take(2).count() < 2 {
                continue;
            }
            let read = match early.take_if(|early| early.path == *path) {
                Some(early) => early.read,
                None => IndexedFooters::read(place, path),
            };
            match read {
                // A vacuum took the file since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => listing.warnings.push(format!(
                    "consolidated fragment metadata is of no use, each fragment's own is read instead: {error}"
                )),
                Ok(file) => found.add(place.store().address(&place.join(path)), file, &listing.fragments),
            }
        }
        found
    }

    fn add(
        &mut self,
        address: String,
        IndexedFooters { index, opened }: IndexedFooters,
        fragments: &[ListedFragment],
    ) {
        let mut opened = opened.into_iter().peekable();
        for (fragment, footer) in fragments.iter().zip(&mut self.footers) {
            if footer.is_some() {
                continue;
            }
            while opened.next_if(|opened| *opened.name() < fragment.name).is_some() {}
            *footer = match opened.next_if(|opened| *opened.name() == fragment.name) {
                Some(opened) => Some(FoundFooter::Opened(opened)),
                None => index.range(&fragment.name).map(|range| FoundFooter::In(self.files.len(), range)),
            };
        }
        self.files.push(FooterFile { address, tile: index.tile().clone(), refused: Mutex::default() });
    }

    /// The metadata files of the fragments whose footers are in no file here, with their paths relative to the array.
    pub(crate) fn lone_paths<'l>(
        &'l self,
        fragments: &'l [ListedFragment],
    ) -> impl Iterator<Item = String> + 'l {
        let lone = fragments.iter().zip(&self.footers).filter(|(_, footer)| footer.is_none());
        lone.filter(|(listed, _)| listed.version.has(Rule::FragmentFooter))
            .map(|(listed, _)| listed.metadata_path())
    }

    /// The number of fragments whose footers are in no file here.
    pub(crate) fn unread_count(&self) -> usize {
        self.footers.iter().filter(|footer| footer.is_none()).count()
    }

    /// The number of fragments that are not opened yet.
    pub(crate) fn unopened_count(&self) -> usize {
        self.footers.iter().filter(|footer| !matches!(footer, Some(FoundFooter::Opened(_)))).count()
    }

    /// Opens fragments that stand side by side in the listing, `start` being the place of the first. What no file here holds is
    /// asked of the store at once: so much from the end of each fragment's own file.
    ///
    /// # Errors
    /// As opening the fragments from their own files.
    pub(crate) fn open(
        &self,
        place: &ArrayPlace,
        start: usize,
        fragments: &[ListedFragment],
        tail_byte_len: u64,
        kin_of: impl Fn(&str) -> Result<Arc<Kin>>,
    ) -> Result<Vec<Arc<Fragment>>> {
        let kinship = Kinship::new(kin_of);
        let footers = self.footers.get(start..).unwrap_or_default();
        let is_lone = |(listed, footer): &(&ListedFragment, &Option<_>)| {
            footer.is_none() && listed.version.has(Rule::FragmentFooter)
        };
        let lone = fragments.iter().zip(footers).filter(is_lone);
        let paths: Vec<String> = lone.map(|(listed, _)| listed.metadata_path()).collect();
        let mut tails = match paths.is_empty() {
            true => Vec::new(),
            false => place.store().read_tails(place.path(), &paths, tail_byte_len),
        }
        .into_iter();
        let mut opened = Vec::with_capacity(fragments.len());
        for (listed, footer) in fragments.iter().zip(footers) {
            let fragment = match footer {
                Some(FoundFooter::Opened(fragment)) => {
                    opened.push(Arc::clone(fragment));
                    continue;
                }
                Some(FoundFooter::In(file, range)) => {
                    self.open_found(place, listed, *file, range.clone(), &kinship)
                }
                None if listed.version.has(Rule::FragmentFooter)
                    && let Some(tail) = tails.next() =>
                {
                    Fragment::open_with_tail(place, listed, tail, &kinship)
                }
                None => Fragment::open(place, listed, &kinship),
            };
            opened.push(Arc::new(fragment?));
        }
        Ok(opened)
    }

    /// Opens a fragment with the footer in a range of a file, or if it does not fit, with its own.
    fn open_found(
        &self,
        place: &ArrayPlace,
        listed: &ListedFragment,
        file: usize,
        range: Range<usize>,
        kinship: &Kinship<impl Fn(&str) -> Result<Arc<Kin>>>,
    ) -> Result<Fragment> {
        #[expect(clippy::indexing_slicing, reason = "the caller found the range in that file")]
        let file = &self.files[file];
        // The range was found in this tile.
        let footer = file.tile.slice(range);
        Fragment::open_with_footer(listed, footer, kinship).or_else(|error| {
            let mut refused = file.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.0 += 1;
            refused.1.get_or_insert(error);
            drop(refused);
            Fragment::open(place, listed, kinship)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FragmentContent;
    use smalti_format::fragment::{ConsolidatedFooters, Footer};
    use smalti_format::names::TimestampedName;
    use smalti_format::{ArraySchema, CurrentDomain, Dimension, Version};
    use smalti_store::{ManualClock, MemoryStore, SeededEntropy};
    use smalti_types::{ArrayType, CellValNum, Datatype, Extent, FilterPipeline, Layout, Physical, Scalar};
    use std::cell::Cell;

    const SCHEMA_NAME: &str = "__1_1_0123456789abcdef0123456789abcdef";

    fn schema() -> ArraySchema {
        let dimension = Dimension {
            name: "x".into(),
            datatype: Datatype::Int64,
            cell_val_num: CellValNum::ONE,
            filters: FilterPipeline::default(),
            domain: Some((Scalar::I64(0), Scalar::I64(999))),
            tile_extent: None,
        };
        ArraySchema {
            version: Version::DEFAULT,
            allows_dups: true,
            array_type: ArrayType::Sparse,
            tile_order: Layout::RowMajor,
            cell_order: Layout::RowMajor,
            capacity: 10_000,
            coords_filters: FilterPipeline::default(),
            offsets_filters: FilterPipeline::default(),
            validity_filters: FilterPipeline::default(),
            dimensions: vec![dimension],
            attributes: Vec::new(),
            dimension_labels: Vec::new(),
            enumerations: Vec::new(),
            current_domain: CurrentDomain::Empty,
        }
    }

    fn listed(at: u64) -> ListedFragment {
        let name = format!("__{at}_{at}_0123456789abcdef0123456789abcdef_22");
        ListedFragment::named(TimestampedName::parse(&name).unwrap()).unwrap()
    }

    /// The footer of a fragment with a cell at its time, out of its metadata file.
    fn footer(place: &ArrayPlace, at: u64, schema_name: &str) -> Vec<u8> {
        let (schema, ordinal) = (schema(), (at as i64).ordinal());
        let mut content = FragmentContent::new(&schema, schema_name);
        content.set_extent(None, vec![Extent::Num { lo: ordinal, hi: ordinal }], 1, 1);
        let file = content.encode(&schema, place).unwrap();
        let range = Footer::range(Version::DEFAULT, &schema.shape(), file.len() as u64, &file).unwrap();
        file[range.start as usize..range.end as usize].to_vec()
    }

    /// A file of the footers of fragments 1 to 100, of which the schema of the 61st is another one.
    fn early() -> (ArrayPlace, Arc<Kin>, EarlyFooters) {
        let env = smalti_types::Env::new(ManualClock::new(1), SeededEntropy::new(1));
        let place = ArrayPlace::in_store(Arc::new(MemoryStore::new()), "array".into(), None, env);
        let kin = Arc::new(Kin::new(&place, Arc::new(schema())));
        let other = SCHEMA_NAME.replace("__1_1", "__0_0");
        let footers: Vec<(String, Vec<u8>)> = (1..=100)
            .map(|at| {
                let schema_name = if at == 61 { &other } else { SCHEMA_NAME };
                (listed(at).name.to_string(), footer(&place, at, schema_name))
            })
            .collect();
        let tile = Bytes::from(ConsolidatedFooters::encode(&footers).unwrap());
        let index = FooterIndex::decode(tile).unwrap();
        let read = Ok(IndexedFooters { index, opened: Vec::new() });
        (place, kin, EarlyFooters { path: "__fragment_meta/x.meta".into(), read })
    }

    #[test]
    fn fragments_are_opened_ahead_only_as_long_as_something_is_awaited() {
        // How often it is still awaited, and how many are opened until then, or until one of an older schema.
        for (awaited_count, opened_count) in [(0_u32, 0), (1, 16), (3, 48), (100, 60)] {
            let (place, kin, early) = early();
            let left = Cell::new(awaited_count);
            let is_awaited = || left.replace(left.get().saturating_sub(1)) > 0;
            let committed: Vec<ListedFragment> = (1..=100).map(listed).collect();
            let early = early.open_while(committed.iter(), (SCHEMA_NAME, &kin), is_awaited);
            let read = early.read.unwrap();
            assert_eq!(read.opened.len(), opened_count, "{awaited_count}");
            // Of what was committed the listing shows less: some are hidden, and two have no footer in the file.
            let seen: Vec<ListedFragment> =
                (1..=102).filter(|at| !matches!(at, 2 | 3 | 30)).map(listed).collect();
            let mut found = FoundFooters::none(seen.len());
            found.add("x.meta".into(), read, &seen);
            let hidden_count = [2, 3, 30].iter().filter(|at| **at <= opened_count).count();
            assert_eq!(found.unopened_count(), seen.len() - (opened_count - hidden_count));
            assert_eq!(found.unread_count(), 2);
            let fragments =
                found.open(&place, 0, seen.get(..97).unwrap(), 0, |_| Ok(Arc::clone(&kin))).unwrap();
            for (fragment, listed) in fragments.iter().zip(&seen) {
                assert_eq!(*fragment.name(), listed.name);
                let ordinal = (listed.name.range().start as i64).ordinal();
                assert_eq!(fragment.non_empty_domain(), [Extent::Num { lo: ordinal, hi: ordinal }]);
            }
        }
    }
}
