//! The R-tree of a fragment: the MBRs of its tiles, and of ever larger groups of them.

use super::surroundings;
use crate::extent::{put_rects, read_rects};
use crate::leaf::{Tag8, U32, put_u64s};
use crate::record::{Cx, Leaf, Record, Shape, record};
use crate::{Reader, Version, Writer};
use smalti_types::{Datatype, Error, RectList, Result};

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
        if self.levels.len() > 1 && self.fanout < 2 {
            return Err(Error::corrupt(format!("a tree of nodes with {} children", self.fanout)));
        }
        for (above, below) in self.levels.iter().zip(self.levels.iter().skip(1)) {
            let (parents, children) = (above.len(), below.len());
            if parents != children.div_ceil(self.fanout as usize) {
                return Err(Error::corrupt(format!(
                    "{parents} nodes of {} children each over {children} nodes",
                    self.fanout
                )));
            }
        }
        match self.levels.first() {
            Some(root) if root.len() > 1 => Err(Error::corrupt(format!("a tree with {} roots", root.len()))),
            _ => Ok(()),
        }
    }
}
