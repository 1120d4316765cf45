//! What a handle of a schema holds, and what is checked while it is put together.

use crate::boundary::handle::kinds;
use crate::failure::{Failure, Fallible, fail};
use smalti::format::{ArraySchema, Attribute, CurrentDomain, Dimension, Enumeration, Version};
use smalti::{Array, ArrayType, CellValNum, Definitions, Extent, Filter, FilterPipeline, Layout, Schema};

/// A schema that is put together, or that an array has.
#[derive(Debug, Clone)]
pub(crate) struct SchemaHandle {
    /// What is stored.
    pub(crate) schema: ArraySchema,
    /// Enumerations whose elements are here.
    pub(crate) enumerations: Vec<Enumeration>,
    /// For each label, the schema of the array that holds it.
    pub(crate) labels: Vec<ArraySchema>,
    /// When it was made, if that was said or is known.
    pub(crate) timestamp: Option<u64>,
    /// The array it is of; enumerations are loaded from it.
    pub(crate) array: Option<Array>,
}

kinds! { SchemaHandle => "array_schema" }

/// What failures of schemas are told by.
pub(super) const ORIGIN: &str = "ArraySchema";

impl SchemaHandle {
    /// A schema with nothing in it.
    pub(crate) fn new(array_type: ArrayType, timestamp: Option<u64>) -> SchemaHandle {
        SchemaHandle {
            schema: ArraySchema {
                version: Version::DEFAULT,
                allows_dups: false,
                array_type,
                tile_order: Layout::RowMajor,
                cell_order: Layout::RowMajor,
                capacity: 10_000,
                coords_filters: FilterPipeline::new([Filter::Zstd { level: -1 }]),
                offsets_filters: FilterPipeline::new([Filter::Zstd { level: -1 }]),
                validity_filters: FilterPipeline::new([Filter::Rle { level: -1 }]),
                dimensions: Vec::new(),
                attributes: Vec::new(),
                dimension_labels: Vec::new(),
                enumerations: Vec::new(),
                current_domain: CurrentDomain::Empty,
            },
            enumerations: Vec::new(),
            labels: Vec::new(),
            timestamp,
            array: None,
        }
    }

    /// The schema of an array.
    pub(crate) fn of_array(array: &Array) -> SchemaHandle {
        let schema = array.schema();
        // Dimensions without filters have those of the coordinates; what is stored says so only by leaving them out.
        let mut shown = (*schema).clone();
        for dimension in &mut shown.dimensions {
            if dimension.filters.filters.is_empty() {
                dimension.filters = shown.coords_filters.clone();
            }
        }
        SchemaHandle {
            schema: shown,
            enumerations: schema.definitions().enumerations.clone(),
            labels: schema.definitions().labels.clone(),
            timestamp: array.schema_timestamp(),
            array: Some(array.clone()),
        }
    }

    /// The names of all enumerations, loaded or not.
    pub(crate) fn enumeration_names(&self) -> Vec<String> {
        let stored = self.schema.enumerations.iter().map(|(name, _)| name);
        let new = self.enumerations.iter().map(|item| &item.name);
        let new = new.filter(|name| self.schema.enumerations.iter().all(|(stored, _)| stored != *name));
        stored.chain(new).cloned().collect()
    }

    /// An enumeration whose elements are here.
    pub(crate) fn loaded(&self, name: &str) -> Option<&Enumeration> {
        self.enumerations.iter().find(|item| item.name == name)
    }

    /// An enumeration, loaded if need be.
    pub(crate) fn enumeration(&mut self, name: &str) -> Fallible<&Enumeration> {
        if !self.enumeration_names().iter().any(|known| known == name) {
            return Err(no_enumeration(name));
        }
        if self.loaded(name).is_none() {
            let Some(array) = &self.array else { return Err(no_enumeration(name)) };
            let found = array.enumeration(name)?;
            self.enumerations.push((*found).clone());
        }
        self.loaded(name).ok_or_else(|| no_enumeration(name))
    }

