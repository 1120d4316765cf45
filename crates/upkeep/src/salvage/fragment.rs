//! A fragment shown without the tiles that cannot be decoded.

use super::older::LostPlace;
use super::overlay::Segment;
use super::{LostCells, View};
use crate::fsck::{Examined, FsckOptions, Mending, TileSource, assemble, fields_of};
use rayon::prelude::*;
use smalti_array::{ArrayPlace, FieldId, Fragment, Plane, field_name};
use smalti_format::Rule;
use smalti_format::fragment::{RTree as StoredTree, Section, TileBounds, TileNumbers};
use smalti_query::{Phase, Unit};
use smalti_space::RTree;
use smalti_store::{join, split};
use smalti_tile::{ColumnRef, FilteredTile, Scratch, Stats, StatsBuilder, StatsKind};
use smalti_types::parallel::{self, Shareable as _};
use smalti_types::{AlignedBuf, Error, ErrorKind, RectList, Result};
use std::collections::{BTreeMap, BTreeSet};

/// The most bytes of a tile that is made to take the place of a lost one.
const MAX_MADE_BYTE_LEN: usize = 256 << 20;

/// Tiles of a fragment that are listed one by one; with more of them it is left out.
const MAX_DAMAGES: usize = 100_000;

/// Tiles that are decoded at once, for each thread.
const TILES_PER_THREAD: usize = 4;

type Damages = BTreeMap<(usize, FieldId), Error>;

