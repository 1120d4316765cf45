//! The R-tree of a fragment: the MBRs of its tiles, and of ever larger groups of them.

use super::surroundings;
use crate::extent::{put_rects, read_rects};
use crate::leaf::{Tag8, U32, put_u64s};
use crate::record::{Cx, DimensionShape, Leaf, Record, Shape, record};
use crate::{Reader, Version, Writer};
use smalti_types::{Datatype, Error, ExtentRef, RectList, Result};
use std::ops::Range;

record! {
    /// The R-tree of a sparse fragment; of a dense fragment it has no levels.
    pub struct RTree in "R-tree", spec "fragment.md#r-tree", given cx {
        /// The number of dimensions.
        3..5  let dimension_count: u32 as U32 = 0 => u32::try_from(cx.shape.dimensions.len()).unwrap_or(u32::MAX),
        /// Children of a node.
        3..   fanout: u32 as U32,
        /// The datatype of all dimensions.
        3..5  let datatype: Datatype as Tag8 = Datatype::Any => first_datatype(cx.shape),
        /// The levels, the root's first. The last one holds the MBR of each tile.
        3..   levels: Vec<RectList> as Levels,
    }
}

record! {
    /// The start of an R-tree: enough to find its levels where all rectangles are of one length.
    pub(crate) struct RTreeHead in "R-tree", spec "fragment.md#r-tree" {
        /// The number of dimensions.
        3..5  dimension_count: u32 as U32 = 0,
        /// Children of a node.
        3..   fanout: u32 as U32,
        /// The datatype of all dimensions.
        3..5  datatype: Datatype as Tag8 = Datatype::Any,
        /// The number of levels.
        3..   level_count: u32 as U32,
    }
}

/// Where the levels of an R-tree lie in its unfiltered tile, of a tree all of whose dimensions are of a fixed size: what it takes to read
/// a node without those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RTreeOutline {
    fanout: u32,
    levels: Vec<LevelPlace>,
    dimensions: Vec<DimensionShape>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LevelPlace {
    start: u64,
    node_count: u64,
}

impl RTreeOutline {
    /// The most levels: of trees with two children a node they hold more tiles than there are bytes.
    const MAX_LEVEL_COUNT: u32 = 64;

    /// Reads the outline of a tile of `byte_len` bytes, of which `read` gives a few. `None` where nodes have no fixed size, or for more levels
    /// than a tree needs: such trees are read as a whole. It succeeds just where [`RTree::decode`] does.
    ///
    /// # Errors
    /// `Corrupt`, as [`RTree::decode`]; what `read` reports.
    pub fn read(
        byte_len: u64,
        version: Version,
        shape: &Shape,
        mut read: impl FnMut(Range<u64>) -> Result<Vec<u8>>,
    ) -> Result<Option<RTreeOutline>> {
        const HEAD_BYTE_LEN: u64 = 32;
        if !shape.all_dimensions_fixed() || shape.dimensions.is_empty() {
            return Ok(None);
        }
        let head = read(0..HEAD_BYTE_LEN.min(byte_len))?;
        let mut reader = Reader::new(&head);
        let RTreeHead { fanout, level_count, .. } =
            RTreeHead::read(&mut reader, &surroundings(version, shape))?;
        if level_count > RTreeOutline::MAX_LEVEL_COUNT {
            return Ok(None);
        }
        let rect_byte_len = rect_byte_len(&shape.dimensions);
        let corrupt = |message: String| Error::corrupt(message).in_field(RTree::STRUCTURE.name, "levels");
        let (mut levels, mut at) = (Vec::new(), reader.byte_offset());
        for depth in 0..level_count {
            let start = at.saturating_add(8);
            if start > byte_len {
                return Err(corrupt(format!("level {depth} begins at byte {at} of {byte_len}")));
            }
            let node_count = Reader::new(&read(at..start)?).u64()?;
            let end = node_count.checked_mul(rect_byte_len).and_then(|len| start.checked_add(len));
            at = end.filter(|end| *end <= byte_len).ok_or_else(|| {
                corrupt(format!("level {depth} of {node_count} nodes does not fit in {byte_len} bytes"))
            })?;
            levels.push(LevelPlace { start, node_count });
        }
        if at != byte_len {
            return Err(corrupt(format!("{} bytes behind the last level", byte_len - at)));
        }
        check_counts(fanout, levels.iter().map(|level| level.node_count))
            .map_err(|error| corrupt(error.message().to_owned()))?;
        Ok(Some(RTreeOutline { fanout, levels, dimensions: shape.dimensions.clone() }))
    }

    /// Children of a node.
    pub fn fanout(&self) -> u32 {
        self.fanout
    }

    /// The number of nodes of each level, the root's first.
    pub fn node_counts(&self) -> impl Iterator<Item = u64> {
        self.levels.iter().map(|level| level.node_count)
    }

    /// The number of dimensions.
    pub fn dim_count(&self) -> usize {
        self.dimensions.len()
    }

