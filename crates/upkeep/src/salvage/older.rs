//! Cells that show an older value because a newer one is lost, or may be among what is lost.
//!
//! Of a lost tile the rectangle is known, and often the coordinates on some dimensions; of a lost fragment its non-empty domain, or
//! nothing. What the view shows there, and was written before, may have been replaced.

use super::overlay::{Overlay, Segment};
use crate::fsck::TileSource;
use smalti_array::{ArrayPlace, FieldId, Fragment, Snapshot};
use smalti_format::names::{CommitKind, TimestampedName, commit_path};
use smalti_format::{ArraySchema, CombineOp, CompareOp, ConditionNode, ConditionTree, Rule, Version};
use smalti_query::{ReadRequest, TIMESTAMPS_FIELD, read};
use smalti_tile::{ColumnRef, Scratch, write_generic_tile};
use smalti_types::{Error, Extent, ExtentRef, Result, TimeRange};
use std::collections::{BTreeSet, HashSet};
use twox_hash::XxHash3_128;

/// What the list of places may take in memory.
const LIST_BYTE_LEN: usize = 64 << 20;

/// Tiles of a fragment that are told apart; more of them count as the whole fragment.
const MAX_TILES: usize = 1_000;

/// Boxes of a dense array that are kept apart; cells in more of them may be told twice.
const MAX_BOXES: usize = 10_000;

/// A cell of a sparse array, or a box of a dense one, that shows what was written before something that is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OlderCells {
    /// An interval on each dimension; of a cell its coordinates.
    pub extents: Vec<Extent>,
    /// When the values that are shown were written.
    pub from: TimeRange,
    /// When the newest of the lost writes was made.
    pub lost: TimeRange,
}

/// All cells that show what was written before something that is lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Older {
    /// How many cells there are, fill values of dense arrays among them.
    pub cell_count: u64,
    /// Where they are, as many places as fit into 64 MiB.
    pub cells: Vec<OlderCells>,
    /// How many places there are beside those that are listed.
    pub unlisted: u64,
}

impl Older {
    /// Whether there are more places than are listed.
    pub fn are_cut(&self) -> bool {
        self.unlisted > 0
    }
}

/// A list of places that grows as long as it has room.
struct List {
    older: Older,
    /// The room that is left.
    byte_len: usize,
}

impl List {
    fn new(byte_len: usize) -> Self {
        List { older: Older::default(), byte_len }
    }

    /// Adds a place with so many cells.
    fn add(&mut self, cell_count: u64, extents: Vec<Extent>, from: TimeRange, lost: TimeRange) {
        self.older.cell_count = self.older.cell_count.saturating_add(cell_count);
        let text = |extent: &Extent| match extent {
            Extent::Num { .. } => 0,
            Extent::Str { lo, hi } => lo.len() + hi.as_ref().map_or(0, |hi| hi.len()),
        };
        let texts = extents.iter().map(text).sum::<usize>();
        let place = size_of::<OlderCells>() + extents.len() * size_of::<Extent>() + texts;
        // Once one has no room, none has: what is listed is what comes first.
        match self.byte_len.checked_sub(place).filter(|_| self.older.unlisted == 0) {
            Some(left) => {
                self.byte_len = left;
                self.older.cells.push(OlderCells { extents, from, lost });
            }
            None => self.older.unlisted += 1,
        }
    }
}

/// Where cells are lost.
#[derive(Debug, Clone)]
pub(super) struct LostPlace {
    /// The fragment that they were in.
    name: TimestampedName,
    /// When they were written.
    time: TimeRange,
    /// The least rectangle around them; `None` where nobody knows.
    rect: Option<Vec<Extent>>,
    /// Their coordinates on each dimension, as far as these can still be read.
    coordinates: Vec<Option<BTreeSet<Vec<u8>>>>,
}

impl LostPlace {
    /// A fragment of which nothing but the name can be read.
    pub(super) fn unknown(name: TimestampedName) -> Self {
        LostPlace { time: name.range(), name, rect: None, coordinates: Vec::new() }
    }

    /// A whole fragment.
    pub(super) fn of_fragment(fragment: &Fragment) -> Self {
        let rect = Some(fragment.non_empty_domain().to_vec());
        LostPlace { rect, ..LostPlace::unknown(fragment.name().clone()) }
    }

