//! The rules that a schema keeps: some that every reader relies on, all of them before an array is made.

use super::{ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel};
use crate::names;
use crate::record::Record;
use smalti_types::{CellValNum, Datatype, Error, Extent, Layout, PhysicalKind, Result, Scalar};
use std::collections::HashSet;

/// The most dimensions that the Hilbert order takes.
const MAX_HILBERT_DIMENSIONS: usize = 16;

impl ArraySchema {
    /// Checks a schema before an array is made with it, by the reference's rules.
    ///
    /// Whether filters fit the types of their fields is for the filters to say.
    ///
    /// # Errors
    /// `InvalidArgument`, quoting the values and saying what to change.
    pub fn check(&self) -> Result<()> {
        self.check_loaded().map_err(|error| Error::invalid(error.message()))?;
        self.check_vocabulary()?;
        self.check_names()?;
        if self.is_dense() && self.allows_dups {
            return Err(Error::invalid("dense arrays cannot allow duplicates; make the array sparse"));
        }
        for dimension in &self.dimensions {
            check_domain(dimension)?;
            check_extent(dimension)?;
        }
        for attribute in &self.attributes {
            self.check_order(attribute)?;
        }
        self.check_images()?;
        self.check_current_domain()
    }

    /// Checks what later code relies on, on load.
    pub(super) fn check_loaded(&self) -> Result<()> {
        let bad = |field: &'static str, message: String| {
            Err(Error::corrupt(message).in_field(ArraySchema::STRUCTURE.name, field))
        };
        if self.dimensions.is_empty() {
            return bad("dimensions", "the schema has no dimensions; give it one".into());
        }
        if !matches!(self.tile_order, Layout::RowMajor | Layout::ColMajor) {
            return bad(
                "tile_order",
                format!("{} is no order of tiles; take row-major or col-major", self.tile_order),
            );
        }
        if !matches!(self.cell_order, Layout::RowMajor | Layout::ColMajor | Layout::Hilbert) {
            return bad(
                "cell_order",
                format!("{} is no order of cells; take row-major, col-major or hilbert", self.cell_order),
            );
        }
        if self.cell_order == Layout::Hilbert && self.dimensions.len() > MAX_HILBERT_DIMENSIONS {
            return bad(
                "dimensions",
                format!(
                    "the hilbert order takes at most {MAX_HILBERT_DIMENSIONS} dimensions, not {}; take row-major",
                    self.dimensions.len()
                ),
            );
        }
        if self.is_dense() {
            self.check_dense()?;
        } else if self.capacity == 0 {
            return bad("capacity", "sparse arrays cannot have a capacity of 0; take 10000".into());
        }
        self.dimensions.iter().try_for_each(check_loaded_dimension)?;
        self.attributes.iter().try_for_each(|attribute| self.check_loaded_attribute(attribute))?;
        self.dimension_labels.iter().try_for_each(|label| self.check_loaded_label(label))
    }

    fn check_dense(&self) -> Result<()> {
        let bad =
            |message: String| Err(Error::corrupt(message).in_field(Dimension::STRUCTURE.name, "datatype"));
        if self.attributes.is_empty() {
            return Err(Error::corrupt("dense arrays need an attribute")
                .in_field(ArraySchema::STRUCTURE.name, "attributes"));
        }
        if self.cell_order == Layout::Hilbert {
            return Err(Error::corrupt("dense arrays cannot have the hilbert order; take row-major")
                .in_field(ArraySchema::STRUCTURE.name, "cell_order"));
        }
        for dimension in &self.dimensions {
            let datatype = dimension.datatype;
            if !(datatype.is_integer() || datatype.is_datetime() || datatype.is_time()) {
                return bad(format!(
                    "dimension {:?} of a dense array is of type {datatype}; take an integer, date or time, or make \
                     the array sparse",
                    dimension.name
                ));
            }
            if let Some(first) = self.dimensions.first().filter(|first| first.datatype != datatype) {
                return bad(format!(
                    "dimensions {:?} and {:?} of a dense array are of types {} and {datatype}; give both the same, \
                     or make the array sparse",
                    first.name, dimension.name, first.datatype
                ));
            }
            if dimension.tile_extent.is_none() {
                return Err(Error::corrupt(format!(
                    "dimension {:?} of a dense array has no tile extent; give it one",
                    dimension.name
                ))
                .in_field(Dimension::STRUCTURE.name, "tile_extent"));
            }
        }
        Ok(())
    }

    fn check_loaded_attribute(&self, attribute: &Attribute) -> Result<()> {
        let bad = |field: &'static str, message: String| {
            Err(Error::corrupt(format!("attribute {:?}: {message}", attribute.name))
                .in_field(Attribute::STRUCTURE.name, field))
        };
        if attribute.datatype == Datatype::Any && !attribute.is_var() {
            return bad("cell_val_num", "cells of type ANY hold a variable number of values".into());
        }
        let fill_len = attribute.fill_value.len();
        let fits = match attribute.cell_byte_len() {
            Some(cell_len) => fill_len == cell_len,
            None => fill_len > 0 && fill_len.is_multiple_of(attribute.datatype.byte_len()),
        };
        if !fits {
            return bad(
                "fill_value",
                format!(
                    "a fill value of {fill_len} bytes does not fit cells of {:?} values of type {}",
                    attribute.cell_val_num, attribute.datatype
                ),
            );
        }
        let Some(enumeration) = &attribute.enumeration else { return Ok(()) };
        if self.enumeration_file(enumeration).is_none() {
            return bad(
                "enumeration",
                format!("the schema does not have the enumeration {enumeration:?}; add it first"),
            );
        }
        if !attribute.datatype.is_integer() || attribute.cell_val_num != CellValNum::ONE {
            return bad(
                "enumeration",
                format!(
                    "an attribute with an enumeration holds one integer a cell, not {:?} of type {}",
                    attribute.cell_val_num, attribute.datatype
                ),
            );
        }
        Ok(())
    }

    fn check_loaded_label(&self, label: &DimensionLabel) -> Result<()> {
        let bad = |field: &'static str, message: String| {
            Err(Error::corrupt(format!("dimension label {:?}: {message}", label.name))
                .in_field(DimensionLabel::STRUCTURE.name, field))
        };
        if label.dimension_idx as usize >= self.dimensions.len() {
            return bad(
                "dimension_idx",
                format!("there is no dimension {}; there are {}", label.dimension_idx, self.dimensions.len()),
            );
        }
        if label.name.is_empty() || label.uri.is_empty() || label.attribute.is_empty() {
            return bad("name", "name, URI and attribute must not be empty".into());
        }
        if label.order == DataOrder::Unordered {
            return bad("order", "labels must increase or decrease along the dimension".into());
        }
        if !label.is_external && !label.uri_is_relative {
            return bad("uri_is_relative", "a label of the array's own must have a relative URI".into());
        }
        if label.cell_val_num != one_or_string(label.datatype) {
            return bad(
                "cell_val_num",
                format!("{:?} values of type {}", label.cell_val_num, label.datatype),
            );
        }
        Ok(())
    }

    fn check_names(&self) -> Result<()> {
        let mut seen = HashSet::new();
        let labels = self.dimension_labels.iter().map(|label| label.name.as_str());
        for name in self.fields().map(|field| field.name()).chain(labels) {
            if !seen.insert(name) {
                return Err(Error::invalid(format!(
                    "the name {name:?} is given twice; dimensions, attributes and labels need names of their own"
                )));
            }
        }
        let reserved = self.attributes.iter().find(|item| item.name.starts_with(names::RESERVED_PREFIX));
        // Arrays of 1.x call an attribute without a name `__attr`, and are still evolved.
        if let Some(attribute) = reserved.filter(|item| item.name != "__attr") {
            return Err(Error::invalid(format!(
                "the attribute name {:?} is reserved; take one that does not start with {:?}",
                attribute.name,
                names::RESERVED_PREFIX
            )));
        }
        let mut enumerations = HashSet::new();
        match self.enumerations.iter().find(|(name, _)| !enumerations.insert(name)) {
            Some((name, _)) => Err(Error::invalid(format!("the enumeration {name:?} is given twice"))),
            None => Ok(()),
        }
    }

    fn check_order(&self, attribute: &Attribute) -> Result<()> {
        if attribute.order == DataOrder::Unordered {
            return Ok(());
        }
        let bad = |message: &str| {
            Err(Error::invalid(format!("attribute {:?} with ordered values: {message}", attribute.name)))
        };
        if !self.is_dense() || self.dimensions.len() != 1 {
            return bad("only dense arrays of one dimension can have one");
        }
        if attribute.nullable {
            return bad("its values cannot be null");
        }
        let datatype = attribute.datatype;
        let orderable = datatype.is_integer()
            || datatype.is_float()
            || datatype.is_datetime()
            || datatype.is_time()
            || datatype == Datatype::StringAscii;
        if !orderable {
            return bad(&format!("values of type {datatype} have no order"));
        }
        if attribute.cell_val_num != one_or_string(datatype) {
            return bad(&format!("{:?} values of type {datatype} in a cell", attribute.cell_val_num));
        }
        Ok(())
    }

    fn check_current_domain(&self) -> Result<()> {
        let CurrentDomain::Rectangle(extents) = &self.current_domain else { return Ok(()) };
        if extents.len() != self.dimensions.len() {
            return Err(Error::invalid(format!(
                "a current domain of {} intervals in {} dimensions",
                extents.len(),
                self.dimensions.len()
            )));
        }
        for (dimension, extent) in self.dimensions.iter().zip(extents) {
            let inside = match (extent, dimension.domain) {
                (Extent::Num { lo, hi }, Some((first, last))) => {
                    lo <= hi && first.ordinal() <= *lo && *hi <= last.ordinal()
                }
                (Extent::Str { lo, hi: Some(hi) }, None) => lo <= hi,
                _ => false,
            };
            if !inside {
                let domain = match dimension.domain {
                    Some((lo, hi)) => format!("{lo}:{hi}"),
                    None => "every string".to_owned(),
                };
                return Err(Error::invalid(format!(
                    "the current domain {} of dimension {:?} is inverted, leaves its domain {domain}, or has no end; keep \
                     it inside",
                    dimension.shown(extent.as_ref()),
                    dimension.name
                )));
            }
        }
        Ok(())
    }
}

