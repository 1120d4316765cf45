//! Building schemas.

use super::{Attribute, Dimension, IntoPipeline, Label, Schema};
use crate::range::Side;
use crate::{Enumeration, RangeEnd};
use smalti_array::Definitions;
use smalti_format::{ArraySchema, CurrentDomain, Version};
use smalti_types::{ArrayType, Error, Extent, Filter, FilterPipeline, Layout, Result};
use std::ops::RangeBounds;

/// A schema that is being built; made by [`Schema::dense`] and [`Schema::sparse`].
///
/// What is not said takes libtiledb's default: row-major cells and tiles, 10000 cells a data tile, zstd for coordinates
/// and offsets, run lengths for validity, no filters on attributes.
///
/// ```
/// use smalti::{Attribute, Dimension, ErrorKind, Filter, Schema};
///
/// let points = Schema::sparse()
///     .dimension(Dimension::new("x", 0.0..=1.0))
///     .dimension(Dimension::new("y", 0.0..=1.0))
///     .attribute(Attribute::of::<u32>("class"))
///     .hilbert()
///     .capacity(100_000)
///     .allow_duplicates(true)
///     .coords_filters([Filter::byteshuffle(), Filter::zstd(3)])
///     .build()?;
/// assert_eq!(points.capacity, 100_000);
///
/// let error = Schema::sparse().build().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SchemaBuilder {
    schema: ArraySchema,
    dimensions: Vec<Dimension>,
    attributes: Vec<Attribute>,
    enumerations: Vec<Enumeration>,
    labels: Vec<Label>,
    current_domain: Vec<(String, Side)>,
    version: u32,
}

impl SchemaBuilder {
    pub(super) fn new(array_type: ArrayType) -> SchemaBuilder {
        let schema = ArraySchema {
            version: Version::DEFAULT,
            allows_dups: false,
            array_type,
            tile_order: Layout::RowMajor,
            cell_order: Layout::RowMajor,
            capacity: 10_000,
            coords_filters: FilterPipeline::new([Filter::zstd(-1)]),
            offsets_filters: FilterPipeline::new([Filter::zstd(-1)]),
            validity_filters: FilterPipeline::new([Filter::rle()]),
            dimensions: Vec::new(),
            attributes: Vec::new(),
            dimension_labels: Vec::new(),
            enumerations: Vec::new(),
            current_domain: CurrentDomain::Empty,
        };
        let version = Version::DEFAULT.number();
        SchemaBuilder {
            schema,
            dimensions: Vec::new(),
            attributes: Vec::new(),
            enumerations: Vec::new(),
            labels: Vec::new(),
            current_domain: Vec::new(),
            version,
        }
    }

    /// Appends a dimension; their order is that of coordinates.
    #[must_use]
    pub fn dimension(mut self, dimension: Dimension) -> Self {
        self.dimensions.push(dimension);
        self
    }

    /// Appends an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Adds an enumeration, for [attributes that use it](Attribute::enumeration). From format version 20.
    #[must_use]
    pub fn enumeration(mut self, enumeration: Enumeration) -> Self {
        self.enumerations.push(enumeration);
        self
    }

    /// Adds a dimension label. From format version 18.
    #[must_use]
    pub fn label(mut self, label: Label) -> Self {
        self.labels.push(label);
        self
    }

    /// The part of a dimension that is in use for now: writes keep inside, and
    /// [evolution](crate::Evolution::expand_current_domain) can make it larger, up to the domain. Without one of their own the
    /// other dimensions are in use as a whole, but dimensions of strings need one. From format version 22.
    #[must_use]
    pub fn current_domain<T: RangeEnd>(
        mut self,
        dimension: impl Into<String>,
        range: impl RangeBounds<T>,
    ) -> Self {
        self.current_domain.push((dimension.into(), Side::of(&range)));
        self
    }

    /// The order of cells in a tile: row-major, column-major, or Hilbert.
    #[must_use]
    pub fn cell_order(mut self, order: Layout) -> Self {
        self.schema.cell_order = order;
        self
    }

    /// The order of space tiles: row-major or column-major.
    #[must_use]
    pub fn tile_order(mut self, order: Layout) -> Self {
        self.schema.tile_order = order;
        self
    }

    /// Cells along the Hilbert curve, so that neighbours in space are neighbours on disk; for sparse arrays.
    #[must_use]
    pub fn hilbert(self) -> Self {
        self.cell_order(Layout::Hilbert)
    }

    /// Cells in a data tile of a sparse array.
    #[must_use]
    pub fn capacity(mut self, cell_count: u64) -> Self {
        self.schema.capacity = cell_count;
        self
    }

    /// Whether several cells of a sparse array may have the same coordinates.
    #[must_use]
    pub fn allow_duplicates(mut self, allow: bool) -> Self {
        self.schema.allows_dups = allow;
        self
    }

    /// Filters for the coordinates of dimensions that have none of their own.
    #[must_use]
    pub fn coords_filters(mut self, filters: impl IntoPipeline) -> Self {
        self.schema.coords_filters = filters.into_pipeline();
        self
    }

