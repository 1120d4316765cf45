//! Array schemas: the records that the whole engine works with.

mod attribute;
mod check;
mod current_domain;
mod dimension;
mod elements;
mod enumeration;
mod extents;
mod images;
mod labels;
mod vocabulary;

pub use attribute::{default_fill_value, new_fill_value};
pub use current_domain::CurrentDomain;
pub use enumeration::Enumeration;

use crate::filters::Pipeline;
use crate::leaf::{
    Bool8, Bytes64, FormatVersion, List32, OptionalStr32, Str32, Str64, Tag8, U32, U64, ValuesPerCell, tagged,
};
use crate::record::{Cx, DimensionShape, Record, Shape, record};
use crate::{Reader, Rule, Version};
pub(crate) use current_domain::CurrentDomainHead;
pub(crate) use enumeration::EnumerationFile;

use attribute::{AttributeList, unstored_fill_value};
use current_domain::CurrentDomainOf;
use dimension::{DimensionList, DomainBounds, TileExtent, shared_datatype, usual_cell_val_num};
use enumeration::EnumerationFiles;
use smalti_types::{ArrayType, CellValNum, Datatype, FilterPipeline, Layout, Result, Scalar};

record! {
    /// The schema of an array. The file is one generic tile.
    pub struct ArraySchema in "array schema", spec "array_schema.md", given cx {
        /// The format version; new fragments take it too.
        1..   version: Version as FormatVersion,
        /// Whether several cells may have the same coordinates (sparse arrays only).
        5..   allows_dups: bool as Bool8 = false,
        /// Dense or sparse.
        1..   array_type: ArrayType as Tag8,
        /// The order of space tiles.
        1..   tile_order: Layout as Tag8,
        /// The order of cells in a tile.
        1..   cell_order: Layout as Tag8,
        /// Cells in a data tile of a sparse fragment.
        1..   capacity: u64 as U64,
        /// Filters of dimensions that have none of their own, and of cell timestamps.
        1..   coords_filters: FilterPipeline as Pipeline,
        /// Filters of offsets of variable-length fields.
        1..   offsets_filters: FilterPipeline as Pipeline,
        /// Filters of validity bytes of nullable attributes.
        7..   validity_filters: FilterPipeline as Pipeline = FilterPipeline::default(),
        /// The datatype of all dimensions.
        1..5  let domain_datatype: Datatype as Tag8 = Datatype::Any => shared_datatype(dimensions)?,
        /// The dimensions, in order.
        1..   dimensions: Vec<Dimension> as DimensionList(*domain_datatype),
        /// The attributes, in order.
        1..   attributes: Vec<Attribute> as AttributeList,
        /// The dimension labels.
        18..  dimension_labels: Vec<DimensionLabel> as List32 = Vec::new(),
        /// Names of enumerations, each with the name of its file in `__schema/__enumerations`.
        20..  enumerations: Vec<(String, String)> as EnumerationFiles = Vec::new(),
        /// The part of the domain that is in use.
        22..  current_domain: CurrentDomain as CurrentDomainOf(shapes(dimensions)) = CurrentDomain::Empty,
    }
}

record! {
    /// A dimension of an array schema.
    pub struct Dimension in "dimension", spec "array_schema.md#dimension", given cx {
        /// The name, unique in the array.
        1..   name: String as Str32,
        /// The datatype of coordinates.
        5..   datatype: Datatype as Tag8 = cx.domain_datatype,
        /// Values in a coordinate: one, or variable for strings.
        5..   cell_val_num: CellValNum as ValuesPerCell = usual_cell_val_num(*datatype),
        /// Filters of coordinates; none means the schema's `coords_filters`.
        5..   filters: FilterPipeline as Pipeline = FilterPipeline::default(),
        /// The least and greatest coordinate; none for strings.
        1..   domain: Option<(Scalar, Scalar)> as DomainBounds(*datatype),
        /// The length of a space tile.
        1..   tile_extent: Option<Scalar> as TileExtent(*datatype),
    }
}