impl Dimension {
    /// Cells of a space tile, for dimensions of integers, dates and times.
    ///
    /// The stored extent counts as unsigned: where none was given, the reference stores the whole range, which may
    /// not fit the signed type.
    pub fn extent_len(&self) -> Option<u64> {
        Some(match self.tile_extent? {
            Scalar::I8(extent) => extent.cast_unsigned().into(),
            Scalar::I16(extent) => extent.cast_unsigned().into(),
            Scalar::I32(extent) => extent.cast_unsigned().into(),
            Scalar::I64(extent) => extent.cast_unsigned(),
            Scalar::U8(extent) => extent.into(),
            Scalar::U16(extent) => extent.into(),
            Scalar::U32(extent) => extent.into(),
            Scalar::U64(extent) => extent,
            Scalar::F32(_) | Scalar::F64(_) => return None,
        })
    }
}

fn one_or_string(datatype: Datatype) -> CellValNum {
    if datatype == Datatype::StringAscii { CellValNum::Var } else { CellValNum::ONE }
}

fn check_loaded_dimension(dimension: &Dimension) -> Result<()> {
    let bad = |field: &'static str, message: String| {
        Err(Error::corrupt(format!("dimension {:?}: {message}", dimension.name))
            .in_field(Dimension::STRUCTURE.name, field))
    };
    let datatype = dimension.datatype;
    if datatype != Datatype::StringAscii
        && (datatype.is_string() || datatype.is_bytes() || datatype == Datatype::Bool)
    {
        return bad(
            "datatype",
            format!("{datatype} is no type of a dimension; strings are of type STRING_ASCII"),
        );
    }
    if dimension.cell_val_num != one_or_string(datatype) {
        return bad("cell_val_num", format!("{:?} values of type {datatype}", dimension.cell_val_num));
    }
    match dimension.domain {
        Some(_) if dimension.is_var() => bad("domain", "a dimension of strings has no domain".into()),
        None if !dimension.is_var() => bad("domain", "a dimension of numbers needs a domain".into()),
        Some((lo, hi)) if lo.ordinal() > hi.ordinal() => {
            bad("domain", format!("the domain [{lo}, {hi}] is inverted; give the lower end first"))
        }
        _ if dimension.is_var() && dimension.tile_extent.is_some() => {
            bad("tile_extent", "a dimension of strings has no tile extent".into())
        }
        _ if dimension.extent_len() == Some(0) => {
            bad("tile_extent", "a tile extent of 0; take at least 1".into())
        }
        _ => Ok(()),
    }
}