    /// Tiles of a sparse fragment.
    pub(super) fn of_tiles(
        fragment: &Fragment,
        sources: &[TileSource<'_>],
        tiles: &BTreeSet<usize>,
    ) -> Vec<Self> {
        if tiles.len() > MAX_TILES {
            return vec![LostPlace::of_fragment(fragment)];
        }
        let mut scratch = Scratch::new();
        tiles.iter().map(|tile| LostPlace::of_tile(fragment, sources, *tile, &mut scratch)).collect()
    }

    fn of_tile(
        fragment: &Fragment,
        sources: &[TileSource<'_>],
        tile: usize,
        scratch: &mut Scratch,
    ) -> LostPlace {
        let mut place = LostPlace::of_fragment(fragment);
        let leaves =
            fragment.rtree().ok().and_then(|tree| tree.leaves()).filter(|leaves| tile < leaves.len());
        if let Some(leaves) = leaves {
            let sides = (0..leaves.dim_count()).map(|dim| leaves.extent(tile, dim).to_owned());
            place.rect = Some(sides.collect());
        }
        place.coordinates = vec![None; fragment.schema().dimensions.len()];
        for source in sources {
            let Ok(column) = source.decode(tile, scratch) else { continue };
            match source.field {
                FieldId::Timestamps => {
                    let times = column.data.values::<u64>();
                    if let (Some(start), Some(end)) = (times.iter().min(), times.iter().max()) {
                        place.time = TimeRange { start: *start, end: *end };
                    }
                }
                FieldId::Dimension(dim) if dim < place.coordinates.len() => {
                    let count = fragment.cell_count_of_tile(tile as u64).unwrap_or_default();
                    let byte_len = source.codec.shape().cell_byte_len();
                    let cells = (0..count).map(|cell| column.as_ref().cell(cell, byte_len).to_vec());
                    place.coordinates[dim] = Some(cells.collect());
                }
                _ => {}
            }
        }
        place
    }

    fn has_coordinates(&self, cell: &[&[u8]]) -> bool {
        self.coordinates
            .iter()
            .zip(cell)
            .all(|(known, coordinate)| known.as_ref().is_none_or(|known| known.contains(*coordinate)))
    }
}

/// What a view shows of before what is lost. Arrays that allow duplicates have nothing of the kind: no cell replaces another.
pub(super) fn older_cells(snapshot: &Snapshot, places: &[LostPlace]) -> Result<Older> {
    if snapshot.schema().allows_dups || places.is_empty() || snapshot.fragments().is_empty() {
        return Ok(Older::default());
    }
    // A cell is told with the newest of what is lost there.
    let mut places: Vec<&LostPlace> = places.iter().collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.time.end));
    if snapshot.schema().is_dense() { Ok(of_dense(snapshot, &places)) } else { of_sparse(snapshot, &places) }
}

fn of_sparse(snapshot: &Snapshot, places: &[&LostPlace]) -> Result<Older> {
    let schema = snapshot.schema();
    let mut list = List::new(LIST_BYTE_LEN);
    // A cell may be in several places; in one it is once.
    let mut seen: HashSet<u128> = HashSet::new();
    for place in places {
        let names = schema.dimensions.iter().map(|dimension| dimension.name.clone());
        let request = ReadRequest {
            fields: names.chain([TIMESTAMPS_FIELD.to_owned()]).collect(),
            ranges: place.rect.iter().flatten().map(|side| vec![side.clone()]).collect(),
            ..ReadRequest::default()
        };
        // A rectangle that is damaged itself may lie outside of the domain.
        let batches = read(snapshot, &request)
            .or_else(|_| read(snapshot, &ReadRequest { ranges: Vec::new(), ..request }))?;
        let byte_lens: Vec<usize> =
            batches.fields().iter().map(|field| field.shape.cell_byte_len()).collect();
        for batch in batches {
            let batch = batch?;
            let columns: Vec<ColumnRef<'_>> = batch.columns.iter().map(|column| column.as_ref()).collect();
            let Some((times, coordinates)) = columns.split_last() else { continue };
            for cell in 0..batch.cell_count {
                let at = time_of(times, cell);
                if at >= place.time.end {
                    continue;
                }
                let values: Vec<&[u8]> = coordinates
                    .iter()
                    .zip(&byte_lens)
                    .map(|(column, byte_len)| column.cell(cell, *byte_len))
                    .collect();
                let is_known = |seen: &mut HashSet<u128>| places.len() > 1 && !seen.insert(hash_of(&values));
                if !place.has_coordinates(&values) || is_known(&mut seen) {
                    continue;
                }
                let from = TimeRange { start: at, end: at };
                list.add(1, extents_of(schema, &values)?, from, place.time);
            }
        }
    }
    Ok(list.older)
}

