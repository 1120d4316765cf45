//! Brings tiles from the store: the one file of this crate that names it for reading.
//!
//! A whole tile is one read; of a tile that no filter touched only the bytes that are wanted are read, merged as the
//! store likes it; of a filtered tile only the chunks that are wanted are decoded, and on a near store read alone where that saves much.
//! On a distant store whole tiles of the next steps are asked for before they are needed, and a near one whose reads have to wait
//! is told of them ([`Fetch::announce`]).

use crate::chunks::{ChunkDecoder, MetChunks, TileInFile, codec_of};
use crate::dest::Dest;
use crate::gather::Output;
use crate::kept::KeptTiles;
use crate::progress::Progress;
use crate::reads::Reads;
use crate::request::ReadRequest;
use crate::source::FieldSource;
use crate::spread;
use crate::workspace::{Workspace, room};
use rayon::prelude::*;
use smalti_array::{
    CachedChunks, CachedColumn, CachedFile, CachedTile, FieldId, Plane, Snapshot, TileKey, TilePart,
};
use smalti_space::Check;
use smalti_store::{ByteRange, Coalescing, ReadInto, Request, Store, coalesce};
use smalti_tile::{
    CellShape, ChunkDirectory, Codec, Column, ColumnRef, FilteredTileRef, PlainLayout, Scratch, TileLens,
    VarPlaces,
};
use smalti_types::parallel::{Shareable as _, is_worker};
use smalti_types::{AlignedBuf, Error, Result, Spares};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Where a tile came from.
pub(crate) enum FoundTile {
    /// An earlier read left it.
    Kept(Arc<CachedColumn>),
    /// It was read.
    Decoded(Arc<Column>),
}

impl FoundTile {
    pub(crate) fn column(&self) -> &Arc<Column> {
        match self {
            FoundTile::Kept(kept) => kept.column(),
            FoundTile::Decoded(column) => column,
        }
    }
}

/// Reads and decodes tiles of one snapshot.
pub(crate) struct Fetch {
    reads: Reads,
    kept: KeptTiles,
    progress: Arc<Progress>,
    spares: Arc<Spares>,
    chunks: ChunkDecoder,
    /// Whether a whole tile is unfiltered by several workers.
    is_spread: bool,
}

fn cached_file(source: &FieldSource, store: &dyn Store) -> Option<CachedFile> {
    let shape = source.codec.shape();
    let path = |plane| source.fragment.data_file(source.field, plane).ok();
    let version = |plane| store.version(&path(plane)?);
    let fixed = path(Plane::Fixed)?;
    let versions = [
        Some(store.version(&fixed)?),
        if shape.is_var() { Some(version(Plane::Var)?) } else { None },
        if shape.is_nullable { Some(version(Plane::Validity)?) } else { None },
    ];
    Some(CachedFile { address: store.address(&fixed), versions })
}

/// Below this many bytes between two wanted ranges of an unfiltered tile one read fetches both.
pub(crate) const MAX_GAP: u64 = 4096;

/// Tiles of more filtered bytes are looked for in their file before memory is taken for them: asking costs little then.
const MAX_UNCHECKED_BYTE_LEN: u64 = 1 << 20;

/// Larger tiles are asked for when they are read: their length may be a lie, which is found out then.
const MAX_ANNOUNCED_BYTE_LEN: u64 = 64 << 20;

/// The only tile of a fragment on a near store is not kept if it is smaller, decoded and without what is of any length.
const LEAST_KEPT_BYTE_LEN: usize = 2048;

/// Tiles whose values take more times what they take in their file are looked at before memory is taken for them.
const MOST_WHOLE_RATIO: u64 = 64;

/// Reading a chunk of fewer filtered bytes on the way costs no more than a read of its header alone.
const LEAST_SKIPPED_BYTE_LEN: u64 = 16 << 10;

/// What a near store is told of at a time: enough for hundreds of small tiles, and so little that it is still in memory when it is
/// read.
const MAX_TOLD_BYTE_LEN: u64 = 4 << 20;

/// The files that a near store is told of at a time: they are opened for it, and still open when they are read.
const MAX_TOLD_FILE_COUNT: usize = 128;

