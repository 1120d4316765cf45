//! Parts of the order of a sparse read, between two places that cells may have.

/// A part of the order of a sparse read's cells. It begins and ends at places: coordinates that a cell may have, whether or not one
/// does. Cells of equal coordinates lie in one part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderPart {
    /// The place where it begins, a coordinate a dimension; `None` for the begin of the order.
    pub from: Option<Vec<Coordinate>>,
    /// The place before which it ends; `None` for the end of the order.
    pub until: Option<Vec<Coordinate>>,
}

/// A coordinate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coordinate {
    /// On a dimension of numbers, as its ordinal.
    Number(u64),
    /// On a dimension of strings.
    Text(Box<[u8]>),
}
