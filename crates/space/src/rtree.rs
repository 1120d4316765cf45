//! R-trees over the MBRs of tiles.

use crate::mbr::hull_of;
use crate::ranges::{Meeting, RangeSet};
use smalti_types::{Error, ExtentRef, RectList, Result};
use std::ops::Range;

/// The bounds of the tiles of a sparse fragment, in levels from the root to the leaves (specification: `fragment.md`,
/// R-tree). Node `i` of a level bounds the nodes `i * fanout..(i + 1) * fanout` of the next; leaf `i` bounds tile `i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RTree {
    levels: Vec<RectList>,
    fanout: u32,
}

/// A tile that a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileHit {
    /// The number of the tile in its fragment.
    pub tile_idx: u64,
    /// Whether the ranges select all of the tile's MBR, and so all of its cells.
    pub is_covered: bool,
}

impl RTree {
    /// The fanout that the format's writers use.
    pub const FANOUT: u32 = 10;

    /// Builds the levels above the leaves.
    ///
    /// # Errors
    /// `InvalidArgument` for a fanout below 2.
    pub fn build(leaves: RectList, fanout: u32) -> Result<Self> {
        if fanout < 2 {
            return Err(Error::invalid(format!("an R-tree of fanout {fanout} has no end")));
        }
        let mut levels = Vec::new();
        let mut below = leaves;
        while below.len() > 1 {
            let above = parents(&below, fanout as usize)?;
            levels.push(std::mem::replace(&mut below, above));
        }
        levels.push(below);
        levels.reverse();
        Ok(RTree { levels, fanout })
    }

    /// Takes levels, from the root to the leaves, as they were read.
    ///
    /// # Errors
    /// `Corrupt` when a level has not as many nodes as the fanout demands, the levels differ in their dimensions, or
    /// the fanout is 0.
    pub fn from_levels(levels: Vec<RectList>, fanout: u32) -> Result<Self> {
        let corrupt = |message: String| Err(Error::corrupt(message).in_field("r-tree", "levels"));
        for (depth, pair) in levels.windows(2).enumerate() {
            let (above, below) = (&pair[0], &pair[1]);
            if fanout == 0 || above.len() != below.len().div_ceil(fanout as usize) {
                return corrupt(format!(
                    "level {depth} of an R-tree has {} nodes over {} with a fanout of {fanout}",
                    above.len(),
                    below.len()
                ));
            }
            let is_string =
                |level: &RectList| (0..level.dim_count()).map(|dim| level.is_string(dim)).collect::<Vec<_>>();
            if is_string(above) != is_string(below) {
                return corrupt(format!(
                    "levels {depth} and {} of an R-tree differ in dimensions",
                    depth + 1
                ));
            }
        }
        Ok(RTree { levels, fanout })
    }

    /// The levels from the root to the leaves.
    pub fn levels(&self) -> &[RectList] {
        &self.levels
    }

    /// The MBRs of the tiles; `None` for a tree without levels.
    pub fn leaves(&self) -> Option<&RectList> {
        self.levels.last()
    }

    /// The number of tiles.
    pub fn tile_count(&self) -> usize {
        self.leaves().map_or(0, RectList::len)
    }

    /// How many nodes one node bounds.
    pub fn fanout(&self) -> u32 {
        self.fanout
    }

    /// The tiles whose MBR meets the ranges on every dimension, in ascending order. Takes time in proportion to the
    /// nodes that meet them, whatever the levels say; tiles under a node that bounds them wrongly are not found.
    ///
    /// # Errors
    /// `InvalidArgument` when the number of dimensions differs.
    pub fn search(&self, ranges: &[RangeSet]) -> Result<Vec<TileHit>> {
        search_levels(&self.levels, self.fanout, ranges)
    }
}

/// A level of an R-tree, wherever its nodes are.
pub trait TreeLevel {
    /// The number of nodes.
    fn node_count(&self) -> usize;

    /// The number of dimensions.
    fn dim_count(&self) -> usize;