    /// Loads all enumerations.
    pub(crate) fn load_enumerations(&mut self) -> Fallible<()> {
        self.enumeration_names().iter().try_for_each(|name| self.enumeration(name).map(|_| ()))
    }

    pub(super) fn add_attribute(&mut self, attribute: Attribute) -> Fallible<()> {
        if attribute.name.starts_with("__") {
            return fail(ORIGIN, "Cannot add attribute: names starting with '__' are reserved");
        }
        if let Some(name) = &attribute.enumeration {
            if !self.enumeration_names().contains(name) {
                return fail(
                    ORIGIN,
                    format!(
                        "Cannot add attribute; Attribute refers to an unknown enumeration named '{name}'."
                    ),
                );
            }
            if !attribute.datatype.is_integer() {
                let words = "attribute must have an integral data type, not";
                return fail(
                    ORIGIN,
                    format!(
                        "Unable to use enumeration with attribute '{}', {words} {}",
                        attribute.name,
                        attribute.datatype.name()
                    ),
                );
            }
            if attribute.cell_val_num != CellValNum::ONE {
                return fail(ORIGIN, "Attributes with enumerations must have a cell_val_num of 1.");
            }
            let most = greatest_code(&attribute);
            let elements = self.enumeration(name)?.element_count();
            if most <= elements {
                return fail(
                    ORIGIN,
                    format!(
                        "Unable to use enumeration '{name}' for attribute '{}' because the attribute's type is not \
                         large enough to represent all enumeration values.",
                        attribute.name
                    ),
                );
            }
        }
        self.schema.attributes.push(attribute);
        Ok(())
    }

    pub(super) fn set_domain(&mut self, dimensions: Vec<Dimension>) -> Fallible<()> {
        let Some(first) = dimensions.first() else {
            return fail(ORIGIN, "Cannot set domain; Domain must contain at least one dimension");
        };
        if self.schema.array_type == ArrayType::Dense {
            let kind = first.datatype;
            if dimensions.iter().any(|dimension| dimension.datatype != kind) {
                return fail(
                    ORIGIN,
                    "Cannot set domain; In dense arrays, all dimensions must have the same datatype",
                );
            }
            if !(kind.is_integer() || kind.is_datetime() || kind.is_time()) {
                let words = "Dense arrays do not support dimension datatype";
                return fail(ORIGIN, format!("Cannot set domain; {words} '{}'", kind.name()));
            }
        }
        self.schema.dimensions = dimensions;
        if self.schema.cell_order != Layout::Hilbert {
            self.schema.fill_absent_extents();
        }
        Ok(())
    }

    pub(super) fn add_enumeration(&mut self, item: Enumeration) -> Fallible<()> {
        if self.enumeration_names().contains(&item.name) {
            let name = &item.name;
            return fail(
                ORIGIN,
                format!(
                    "Error adding enumeration. Enumeration with name '{name}' already exists in this ArraySchema."
                ),
            );
        }
        self.enumerations.push(item);
        Ok(())
    }

    pub(super) fn attribute(&self, name: &str) -> Fallible<&Attribute> {
        let found = self.schema.attributes.iter().find(|item| item.name == name);
        found.ok_or_else(|| {
            let name = if name.is_empty() { "<anonymous>" } else { name };
            let uri = self.array_uri();
            Failure::told("C API", format!("Attribute name: {name} does not exist for array {uri}"))
        })
    }

    /// The URI of the array it is of; nothing where it is of none yet.
    pub(super) fn array_uri(&self) -> String {
        self.array.as_ref().map(|array| crate::uris::shown(&array.uri())).unwrap_or_default()
    }

