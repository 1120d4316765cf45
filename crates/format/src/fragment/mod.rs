//! Fragment metadata: the footer, the sections that it points to, and the one-tile form of versions 1 and 2.

mod consolidated;
mod footer;
mod legacy;
mod outline;
mod rtree;
mod sections;
mod tile_offsets;

pub use crate::extent::Sides;
pub use consolidated::{ConsolidatedEntry, ConsolidatedFooters, FooterIndex};
pub use footer::{Footer, OptionalSection, Section};
pub use legacy::LegacyFragmentMetadata;
pub use outline::{FooterForm, FooterOutline};
pub use rtree::{RTree, RTreeOutline};
pub use sections::{
    BoundsOutline, FieldStatistics, FragmentStatistics, ProcessedConditions, TileBounds, TileNumbers,
};
pub use tile_offsets::TileOffsets;

pub(crate) use sections::ToEnd;

use crate::leaf::put_u64s;
use crate::record::{Cx, Leaf, Record, Structure};
use crate::{Reader, Rule, Shape, Writer};
use smallvec::SmallVec;
use smalti_types::{Error, Result};

/// The tables of this module, for the documentation.
pub(crate) const STRUCTURES: &[Structure] = &[
    Footer::STRUCTURE,
    OptionalSection::STRUCTURE,
    footer::GlobalOrderOffsets::STRUCTURE,
    RTree::STRUCTURE,
    TileNumbers::STRUCTURE,
    TileBounds::STRUCTURE,
    FragmentStatistics::STRUCTURE,
    FieldStatistics::STRUCTURE,
    ProcessedConditions::STRUCTURE,
    consolidated::ConsolidatedHead::STRUCTURE,
    ConsolidatedEntry::STRUCTURE,
    LegacyFragmentMetadata::STRUCTURE,
];

/// A field as data files and fragment metadata know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldId {
    /// An attribute, by index.
    Attribute(usize),
    /// The coordinates of all dimensions in one file; before version 5.
    Coordinates,
    /// A dimension, by index; from version 5.
    Dimension(usize),
    /// The time of each cell; where the footer says so.
    Timestamps,
    /// The time at which each cell was deleted; where the footer says so.
    DeleteTimestamps,
    /// The index of the condition that deleted each cell; where the footer says so.
    DeleteConditionIndex,
}

/// Which fields have a place in the lists of a fragment's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    attributes: usize,
    dimensions: usize,
    timestamps: bool,
    delete_metadata: bool,
}

impl Slots {
    pub(crate) fn new(cx: &Cx<'_>, timestamps: bool, delete_metadata: bool) -> Slots {
        let split = Rule::DimensionFiles.span().contains(cx.version);
        let dimensions = if split { cx.shape.dimensions.len() } else { 0 };
        Slots { attributes: cx.shape.attribute_count, dimensions, timestamps, delete_metadata }
    }

    /// The number of entries in a list with one for each field.
    pub(crate) fn count(self) -> usize {
        self.attributes
            + 1
            + self.dimensions
            + usize::from(self.timestamps)
            + 2 * usize::from(self.delete_metadata)
    }

    /// The entry of a field.
    pub(crate) fn of(self, field: FieldId) -> Option<usize> {
        let after_dimensions = self.attributes + 1 + self.dimensions;
        let after_timestamps = after_dimensions + usize::from(self.timestamps);
        match field {
            FieldId::Attribute(idx) => (idx < self.attributes).then_some(idx),
            FieldId::Coordinates => Some(self.attributes),
            FieldId::Dimension(idx) => (idx < self.dimensions).then_some(self.attributes + 1 + idx),
            FieldId::Timestamps => self.timestamps.then_some(after_dimensions),
            FieldId::DeleteTimestamps => self.delete_metadata.then_some(after_timestamps),
            FieldId::DeleteConditionIndex => self.delete_metadata.then_some(after_timestamps + 1),
        }
    }
}

/// One number for each field, in the order that a footer's lists have: in place for arrays of up to five dimensions and
/// attributes. Readers of many fragments hold eleven of them for each.
pub type FieldNumbers = SmallVec<[u64; FIELDS_IN_PLACE]>;

/// With the entry that coordinates have: the footer's lists stay below a kilobyte.
const FIELDS_IN_PLACE: usize = 6;

/// One number for each field: attributes, the coordinates (before version 5 the dimensions, later unused), from
/// version 5 each dimension, then what the two flags in the arguments add: timestamps; delete timestamps and
/// condition indices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerField(pub bool, pub bool);

impl Leaf<FieldNumbers> for PerField {
    fn on_disk() -> String {
        "a u64 for each field".into()
    }
    fn fixed_len(cx: &Cx<'_>) -> Option<u64> {
        let flags_exist = Rule::TimestampsFlag.span().contains(cx.version);
        (!flags_exist).then(|| 8 * Slots::new(cx, false, false).count() as u64)
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<FieldNumbers> {
        read_list(reader, Slots::new(cx, self.0, self.1).count())
    }
    fn write(&self, value: &FieldNumbers, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        put_exactly(writer, value, Slots::new(cx, self.0, self.1).count())
    }
}

/// As [`PerField`], but before version 5 without an entry for the coordinates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerVarField(pub bool, pub bool);

impl PerVarField {
    fn count(self, cx: &Cx<'_>) -> usize {
        let split = Rule::DimensionFiles.span().contains(cx.version);
        if split { Slots::new(cx, self.0, self.1).count() } else { cx.shape.attribute_count }
    }
}

impl Leaf<FieldNumbers> for PerVarField {
    fn on_disk() -> String {
        "a u64 for each field; before 5 for each attribute".into()
    }
    fn fixed_len(cx: &Cx<'_>) -> Option<u64> {
        let flags_exist = Rule::TimestampsFlag.span().contains(cx.version);
        (!flags_exist).then(|| 8 * PerVarField(false, false).count(cx) as u64)
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<FieldNumbers> {
        read_list(reader, self.count(cx))
    }
    fn write(&self, value: &FieldNumbers, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        put_exactly(writer, value, self.count(cx))
    }
}

fn read_list(reader: &mut Reader<'_>, count: usize) -> Result<FieldNumbers> {
    let bytes = reader.take_items(count as u64, size_of::<u64>() as u64)?;
    if reader.is_skimming() {
        return Ok(FieldNumbers::new());
    }
    let numbers = bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number));
    let mut in_place = [0; FIELDS_IN_PLACE];
    if count > in_place.len() {
        return Ok(FieldNumbers::from_vec(numbers.collect()));
    }
    // Collected, each would be asked whether there is still room for it.
    in_place.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    Ok(FieldNumbers::from_buf_and_len(in_place, count))
}

fn put_exactly(writer: &mut Writer, value: &[u64], count: usize) -> Result<()> {
    if value.len() != count {
        return Err(Error::invalid(format!("{} numbers are given for {count} fields", value.len())));
    }
    put_u64s(writer, value);
    Ok(())
}

/// The surroundings of a section in a fragment of a version.
pub(crate) fn surroundings(version: crate::Version, shape: &Shape) -> Cx<'_> {
    Cx::new(version, shape)
}