    /// The interval of a node on a dimension.
    ///
    /// # Errors
    /// Why the node cannot be read.
    fn extent(&self, node: usize, dim: usize) -> Result<ExtentRef<'_>>;

    /// Fetches what a search is about to ask of these nodes, where that saves waiting. It asks for no more than [`GROUP_NODE_COUNT`]
    /// ranges at once, each no longer than a node has children.
    ///
    /// # Errors
    /// Why the nodes cannot be read.
    fn prepare(&self, nodes: &mut dyn Iterator<Item = Range<usize>>) -> Result<()> {
        let _ = nodes;
        Ok(())
    }
}

/// Nodes whose children a search looks at in one go.
pub const GROUP_NODE_COUNT: usize = 32;

impl TreeLevel for RectList {
    fn node_count(&self) -> usize {
        self.len()
    }

    fn dim_count(&self) -> usize {
        RectList::dim_count(self)
    }

    fn extent(&self, node: usize, dim: usize) -> Result<ExtentRef<'_>> {
        Ok(RectList::extent(self, node, dim))
    }
}

/// As [`RTree::search`], in the levels of a tree from the root to the leaves, of which only the nodes under those that meet the ranges are
/// asked for.
///
/// # Errors
/// As [`RTree::search`]; those of the levels.
pub fn search_levels<L: TreeLevel>(levels: &[L], fanout: u32, ranges: &[RangeSet]) -> Result<Vec<TileHit>> {
    let Some((root, inner)) = levels.split_first() else { return Ok(Vec::new()) };
    if root.dim_count() != ranges.len() {
        return Err(Error::invalid(format!(
            "ranges on {} dimensions were given for {}",
            ranges.len(),
            root.dim_count()
        )));
    }
    let is_all = ranges.iter().all(RangeSet::is_all);
    let mut nodes: Vec<(usize, Meeting)> = Vec::new();
    visit(root, 0..root.node_count(), ranges, &mut nodes)?;
    for level in inner {
        let above = std::mem::take(&mut nodes);
        let children = |node: usize| {
            let start = node.saturating_mul(fanout as usize);
            start..start.saturating_add(fanout as usize).min(level.node_count())
        };
        for group in above.chunks(GROUP_NODE_COUNT) {
            if !is_all {
                level.prepare(&mut group.iter().map(|(node, _)| children(*node)))?;
            }
            for (node, _) in group {
                visit(level, children(*node), ranges, &mut nodes)?;
            }
        }
    }
    Ok(nodes
        .into_iter()
        .map(|(node, meeting)| TileHit { tile_idx: node as u64, is_covered: meeting == Meeting::Covered })
        .collect())
}

fn visit<L: TreeLevel>(
    level: &L,
    nodes: Range<usize>,
    ranges: &[RangeSet],
    found: &mut Vec<(usize, Meeting)>,
) -> Result<()> {
    for node in nodes {
        let meeting = meeting(level, node, ranges)?;
        if meeting != Meeting::Apart {
            found.push((node, meeting));
        }
    }
    Ok(())
}

fn meeting<L: TreeLevel>(level: &L, node: usize, ranges: &[RangeSet]) -> Result<Meeting> {
    let mut all = Meeting::Covered;
    for (dim, ranges) in ranges.iter().enumerate() {
        if ranges.is_all() {
            continue;
        }
        match ranges.meeting(level.extent(node, dim)?) {
            Meeting::Apart => return Ok(Meeting::Apart),
            Meeting::Partial => all = Meeting::Partial,
            Meeting::Covered => {}
        }
    }
    Ok(all)
}

fn parents(below: &RectList, fanout: usize) -> Result<RectList> {
    let dims = below.dim_count();
    let mut above = RectList::new((0..dims).map(|dim| below.is_string(dim)).collect::<Vec<bool>>());
    for start in (0..below.len()).step_by(fanout) {
        let end = (start + fanout).min(below.len());
        for dim in 0..dims {
            let first = below.extent(start, dim);
            above.push_extent(
                (start + 1..end).fold(first, |hull, node| hull_of(hull, below.extent(node, dim))),
            )?;
        }
    }
    Ok(above)
}