impl Fetch {
    /// For a read that may let tiles of so many bytes stay in the cache.
    pub(crate) fn new(
        snapshot: &Snapshot,
        progress: Arc<Progress>,
        request: &ReadRequest,
        kept_byte_len: u64,
    ) -> Self {
        let store = match request.is_fresh {
            true => snapshot.place().direct_store(),
            false => Arc::clone(snapshot.place().data_store()),
        };
        let kept = KeptTiles::new(snapshot.place().resources(), request, store.is_distant(), kept_byte_len);
        let reads = Reads::new(store, &progress);
        let spares = Arc::clone(snapshot.place().resources().spares());
        let chunks = ChunkDecoder::new(snapshot, &reads, &progress);
        Fetch { reads, kept, progress, spares, chunks, is_spread: false }
    }

    /// The name of a decoded tile among those that are kept.
    fn key(&self, source: &FieldSource, tile_idx: usize, part: TilePart) -> Option<TileKey> {
        self.kept.key(&source.name, || cached_file(source, &*self.reads.store), tile_idx, part)
    }

    /// The name under which a tile that was read is kept; `before` is what was looked for.
    fn key_after(
        &self,
        before: Option<TileKey>,
        source: &FieldSource,
        tile_idx: usize,
        part: TilePart,
    ) -> Option<TileKey> {
        let file = || cached_file(source, &*self.reads.store);
        self.kept.key_after(before, &source.name, file, tile_idx, part)
    }

    /// From now on workers that have nothing else to do help to unfilter tiles. Who waits for them may be given other tasks meanwhile.
    pub(crate) fn spread_tiles(&mut self) {
        self.is_spread = true;
    }

    /// Whether the read goes on.
    ///
    /// # Errors
    /// `Cancelled` when it was stopped.
    pub(crate) fn check(&self) -> Result<()> {
        self.progress.check()
    }

    /// Where columns of the result are made.
    pub(crate) fn output<'a>(&'a self, check: Check<'a>) -> Output<'a> {
        Output::in_spares(&self.spares, check)
    }

    /// What the read has done so far.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Whether tiles should be asked for before they are needed, and what is asked for is kept until then.
    pub(crate) fn is_distant(&self) -> bool {
        self.reads.ahead.is_some()
    }

    /// How the store likes requests.
    pub(crate) fn coalescing(&self) -> Coalescing {
        self.reads.store.coalescing()
    }

    /// Whether it is worth [announcing](Fetch::announce) tiles: on distant stores ever, on near ones while reads wait for the disk.
    pub(crate) fn runs_ahead(&self) -> bool {
        self.is_distant() || self.reads.store.has_waited()
    }

    /// Filtered bytes of tiles that are worth announcing together, unless a single tile has more.
    pub(crate) fn announced_byte_len(&self, share_byte_len: u64) -> u64 {
        if self.is_distant() { share_byte_len } else { MAX_TOLD_BYTE_LEN }
    }

