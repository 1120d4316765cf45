//! A part of an order as keys.

use super::order::cell_order;
use crate::part::{Coordinate, OrderPart};
use smalti_array::Snapshot;
use smalti_format::ArraySchema;
use smalti_space::{Column as CoordColumn, Interval, KeyLayout, OrderKeys, UNSTOPPED};
use smalti_types::{Datatype, Error, Layout, Result};
use std::cmp::Ordering;

/// A part of an order as keys.
pub(crate) struct KeyRange {
    pub(super) layout: KeyLayout,
    from: Option<OrderKeys>,
    pub(super) until: Option<OrderKeys>,
    /// Whether the corners of bounding rectangles bound the keys in them.
    pub(super) is_bounded: bool,
}

/// The order whose keys say in which part a cell lies; without an order to keep to, one that rectangles bound.
pub(super) fn order_of_parts(schema: &ArraySchema, layout: Layout) -> Layout {
    match layout {
        Layout::Unordered if schema.cell_order == Layout::Hilbert => Layout::RowMajor,
        layout => layout,
    }
}

/// Whether the corners of rectangles bound the keys of an order.
pub(super) fn is_bounded(schema: &ArraySchema, layout: Layout) -> bool {
    schema.cell_order != Layout::Hilbert || matches!(layout, Layout::RowMajor | Layout::ColMajor)
}

/// The keys of an order.
pub(super) fn key_layout(schema: &ArraySchema, layout: Layout) -> Result<KeyLayout> {
    let bounds = vec![Interval::ALL; schema.dimensions.len()];
    KeyLayout::new(&cell_order(schema, layout)?, &bounds)
}

impl KeyRange {
    pub(super) fn new(snapshot: &Snapshot, layout: Layout, part: &OrderPart) -> Result<KeyRange> {
        let schema = snapshot.schema();
        let layout = order_of_parts(schema, layout);
        let is_bounded = is_bounded(schema, layout);
        let keys = key_layout(schema, layout)?;
        let key = |place: &Option<Vec<Coordinate>>| {
            place.as_ref().map(|place| keys_of(schema, &keys, std::slice::from_ref(place))).transpose()
        };
        let (from, until) = (key(&part.from)?, key(&part.until)?);
        Ok(KeyRange { from, until, is_bounded, layout: keys })
    }

    /// Whether a cell lies at or behind the begin.
    pub(super) fn begins_before(&self, keys: &OrderKeys, cell: usize) -> bool {
        self.from.as_ref().is_none_or(|from| keys.compare(cell, from, 0) != Ordering::Less)
    }

    /// Whether a cell lies before the end.
    pub(super) fn ends_behind(&self, keys: &OrderKeys, cell: usize) -> bool {
        self.until.as_ref().is_none_or(|until| keys.compare(cell, until, 0) == Ordering::Less)
    }
}

/// The keys of some places.
///
/// # Errors
/// `InvalidArgument` when one is no place of the array.
pub(super) fn keys_of(
    schema: &ArraySchema,
    layout: &KeyLayout,
    places: &[Vec<Coordinate>],
) -> Result<OrderKeys> {
    let dimensions = &schema.dimensions;
    let (mut bytes, mut starts) = (vec![Vec::new(); dimensions.len()], vec![Vec::new(); dimensions.len()]);
    for place in places {
        if place.len() != dimensions.len() {
            return Err(Error::invalid(format!(
                "a part of the order begins or ends at {} coordinates; the array has {} dimensions",
                place.len(),
                dimensions.len()
            )));
        }
        for (dim, (coordinate, dimension)) in place.iter().zip(dimensions).enumerate() {
            starts[dim].push(bytes[dim].len() as u64);
            match coordinate {
                Coordinate::Text(text) if dimension.is_var() => bytes[dim].extend_from_slice(text),
                Coordinate::Number(ordinal)
                    if !dimension.is_var() && is_value(dimension.datatype, *ordinal) =>
                {
                    bytes[dim].extend_from_slice(&dimension.datatype.bytes_of_ordinal(*ordinal));
                }
                _ => {
                    return Err(Error::invalid(format!(
                        "a part of the order begins or ends where no cell can be on dimension {:?} of type {}",
                        dimension.name, dimension.datatype
                    )));
                }
            }
        }
    }
    let columns = dimensions.iter().enumerate().map(|(dim, dimension)| match dimension.is_var() {
        true => CoordColumn::strings(&starts[dim], &bytes[dim]),
        false => CoordColumn::numbers(dimension.datatype, &bytes[dim]),
    });
    layout.keys(&columns.collect::<Result<Vec<_>>>()?, UNSTOPPED)
}

/// Whether a number is the ordinal of a value.
fn is_value(datatype: Datatype, ordinal: u64) -> bool {
    datatype.ordinal(&datatype.bytes_of_ordinal(ordinal)).is_ok_and(|again| again == ordinal)
}
