//! An array as it was in a time range: immutable, shared by any number of reads.

use crate::evolution::check_same_space;
use crate::fragment::Kin;
use crate::fragment_meta::{EarlyFooters, FoundFooters};
use crate::listing::{GoneHistory, Listing, Meanwhile, schema_files};
use crate::side_by_side::side_by_side;
use crate::{ArrayPlace, DeleteCommit, Fragment, ListedDelete, ListedFragment};
use smalti_codecs::CodecRules;
use smalti_format::fragment::FieldId;
use smalti_format::names::{CommitKind, OLD_SCHEMA_FILE, TimestampedName, commit_path};
use smalti_format::{ArraySchema, Enumeration, Rule, Version};
use smalti_store::{Lease, Store};
use smalti_tile::FieldCodec;
use smalti_types::{Error, ErrorKind, Extent, Result, TimeRange};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// An array in a time range: the schema of that time, and the fragments that are visible in it. Clones share it, and the last one
/// that goes lets it go.
#[derive(Debug, Clone)]
pub struct Snapshot {
    held: Arc<Held>,
    /// Whether the digests of checksum filters are not compared.
    skips_checksums: bool,
}

#[derive(Debug)]
struct Held {
    place: ArrayPlace,
    time: TimeRange,
    schema: Arc<ArraySchema>,
    schema_name: String,
    fragments: Vec<Arc<Fragment>>,
    outside_time: usize,
    gone: Vec<GoneHistory>,
    listed_deletes: Vec<ListedDelete>,
    deletes: OnceLock<Vec<DeleteCommit>>,
    warnings: Vec<String>,
    /// Keeps vacuum from taking the fragments away.
    lease: Mutex<Option<Arc<Lease>>>,
    codecs: Mutex<HashMap<(usize, Version, FieldId, bool), Arc<FieldCodec>>>,
    enumerations: Mutex<HashMap<String, Arc<Enumeration>>>,
}

impl Held {
    /// Of an array without deletes, warnings or history that is gone, and without a claim.
    fn plain(
        place: ArrayPlace,
        time: TimeRange,
        (schema, schema_name): (Arc<ArraySchema>, String),
        fragments: Vec<Arc<Fragment>>,
    ) -> Held {
        Held {
            place,
            time,
            schema,
            schema_name,
            fragments,
            outside_time: 0,
            gone: Vec::new(),
            listed_deletes: Vec::new(),
            deletes: OnceLock::new(),
            warnings: Vec::new(),
            lease: Mutex::default(),
            codecs: Mutex::default(),
            enumerations: Mutex::default(),
        }
    }
}

