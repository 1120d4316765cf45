//! The rectangles of a fragment's tiles: in memory where they are few, otherwise read node by node.

use super::Fragment;
use super::chunked::{ChunkedSection, SectionReader};
use super::sections::OpenSection;
use smalti_format::fragment::{RTree as StoredTree, RTreeOutline, Section};
use smalti_space::{Interval, RTree, RangeSet, TileHit, TreeLevel, search_levels, stored_mbr_interval};
use smalti_types::{Datatype, Error, ExtentRef, RectList, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The rectangles of the tiles of a fragment, and of groups of them.
#[derive(Debug)]
pub struct TileTree(Nodes);

#[derive(Debug)]
enum Nodes {
    Whole(RTree),
    Chunked(Box<ChunkedTree>),
}

/// An R-tree that is too large to be held.
#[derive(Debug)]
struct ChunkedTree {
    section: Arc<ChunkedSection>,
    outline: RTreeOutline,
    /// By dimension, the type of those of floats: their bounds are not to be trusted where they are NaN.
    floats: Vec<Option<Datatype>>,
    /// For those who want all of it.
    whole: OnceLock<RTree>,
}

impl TileTree {
    /// The tiles whose rectangles meet the ranges on every dimension, in ascending order; see [`RTree::search`]. Of a large tree no
    /// more is read than the nodes under those that meet them.
    ///
    /// # Errors
    /// `InvalidArgument` when the number of dimensions differs; `Corrupt` and `Permission`, with the file named.
    pub fn search(&self, ranges: &[RangeSet]) -> Result<Vec<TileHit>> {
        match &self.0 {
            Nodes::Whole(tree) => tree.search(ranges),
            Nodes::Chunked(tree) => search_levels(&tree.levels(), tree.outline.fanout(), ranges),
        }
    }

    /// The number of tiles.
    pub fn tile_count(&self) -> u64 {
        match &self.0 {
            Nodes::Whole(tree) => tree.tile_count() as u64,
            Nodes::Chunked(tree) => tree.outline.node_counts().last().unwrap_or(0),
        }
    }

    /// The rectangles of the tiles, for one who asks for many of them.
    ///
    /// # Errors
    /// `Corrupt` for a tree without levels.
    pub fn leaves(&self) -> Result<Leaves<'_>> {
        let leaves = match &self.0 {
            Nodes::Whole(tree) => tree.leaves().map(LeafNodes::Whole),
            Nodes::Chunked(tree) => {
                let counts = tree.outline.node_counts().enumerate();
                counts.last().map(|(depth, count)| LeafNodes::Chunked(tree.level(depth, count)))
            }
        };
        leaves.map(Leaves).ok_or_else(|| Error::corrupt("an R-tree without leaves"))
    }
}

/// The rectangles of a fragment's tiles.
#[derive(Debug)]
pub struct Leaves<'t>(LeafNodes<'t>);

#[derive(Debug)]
enum LeafNodes<'t> {
    Whole(&'t RectList),
    Chunked(ChunkedLevel<'t>),
}

impl Leaves<'_> {
    /// The interval of a tile on a dimension.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    ///
    /// # Panics
    /// When either is out of range.
    pub fn extent(&self, tile_idx: usize, dim: usize) -> Result<ExtentRef<'_>> {
        match &self.0 {
            LeafNodes::Whole(leaves) => Ok(leaves.extent(tile_idx, dim)),
            LeafNodes::Chunked(leaves) => leaves.extent(tile_idx, dim),
        }
    }
}

impl ChunkedTree {
    fn levels(&self) -> Vec<ChunkedLevel<'_>> {
        self.outline.node_counts().enumerate().map(|(depth, count)| self.level(depth, count)).collect()
    }

    fn level(&self, depth: usize, node_count: u64) -> ChunkedLevel<'_> {
        ChunkedLevel {
            tree: self,
            depth,
            node_count: usize::try_from(node_count).unwrap_or(usize::MAX),
            last: RefCell::new(LastNode {
                reader: SectionReader::new(&self.section),
                node: None,
                bytes: Vec::new(),
            }),
        }
    }
}