    /// Of a distant store, asks for tiles that will be read before the read is behind a turn: all at once, each as one range of every
    /// file that holds some of it. A near one is told which bytes will be needed, and may have them in memory by then.
    pub(crate) fn announce<'s>(&self, tiles: impl Iterator<Item = (&'s FieldSource, usize)>, turn: u64) {
        let places = self.unknown_places(tiles);
        if let Some(ahead) = &self.reads.ahead {
            let requests = places.into_iter().map(|(path, range)| Request::Range { path, range }).collect();
            let (count, byte_len) = ahead.announce_ranges(requests, turn);
            self.progress.count_requests(count, byte_len);
            return;
        }
        let mut by_file: BTreeMap<String, Vec<ByteRange>> = BTreeMap::new();
        for (path, range) in places {
            by_file.entry(path).or_default().push(range);
        }
        let limits = self.reads.store.coalescing();
        for (path, ranges) in by_file.into_iter().take(MAX_TOLD_FILE_COUNT) {
            let merged: Vec<ByteRange> =
                coalesce(&ranges, limits).into_iter().map(|merged| merged.range).collect();
            self.reads.store.will_need(&path, &merged);
        }
    }

    /// Where the bytes of tiles are of which no earlier read left what this one wants.
    fn unknown_places<'s>(
        &self,
        tiles: impl Iterator<Item = (&'s FieldSource, usize)>,
    ) -> Vec<(String, ByteRange)> {
        let unknown_place = |source: &FieldSource, plane, tile_idx| {
            if self.is_kept(source, plane, tile_idx) {
                return None;
            }
            // What is wrong is found when the tile is read.
            let place = source.fragment.tile_place(source.field, plane, tile_idx).ok()?;
            let path = source.fragment.data_file(source.field, plane).ok()?;
            let range = ByteRange { start: place.start, byte_len: place.end - place.start };
            (range.byte_len <= MAX_ANNOUNCED_BYTE_LEN).then_some((path, range))
        };
        // The lists of places are decoded with the first one that is asked for of each fragment.
        let tiles: Vec<(&FieldSource, usize)> = tiles.collect();
        let of_tiles = tiles.par_iter().shared().map(|&(source, tile_idx)| {
            let planes = planes(source).into_iter();
            planes.filter_map(|plane| unknown_place(source, plane, tile_idx)).collect::<Vec<_>>()
        });
        of_tiles.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// Whether an earlier read left what this one wants of a tile. From far away tiles are kept whole.
    fn is_kept(&self, source: &FieldSource, plane: Plane, tile_idx: usize) -> bool {
        let is = |part| {
            let key = self.key(source, tile_idx, part);
            let kept = key.and_then(|key| self.kept.find(&key));
            !matches!(kept, None | Some(CachedTile::Seen))
        };
        let column = source.coordinate.map_or(TilePart::Column, TilePart::Coordinate);
        let plain = if plane == Plane::Validity { TilePart::Validity } else { TilePart::Values };
        is(column) || is(plain)
    }

    /// Lets go of what was announced for turns which are over.
    pub(crate) fn forget(&self, is_over: impl Fn(u64) -> bool) {
        if let Some(ahead) = &self.reads.ahead {
            ahead.forget(is_over);
        }
    }

    /// The filtered bytes of a tile; 0 where its metadata does not tell.
    pub(crate) fn filtered_byte_len(&self, source: &FieldSource, tile_idx: usize) -> u64 {
        let places =
            planes(source).into_iter().map(|plane| source.fragment.tile_place(source.field, plane, tile_idx));
        places.flatten().fold(0, |sum, place| sum.saturating_add(place.end - place.start))
    }

    /// A whole tile.
    ///
    /// # Errors
    /// What the store and the codecs report, with the file named.
    pub(crate) fn tile(
        &self,
        source: &FieldSource,
        tile_idx: usize,
        cell_count: usize,
        workspace: &mut Workspace,
    ) -> Result<Arc<Column>> {
        Ok(Arc::clone(self.kept_tile(source, tile_idx, cell_count, workspace)?.column()))
    }

    /// A whole tile, and whether an earlier read left it.
    ///
    /// # Errors
    /// As [`tile`](Fetch::tile).
    pub(crate) fn kept_tile(
        &self,
        source: &FieldSource,
        tile_idx: usize,
        cell_count: usize,
        workspace: &mut Workspace,
    ) -> Result<FoundTile> {
        let part = source.coordinate.map_or(TilePart::Column, TilePart::Coordinate);
        // A fragment of a few cells is read again sooner than its files are asked whether they are still the same.
        let cell_byte_len = source.codec.shape().cell_byte_len();
        let is_small = cell_count.saturating_mul(cell_byte_len) < LEAST_KEPT_BYTE_LEN;
        let is_worth_keeping = self.is_distant() || !is_small || source.fragment.tile_count() > 1;
        let key = is_worth_keeping.then(|| self.key(source, tile_idx, part)).flatten();
        if let Some(CachedTile::Column(column)) = key.as_ref().and_then(|key| self.kept.find(key)) {
            self.progress.count_kept_tile();
            return Ok(FoundTile::Kept(column));
        }
        let column = Arc::new(self.decode_tile(source, tile_idx, cell_count, workspace)?);
        let key = is_worth_keeping.then(|| self.key_after(key, source, tile_idx, part)).flatten();
        if let Some(key) = key {
            let is_coordinate = matches!(source.field, FieldId::Dimension(_)) || source.coordinate.is_some();
            let coordinate_count = if is_coordinate { cell_count } else { 0 };
            let kept = CachedColumn::new(Arc::clone(&column), coordinate_count);
            self.kept.keep(key, CachedTile::Column(Arc::new(kept)));
        }
        Ok(FoundTile::Decoded(column))
    }

    /// The bytes of the values of a tile of cells of any length, if its values can be decoded where they go: `None` where what the metadata says
    /// of it is to be looked at before memory is taken for it, as [`tile`](Fetch::tile) does.
    pub(crate) fn whole_var_byte_len(
        &self,
        source: &FieldSource,
        tile_idx: usize,
        cell_count: usize,
    ) -> Option<usize> {
        let FieldSource { fragment, field, codec, .. } = source;
        let filtered_byte_len = |plane| {
            // From far away the length of a file is another request.
            let place = fragment.tile_place(*field, plane, tile_idx).ok()?;
            if self.is_distant() && place.end - place.start > MAX_UNCHECKED_BYTE_LEN {
                return None;
            }
            self.tile_place(source, plane, tile_idx).ok().map(|place| place.end - place.start)
        };
        let fits = |byte_len: u64, filtered: u64| byte_len / MOST_WHOLE_RATIO <= filtered;
        let byte_len = fragment.var_byte_len(*field, tile_idx).ok()?;
        let (var, fixed) = (filtered_byte_len(Plane::Var)?, filtered_byte_len(Plane::Fixed)?);
        let offsets = codec.offsets()?;
        let cells_fit = codec.data().folds_offsets() || {
            let starts = (cell_count as u64).checked_mul(8)?;
            starts <= offsets.max_decoded_len(fixed) && !is_suspicious(starts, fixed)
        };
        (cells_fit && fits(byte_len as u64, var)).then_some(byte_len)
    }

    /// Decodes a tile of cells of any length to where they are wanted.
    ///
    /// # Errors
    /// As [`tile`](Fetch::tile).
    pub(crate) fn whole_tile(
        &self,
        source: &FieldSource,
        tile_idx: usize,
        places: VarPlaces<'_>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let key = self.key(source, tile_idx, TilePart::Column);
        let known = key.as_ref().and_then(|key| self.kept.find(key));
        // As of other values: a copy stays when it is wanted again, and at once of what comes from far away.
        if known.is_some() || (self.reads.ahead.is_some() && self.kept.are_used()) {
            let VarPlaces { data, ends, validity } = places;
            let column = self.tile(source, tile_idx, ends.len(), workspace)?;
            let ColumnRef { data: values, offsets, validity: flags } = Column::as_ref(&column);
            let (offsets, flags) = (offsets.unwrap_or_default(), flags.unwrap_or_default());
            if (values.len(), offsets.len(), flags.len()) != (data.len(), ends.len() + 1, validity.len()) {
                return Err(Error::corrupt(
                    "a tile that is kept has other cells than the one that is wanted",
                ));
            }
            data.copy_from_slice(values);
            ends.copy_from_slice(&offsets[1..]);
            validity.copy_from_slice(flags);
            return Ok(());
        }
        self.progress.count_tile();
        self.read_tile(source, tile_idx, workspace, |tile, scratch| {
            source.codec.decode_var_into(tile, places, scratch)
        })?;
        if let Some(key) = key {
            self.kept.keep(key, CachedTile::Seen);
        }
        Ok(())
    }

    fn decode_tile(
        &self,
        source: &FieldSource,
        tile_idx: usize,
        cell_count: usize,
        workspace: &mut Workspace,
    ) -> Result<Column> {
        self.progress.count_tile();
        let FieldSource { fragment, field, codec, .. } = source;
        let shape = codec.shape();
        let column = self.read_tile(source, tile_idx, workspace, |tile, scratch| {
            let var_byte_len = match shape.is_var() {
                true => fragment.var_byte_len(*field, tile_idx)?,
                false => 0,
            };
            let check = || self.progress.check();
            // Where nothing is kept it would take the place of results.
            let output = match self.kept.are_used() {
                true => self.output(&check),
                false => Output::fresh(&check),
            };
            let room = |byte_len| output.buffer(byte_len);
            if self.is_spread && is_worker() {
                let workspaces = self.chunks.workspaces();
                let decode = |codec: &Codec, filtered: &[u8], out: &mut [u8], scratch: &mut Scratch| {
                    spread::decode(codec, filtered, out, scratch, workspaces)
                };
                return codec.decode_tile_by(&decode, tile, cell_count, var_byte_len, &room, scratch);
            }
            codec.decode_tile(tile, cell_count, var_byte_len, &room, scratch)
        })?;
        match source.coordinate {
            Some(dim) => coordinates(&column, dim, shape, fragment.zips_coordinates()),
            None => Ok(column),
        }
    }

    /// Reads the filtered bytes of a tile and decodes them.
    fn read_tile<T>(
        &self,
        source: &FieldSource,
        tile_idx: usize,
        workspace: &mut Workspace,
        decode: impl FnOnce(FilteredTileRef<'_>, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        let FieldSource { fragment, field, codec, .. } = source;
        let shape = codec.shape();
        let fixed = self.tile_place(source, Plane::Fixed, tile_idx)?;
        let var = shape.is_var().then(|| self.tile_place(source, Plane::Var, tile_idx)).transpose()?;
        let validity =
            shape.is_nullable.then(|| self.tile_place(source, Plane::Validity, tile_idx)).transpose()?;
        let len =
            |range: &Option<Range<u64>>| range.as_ref().map_or(0, |range| (range.end - range.start) as usize);
        let fixed_len = (fixed.end - fixed.start) as usize;
        let (var_len, validity_len) = (len(&var), len(&validity));
        let Workspace { scratch, filtered, .. } = workspace;
        let buffer = room(filtered, fixed_len + var_len + validity_len)?;
        let (fixed_bytes, rest) = buffer.split_at_mut(fixed_len);
        let (var_bytes, validity_bytes) = rest.split_at_mut(var_len);
        let path = |plane| fragment.data_file(*field, plane);
        let fixed_path = path(Plane::Fixed)?;
        let var_path = if var.is_some() { path(Plane::Var)? } else { String::new() };
        let validity_path = if validity.is_some() { path(Plane::Validity)? } else { String::new() };
        let mut reads = vec![ReadInto { path: &fixed_path, offset: fixed.start, dest: fixed_bytes }];
        if let Some(range) = &var {
            reads.push(ReadInto { path: &var_path, offset: range.start, dest: var_bytes });
        }
        if let Some(range) = &validity {
            reads.push(ReadInto { path: &validity_path, offset: range.start, dest: validity_bytes });
        }
        self.reads.read(&mut reads)?;
        drop(reads);
        let tile = FilteredTileRef { fixed: fixed_bytes, var: var_bytes, validity: validity_bytes };
        decode(tile, scratch).map_err(|error| {
            source
                .explain(error)
                .context(format_args!("tile {tile_idx}"))
                .at_uri(self.reads.store.address(if shape.is_var() { &var_path } else { &fixed_path }))
        })
    }

    /// The bytes of a tile in its data file. Those of a large tile are known to be there: the lengths of data files in the
    /// metadata may lie.
    fn tile_place(&self, source: &FieldSource, plane: Plane, tile_idx: usize) -> Result<Range<u64>> {
        let FieldSource { fragment, field, .. } = source;
        let place = fragment.tile_place(*field, plane, tile_idx)?;
        if place.end - place.start > MAX_UNCHECKED_BYTE_LEN {
            if let Some(ahead) = &self.reads.ahead {
                let range = ByteRange { start: place.start, byte_len: place.end - place.start };
                // The store takes no more memory for it than the file has.
                if ahead.is_announced(&fragment.data_file(*field, plane)?, range) {
                    return Ok(place);
                }
            }
            let file_byte_len = fragment.data_file_byte_len(*field, plane, &*self.reads.store)?;
            if place.end > file_byte_len {
                return Err(Error::corrupt(format!(
                    "tile {tile_idx} is said to be in bytes {} to {} of a file of {file_byte_len}",
                    place.start, place.end
                ))
                .at_uri(self.reads.store.address(&fragment.data_file(*field, plane)?)));
            }
        }
        Ok(place)
    }

    /// The unfiltered length of a tile of `cell_count` cells or validity bytes of `cell_byte_len` bytes each. Nothing should
    /// be allocated for a tile before this was asked.
    ///
    /// # Errors
    /// `Corrupt` when the filtered bytes cannot hold that much.
    pub(crate) fn tile_byte_len(
        &self,
        source: &FieldSource,
        plane: Plane,
        tile_idx: usize,
        cell_count: usize,
        cell_byte_len: usize,
    ) -> Result<usize> {
        let place = self.tile_place(source, plane, tile_idx)?;
        let codec = codec_of(&source.codec, plane).unwrap_or(source.codec.data());
        let filtered_byte_len = place.end - place.start;
        let claimed = cell_count.checked_mul(cell_byte_len);
        let mut fits = claimed.is_some_and(|len| len as u64 <= codec.max_decoded_len(filtered_byte_len));
        if let Some(byte_len) = claimed.filter(|len| fits && is_suspicious(*len as u64, filtered_byte_len)) {
            let mut filtered = Vec::new();
            let filtered = room(&mut filtered, filtered_byte_len as usize)?;
            let path = source.fragment.data_file(source.field, plane)?;
            self.reads.read(&mut [ReadInto { path: &path, offset: place.start, dest: filtered }])?;
            fits = codec.decoded_len(filtered, u64::MAX)? == byte_len;
        }
        claimed
            .filter(|_| fits)
            .ok_or_else(|| {
                Error::corrupt(format!(
                "{filtered_byte_len} filtered bytes do not hold {cell_count} cells of {cell_byte_len} bytes"
            ))
            .context(format_args!("tile {tile_idx}"))
            })
            .map_err(|error| source.explain(error))
    }

    /// Bytes `wanted` of a tile of fixed-size values or validity.
    ///
    /// # Errors
    /// As [`tile`](Fetch::tile); what a taker of pieces returns.
    pub(crate) fn bytes(
        &self,
        source: &FieldSource,
        plane: Plane,
        tile_idx: usize,
        wanted: &[Range<usize>],
        mut dest: Dest<'_>,
        (scratch, filtered): (&mut Scratch, &mut Vec<u8>),
    ) -> Result<()> {
        let count_tile = |is_kept: bool| match (plane, is_kept) {
            (Plane::Fixed, false) => self.progress.count_tile(),
            (Plane::Fixed, true) => self.progress.count_kept_tile(),
            _ => {}
        };
        let FieldSource { fragment, field, codec, .. } = source;
        let codec = codec_of(codec, plane)
            .ok_or_else(|| Error::invalid("a field without validity was asked for it"))?;
        let place = self.tile_place(source, plane, tile_idx)?;
        let path = fragment.data_file(*field, plane)?;
        let tile_byte_len = dest.tile_byte_len();
        let named = |error: Error| {
            source
                .explain(error)
                .context(format_args!("tile {tile_idx}"))
                .at_uri(self.reads.store.address(&path))
        };
        let hull = wanted
            .iter()
            .fold(tile_byte_len..0, |hull, range| hull.start.min(range.start)..hull.end.max(range.end));
        let part = if plane == Plane::Validity { TilePart::Validity } else { TilePart::Values };
        // What no filter touched is read again as fast as it is copied, but from far away.
        let is_worth_keeping = self.reads.ahead.is_some() || !codec.is_plain();
        // From far away it may get its name by being read.
        let may_be_kept = is_worth_keeping && self.kept.are_used();
        let key = is_worth_keeping.then(|| self.key(source, tile_idx, part)).flatten();
        let known = key.as_ref().and_then(|key| self.kept.find(key));
        let kept = match &known {
            Some(CachedTile::Chunks(chunks)) => Some(Arc::clone(chunks)),
            _ => None,
        };
        let met = |chunks: &Arc<CachedChunks>, range: Range<usize>| MetChunks {
            codec: Arc::clone(&source.codec),
            plane,
            chunks: Arc::clone(chunks),
            range,
        };
        let is_whole = hull == (0..tile_byte_len);
        let is_short = hull.len() <= tile_byte_len / 2;
        let (tile, reach) = ((&*path, &place, tile_byte_len), hull.end);
        let found = match (&kept, &key) {
            (Some(kept), _) => self.more_chunks(kept, tile, reach).map_err(named)?,
            (None, Some(_)) if is_short => self.found_chunks(tile, reach).map_err(named)?,
            _ => None,
        };
        let (is_kept, is_found) = (kept.is_some(), found.is_some());
        if let Some(chunks) = found.or(kept) {
            let missing = chunks.missing(wanted);
            count_tile(missing.is_empty());
            if !missing.is_empty() {
                let file = TileInFile { path: path.clone(), start: place.start };
                self.chunks.read(&met(&chunks, missing), &file, (scratch, filtered)).map_err(named)?;
            }
            dest.take(&chunks, wanted, hull)?;
            match key.filter(|_| is_found) {
                Some(key) if is_kept => self.kept.replace(key, CachedTile::Chunks(chunks)),
                Some(key) => self.kept.keep(key, CachedTile::Chunks(chunks)),
                None => {}
            }
            return Ok(());
        }
        count_tile(false);
        let wanted_len: usize = wanted.iter().map(Range::len).sum();
        if codec.is_plain() && !may_be_kept && wanted_len * 2 < tile_byte_len {
            let mut prefix = [0; PlainLayout::PREFIX_BYTE_LEN];
            let filtered_len = place.end - place.start;
            if filtered_len >= prefix.len() as u64 {
                self.reads.read(&mut [ReadInto { path: &path, offset: place.start, dest: &mut prefix }])?;
                if let Some(layout) =
                    PlainLayout::new(&prefix, tile_byte_len as u64, filtered_len).map_err(named)?
                {
                    return dest.fill(|tile| self.plain_bytes(&path, place.start, layout, wanted, tile));
                }
            }
        }
        let buffer = room(filtered, (place.end - place.start) as usize)?;
        self.reads.read(&mut [ReadInto { path: &path, offset: place.start, dest: buffer }])?;
        let key = may_be_kept.then(|| self.key_after(key, source, tile_idx, part)).flatten();
        let Some(key) = key else { return dest.decode(codec, buffer, hull, scratch, &named) };
        if is_whole && known.is_none() && self.reads.ahead.is_none() {
            // A copy stays when it is wanted again, and at once of what comes from far away.
            dest.decode(codec, buffer, hull, scratch, &named)?;
            self.kept.keep(key, CachedTile::Seen);
            return Ok(());
        }
        let directory = ChunkDirectory::new(buffer, tile_byte_len).map_err(named)?;
        let Some(chunks) = self.kept.room_for(directory, tile_byte_len) else {
            return dest.decode(codec, buffer, hull, scratch, &named);
        };
        let range = match &self.reads.ahead {
            // Nothing more will have to be asked for.
            Some(_) => 0..chunks.directory().chunk_count(),
            None => chunks.missing(wanted),
        };
        self.chunks.decode(&met(&chunks, range), (scratch, filtered)).map_err(named)?;
        dest.take(&chunks, wanted, hull)?;
        self.kept.keep(key, CachedTile::Chunks(chunks));
        Ok(())
    }

    /// Where the chunks of a tile are that hold some of its first `reach` bytes, by their headers alone; `None` where the whole tile is read as fast:
    /// from far away, while reads wait for the disk, and where chunks are short.
    fn found_chunks(
        &self,
        (path, place, tile_byte_len): (&str, &Range<u64>, usize),
        reach: usize,
    ) -> Result<Option<Arc<CachedChunks>>> {
        let lens = TileLens { tile: tile_byte_len, filtered: place.end - place.start };
        let most_chunks = lens.filtered / LEAST_SKIPPED_BYTE_LEN;
        if most_chunks < 2 || self.runs_ahead() || !self.kept.has_room(tile_byte_len) {
            return Ok(None);
        }
        let mut read = self.headers(path, place);
        let directory = ChunkDirectory::from_headers(lens, most_chunks, reach, &mut read)?;
        Ok(directory.and_then(|directory| self.kept.room_for(directory, tile_byte_len)))
    }

    /// The chunks of a tile with the places of those that hold some of its first `reach` bytes; `None` where all these were known.
    fn more_chunks(
        &self,
        kept: &CachedChunks,
        (path, place, tile_byte_len): (&str, &Range<u64>, usize),
        reach: usize,
    ) -> Result<Option<Arc<CachedChunks>>> {
        if kept.directory().reaches(reach) {
            return Ok(None);
        }
        let lens = TileLens { tile: tile_byte_len, filtered: place.end - place.start };
        let directory = kept.directory().clone();
        let directory = directory.reaching(lens, reach, &mut self.headers(path, place))?;
        Ok(Some(Arc::new(kept.with_directory(directory))))
    }

    /// Reads headers of chunks of a tile.
    fn headers<'a>(
        &'a self,
        path: &'a str,
        place: &Range<u64>,
    ) -> impl FnMut(u64, &mut [u8]) -> Result<()> + 'a {
        let start = place.start;
        move |offset, dest| self.reads.read(&mut [ReadInto { path, offset: start + offset, dest }])
    }

    fn plain_bytes(
        &self,
        path: &str,
        file_offset: u64,
        layout: PlainLayout,
        wanted: &[Range<usize>],
        out: &mut [u8],
    ) -> Result<()> {
        let mut places: Vec<(u64, Range<usize>)> = Vec::with_capacity(wanted.len());
        for range in wanted {
            for run in layout.runs(range.start as u64..range.end as u64) {
                let start = run.tile_byte_offset as usize;
                let (from, end) = (run.filtered_byte_offset, start + run.byte_len as usize);
                match places.last_mut() {
                    // Neighbours in the same chunk keep their distance on disk and in the tile.
                    Some((first, last))
                        if from >= *first
                            && start >= last.end
                            && from - *first == (start - last.start) as u64
                            && (start - last.end) as u64 <= MAX_GAP =>
                    {
                        last.end = end;
                    }
                    _ => places.push((from, start..end)),
                }
            }
        }
        let mut reads = Vec::with_capacity(places.len());
        let (mut rest, mut at) = (out, 0);
        for (from, range) in places {
            let (_, behind) = rest.split_at_mut(range.start - at);
            let (dest, behind) = behind.split_at_mut(range.end - range.start);
            reads.push(ReadInto { path, offset: file_offset + from, dest });
            at = range.end;
            rest = behind;
        }
        self.reads.read(&mut reads)
    }
}