fn check_domain(dimension: &Dimension) -> Result<()> {
    let Some((lo, hi)) = dimension.domain else { return Ok(()) };
    let bad = |what: &str| {
        Err(Error::invalid(format!("dimension {:?}: the domain [{lo}, {hi}] {what}", dimension.name)))
    };
    match (lo.as_i128(), hi.as_i128()) {
        (Some(_), Some(_))
            if Scalar::ordinal(lo) == 0 && hi.ordinal() == greatest_ordinal(dimension.datatype) =>
        {
            bad("takes in every value of its type; leave at least one out")
        }
        (Some(_), Some(_)) => Ok(()),
        _ if !lo.as_f64().is_finite() || !hi.as_f64().is_finite() => bad("is not finite"),
        _ => Ok(()),
    }
}

fn greatest_ordinal(datatype: Datatype) -> u64 {
    u64::MAX >> (64 - 8 * datatype.byte_len())
}

fn check_extent(dimension: &Dimension) -> Result<()> {
    let (Some((lo, hi)), Some(extent)) = (dimension.domain, dimension.tile_extent) else { return Ok(()) };
    let bad = |what: &str| {
        Err(Error::invalid(format!(
            "dimension {:?}: a tile extent of {extent} {what} the domain [{lo}, {hi}]",
            dimension.name
        )))
    };
    let (Some(lo_wide), Some(hi_wide), Some(extent_wide)) = (lo.as_i128(), hi.as_i128(), extent.as_i128())
    else {
        let (length, range) = (extent.as_f64(), hi.as_f64() - lo.as_f64());
        // Where no extent was given the range itself is stored, without the 1.
        return match length {
            _ if length == range => Ok(()),
            _ if length.is_nan() || length <= 0.0 => bad("must be greater than 0 in"),
            _ if length > range + 1.0 => bad("exceeds"),
            _ => Ok(()),
        };
    };
    let range = hi_wide - lo_wide + 1;
    if dimension.extent_len().map(i128::from) == Some(range) {
        return Ok(());
    }
    if extent_wide <= 0 {
        return bad("must be greater than 0 in");
    }
    if extent_wide > range {
        return bad("exceeds");
    }
    let last_tile_end = lo_wide + (range - 1) / extent_wide * extent_wide + extent_wide - 1;
    // Ends of tiles are computed in 64 bits, whatever the type.
    let greatest: i128 = match dimension.datatype.physical() {
        PhysicalKind::U8 | PhysicalKind::U16 | PhysicalKind::U32 | PhysicalKind::U64 => u64::MAX.into(),
        _ => i64::MAX.into(),
    };
    if last_tile_end > greatest {
        return Err(Error::invalid(format!(
            "dimension {:?}: the last tile of extent {extent} would end at {last_tile_end}, beyond its type; end the \
             domain [{lo}, {hi}] one tile earlier",
            dimension.name
        )));
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{Version, default_fill_value};
    use smalti_types::{ArrayType, FilterPipeline};

    pub(in super::super) fn dimension(
        name: &str,
        datatype: Datatype,
        domain: (i64, i64),
        extent: i64,
    ) -> Dimension {
        let cast = |value: i64| Scalar::I64(value).cast(datatype).unwrap();
        Dimension {
            name: name.into(),
            datatype,
            cell_val_num: CellValNum::ONE,
            filters: FilterPipeline::default(),
            domain: Some((cast(domain.0), cast(domain.1))),
            tile_extent: Some(cast(extent)),
        }
    }

    pub(in super::super) fn attribute(name: &str) -> Attribute {
        Attribute {
            name: name.into(),
            datatype: Datatype::Int32,
            cell_val_num: CellValNum::ONE,
            filters: FilterPipeline::default(),
            fill_value: default_fill_value(Datatype::Int32, CellValNum::ONE),
            nullable: false,
            fill_valid: false,
            order: DataOrder::Unordered,
            enumeration: None,
        }
    }

    pub(in super::super) fn schema(dimensions: Vec<Dimension>) -> ArraySchema {
        ArraySchema {
            version: Version::DEFAULT,
            allows_dups: false,
            array_type: ArrayType::Dense,
            tile_order: Layout::RowMajor,
            cell_order: Layout::RowMajor,
            capacity: 10_000,
            coords_filters: FilterPipeline::default(),
            offsets_filters: FilterPipeline::default(),
            validity_filters: FilterPipeline::default(),
            dimensions,
            attributes: vec![attribute("a"), attribute("")],
            dimension_labels: Vec::new(),
            enumerations: Vec::new(),
            current_domain: CurrentDomain::Empty,
        }
    }

    fn complaint(schema: &ArraySchema) -> String {
        schema.check().unwrap_err().to_string()
    }

    #[test]
    fn a_plain_schema_passes_and_comes_back() {
        let schema = schema(vec![dimension("d", Datatype::Int32, (1, 10), 4)]);
        schema.check().unwrap();
        assert_eq!(ArraySchema::decode(&schema.encode().unwrap()).unwrap(), schema);
    }

    #[test]
    fn a_schema_that_a_version_cannot_hold_is_refused_by_the_field_s_name() {
        let mut schema = schema(vec![dimension("d", Datatype::Int32, (1, 10), 4)]);
        schema.attributes[0].nullable = true;
        schema.version = Version::new(6).unwrap();
        assert!(schema.encode().unwrap_err().to_string().contains("nullable"));
        schema.attributes[0].nullable = false;
        for version in Version::all() {
            schema.version = version;
            assert_eq!(ArraySchema::decode(&schema.encode().unwrap()).unwrap(), schema, "{version}");
        }
    }

    #[test]
    fn domains_and_extents_follow_the_reference() {
        let check = |datatype, domain, extent| schema(vec![dimension("d", datatype, domain, extent)]).check();
        assert!(check(Datatype::UInt8, (0, 255), 5).is_err(), "every value of the type");
        assert!(check(Datatype::UInt8, (0, 254), 5).is_ok());
        assert!(check(Datatype::Int8, (0, 126), 100).is_ok(), "tile ends are computed in 64 bits");
        assert!(check(Datatype::Int32, (1, 10), 11).is_err(), "extent beyond the domain");
        assert!(check(Datatype::Int32, (1, 10), 0).is_err());
        assert!(check(Datatype::Int32, (10, 1), 1).is_err());
        assert!(check(Datatype::Int64, (0, i64::MAX - 1), 10).is_err(), "the last tile leaves the type");
        assert!(check(Datatype::Int64, (0, i64::MAX - 10), 10).is_ok());
        let mut wide = schema(vec![dimension("d", Datatype::Int8, (-100, 100), 1)]);
        wide.dimensions[0].tile_extent = Some(Scalar::I8(201u8 as i8));
        wide.check().unwrap();
        assert_eq!(wide.dimensions[0].extent_len(), Some(201));
    }

    #[test]
    fn what_is_wrong_is_quoted() {
        let good = || schema(vec![dimension("d", Datatype::Int32, (1, 10), 4)]);
        let mut twice = good();
        twice.attributes[1].name = "d".into();
        assert!(complaint(&twice).contains("\"d\""));
        let mut reserved = good();
        reserved.attributes[0].name = "__x".into();
        assert!(complaint(&reserved).contains("\"__x\""));
        let mut mixed = good();
        mixed.dimensions.push(dimension("e", Datatype::Int64, (1, 10), 4));
        assert!(complaint(&mixed).contains("INT64"));
        let mut float = good();
        float.dimensions[0] = dimension("d", Datatype::Float64, (1, 10), 4);
        assert!(complaint(&float).contains("FLOAT64"));
        let mut hilbert = good();
        hilbert.cell_order = Layout::Hilbert;
        assert!(complaint(&hilbert).contains("hilbert"));
        let mut empty = good();
        empty.array_type = ArrayType::Sparse;
        empty.capacity = 0;
        assert!(complaint(&empty).contains("capacity"));
        let mut fill = good();
        fill.attributes[0].fill_value = vec![0; 3];
        assert!(complaint(&fill).contains("3 bytes"));
        let mut enumerated = good();
        enumerated.attributes[0].enumeration = Some("colours".into());
        assert!(complaint(&enumerated).contains("colours"));
    }
}