record! {
    /// An attribute of an array schema.
    pub struct Attribute in "attribute", spec "array_schema.md#attribute", given cx {
        /// The name, unique in the array; may be empty.
        1..   name: String as Str32,
        /// The datatype of values.
        1..   datatype: Datatype as Tag8,
        /// Values in a cell.
        1..   cell_val_num: CellValNum as ValuesPerCell,
        /// Filters of values.
        1..   filters: FilterPipeline as Pipeline,
        /// The bytes of a cell that nobody wrote.
        6..   fill_value: Vec<u8> as Bytes64 = unstored_fill_value(*datatype, *cell_val_num)?,
        /// Whether cells can be null.
        7..   nullable: bool as Bool8 = false,
        /// Whether a cell that nobody wrote is valid (not null).
        7..   fill_valid: bool as Bool8 = false,
        /// The order of the values along the array; for attributes of dimension labels.
        17..  order: DataOrder as Tag8 = DataOrder::Unordered,
        /// The enumeration whose values the attribute's values index.
        20..  enumeration: Option<String> as OptionalStr32 = None,
    }
}

record! {
    /// A dimension label: names for positions on a dimension, kept in a one-dimensional array of its own.
    pub struct DimensionLabel in "dimension label", spec "array_schema.md#dimension-label" {
        /// The index of the dimension.
        18..  dimension_idx: u32 as U32,
        /// The label's name.
        18..  name: String as Str32,
        /// Whether `uri` is relative to the array.
        18..  uri_is_relative: bool as Bool8,
        /// Where the label's array is.
        18..  uri: String as Str64,
        /// The attribute of the label's array that holds the label values.
        18..  attribute: String as Str32,
        /// The order of the label values.
        18..  order: DataOrder as Tag8,
        /// The datatype of label values.
        18..  datatype: Datatype as Tag8,
        /// Values in a label.
        18..  cell_val_num: CellValNum as ValuesPerCell,
        /// Whether the label's array lies outside this array.
        18..  is_external: bool as Bool8,
    }
}

/// The order of an attribute's values along a one-dimensional array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataOrder {
    /// No order.
    Unordered,
    /// Each value is at least the one before.
    Increasing,
    /// Each value is at most the one before.
    Decreasing,
}

tagged!(
    DataOrder,
    "order of data",
    DataOrder::Unordered = 0,
    DataOrder::Increasing = 1,
    DataOrder::Decreasing = 2,
);
tagged!(ArrayType, "array type", ArrayType::Dense = 0, ArrayType::Sparse = 1);
tagged!(
    Layout,
    "layout",
    Layout::RowMajor = 0,
    Layout::ColMajor = 1,
    Layout::GlobalOrder = 2,
    Layout::Unordered = 3,
    Layout::Hilbert = 4,
);

/// A dimension or an attribute, by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Field<'a> {
    /// A dimension, with its index.
    Dimension(usize, &'a Dimension),
    /// An attribute, with its index.
    Attribute(usize, &'a Attribute),
}

impl<'a> Field<'a> {
    /// The name.
    pub fn name(self) -> &'a str {
        match self {
            Field::Dimension(_, dimension) => &dimension.name,
            Field::Attribute(_, attribute) => &attribute.name,
        }
    }

    /// The datatype.
    pub fn datatype(self) -> Datatype {
        match self {
            Field::Dimension(_, dimension) => dimension.datatype,
            Field::Attribute(_, attribute) => attribute.datatype,
        }
    }

    /// Values in a cell.
    pub fn cell_val_num(self) -> CellValNum {
        match self {
            Field::Dimension(_, dimension) => dimension.cell_val_num,
            Field::Attribute(_, attribute) => attribute.cell_val_num,
        }
    }

    /// Whether cells can be null.
    pub fn is_nullable(self) -> bool {
        matches!(self, Field::Attribute(_, attribute) if attribute.nullable)
    }
}

impl Dimension {
    /// Whether coordinates are strings of any length.
    pub fn is_var(&self) -> bool {
        self.cell_val_num.is_var()
    }
}