    pub(super) fn set_current_domain(&mut self, sides: Vec<Option<Extent>>) -> Fallible<()> {
        if sides.len() != self.schema.dimensions.len() {
            return fail(
                "TileDB internal",
                "The array current domain and the array schema have a non-equal number of dimensions",
            );
        }
        let mut extents = Vec::new();
        for (idx, (side, dimension)) in sides.into_iter().zip(&self.schema.dimensions).enumerate() {
            let Some(side) = side else {
                return fail(
                    "TileDB internal",
                    format!("This current domain has no range specified for dimension idx: {idx}"),
                );
            };
            if let (Extent::Num { lo, hi }, Some((first, last))) = (&side, dimension.domain)
                && (*lo < first.ordinal() || *hi > last.ordinal())
            {
                return fail(
                    "TileDB internal",
                    "This array current domain has ranges past the boundaries of the array schema domain",
                );
            }
            extents.push(side);
        }
        self.schema.current_domain = CurrentDomain::Rectangle(extents);
        Ok(())
    }

    /// The schema that an array is made with, after all checks.
    pub(crate) fn build(&self) -> Fallible<Schema> {
        self.check_parts()?;
        let definitions =
            Definitions { enumerations: self.enumerations.clone(), labels: self.labels.clone() };
        Schema::from_parts(self.schema.clone(), definitions).map_err(Failure::of(ORIGIN))
    }

    fn check_parts(&self) -> Fallible<()> {
        let bad = |what: &str| fail(ORIGIN, format!("Array schema check failed; {what}"));
        let schema = &self.schema;
        if schema.dimensions.is_empty() {
            return bad("Domain not set");
        }
        if schema.array_type == ArrayType::Dense && schema.attributes.is_empty() {
            return bad("No attributes provided");
        }
        if schema.array_type == ArrayType::Sparse && schema.capacity == 0 {
            return bad("Sparse arrays cannot have their capacity equal to zero.");
        }
        if schema.cell_order == Layout::Hilbert && schema.dimensions.len() > 16 {
            return bad("Maximum dimensions supported by Hilbert order exceeded");
        }
        let mut names: Vec<&str> = schema.dimensions.iter().map(|item| item.name.as_str()).collect();
        names.extend(schema.attributes.iter().map(|item| item.name.as_str()));
        names.extend(schema.dimension_labels.iter().map(|item| item.name.as_str()));
        names.sort_unstable();
        if names.iter().zip(names.iter().skip(1)).any(|(one, next)| one == next) {
            return bad("Attributes, dimensions and dimension labels must have unique names");
        }
        Ok(())
    }

    /// What an enumeration has more than the one of the schema, or why it cannot be extended so.
    pub(super) fn extended(&mut self, item: &Enumeration) -> Fallible<Vec<Vec<u8>>> {
        let old = self.enumeration(&item.name)?;
        extension(old, item).ok_or_else(|| {
            Failure::told(
                ORIGIN,
                format!(
                    "Error extending enumeration. Provided enumeration is not an extension of the current state of '{}'",
                    item.name
                ),
            )
        })
    }
}

/// The greatest value of the attribute's type.
fn greatest_code(attribute: &Attribute) -> usize {
    use smalti::PhysicalKind::*;
    let most = match attribute.datatype.physical() {
        I8 => 0x7f,
        U8 => 0xff,
        I16 => 0x7fff,
        U16 => 0xffff,
        I32 => 0x7fff_ffff,
        U32 => 0xffff_ffff,
        _ => u64::MAX >> 1,
    };
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The elements that `new` has more than `old`, or why it is no extension.
fn extension(old: &Enumeration, new: &Enumeration) -> Option<Vec<Vec<u8>>> {
    let is_alike = old.datatype == new.datatype
        && old.cell_val_num == new.cell_val_num
        && old.is_ordered == new.is_ordered
        && (0..old.element_count()).all(|idx| old.element(idx) == new.element(idx));
    let more = old.element_count()..new.element_count();
    is_alike.then(|| more.filter_map(|idx| new.element(idx).map(<[u8]>::to_vec)).collect())
}

fn no_enumeration(name: &str) -> Failure {
    Failure::told(
        ORIGIN,
        format!("Unable to check if unknown enumeration is loaded. No enumeration named '{name}'."),
    )
}