fn time_of(times: &ColumnRef<'_>, cell: usize) -> u64 {
    times.cell(cell, 8).first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn hash_of(values: &[&[u8]]) -> u128 {
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend((value.len() as u64).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    XxHash3_128::oneshot(&bytes)
}

fn extents_of(schema: &ArraySchema, values: &[&[u8]]) -> Result<Vec<Extent>> {
    let extent = |(dimension, value): (&smalti_format::Dimension, &&[u8])| {
        if dimension.cell_val_num.fixed().is_none() {
            return Ok(Extent::Str { lo: (*value).into(), hi: Some((*value).into()) });
        }
        let at = dimension.datatype.ordinal(value)?;
        Ok(Extent::Num { lo: at, hi: at })
    };
    schema.dimensions.iter().zip(values).map(extent).collect()
}

/// A box of ordinals.
type Cuboid = Vec<(u64, u64)>;

fn cuboid_of(extents: &[Extent]) -> Option<Cuboid> {
    let sides = extents.iter().map(|extent| match extent.as_ref() {
        ExtentRef::Num { lo, hi } => Some((lo, hi)),
        ExtentRef::Str { .. } => None,
    });
    sides.collect()
}

fn common(a: &Cuboid, b: &Cuboid) -> Option<Cuboid> {
    let sides = a.iter().zip(b).map(|((lo, hi), (from, to))| {
        let side = (*lo.max(from), *hi.min(to));
        (side.0 <= side.1).then_some(side)
    });
    sides.collect()
}

/// What is left of a box without another one.
fn without(whole: &Cuboid, hole: &Cuboid) -> Vec<Cuboid> {
    let Some(hole) = common(whole, hole) else { return vec![whole.clone()] };
    let (mut rest, mut left) = (Vec::new(), whole.clone());
    for (dim, (lo, hi)) in hole.iter().enumerate() {
        let (from, to) = left[dim];
        if from < *lo {
            let mut below = left.clone();
            below[dim] = (from, lo - 1);
            rest.push(below);
        }
        if *hi < to {
            let mut above = left.clone();
            above[dim] = (hi + 1, to);
            rest.push(above);
        }
        left[dim] = (*lo, *hi);
    }
    rest
}

fn cell_count(cuboid: &Cuboid) -> u64 {
    let lens = cuboid.iter().map(|(lo, hi)| (hi - lo).saturating_add(1));
    lens.fold(1, u64::saturating_mul)
}

/// Of dense arrays the fragments tell what is shown where: the newest that has a cell.
fn of_dense(snapshot: &Snapshot, places: &[&LostPlace]) -> Older {
    let mut kept: Vec<(&Fragment, Cuboid)> = snapshot
        .fragments()
        .iter()
        .filter_map(|fragment| Some((&**fragment, cuboid_of(fragment.non_empty_domain())?)))
        .collect();
    kept.sort_by(|(a, _), (b, _)| b.name().cmp(a.name()));
    let hull = snapshot.non_empty_domain().and_then(|domain| cuboid_of(&domain));
    let mut list = List::new(LIST_BYTE_LEN);
    // Told already, with something that was lost later.
    let mut told: Vec<Cuboid> = Vec::new();
    for place in places {
        let rect = place.rect.as_ref().and_then(|rect| cuboid_of(rect)).or_else(|| hull.clone());
        let mut left: Vec<Cuboid> = rect.into_iter().collect();
        for (fragment, cuboid) in &kept {
            if *fragment.name() < place.name {
                let shown = left.iter().filter_map(|part| common(part, cuboid));
                let shown = told.iter().fold(shown.collect::<Vec<_>>(), |parts, hole| {
                    if parts.len() > MAX_BOXES { parts } else { cut(&parts, hole) }
                });
                for part in shown {
                    let extents = part.iter().map(|(lo, hi)| Extent::Num { lo: *lo, hi: *hi });
                    list.add(cell_count(&part), extents.collect(), fragment.name().range(), place.time);
                    if told.len() < MAX_BOXES {
                        told.push(part);
                    }
                }
            }
            if left.len() <= MAX_BOXES {
                left = cut(&left, cuboid);
            }
        }
    }
    list.older
}

fn cut(parts: &[Cuboid], hole: &Cuboid) -> Vec<Cuboid> {
    parts.iter().flat_map(|part| without(part, hole)).collect()
}

/// Hides what is older from the view of a sparse array, as a delete just before each lost write would have done.
///
/// # Errors
/// `InvalidArgument` for a condition that is too large.
pub(super) fn hide_older(
    overlay: &mut Overlay,
    place: &ArrayPlace,
    snapshot: &Snapshot,
    places: &[LostPlace],
) -> Result<()> {
    let schema = snapshot.schema();
    let version = Some(schema.write_version())
        .filter(|version| version.has(Rule::DeleteCommits))
        .unwrap_or(Version::DEFAULT);
    for lost in places {
        let Some(at) = lost.time.end.checked_sub(1) else { continue };
        let Some(rect) = lost.rect.clone().or_else(|| snapshot.non_empty_domain()) else { continue };
        let name = TimestampedName::new(TimeRange { start: at, end: at }, place.new_id()?, Some(version));
        let mut tile = Vec::new();
        let stays = outside(schema, &rect, &lost.coordinates)?.encode()?;
        write_generic_tile(&stays, version, place.cipher(), &mut tile, &mut Scratch::new())?;
        let path = place.join(&commit_path(&name, CommitKind::Delete, version));
        overlay.show(path, vec![Segment::Bytes(tile.into())]);
    }
    Ok(())
}

/// The condition that cells lie outside of a rectangle, or have none of the known coordinates.
fn outside(
    schema: &ArraySchema,
    rect: &[Extent],
    coordinates: &[Option<BTreeSet<Vec<u8>>>],
) -> Result<ConditionTree> {
    let mut nodes = Vec::new();
    for (dim, (dimension, side)) in schema.dimensions.iter().zip(rect).enumerate() {
        let mut compare = |op, value: Vec<u8>, offsets| {
            let field = dimension.name.clone();
            nodes.push(ConditionNode::Comparison { op, field, value, offsets });
        };
        match side {
            Extent::Num { lo, hi } => {
                compare(CompareOp::Lt, dimension.datatype.bytes_of_ordinal(*lo).to_vec(), Vec::new());
                compare(CompareOp::Gt, dimension.datatype.bytes_of_ordinal(*hi).to_vec(), Vec::new());
            }
            Extent::Str { lo, hi } => {
                // Nothing is less than the empty string, whose value would stand for null.
                if !lo.is_empty() {
                    compare(CompareOp::Lt, lo.to_vec(), Vec::new());
                }
                if let Some(hi) = hi.as_ref().filter(|hi| !hi.is_empty()) {
                    compare(CompareOp::Gt, hi.to_vec(), Vec::new());
                }
            }
        }
        if let Some(Some(known)) = coordinates.get(dim) {
            let (mut value, mut offsets) = (Vec::new(), Vec::new());
            for coordinate in known {
                offsets.push(value.len() as u64);
                value.extend_from_slice(coordinate);
            }
            compare(CompareOp::NotIn, value, offsets);
        }
    }
    let root = match nodes.len() {
        // Only an array of strings that are all empty has no ends: all cells go.
        0 => return Err(Error::unsupported("cells with empty coordinates cannot be told apart")),
        1 => None,
        child_count => Some(ConditionNode::Combination { op: CombineOp::Or, child_count }),
    };
    ConditionTree::new(root.into_iter().chain(nodes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_room_in_the_list_are_counted() {
        let (time, place) = (TimeRange { start: 1, end: 1 }, vec![Extent::Num { lo: 7, hi: 9 }]);
        let mut list = List::new(100 * (size_of::<OlderCells>() + size_of::<Extent>()) + 1);
        (0..100).for_each(|_| list.add(3, place.clone(), time, time));
        assert!(!list.older.are_cut());
        (0..50).for_each(|_| list.add(3, place.clone(), time, time));
        assert_eq!((list.older.cells.len(), list.older.unlisted, list.older.cell_count), (100, 50, 450));
        assert!(list.older.are_cut());
        // Long coordinates take room too.
        let mut list = List::new(1000);
        let long: Box<[u8]> = vec![b'x'; 2000].into();
        list.add(1, vec![Extent::Str { lo: long.clone(), hi: Some(long) }], time, time);
        assert_eq!((list.older.cells.len(), list.older.unlisted), (0, 1));
    }

    #[test]
    fn a_box_without_another_is_covered_by_disjoint_boxes() {
        let whole: Cuboid = vec![(0, 5), (0, 5)];
        for hole in [vec![(2, 3), (2, 3)], vec![(0, 9), (4, 9)], vec![(0, 5), (0, 5)], vec![(7, 9), (0, 1)]] {
            let rest = without(&whole, &hole);
            for at in (0..36_u64).map(|cell| [cell / 6, cell % 6]) {
                let is_in =
                    |cuboid: &Cuboid| cuboid.iter().zip(at).all(|((lo, hi), at)| *lo <= at && at <= *hi);
                let times = rest.iter().filter(|part| is_in(part)).count();
                assert_eq!(times, usize::from(!is_in(&hole)), "{hole:?} at {at:?}");
            }
        }
    }
}