impl View<'_> {
    /// Decodes all tiles of a fragment, and shows it without those that fail; whether there are any. `below` is the path of its
    /// array in the view; of the fields that are `asked` for, cells do not go without a value.
    pub(super) fn patch(
        &mut self,
        shown: &ArrayPlace,
        below: &str,
        fragment: &Fragment,
        asked: &BTreeSet<String>,
        options: &FsckOptions,
    ) -> Result<bool> {
        if !fragment.is_dense()
            && let Err(error) = fragment.rtree()
        {
            return self.leave_out(below, fragment, &error).map(|()| true);
        }
        let mut sources = Vec::new();
        for field in fields_of(fragment) {
            let slot = fragment.footer().slot(&fragment.schema().shape(), field);
            let byte_len = slot.and_then(|slot| fragment.footer().file_sizes.get(slot).copied());
            if byte_len.unwrap_or_default() > 0 {
                match TileSource::new(shown, fragment, field) {
                    Ok(source) => sources.push(source),
                    Err(error) => return self.leave_out(below, fragment, &error).map(|()| true),
                }
            }
        }
        let damages = match damages_of(fragment, &sources, options) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                return self.leave_out(below, fragment, &error).map(|()| true);
            }
            damages => damages?,
        };
        if damages.is_empty() {
            return Ok(false);
        }
        let is_asked = |field: FieldId| asked.contains(field_name(fragment.schema(), field));
        let is_needed = |field: &FieldId| !matches!(field, FieldId::Attribute(_)) || is_asked(*field);
        let dropped: BTreeSet<usize> =
            damages.keys().filter(|(_, field)| is_needed(field)).map(|(tile, _)| *tile).collect();
        for ((tile, field), error) in &damages {
            if dropped.contains(tile) && !is_needed(field) {
                continue;
            }
            let is_whole = is_needed(field);
            self.lost.push(LostCells {
                name: join(below, fragment.name().as_str()),
                tile: Some(*tile as u64),
                field: (!is_whole).then(|| field_name(fragment.schema(), *field).to_owned()),
                cell_count: fragment.cell_count_of_tile(*tile as u64).ok().map(|count| count as u64),
                reason: error.message().to_owned(),
            });
        }
        if !fragment.is_dense() && below.is_empty() {
            self.lost_places.extend(LostPlace::of_tiles(fragment, &sources, &dropped));
        }
        let tile_count = usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX);
        let patched = match dropped.len() < tile_count {
            true => self.patched(shown, fragment, &sources, &damages, &dropped),
            false => Err(Error::corrupt("no tile is left")),
        };
        match patched {
            // The lost tiles are known one by one.
            Err(error) if !fragment.is_dense() && dropped.len() == tile_count => {
                self.hide(below, fragment, &error)?;
            }
            Err(error) => self.leave_out(below, fragment, &error)?,
            Ok(()) => {}
        }
        Ok(true)
    }

    /// Shows the array without a fragment, of which all cells are lost.
    pub(super) fn leave_out(&mut self, below: &str, fragment: &Fragment, error: &Error) -> Result<()> {
        if below.is_empty() {
            self.lost_places.push(LostPlace::of_fragment(fragment));
        }
        self.hide(below, fragment, error)
    }

    fn hide(&mut self, below: &str, fragment: &Fragment, error: &Error) -> Result<()> {
        let file = fragment.data_file(FieldId::Timestamps, Plane::Fixed)?;
        self.overlay.hide(split(&file).0.to_owned());
        self.lost.push(LostCells {
            name: join(below, fragment.name().as_str()),
            tile: None,
            field: None,
            cell_count: fragment.cell_count(),
            reason: format!("the fragment is left out: {}", error.message()),
        });
        Ok(())
    }

    fn patched(
        &mut self,
        shown: &ArrayPlace,
        fragment: &Fragment,
        sources: &[TileSource<'_>],
        damages: &Damages,
        dropped: &BTreeSet<usize>,
    ) -> Result<()> {
        if !fragment.version().has(Rule::FragmentFooter) {
            return Err(Error::unsupported("metadata of this version is not put together anew"));
        }
        let tile_count = usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX);
        let shape = fragment.schema().shape();
        let mut mending = Mending::new(fragment);
        let mut files: Vec<(String, Vec<Segment>)> = Vec::new();
        let mut made_stats = BTreeMap::new();
        let mut scratch = Scratch::new();
        for source in sources {
            let slot = fragment
                .footer()
                .slot(&shape, source.field)
                .ok_or_else(|| Error::corrupt("no such field"))?;
            let cells = source.codec.shape();
            let mut planes = vec![Plane::Fixed];
            planes.extend(cells.is_var().then_some(Plane::Var));
            planes.extend(cells.is_nullable.then_some(Plane::Validity));
            let mut parts: Vec<(Vec<u64>, Vec<Segment>, u64)> =
                planes.iter().map(|_| (Vec::new(), Vec::new(), 0)).collect();
            let mut var_lens = Vec::new();
            for tile in (0..tile_count).filter(|tile| !dropped.contains(tile)) {
                let made = match damages.contains_key(&(tile, source.field)) {
                    true => Some(made_tile(fragment, source, tile, &mut scratch)?),
                    false => None,
                };
                if let Some(made) = &made {
                    made_stats.insert((tile, source.field), made.stats.clone());
                }
                for (plane, (starts, segments, end)) in planes.iter().zip(&mut parts) {
                    starts.push(*end);
                    let added = match &made {
                        Some(MadeTile { tile, .. }) => {
                            let bytes = match plane {
                                Plane::Fixed => &tile.fixed,
                                Plane::Var => &tile.var,
                                Plane::Validity => &tile.validity,
                            };
                            vec![Segment::Bytes(bytes.clone().into())]
                        }
                        None => {
                            let place = fragment.tile_place(source.field, *plane, tile)?;
                            let path = fragment.data_file(source.field, *plane)?;
                            self.overlay.part(&path, place.start, place.end - place.start)
                        }
                    };
                    *end += added.iter().map(Segment::byte_len).sum::<u64>();
                    segments.extend(added);
                }
                if cells.is_var() {
                    var_lens.push(match &made {
                        Some(made) => made.data_byte_len,
                        None => fragment.var_byte_len(source.field, tile)? as u64,
                    });
                }
            }
            for (plane, (starts, segments, byte_len)) in planes.into_iter().zip(parts) {
                let section = match plane {
                    Plane::Fixed => Section::TileOffsets(slot),
                    Plane::Var => Section::TileVarOffsets(slot),
                    Plane::Validity => Section::TileValidityOffsets(slot),
                };
                mending.put(section, TileNumbers { values: starts }.encode());
                mending.set_byte_len(source.field, plane, byte_len);
                files.push((fragment.data_file(source.field, plane)?, segments));
            }
            if cells.is_var() {
                mending.put(Section::TileVarSizes(slot), TileNumbers { values: var_lens }.encode());
            }
        }
        put_statistics(fragment, dropped, &made_stats, &mut mending);
        if !dropped.is_empty() {
            drop_tiles(fragment, dropped, &mut mending)?;
        }
        let folder = files.first().map(|(path, _)| split(path).0.to_owned()).unwrap_or_default();
        let path = join(&folder, smalti_format::names::FRAGMENT_METADATA_FILE);
        let bytes = shown.read_metadata_file(&path)?;
        let examined = Examined { fragment, folder: &folder, entries: &[], bytes: &bytes };
        let metadata = assemble(&examined, &mending, shown)
            .ok_or_else(|| Error::corrupt("the fragment's metadata cannot be put together anew"))?;
        self.overlay.show(path, vec![Segment::Bytes(metadata.into())]);
        for (path, segments) in files {
            self.overlay.show(path, segments);
        }
        Ok(())
    }
}