    /// Filters for the offsets of var-sized fields.
    #[must_use]
    pub fn offsets_filters(mut self, filters: impl IntoPipeline) -> Self {
        self.schema.offsets_filters = filters.into_pipeline();
        self
    }

    /// Filters for the validity bytes of nullable attributes.
    #[must_use]
    pub fn validity_filters(mut self, filters: impl IntoPipeline) -> Self {
        self.schema.validity_filters = filters.into_pipeline();
        self
    }

    /// The format version to write, for readers older than the default of 22.
    #[must_use]
    pub fn format_version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// `InvalidArgument` naming the dimension, attribute or filter that breaks a rule, and the rule; `Unsupported` for
    /// unknown format versions.
    pub fn build(self) -> Result<Schema> {
        let SchemaBuilder {
            mut schema,
            dimensions,
            attributes,
            enumerations,
            labels,
            current_domain,
            version,
        } = self;
        schema.version = Version::new(version)?;
        schema.dimensions = dimensions.into_iter().map(Dimension::build).collect::<Result<_>>()?;
        schema.fill_absent_extents();
        schema.attributes = attributes.into_iter().map(Attribute::build).collect::<Result<_>>()?;
        schema.current_domain = rectangle(&schema, &current_domain)?;
        let enumerations = enumerations.into_iter().map(Enumeration::build).collect::<Result<_>>()?;
        let labels = labels.into_iter().map(|label| label.build(&mut schema)).collect::<Result<_>>()?;
        Schema::from_parts(schema, Definitions { enumerations, labels })
    }
}

/// The current domain of some named sides.
fn rectangle(schema: &ArraySchema, sides: &[(String, Side)]) -> Result<CurrentDomain> {
    if sides.is_empty() {
        return Ok(CurrentDomain::Empty);
    }
    for (idx, (name, _)) in sides.iter().enumerate() {
        if schema.dimension(name).is_none() || sides[..idx].iter().any(|(other, _)| other == name) {
            let what = if schema.dimension(name).is_none() { "is no dimension" } else { "is given twice" };
            return Err(Error::invalid(format!("current domain: {name:?} {what}")));
        }
    }
    let side = |dimension: &smalti_format::Dimension| {
        let asked = sides.iter().find(|(name, _)| *name == dimension.name);
        match (asked, dimension.domain) {
            (Some((_, side)), _) => side.on(dimension),
            (None, Some((lo, hi))) => Ok(Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }),
            (None, None) => Err(Error::invalid(format!(
                "dimension {:?} is of strings, which have no bounds; give its current domain too",
                dimension.name
            ))),
        }
    };
    schema.dimensions.iter().map(side).collect::<Result<_>>().map(CurrentDomain::Rectangle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::{Datatype, ErrorKind, Scalar};

    fn line() -> SchemaBuilder {
        Schema::dense().dimension(Dimension::new("x", 0..=99_u16))
    }

    #[test]
    fn a_domain_without_tile_extent_is_one_tile() {
        let schema = line().attribute(Attribute::of::<i32>("a")).build().unwrap();
        assert_eq!(schema.dimensions[0].tile_extent, Some(Scalar::U16(100)));
        let hilbert = Schema::sparse()
            .dimension(Dimension::new("x", 0..=99))
            .attribute(Attribute::of::<i32>("a"))
            .hilbert()
            .build()
            .unwrap();
        assert_eq!(hilbert.dimensions[0].tile_extent, None);
    }

    #[test]
    fn literals_take_the_type_of_their_field() {
        let schema = Schema::dense()
            .dimension(Dimension::new("x", 0..=99_u16).tile(10))
            .attribute(Attribute::of::<u8>("a").fill(7))
            .attribute(Attribute::of::<f32>("xy").values_per_cell(2).fill(0.5))
            .attribute(Attribute::ascii("s").fill("none").nullable())
            .build()
            .unwrap();
        assert_eq!(schema.dimensions[0].tile_extent, Some(Scalar::U16(10)));
        assert_eq!(schema.attributes[0].fill_value, [7]);
        assert_eq!(schema.attributes[1].fill_value, bytemuck::cast_slice::<f32, u8>(&[0.5, 0.5]));
        assert_eq!(schema.attributes[2].fill_value, b"none");
        assert!(schema.attributes[2].fill_valid);
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        let cases: Vec<(SchemaBuilder, &str)> = vec![
            (line().attribute(Attribute::of::<u8>("a").fill(256)), "\"a\""),
            (line().attribute(Attribute::of::<u8>("a").values_per_cell(0)), "\"a\""),
            (line().attribute(Attribute::of::<u8>("a").values_per_cell(2).fill([1, 2, 3])), "\"a\""),
            (line().attribute(Attribute::utf8("a").fill("")), "\"a\""),
            (line().attribute(Attribute::of::<f32>("a").filters(Filter::bit_width_reduction())), "\"a\""),
            (line().attribute(Attribute::of::<f32>("a").filters([Filter::dictionary()])), "dictionary"),
            (Schema::dense().dimension(Dimension::new("x", 0..=300).datatype(Datatype::UInt8)), "\"x\""),
        ];
        for (builder, word) in cases {
            let error = builder.build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
