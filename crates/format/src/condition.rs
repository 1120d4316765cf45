//! Delete conditions: trees, read and written without recursion.

use crate::leaf::{Bytes64, Str32, Tag8, U64, tagged};
use crate::record::{Cx, Leaf, Record, record};
use crate::{Reader, Writer};
use smalti_types::{Error, Result};

/// The kind of a node in a condition tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NodeKind {
    /// A combination of conditions.
    Combination,
    /// A comparison of a field with a value.
    Comparison,
}

tagged!(NodeKind, "kind of node", NodeKind::Combination = 0, NodeKind::Comparison = 1);

/// How conditions are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CombineOp {
    /// All hold.
    And,
    /// At least one holds.
    Or,
    /// The only one does not hold.
    Not,
}

tagged!(CombineOp, "combination", CombineOp::And = 0, CombineOp::Or = 1, CombineOp::Not = 2);

/// How a field is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Less than.
    Lt,
    /// At most.
    Le,
    /// Greater than.
    Gt,
    /// At least.
    Ge,
    /// Equal; with an empty value: is null.
    Eq,
    /// Not equal; with an empty value: is not null.
    Ne,
    /// In a set of values.
    In,
    /// Not in a set of values.
    NotIn,
    /// Holds for every cell.
    AlwaysTrue,
    /// Holds for no cell.
    AlwaysFalse,
}

tagged!(
    CompareOp,
    "comparison",
    CompareOp::Lt = 0,
    CompareOp::Le = 1,
    CompareOp::Gt = 2,
    CompareOp::Ge = 3,
    CompareOp::Eq = 4,
    CompareOp::Ne = 5,
    CompareOp::In = 6,
    CompareOp::NotIn = 7,
    CompareOp::AlwaysTrue = 253,
    CompareOp::AlwaysFalse = 254,
);

impl CompareOp {
    /// Whether the value is a set.
    pub fn takes_set(self) -> bool {
        matches!(self, CompareOp::In | CompareOp::NotIn)
    }
}

record! {
    /// A combination in a condition tree; its children follow, each with its own children behind it.
    pub(crate) struct CombinationNode in "combination node", spec "delete_commit_file.md" {
        /// How the children are combined.
        15..  op: CombineOp as Tag8,
        /// The number of children.
        15..  child_count: u64 as U64,
    }
}

record! {
    /// A comparison in a condition tree.
    pub(crate) struct ComparisonNode in "comparison node", spec "delete_commit_file.md" {
        /// How the field is compared.
        15..  op: CompareOp as Tag8,
        /// The field. Conditions on an enumerated attribute compare the index.
        15..  field: String as Str32,
        /// The value in the field's type; for a set its members, one after the other; empty for null.
        15..  value: Vec<u8> as Bytes64,
        /// For a set: u64 offsets in bytes, where each member starts in `value`. The specification omits them.
        15..  offsets: Vec<u8> as OffsetsIfSet(op.takes_set()),
    }
}

record! {
    /// The kind of the node that follows.
    pub(crate) struct NodeHead in "condition node", spec "delete_commit_file.md" {
        /// The kind.
        15..  kind: NodeKind as Tag8,
    }
}

/// Bytes behind their length, there only if the argument is true.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OffsetsIfSet(pub(crate) bool);

impl Leaf<Vec<u8>> for OffsetsIfSet {
    fn on_disk() -> String {
        "absent unless a set: u64 length in bytes, that many bytes of u64".into()
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<u8>> {
        if self.0 { Bytes64.read(reader, cx) } else { Ok(Vec::new()) }
    }
    fn write(&self, value: &Vec<u8>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        match self.0 {
            true => Bytes64.write(value, writer, cx),
            false if value.is_empty() => Ok(()),
            false => Err(Error::invalid("a comparison with one value has no offsets")),
        }
    }
}

/// One node of a [`ConditionTree`].
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionNode {
    /// A combination of the next `child_count` subtrees.
    Combination {
        /// How they are combined.
        op: CombineOp,
        /// How many there are.
        child_count: usize,
    },
    /// A comparison of a field with a value.
    Comparison {
        /// How the field is compared.
        op: CompareOp,
        /// The field.
        field: String,
        /// The value in the field's type, or the members of a set one after the other; empty for null.
        value: Vec<u8>,
        /// For a set: where each member starts in `value`.
        offsets: Vec<u64>,
    },
}

/// A condition: the nodes of a tree, each before its children.
///
/// To evaluate one without recursion, walk the nodes from the last to the first with a stack: a comparison pushes
/// its result, a combination replaces the top `child_count` results by theirs. A tree always leaves one result.
/// The condition in a delete commit is negated: it says which cells stay.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionTree {
    nodes: Vec<ConditionNode>,
}