    /// The bytes of a node in the tile; `None` where there is none.
    pub fn node(&self, level: usize, node: u64) -> Option<Range<u64>> {
        let level = self.levels.get(level).filter(|level| node < level.node_count)?;
        let byte_len = rect_byte_len(&self.dimensions);
        let start = level.start.checked_add(node.checked_mul(byte_len)?)?;
        Some(start..start.checked_add(byte_len)?)
    }

    /// The interval of a node on a dimension, out of the node's bytes.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are too few, or there is no such dimension.
    pub fn extent(&self, node: &[u8], dim: usize) -> Result<ExtentRef<'static>> {
        let (before, this) = self.dimensions.split_at_checked(dim).unwrap_or_default();
        let datatype = this.first().map_or(Datatype::Any, |shape| shape.datatype);
        let side = usize::try_from(rect_byte_len(before)).ok().and_then(|start| node.get(start..));
        let (lo, hi) = side
            .and_then(|side| side.split_at_checked(datatype.byte_len()))
            .ok_or_else(|| Error::corrupt("a rectangle that is cut short"))?;
        Ok(ExtentRef::Num { lo: datatype.ordinal(lo)?, hi: datatype.ordinal(hi)? })
    }
}

/// The bytes of a rectangle of dimensions that are all of a fixed size.
fn rect_byte_len(dimensions: &[DimensionShape]) -> u64 {
    dimensions.iter().map(|shape| 2 * shape.datatype.byte_len() as u64).sum()
}

/// Checks that each level has as many nodes as it takes to hold those of the next.
fn check_counts(fanout: u32, counts: impl Iterator<Item = u64>) -> Result<()> {
    let counts: Vec<u64> = counts.collect();
    if counts.len() > 1 && fanout < 2 {
        return Err(Error::corrupt(format!("a tree of nodes with {fanout} children")));
    }
    for (&parents, &children) in counts.iter().zip(counts.iter().skip(1)) {
        if parents != children.div_ceil(u64::from(fanout)) {
            return Err(Error::corrupt(format!(
                "{parents} nodes of {fanout} children each over {children} nodes"
            )));
        }
    }
    match counts.first() {
        Some(&root) if root > 1 => Err(Error::corrupt(format!("a tree with {root} roots"))),
        _ => Ok(()),
    }
}

fn first_datatype(shape: &Shape) -> Datatype {
    shape.dimensions.first().map_or(Datatype::Any, |dimension| dimension.datatype)
}

/// Levels behind their number, each a list of MBRs behind its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels;

impl Leaf<Vec<RectList>> for Levels {
    fn on_disk() -> String {
        "u32 count, that many of: u64 count, that many MBRs".into()
    }
    fn show(value: &Vec<RectList>) -> String {
        let counts: Vec<usize> = value.iter().map(RectList::len).collect();
        format!("levels of {counts:?} MBRs")
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<RectList>> {
        let count = reader.framing("count", "u32", Reader::u32)?;
        let mut levels = Vec::new();
        for _ in 0..count {
            let level = reader.part(
                "level",
                "u64 count, that many MBRs",
                "A level of the tree.",
                |level: &RectList| format!("{} MBRs", level.len()),
                |reader| {
                    let rect_count = reader.framing("count", "u64", Reader::u64)?;
                    read_rects(reader, &cx.shape.dimensions, rect_count)
                },
            )?;
            levels.push(level);
        }
        Ok(levels)
    }
    fn write(&self, value: &Vec<RectList>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let count = u32::try_from(value.len()).map_err(|_| Error::invalid("too many levels"))?;
        U32.write(&count, writer, cx)?;
        for level in value {
            put_u64s(writer, &[level.len() as u64]);
            put_rects(writer, &cx.shape.dimensions, level)?;
        }
        Ok(())
    }
}

impl RTree {
    /// Children of a node in trees that the reference writes.
    pub const FANOUT: u32 = 10;

    /// Reads the R-tree from its unfiltered tile, and checks that each level holds the parents of the next.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn decode(tile: &[u8], version: Version, shape: &Shape) -> Result<Self> {
        RTree::decode_from(&mut Reader::new(tile), version, shape)
    }

    /// As [`decode`](RTree::decode), from a reader that may keep a trace.
    ///
    /// # Errors
    /// As [`decode`](RTree::decode).
    pub fn decode_from(reader: &mut Reader<'_>, version: Version, shape: &Shape) -> Result<Self> {
        let tree = RTree::from_reader(reader, &surroundings(version, shape))?;
        tree.check().map_err(|error| error.in_field(Self::STRUCTURE.name, "levels"))?;
        Ok(tree)
    }

    /// The bytes of the R-tree's tile before filtering.
    ///
    /// # Errors
    /// `InvalidArgument` when an MBR does not fit the dimensions.
    pub fn encode(&self, version: Version, shape: &Shape) -> Result<Vec<u8>> {
        self.to_bytes(&surroundings(version, shape))
    }

    /// The MBR of each tile; `None` when there are no levels.
    pub fn leaves(&self) -> Option<&RectList> {
        self.levels.last()
    }

    fn check(&self) -> Result<()> {
        check_counts(self.fanout, self.levels.iter().map(|level| level.len() as u64))
    }
}
