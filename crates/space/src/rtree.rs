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
        descend(&self.levels, self.fanout, ranges)
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

/// As [`RTree::search`], in the levels of a tree from the root to the leaves, of which only the nodes under those that meet the ranges are
/// asked for.
///
/// # Errors
/// As [`RTree::search`]; those of the levels.
pub fn search_levels<L: TreeLevel>(levels: &[L], fanout: u32, ranges: &[RangeSet]) -> Result<Vec<TileHit>> {
    let levels: Vec<Asked<'_, L>> = levels.iter().map(Asked).collect();
    descend(&levels, fanout, ranges)
}

/// A node that meets the ranges.
type Met = (usize, Meeting);

/// A level as a search goes through it.
trait Level {
    fn node_count(&self) -> usize;
    fn dim_count(&self) -> usize;
    /// Fetches the children of some nodes.
    fn prepare(&self, nodes: impl Iterator<Item = Range<usize>>) -> Result<()>;
    /// Adds the nodes that meet the ranges.
    fn visit(&self, nodes: Range<usize>, ranges: &[RangeSet], met: &mut Vec<Met>) -> Result<()>;
}

// In memory nothing can fail, and a loop that knows it is twice as fast.
impl Level for RectList {
    fn node_count(&self) -> usize {
        self.len()
    }

    fn dim_count(&self) -> usize {
        RectList::dim_count(self)
    }

    fn prepare(&self, _: impl Iterator<Item = Range<usize>>) -> Result<()> {
        Ok(())
    }

    fn visit(&self, nodes: Range<usize>, ranges: &[RangeSet], met: &mut Vec<Met>) -> Result<()> {
        for node in nodes {
            let meeting = meeting(ranges, |dim| Some(self.extent(node, dim)));
            if meeting != Meeting::Apart {
                met.push((node, meeting));
            }
        }
        Ok(())
    }
}

/// A level whose nodes are asked for.
struct Asked<'l, L>(&'l L);

impl<L: TreeLevel> Level for Asked<'_, L> {
    fn node_count(&self) -> usize {
        self.0.node_count()
    }

    fn dim_count(&self) -> usize {
        self.0.dim_count()
    }

    fn prepare(&self, mut nodes: impl Iterator<Item = Range<usize>>) -> Result<()> {
        self.0.prepare(&mut nodes)
    }

    fn visit(&self, nodes: Range<usize>, ranges: &[RangeSet], met: &mut Vec<Met>) -> Result<()> {
        for node in nodes {
            let mut failed = None;
            let meeting = meeting(ranges, |dim| match self.0.extent(node, dim) {
                Ok(extent) => Some(extent),
                Err(error) => {
                    failed = Some(error);
                    None
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            if meeting != Meeting::Apart {
                met.push((node, meeting));
            }
        }
        Ok(())
    }
}

fn descend<L: Level>(levels: &[L], fanout: u32, ranges: &[RangeSet]) -> Result<Vec<TileHit>> {
    let Some((root, inner)) = levels.split_first() else { return Ok(Vec::new()) };
    if root.dim_count() != ranges.len() {
        return Err(Error::invalid(format!(
            "ranges on {} dimensions were given for {}",
            ranges.len(),
            root.dim_count()
        )));
    }
    let is_all = ranges.iter().all(RangeSet::is_all);
    let mut nodes: Vec<Met> = Vec::new();
    root.visit(0..root.node_count(), ranges, &mut nodes)?;
    for level in inner {
        let above = std::mem::take(&mut nodes);
        let children = |node: usize| {
            let start = node.saturating_mul(fanout as usize);
            start..start.saturating_add(fanout as usize).min(level.node_count())
        };
        for group in above.chunks(GROUP_NODE_COUNT) {
            if !is_all {
                level.prepare(group.iter().map(|(node, _)| children(*node)))?;
            }
            for (node, _) in group {
                level.visit(children(*node), ranges, &mut nodes)?;
            }
        }
    }
    Ok(nodes
        .into_iter()
        .map(|(node, meeting)| TileHit { tile_idx: node as u64, is_covered: meeting == Meeting::Covered })
        .collect())
}

/// How a node meets the ranges, `extent` being its interval on a dimension; not at all where that is not known.
#[inline]
fn meeting<'n>(ranges: &[RangeSet], mut extent: impl FnMut(usize) -> Option<ExtentRef<'n>>) -> Meeting {
    let mut all = Meeting::Covered;
    for (dim, ranges) in ranges.iter().enumerate() {
        if ranges.is_all() {
            continue;
        }
        match extent(dim).map_or(Meeting::Apart, |extent| ranges.meeting(extent)) {
            Meeting::Apart => return Meeting::Apart,
            Meeting::Partial => all = Meeting::Partial,
            Meeting::Covered => {}
        }
    }
    all
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