/// A level of a large tree, with the node that was asked for last.
#[derive(Debug)]
struct ChunkedLevel<'t> {
    tree: &'t ChunkedTree,
    depth: usize,
    node_count: usize,
    last: RefCell<LastNode<'t>>,
}

#[derive(Debug)]
struct LastNode<'t> {
    reader: SectionReader<'t>,
    node: Option<usize>,
    bytes: Vec<u8>,
}

impl TreeLevel for ChunkedLevel<'_> {
    fn node_count(&self) -> usize {
        self.node_count
    }

    fn dim_count(&self) -> usize {
        self.tree.outline.dim_count()
    }

    fn extent(&self, node: usize, dim: usize) -> Result<ExtentRef<'_>> {
        let LastNode { reader, node: last, bytes } = &mut *self.last.borrow_mut();
        if *last != Some(node) {
            let place = self.tree.outline.node(self.depth, node as u64);
            let place =
                place.ok_or_else(|| Error::corrupt(format!("there is no node {node} in the tree")))?;
            bytes.resize(usize::try_from(place.end - place.start).unwrap_or_default(), 0);
            *last = None;
            reader.read_into(place.start, bytes)?;
            *last = Some(node);
        }
        let extent = self.tree.outline.extent(bytes, dim).map_err(|error| reader.section().named(error))?;
        Ok(trusted(extent, self.tree.floats.get(dim).copied().flatten()))
    }

    fn prepare(&self, nodes: &mut dyn Iterator<Item = Range<usize>>) -> Result<()> {
        let bytes = |nodes: Range<usize>| {
            let first = self.tree.outline.node(self.depth, nodes.start as u64)?;
            let last = self.tree.outline.node(self.depth, nodes.end.checked_sub(1)? as u64)?;
            Some(first.start..last.end)
        };
        self.tree.section.prepare(nodes.filter_map(bytes))
    }
}