impl ConditionTree {
    /// The deepest nesting that is read or written.
    pub const MAX_DEPTH: usize = 1000;
    /// The largest number of nodes that is read or written.
    pub const MAX_NODE_COUNT: usize = 1 << 20;

    /// Takes the nodes of one tree, each before its children.
    ///
    /// # Errors
    /// `InvalidArgument` when they are not one tree, a `Not` does not have one child, a combination has none, or a
    /// limit is exceeded.
    pub fn new(nodes: Vec<ConditionNode>) -> Result<Self> {
        let mut open = OpenNodes::new();
        for node in &nodes {
            if open.is_closed() {
                return Err(Error::invalid("nodes follow the end of the condition tree"));
            }
            open.add(node)?;
        }
        if !open.is_closed() {
            return Err(Error::invalid("the condition tree lacks nodes"));
        }
        Ok(ConditionTree { nodes })
    }

    /// The nodes, each before its children.
    pub fn nodes(&self) -> &[ConditionNode] {
        &self.nodes
    }

    /// Reads the condition of a delete commit from its unfiltered tile.
    ///
    /// # Errors
    /// `Corrupt`; also for trees beyond [`MAX_DEPTH`](ConditionTree::MAX_DEPTH) or
    /// [`MAX_NODE_COUNT`](ConditionTree::MAX_NODE_COUNT).
    pub fn decode(tile: &[u8]) -> Result<Self> {
        ConditionTree::decode_from(&mut Reader::new(tile))
    }

    /// As [`decode`](ConditionTree::decode), from a reader that may keep a trace.
    ///
    /// # Errors
    /// As [`decode`](ConditionTree::decode).
    pub fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
        let cx = Cx::unversioned();
        let mut nodes = Vec::new();
        let mut open = OpenNodes::new();
        reader.items(|reader| {
            if open.is_closed() {
                return Ok(false);
            }
            let node = match NodeHead::read(reader, &cx)?.kind {
                NodeKind::Combination => {
                    let CombinationNode { op, child_count } = CombinationNode::read(reader, &cx)?;
                    let child_count = usize::try_from(child_count).unwrap_or(usize::MAX);
                    ConditionNode::Combination { op, child_count }
                }
                NodeKind::Comparison => {
                    let ComparisonNode { op, field, value, offsets } = ComparisonNode::read(reader, &cx)?;
                    let offsets = member_offsets(&offsets, value.len())?;
                    ConditionNode::Comparison { op, field, value, offsets }
                }
            };
            open.add(&node).map_err(|error| {
                Error::corrupt(error.message())
                    .in_field("condition node", "nodes")
                    .at_offset(reader.byte_offset())
            })?;
            nodes.push(node);
            Ok(true)
        })?;
        reader.expect_end().map_err(|error| error.in_field("condition node", "end"))?;
        Ok(ConditionTree { nodes })
    }

    /// The bytes of the condition's tile before filtering.
    ///
    /// # Errors
    /// `InvalidArgument` when a comparison with one value has offsets.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let cx = Cx::unversioned();
        let mut writer = Writer::new();
        for node in &self.nodes {
            match node {
                ConditionNode::Combination { op, child_count } => {
                    NodeHead { kind: NodeKind::Combination }.write(&mut writer, &cx)?;
                    CombinationNode { op: *op, child_count: *child_count as u64 }.write(&mut writer, &cx)?;
                }
                ConditionNode::Comparison { op, field, value, offsets } => {
                    NodeHead { kind: NodeKind::Comparison }.write(&mut writer, &cx)?;
                    let offsets = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
                    ComparisonNode { op: *op, field: field.clone(), value: value.clone(), offsets }
                        .write(&mut writer, &cx)?;
                }
            }
        }
        Ok(writer.into_bytes())
    }
}