/// The tiles that cannot be decoded.
fn damages_of(fragment: &Fragment, sources: &[TileSource<'_>], options: &FsckOptions) -> Result<Damages> {
    let tile_count = usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX);
    let group = parallel::thread_count().max(1) * TILES_PER_THREAD;
    let mut damages = Damages::new();
    let mut start = 0;
    while start < tile_count && !sources.is_empty() {
        let end = start.saturating_add(group).min(tile_count);
        let found: Vec<Vec<((usize, FieldId), Error)>> = (start..end)
            .into_par_iter()
            .shared()
            .map_init(Scratch::new, |scratch, tile| {
                let failed = sources.iter().filter_map(|source| {
                    let (_, error) = source.decode(tile, scratch).err()?;
                    Some(((tile, source.field), error))
                });
                failed.collect()
            })
            .collect();
        damages.extend(found.into_iter().flatten());
        if let Some(progress) = &options.progress {
            progress.advance(Phase::Decoding, Unit::Tiles, ((end - start) * sources.len()) as u64);
            progress.check()?;
        }
        start = end;
        if damages.len() > MAX_DAMAGES {
            return Err(Error::corrupt(format!("more than {MAX_DAMAGES} tiles cannot be decoded")));
        }
    }
    Ok(damages)
}

/// A tile that takes the place of a lost one.
struct MadeTile {
    tile: FilteredTile,
    data_byte_len: u64,
    stats: Stats,
}

/// A tile of nulls, or of fill values.
fn made_tile(
    fragment: &Fragment,
    source: &TileSource<'_>,
    tile: usize,
    scratch: &mut Scratch,
) -> Result<MadeTile> {
    let FieldId::Attribute(idx) = source.field else { return Err(Error::corrupt("no attribute")) };
    let attribute = fragment.schema().attributes.get(idx).ok_or_else(|| Error::corrupt("no attribute"))?;
    let cell_count = fragment.cell_count_of_tile(tile as u64)?;
    let fill = &attribute.fill_value;
    let byte_len =
        cell_count.checked_mul(fill.len().max(8)).filter(|byte_len| *byte_len <= MAX_MADE_BYTE_LEN);
    if byte_len.is_none() {
        return Err(Error::corrupt(format!("a tile of {cell_count} cells is too large to be made")));
    }
    let mut data = AlignedBuf::zeroed(cell_count * fill.len())?;
    for value in data.as_mut_slice().chunks_mut(fill.len().max(1)) {
        value.copy_from_slice(fill);
    }
    let data_byte_len = data.len() as u64;
    let offsets: Vec<u64> = (0..=cell_count as u64).map(|cell| cell * fill.len() as u64).collect();
    let validity = vec![0; cell_count];
    let mut cells = ColumnRef::fixed(data.as_slice());
    if source.codec.shape().is_var() {
        cells = ColumnRef::var(data.as_slice(), &offsets);
    }
    if attribute.nullable {
        cells = cells.with_validity(&validity);
    }
    let mut stats = StatsBuilder::new(StatsKind::new(attribute.datatype, attribute.cell_val_num, false));
    stats.add(cells, 0..cell_count);
    let mut tile = FilteredTile::default();
    source.codec.encode_tile(cells, &mut tile, scratch)?;
    Ok(MadeTile { tile, data_byte_len, stats: stats.finish() })
}