/// An interval as it may be used to leave out tiles: writers that met NaN first kept it as a bound.
fn trusted(extent: ExtentRef<'_>, float: Option<Datatype>) -> ExtentRef<'_> {
    match (extent, float) {
        (ExtentRef::Num { lo, hi }, Some(datatype)) => {
            let Interval { lo, hi } = stored_mbr_interval(datatype, Interval { lo, hi });
            ExtentRef::Num { lo, hi }
        }
        _ => extent,
    }
}

impl Fragment {
    /// The rectangles of its tiles, of which a large tree is not held.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn tile_tree(&self) -> Result<&TileTree> {
        let learned = self.learned();
        if let Some(tree) = learned.tree.get().or_else(|| learned.lone.get()) {
            return Ok(tree);
        }
        self.stored_tree()
    }

    /// The rectangles of its tiles as its metadata file has them.
    fn stored_tree(&self) -> Result<&TileTree> {
        if let Some(tree) = self.learned().tree.get() {
            return Ok(tree);
        }
        let tree = match self.open_rtree()? {
            Nodes::Chunked(tree) => TileTree(Nodes::Chunked(tree)),
            Nodes::Whole(tree) => TileTree(Nodes::Whole(tree)),
        };
        if !self.is_dense() && tree.tile_count() != self.tile_count {
            return Err(self.in_metadata(
                Error::corrupt(format!("{} rectangles for {} tiles", tree.tile_count(), self.tile_count))
                    .in_field("R-tree", "levels"),
            ));
        }
        Ok(self.learned().tree.get_or_init(|| tree))
    }

    /// The rectangles of its tiles in memory, however many they are: for those who look at all of them.
    ///
    /// # Errors
    /// As [`tile_tree`](Fragment::tile_tree); `OutOfMemory` beyond the limit of metadata.
    pub fn rtree(&self) -> Result<&RTree> {
        let tree = match &self.stored_tree()?.0 {
            Nodes::Whole(tree) => return Ok(tree),
            Nodes::Chunked(tree) => tree,
        };
        if let Some(whole) = tree.whole.get() {
            return Ok(whole);
        }
        let whole = self.decode_rtree(self.section(Section::RTree)?.as_slice())?;
        Ok(tree.whole.get_or_init(|| whole))
    }

    /// Whether it is known where the rectangles of its tiles are.
    pub(crate) fn has_rtree(&self) -> bool {
        let learned = self.learned.get();
        learned.is_some_and(|learned| learned.tree.get().is_some() || learned.lone.get().is_some())
    }

    /// Takes the non-empty domain for the rectangle of the only tile, which it is; whether there is one.
    pub(super) fn take_lone_tile(&self) -> bool {
        let tree = || {
            let mut leaf = RectList::new(self.kin.shape.string_dimensions());
            self.non_empty_domain().iter().try_for_each(|side| leaf.push_extent(side.as_ref()))?;
            RTree::build(self.trusted_level(leaf)?, StoredTree::FANOUT)
        };
        if self.learned().lone.get().is_none()
            && let Ok(tree) = tree()
            && tree.tile_count() == 1
        {
            let _ = self.learned().lone.set(TileTree(Nodes::Whole(tree)));
        }
        self.learned().lone.get().is_some()
    }

    fn open_rtree(&self) -> Result<Nodes> {
        if let Some(legacy) = &self.legacy {
            let leaves = self.trusted_level(legacy.mbrs.clone())?;
            let tree = RTree::build(leaves, StoredTree::FANOUT).map_err(|error| self.in_metadata(error))?;
            return Ok(Nodes::Whole(tree));
        }
        let section = match self.open_section(Section::RTree)? {
            OpenSection::Whole(tile) => return self.decode_rtree(tile.as_slice()).map(Nodes::Whole),
            OpenSection::Chunked(section) => section,
        };
        let read = |range: Range<u64>| {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or_default()];
            section.read_into(range.start, &mut bytes).map(|()| bytes)
        };
        let outline = RTreeOutline::read(section.byte_len(), self.version(), &self.kin.shape, read)
            .map_err(|error| self.in_metadata(error))?;
        let Some(outline) = outline else {
            return self.decode_rtree(self.section(Section::RTree)?.as_slice()).map(Nodes::Whole);
        };
        let floats = (0..outline.dim_count()).map(|dim| self.float_of(dim)).collect();
        let tree = ChunkedTree { section, outline, floats, whole: OnceLock::new() };
        Ok(Nodes::Chunked(Box::new(tree)))
    }

    fn decode_rtree(&self, tile: &[u8]) -> Result<RTree> {
        let decode = || {
            let stored = StoredTree::decode(tile, self.version(), &self.kin.shape)?;
            let levels = stored.levels.into_iter().map(|level| self.trusted_level(level));
            RTree::from_levels(levels.collect::<Result<Vec<_>>>()?, stored.fanout)
        };
        decode().map_err(|error| self.in_metadata(error))
    }

    /// The type of a dimension of floats.
    fn float_of(&self, dim: usize) -> Option<Datatype> {
        let dimension = self.kin.schema.dimensions.get(dim)?;
        Some(dimension.datatype).filter(|datatype| datatype.is_float())
    }

    /// A level of the tree as it may be used to leave out tiles.
    fn trusted_level(&self, level: RectList) -> Result<RectList> {
        if (0..level.dim_count()).all(|dim| self.float_of(dim).is_none()) {
            return Ok(level);
        }
        let mut trusted_level = RectList::new(self.kin.shape.string_dimensions());
        for node in 0..level.len() {
            for dim in 0..level.dim_count() {
                trusted_level.push_extent(trusted(level.extent(node, dim), self.float_of(dim)))?;
            }
        }
        Ok(trusted_level)
    }
}