/// The members' offsets, checked to rise inside the value.
fn member_offsets(bytes: &[u8], value_len: usize) -> Result<Vec<u64>> {
    let (whole, rest) = bytes.as_chunks::<8>();
    let offsets: Vec<u64> = whole.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
    let inside = offsets.last().is_none_or(|last| *last <= value_len as u64);
    if !rest.is_empty() || !offsets.is_sorted() || !inside {
        return Err(Error::corrupt(format!(
            "offsets of members do not rise inside a value of {value_len} bytes"
        ))
        .in_field(ComparisonNode::STRUCTURE.name, "offsets"));
    }
    Ok(offsets)
}

/// The children still to come of each combination on the way down; in front, the tree itself.
struct OpenNodes {
    missing: Vec<usize>,
    node_count: usize,
}

impl OpenNodes {
    fn new() -> Self {
        OpenNodes { missing: vec![1], node_count: 0 }
    }

    fn is_closed(&self) -> bool {
        self.missing.is_empty()
    }

    fn add(&mut self, node: &ConditionNode) -> Result<()> {
        self.node_count += 1;
        if self.node_count > ConditionTree::MAX_NODE_COUNT {
            return Err(Error::invalid(format!("more than {} nodes", ConditionTree::MAX_NODE_COUNT)));
        }
        if let Some(missing) = self.missing.last_mut() {
            *missing -= 1;
        }
        match *node {
            ConditionNode::Combination { child_count: 0, .. } => {
                return Err(Error::invalid("a combination of nothing"));
            }
            ConditionNode::Combination { op: CombineOp::Not, child_count } if child_count != 1 => {
                return Err(Error::invalid(format!("a negation of {child_count} conditions")));
            }
            ConditionNode::Combination { child_count, .. } => self.missing.push(child_count),
            ConditionNode::Comparison { .. } => {}
        }
        while self.missing.last() == Some(&0) {
            self.missing.pop();
        }
        if self.missing.len() > ConditionTree::MAX_DEPTH {
            return Err(Error::invalid(format!("nesting deeper than {} levels", ConditionTree::MAX_DEPTH)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equals(field: &str, value: u8) -> ConditionNode {
        let (field, value, offsets) = (field.to_owned(), vec![value], Vec::new());
        ConditionNode::Comparison { op: CompareOp::Eq, field, value, offsets }
    }

    fn combination(op: CombineOp, child_count: usize) -> ConditionNode {
        ConditionNode::Combination { op, child_count }
    }

    #[test]
    fn a_tree_comes_back() {
        let tree = ConditionTree::new(vec![
            combination(CombineOp::And, 2),
            combination(CombineOp::Not, 1),
            equals("a", 1),
            combination(CombineOp::Or, 2),
            equals("b", 2),
            ConditionNode::Comparison {
                op: CompareOp::In,
                field: "c".into(),
                value: vec![1, 2, 3],
                offsets: vec![0, 1, 2],
            },
        ])
        .unwrap();
        assert_eq!(ConditionTree::decode(&tree.encode().unwrap()).unwrap(), tree);
    }

    #[test]
    fn nodes_that_are_not_one_tree_are_refused() {
        for nodes in [
            vec![],
            vec![equals("a", 1), equals("a", 1)],
            vec![combination(CombineOp::And, 2), equals("a", 1)],
            vec![combination(CombineOp::And, 0)],
            vec![combination(CombineOp::Not, 2), equals("a", 1), equals("a", 1)],
        ] {
            assert!(ConditionTree::new(nodes).is_err());
        }
    }

    #[test]
    fn a_hundred_thousand_nested_nodes_are_corrupt() {
        let mut tile = Vec::new();
        for _ in 0..100_000 {
            tile.extend([0, 2]);
            tile.extend(1u64.to_le_bytes());
        }
        let error = ConditionTree::decode(&tile).unwrap_err();
        assert!(error.message().contains("nesting"), "{error}");
    }

    #[test]
    fn a_false_number_of_children_ends_with_the_bytes() {
        let mut tile = vec![0, 0];
        tile.extend(u64::MAX.to_le_bytes());
        assert!(ConditionTree::decode(&tile).is_err());
    }
}