/// Takes tiles out of the list of rectangles and the counts.
fn drop_tiles(fragment: &Fragment, dropped: &BTreeSet<usize>, mending: &mut Mending) -> Result<()> {
    let tree = fragment.rtree()?;
    let leaves = tree.leaves().ok_or_else(|| Error::corrupt("no rectangles"))?;
    let is_string: Vec<bool> = (0..leaves.dim_count()).map(|dim| leaves.is_string(dim)).collect();
    let mut kept = RectList::new(is_string);
    for leaf in (0..leaves.len()).filter(|leaf| !dropped.contains(leaf)) {
        for dim in 0..leaves.dim_count() {
            kept.push_extent(leaves.extent(leaf, dim))?;
        }
    }
    let tile_count = kept.len() as u64;
    let tree = RTree::build(kept, RTree::FANOUT)?;
    let stored = StoredTree { fanout: RTree::FANOUT, levels: tree.levels().to_vec() };
    let payload = stored.encode(fragment.version(), &fragment.schema().shape())?;
    mending.put(Section::RTree, payload);
    let is_last_gone = leaves.len().checked_sub(1).is_some_and(|last| dropped.contains(&last));
    mending.set_tile_count(tile_count, is_last_gone.then_some(fragment.schema().capacity));
    Ok(())
}

/// Takes tiles out of the statistics of all attributes, and puts those of made ones in.
fn put_statistics(
    fragment: &Fragment,
    dropped: &BTreeSet<usize>,
    made: &BTreeMap<(usize, FieldId), Stats>,
    mending: &mut Mending,
) {
    let shape = fragment.schema().shape();
    for field in fields_of(fragment) {
        let FieldId::Attribute(idx) = field else { continue };
        let (Some(slot), Some(attribute)) =
            (fragment.footer().slot(&shape, field), fragment.schema().attributes.get(idx))
        else {
            continue;
        };
        let value_len = attribute.cell_byte_len();
        let made_of = |tile: usize| made.get(&(tile, field));
        for (section, is_greatest) in [(Section::TileMins(slot), false), (Section::TileMaxes(slot), true)] {
            let Ok(bounds) = fragment.tile_bounds(field, is_greatest) else { continue };
            let value = |tile: usize| {
                let stored = match value_len {
                    Some(len) => bounds.fixed_value(tile, len),
                    None => bounds.var_value(tile),
                };
                let made = made_of(tile).map(|made| if is_greatest { &made.max[..] } else { &made.min[..] });
                stored.map(|stored| made.unwrap_or(stored))
            };
            let tile_count = usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX);
            let kept = (0..tile_count).map_while(|tile| Some((tile, value(tile)?)));
            let kept = kept.filter(|(tile, _)| !dropped.contains(tile)).map(|(_, value)| value);
            let kept = match value_len {
                Some(_) => TileBounds { fixed: kept.flatten().copied().collect(), var: Vec::new() },
                None => TileBounds::of_strings(kept),
            };
            mending.put(section, kept.encode());
        }
        for (section, is_nulls) in [(Section::TileSums(slot), false), (Section::TileNullCounts(slot), true)] {
            let Ok(totals) = fragment.tile_totals(field, is_nulls) else { continue };
            let kept = totals.into_iter().enumerate().filter(|(tile, _)| !dropped.contains(tile));
            let of_made =
                |made: &Stats| if is_nulls { made.null_count } else { u64::from_le_bytes(made.sum) };
            let values = kept.map(|(tile, total)| made_of(tile).map_or(total, of_made)).collect();
            mending.put(section, TileNumbers { values }.encode());
        }
    }
}