/// The files that hold the tiles of a field.
fn planes(source: &FieldSource) -> Vec<Plane> {
    let shape = source.codec.shape();
    let mut planes = vec![Plane::Fixed];
    planes.extend(shape.is_var().then_some(Plane::Var));
    planes.extend(shape.is_nullable.then_some(Plane::Validity));
    planes
}

/// The coordinates of one dimension from a tile with those of all.
fn coordinates(all: &Column, dim: usize, shape: CellShape, is_zipped: bool) -> Result<Column> {
    let (cell_len, value_len) = (shape.cell_byte_len(), shape.datatype.byte_len());
    let bytes = all.data.as_slice();
    let byte_len = bytes.len() / cell_len * value_len;
    let mut data = AlignedBuf::zeroed(byte_len)?;
    if is_zipped {
        let values = bytes.chunks_exact(cell_len).map(|cell| &cell[dim * value_len..][..value_len]);
        for (out, value) in data.as_mut_slice().chunks_exact_mut(value_len).zip(values) {
            out.copy_from_slice(value);
        }
    } else {
        data.as_mut_slice().copy_from_slice(&bytes[dim * byte_len..][..byte_len]);
    }
    Ok(Column { data, ..Column::default() })
}

/// Whether a tile is so large, and was filtered to so little, that its chunk headers are asked before memory is taken:
/// they are read twice then, which costs little beside the decoding.
fn is_suspicious(byte_len: u64, filtered_byte_len: u64) -> bool {
    byte_len > 16 << 20 && byte_len / 64 > filtered_byte_len
}