impl Attribute {
    /// Whether cells hold any number of values.
    pub fn is_var(&self) -> bool {
        self.cell_val_num.is_var()
    }

    /// Bytes of a cell, where it is the same for all.
    pub fn cell_byte_len(&self) -> Option<usize> {
        self.cell_val_num.fixed()?.checked_mul(self.datatype.byte_len())
    }
}

impl ArraySchema {
    /// The version of new fragments and commits of the array: the schema's own from version 7 on, the default for older
    /// arrays, which no library writes any more.
    pub fn write_version(&self) -> Version {
        if self.version.has(Rule::WritesKeepVersion) { self.version } else { Version::DEFAULT }
    }

    /// Reads a schema from its unfiltered tile.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    pub fn decode(tile: &[u8]) -> Result<Self> {
        ArraySchema::decode_from(&mut Reader::new(tile))
    }

    /// As [`decode`](ArraySchema::decode), from a reader that may keep a trace.
    ///
    /// # Errors
    /// As [`decode`](ArraySchema::decode).
    pub fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
        let schema = ArraySchema::from_reader(reader, &Cx::unversioned())?;
        schema.check_loaded()?;
        Ok(schema)
    }

    /// The bytes of the schema's tile before filtering, in the schema's own version.
    ///
    /// # Errors
    /// `InvalidArgument` when the version cannot hold a field.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.to_bytes(&Cx::unversioned())
    }

    /// Whether the array is dense.
    pub fn is_dense(&self) -> bool {
        self.array_type == ArrayType::Dense
    }

    /// The dimension of a name, with its index.
    pub fn dimension(&self, name: &str) -> Option<(usize, &Dimension)> {
        self.dimensions.iter().enumerate().find(|(_, dimension)| dimension.name == name)
    }

    /// The attribute of a name, with its index. The empty name also finds the attribute that releases 1.x stored as
    /// `__attr` where users had given it no name.
    pub fn attribute(&self, name: &str) -> Option<(usize, &Attribute)> {
        let find = |name: &str| self.attributes.iter().enumerate().find(|(_, found)| found.name == name);
        find(name).or_else(|| if name.is_empty() { find("__attr") } else { None })
    }

    /// The dimension or attribute of a name.
    pub fn field(&self, name: &str) -> Option<Field<'_>> {
        let dimension = self.dimension(name).map(|(idx, dimension)| Field::Dimension(idx, dimension));
        dimension.or_else(|| self.attribute(name).map(|(idx, attribute)| Field::Attribute(idx, attribute)))
    }

    /// Dimensions, then attributes.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let dimensions = self.dimensions.iter().enumerate().map(|(idx, item)| Field::Dimension(idx, item));
        dimensions.chain(self.attributes.iter().enumerate().map(|(idx, item)| Field::Attribute(idx, item)))
    }

    /// The name of the file of an enumeration.
    pub fn enumeration_file(&self, enumeration: &str) -> Option<&str> {
        self.enumerations.iter().find(|(name, _)| name == enumeration).map(|(_, file)| file.as_str())
    }

    /// The filters that a dimension's coordinates pass in fragments of a version: its own, or else the schema's.
    pub fn coordinate_filters<'a>(
        &'a self,
        dimension: &'a Dimension,
        fragment: Version,
    ) -> &'a FilterPipeline {
        let is_bare =
            !self.version.has(Rule::DimensionFiles) && fragment.has(Rule::OldSchemasLeaveCoordinatesBare);
        if is_bare || !dimension.filters.filters.is_empty() {
            &dimension.filters
        } else {
            &self.coords_filters
        }
    }

    /// What layouts inside fragments take from the schema.
    pub fn shape(&self) -> Shape {
        Shape { dimensions: shapes(&self.dimensions), attribute_count: self.attributes.len() }
    }
}

fn shapes(dimensions: &[Dimension]) -> Vec<DimensionShape> {
    let shape =
        |dimension: &Dimension| DimensionShape { datatype: dimension.datatype, is_var: dimension.is_var() };
    dimensions.iter().map(shape).collect()
}