impl Snapshot {
    /// Opens an array in a time range.
    ///
    /// The schema is the newest that is not younger than the range's end; if all are younger, the oldest.
    ///
    /// # Errors
    /// `NotFound` when no array is there; `Corrupt`, `Unsupported`, `Permission`, with the file named.
    pub fn open(place: ArrayPlace, time: TimeRange) -> Result<Snapshot> {
        let lease = place.reader_lease()?;
        let (asking, ahead) = place.for_opening();
        let some_folders = ahead.as_ref().and_then(|ahead| asking.announce_listed(ahead, time));
        let open_schema = || {
            let files = schema_files(&asking)?;
            let at = files
                .iter()
                .rposition(|(name, _)| name.as_ref().is_none_or(|name| name.range().end <= time.end))
                .unwrap_or(0);
            #[expect(clippy::indexing_slicing, reason = "there is one, or listing them has failed")]
            let (name, path) = &files[at];
            let kin = Arc::new(Kin::new(&place, Arc::new(read_schema(&asking, path)?)));
            let name = name.as_ref().map_or(OLD_SCHEMA_FILE, TimestampedName::as_str).to_owned();
            Ok((files, name, kin))
        };
        let is_dense = |(_, _, kin): &(_, _, Arc<Kin>)| kin.schema().is_dense();
        let open_early = |(_, name, kin): &(_, String, Arc<Kin>), meanwhile: Meanwhile<'_>| {
            let footers = EarlyFooters::newest(&asking, &meanwhile.root_names())?;
            Some(footers.open_while(meanwhile.fragments(), (name, kin), || meanwhile.is_awaited()))
        };
        let ((files, schema_name, kin), mut listing, early) =
            Listing::read_to_open(&asking, time, some_folders, open_schema, is_dense, open_early)?;
        let schema = Arc::clone(kin.schema());
        let footers = FoundFooters::read(&asking, &mut listing, early.flatten());
        let known: RwLock<HashMap<String, Arc<Kin>>> =
            RwLock::new(HashMap::from([(schema_name.clone(), kin)]));
        let kin_of = |wanted: &str| -> Result<Arc<Kin>> {
            if let Some(kin) = known.read().unwrap_or_else(PoisonError::into_inner).get(wanted) {
                return Ok(Arc::clone(kin));
            }
            let (_, path) = files
                .iter()
                .find(|(name, _)| name.as_ref().map_or(OLD_SCHEMA_FILE, TimestampedName::as_str) == wanted)
                .ok_or_else(|| Error::corrupt(format!("the schema {wanted:?} is missing")))?;
            let older = Arc::new(read_schema(&asking, path)?);
            check_same_space(&schema, &older).map_err(|error| error.at_uri(place.store().address(path)))?;
            let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
            let kin = || Arc::new(Kin::new(&place, older));
            Ok(Arc::clone(known.entry(wanted.to_owned()).or_insert_with(kin)))
        };
        let listed = &listing.fragments;
        let tail_byte_len = match &ahead {
            Some(_) => Fragment::TAIL_BYTE_LEN,
            None => Fragment::tail_byte_len(listed, &schema.shape()),
        };
        let deletes = OnceLock::new();
        if let Some(ahead) = &ahead {
            let tails = footers.lone_paths(listed).map(|path| (path, tail_byte_len));
            // All of the metadata of the oldest versions is one tile.
            let is_tile = |listed: &&ListedFragment| !listed.version.has(Rule::FragmentFooter);
            let tiles = listed.iter().filter(is_tile);
            let tiles = tiles.map(|listed| (listed.metadata_path(), asking.tile_file_byte_len()));
            asking.announce_last(ahead, tails.chain(tiles), &listing.deletes);
            // What cannot be read is an error when it is asked for.
            if let Ok(read) = asking.read_deletes(&listing.deletes) {
                let _ = deletes.set(read);
            }
        }
        let open = |start: usize, listed: &[ListedFragment]| {
            footers.open(&asking, start, listed, tail_byte_len, kin_of)
        };
        // Footers that are in memory already take a fraction of a microsecond each.
        let is_quick = listed.len() < 4 || footers.unread_count() == 0 && footers.unopened_count() < 500;
        let fragments = if is_quick {
            open(0, listed)
        } else {
            let shares = side_by_side(listed, open).into_iter().collect::<Result<Vec<_>>>();
            shares.map(|shares| shares.into_iter().flatten().collect())
        };
        let explained = |error| if lease.is_none() { explain_missing(error) } else { error };
        let fragments = fragments.map_err(explained)?;
        listing.warnings.extend(footers.warnings());
        listing.warnings.extend(place.take_cache_trouble());
        drop(known);
        let held = Held {
            outside_time: listing.outside_time,
            gone: listing.gone,
            listed_deletes: listing.deletes,
            deletes,
            warnings: listing.warnings,
            lease: Mutex::new(lease),
            ..Held::plain(place, time, (schema, schema_name), fragments)
        };
        Ok(Snapshot { held: Arc::new(held), skips_checksums: false })
    }

    /// The same array as if it had only some of its fragments, which are this snapshot's, with a schema of its history: what
    /// consolidation reads. Every time counts.
    ///
    /// # Errors
    /// `Corrupt` when the schema cannot be read.
    pub fn of_fragments(&self, fragments: Vec<Arc<Fragment>>, schema_name: &str) -> Result<Snapshot> {
        let known = fragments.iter().map(|fragment| (&fragment.footer().schema_name, fragment.schema()));
        let known = known.chain([(&self.held.schema_name, &self.held.schema)]);
        let schema = match known.into_iter().find(|(name, _)| *name == schema_name) {
            Some((_, schema)) => Arc::clone(schema),
            None => {
                let files = schema_files(&self.held.place)?;
                let is_wanted = |name: &Option<TimestampedName>| {
                    name.as_ref().map_or(OLD_SCHEMA_FILE, TimestampedName::as_str) == schema_name
                };
                let (_, path) = files
                    .iter()
                    .find(|(name, _)| is_wanted(name))
                    .ok_or_else(|| Error::corrupt(format!("the schema {schema_name:?} is missing")))?;
                Arc::new(read_schema(&self.held.place, path)?)
            }
        };
        // Of an older schema the fields count: cells lie wherever they may today.
        let current_domain = self.held.schema.current_domain.clone();
        let schema = match schema.current_domain == current_domain {
            true => schema,
            false => Arc::new(ArraySchema { current_domain, ..ArraySchema::clone(&schema) }),
        };
        let schema = (schema, schema_name.to_owned());
        let held = Held {
            listed_deletes: self.held.listed_deletes.clone(),
            deletes: self.held.deletes.clone(),
            ..Held::plain(self.held.place.clone(), TimeRange::ALL, schema, fragments)
        };
        Ok(Snapshot { held: Arc::new(held), skips_checksums: false })
    }

    /// A snapshot of known parts, which nothing was listed for.
    pub(crate) fn assembled(
        place: ArrayPlace,
        time: TimeRange,
        (schema, schema_name): (Arc<ArraySchema>, String),
        fragments: Vec<Arc<Fragment>>,
        deletes: Vec<DeleteCommit>,
        lease: Option<Arc<Lease>>,
    ) -> Snapshot {
        let listed = |delete: &DeleteCommit| {
            let version = schema.write_version();
            let path = place.join(&commit_path(&delete.name, CommitKind::Delete, version));
            ListedDelete { name: delete.name.clone(), path, tile: None }
        };
        let listed_deletes = deletes.iter().map(listed).collect();
        let held = Held {
            listed_deletes,
            deletes: OnceLock::from(deletes),
            lease: Mutex::new(lease),
            ..Held::plain(place, time, (schema, schema_name), fragments)
        };
        Snapshot { held: Arc::new(held), skips_checksums: false }
    }

    /// Where the array is.
    pub fn place(&self) -> &ArrayPlace {
        &self.held.place
    }

    /// The store that holds the array.
    pub fn store(&self) -> &Arc<dyn Store> {
        self.held.place.store()
    }

    /// The time range.
    pub fn time(&self) -> TimeRange {
        self.held.time
    }

    /// The schema at the end of the time range.
    pub fn schema(&self) -> &Arc<ArraySchema> {
        &self.held.schema
    }

    /// Every schema of the array with its file name, the newest first, those that are younger than the time range included. They
    /// are read anew.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `Permission`, with the file named.
    pub fn schema_history(&self) -> Result<Vec<(String, ArraySchema)>> {
        let files = schema_files(&self.held.place)?;
        let read = |(name, path): &(Option<TimestampedName>, String)| {
            let name = name.as_ref().map_or(OLD_SCHEMA_FILE, TimestampedName::as_str);
            Ok((name.to_owned(), read_schema(&self.held.place, path)?))
        };
        files.iter().rev().map(read).collect()
    }

    /// The file name of the schema.
    pub fn schema_name(&self) -> &str {
        &self.held.schema_name
    }

    /// The visible fragments, oldest first.
    pub fn fragments(&self) -> &[Arc<Fragment>] {
        &self.held.fragments
    }

    /// Reads the rectangles of the tiles of those fragments that `is_wanted` says yes to, on all threads: for those who will ask for
    /// them fragment by fragment, and then for cells of some fields of the snapshot's schema, with statistics of the tiles or without. Of
    /// fragments whose footers tell as much nothing is read. What cannot be read is an error then.
    pub fn read_ahead(
        &self,
        is_wanted: impl Fn(&Fragment) -> bool,
        fields: &[FieldId],
        with_statistics: bool,
    ) {
        const WORTHWHILE: usize = 8;
        let fragments = self.held.fragments.iter().map(|fragment| &**fragment);
        let wanted: Vec<&Fragment> =
            fragments.filter(|fragment| !fragment.has_rtree() && is_wanted(fragment)).collect();
        side_by_side(&wanted, |_, share| {
            let needs_more = |fragment: &&Fragment| {
                with_statistics || !fragment.takes_footer_alone(&self.own_fields(fragment, fields))
            };
            let unread: Vec<&Fragment> = share.iter().copied().filter(needs_more).collect();
            if wanted.len() >= WORTHWHILE {
                Fragment::read_ahead(&self.held.place, &unread);
            }
        });
    }

    /// Fields of the snapshot's schema as a fragment's own has them, without those that it lacks.
    fn own_fields(&self, fragment: &Fragment, fields: &[FieldId]) -> Vec<FieldId> {
        let own = |field: &FieldId| match field {
            FieldId::Attribute(idx) => {
                let name = &self.schema().attributes.get(*idx)?.name;
                fragment.schema().attribute(name).map(|(idx, _)| FieldId::Attribute(idx))
            }
            FieldId::Dimension(dim) => Some(fragment.coordinates_of(*dim)),
            other => Some(*other),
        };
        fields.iter().filter_map(own).collect()
    }

    /// Reads the ends of the metadata files of some of the fragments that were not read yet: in one go, for those who will ask for statistics
    /// of one after the other. What cannot be read is an error then.
    pub fn read_metadata(&self, fragments: &[&Fragment]) {
        Fragment::read_ahead(&self.held.place, fragments);
    }

    /// Bytes of the files of all fragments, metadata included.
    ///
    /// # Errors
    /// What the store reports of a metadata file.
    pub fn byte_len(&self) -> Result<u64> {
        let fragments = self.fragments();
        if self.store().is_distant() {
            let unknown =
                fragments.iter().map(|fragment| &**fragment).filter(|fragment| !fragment.knows_byte_len());
            self.read_metadata(&unknown.collect::<Vec<_>>());
        }
        let shares = side_by_side(fragments, |_, share| {
            share.iter().try_fold(0_u64, |sum, fragment| Ok(sum.saturating_add(fragment.byte_len()?)))
        });
        shares.into_iter().try_fold(0_u64, |sum, share: Result<u64>| Ok(sum.saturating_add(share?)))
    }

    /// On a distant store, asks at once for what a read needs of the metadata of those fragments that `is_wanted` says yes to, before it
    /// reads tiles of some fields of the snapshot's schema: their rectangles, and where the tiles are; and statistics of the tiles, if these are
    /// wanted. Elsewhere it does nothing: there each piece is read when it is needed. What cannot be read is an error then.
    pub fn ask_ahead(
        &self,
        is_wanted: impl Fn(&Fragment) -> bool,
        fields: &[FieldId],
        with_statistics: bool,
    ) {
        if !self.store().is_distant() {
            return;
        }
        let mut asked = Vec::new();
        let mut requests = Vec::new();
        for fragment in self.held.fragments.iter().filter(|fragment| is_wanted(fragment)) {
            let fields = self.own_fields(fragment, fields);
            for (start, request) in fragment.early_requests(&fields, with_statistics) {
                asked.push((fragment, start));
                requests.push(request);
            }
        }
        if requests.is_empty() {
            return;
        }
        for ((fragment, start), pending) in asked.into_iter().zip(self.store().submit(requests)) {
            fragment.take_early(start, pending.wait());
        }
    }

    /// The delete commits in the time range, oldest first; read when they are first asked for.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn deletes(&self) -> Result<&[DeleteCommit]> {
        if let Some(deletes) = self.held.deletes.get() {
            return Ok(deletes);
        }
        let deletes = self.place().read_deletes(&self.held.listed_deletes)?;
        Ok(self.held.deletes.get_or_init(|| deletes))
    }

    /// Whether vacuum of other handles and processes keeps off while the snapshot lives.
    pub fn is_leased(&self) -> bool {
        self.held.lease.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// An error of a read of the snapshot; if a file is missing, with what is likely where vacuum does not keep off.
    pub fn explain_missing(&self, error: Error) -> Error {
        if self.is_leased() { error } else { explain_missing(error) }
    }

    /// Lets vacuum take the snapshot's fragments away. Reads of all clones may fail from then on.
    pub fn release_lease(&self) {
        self.held.lease.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Enumerations that were read, by name.
    pub(crate) fn known_enumerations(&self) -> MutexGuard<'_, HashMap<String, Arc<Enumeration>>> {
        self.held.enumerations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of committed fragments that the time range does not see.
    pub fn fragments_outside_time(&self) -> usize {
        self.held.outside_time
    }

    /// Why the cells of the time range are not all there any more, with the times that can be read; `None` where they are. Upkeep may
    /// have merged them with later ones, or purged them.
    pub fn lost_history(&self) -> Option<String> {
        let TimeRange { start, end } = self.held.time;
        Some(match self.held.gone.first()? {
            GoneHistory::Merged(merged) => format!(
                "the cells of {start} to {end} are not told apart any more: those of {} to {} were merged, and what was \
                 merged was vacuumed; read a time range that has all or none of these times",
                merged.start, merged.end
            ),
            GoneHistory::Purged(_, at) => format!(
                "cells that were deleted up to {at} were purged, so the array cannot be read as of {end}; read it as of \
                 {at} or later"
            ),
        })
    }

    /// Checks that the cells of the time range are still all there.
    ///
    /// # Errors
    /// `NotFound`, with [what is lost](Snapshot::lost_history).
    pub fn check_history(&self) -> Result<()> {
        match self.lost_history() {
            None => Ok(()),
            Some(message) => Err(Error::not_found(message).at_uri(self.held.place.uri())),
        }
    }

    /// The number of delete commits in the time range.
    pub fn delete_count(&self) -> usize {
        self.held.listed_deletes.len()
    }

    /// What was passed over, but should be looked at.
    pub fn warnings(&self) -> &[String] {
        &self.held.warnings
    }

    /// The least rectangle around all cells; `None` when there are no fragments.
    pub fn non_empty_domain(&self) -> Option<Vec<Extent>> {
        let mut fragments = self.held.fragments.iter().map(|fragment| fragment.non_empty_domain());
        let mut hull = fragments.next()?.to_vec();
        for domain in fragments {
            for (side, other) in hull.iter_mut().zip(domain) {
                *side = side.as_ref().hull(other.as_ref());
            }
        }
        Some(hull)
    }

    /// The cells that the fragments hold, every version counted; of a dense array no more than the least rectangle around them has.
    /// `None` when they cannot be counted.
    pub fn held_cell_count(&self) -> Option<u64> {
        let mut counts = self.held.fragments.iter().map(|fragment| fragment.cell_count());
        let all = counts.try_fold(0, |sum: u64, count| sum.checked_add(count?));
        if !self.schema().is_dense() {
            return all;
        }
        let Some(hull) = self.non_empty_domain() else { return Some(0) };
        let hull = crate::intervals(&hull).ok().and_then(|hull| smalti_space::cell_count(&hull));
        all.into_iter().chain(hull).min()
    }

    /// The same, whose readers do not compare the digests of checksum filters.
    #[must_use]
    pub fn skipping_checksums(&self) -> Snapshot {
        Snapshot { held: Arc::clone(&self.held), skips_checksums: true }
    }

    /// The codecs of a field of a fragment, kept for later reads.
    ///
    /// # Errors
    /// `Unsupported` for filters that cannot run on the field.
    pub fn field_codec(&self, fragment: &Fragment, field: FieldId) -> Result<Arc<FieldCodec>> {
        let schema = fragment.schema();
        let key = (Arc::as_ptr(schema) as usize, fragment.version(), field, self.skips_checksums);
        if let Some(codec) = self.held.codecs.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(codec));
        }
        let rules = CodecRules {
            compares_digests: !self.skips_checksums,
            ..smalti_tile::codec_rules(schema.version)
        };
        let codec = Arc::new(self.held.place.field_codec_by(rules, schema, fragment.version(), field)?);
        self.held.codecs.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&codec));
        Ok(codec)
    }
}

/// An error of a read that nothing keeps vacuum away from; if a file is missing, with what is likely.
pub fn explain_missing(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => error.context(
            "a file of a fragment is gone since it was listed; if a vacuum took it because it was kept for long enough, open the array again, \
             otherwise `smalti fsck` says what is missing",
        ),
        _ => error,
    }
}

impl ArrayPlace {
    /// The newest schema.
    ///
    /// # Errors
    /// `NotFound` when no array is here; `Corrupt`, `Unsupported`, `Permission`, with the file named.
    pub fn newest_schema(&self) -> Result<ArraySchema> {
        let files = schema_files(self)?;
        let (_, path) =
            files.last().ok_or_else(|| Error::not_found("no array is here").at_uri(self.uri()))?;
        read_schema(self, path)
    }
}

pub(crate) fn read_schema(place: &ArrayPlace, path: &str) -> Result<ArraySchema> {
    let tile = place.read_tile_file(path)?;
    ArraySchema::decode(tile.as_slice()).map_err(|error| error.at_uri(place.store().address(path)))
}
