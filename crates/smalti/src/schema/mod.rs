//! Schemas and their builders.

mod attribute;
mod builder;
mod dimension;
mod label;
mod trial;

pub use attribute::Attribute;
pub use builder::SchemaBuilder;
pub use dimension::Dimension;
pub use label::Label;
pub use trial::{check_pipeline, filtered_byte_len};

use smalti_array::Definitions;
use smalti_codecs::{Codec, FieldKind};
use smalti_format::ArraySchema;
use smalti_types::{ArrayType, Error, Filter, FilterPipeline, Result};
use std::ops::Deref;
use std::sync::Arc;

/// A checked schema of an array: cheap to clone, and a [`format::ArraySchema`](crate::format::ArraySchema) to look at.
///
/// ```
/// use smalti::{Attribute, Dimension, Schema};
///
/// let schema = Schema::dense()
///     .dimension(Dimension::new("row", 0..=999).tile(100))
///     .dimension(Dimension::new("col", 0..=999).tile(100))
///     .attribute(Attribute::of::<f32>("height"))
///     .build()?;
/// assert!(schema.is_dense());
/// assert_eq!(schema.dimensions[0].name, "row");
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    stored: Arc<ArraySchema>,
    /// What the schema only names, for the array that is made with it; empty for the schema of an array.
    definitions: Arc<Definitions>,
}

impl Schema {
    /// Starts the schema of a dense array: every cell of the domain has a value.
    pub fn dense() -> SchemaBuilder {
        SchemaBuilder::new(ArrayType::Dense)
    }

    /// Starts the schema of a sparse array: only written cells exist.
    pub fn sparse() -> SchemaBuilder {
        SchemaBuilder::new(ArrayType::Sparse)
    }

    /// Takes a schema as it is stored, and checks it.
    ///
    /// # Errors
    /// `InvalidArgument` naming the dimension, attribute or filter that breaks a rule.
    pub fn from_stored(schema: impl Into<Arc<ArraySchema>>) -> Result<Schema> {
        Schema::from_parts(schema, Definitions::default())
    }

    /// Takes a schema as it is stored with the enumerations and labels that it names, and checks it.
    ///
    /// # Errors
    /// `InvalidArgument` naming the dimension, attribute, filter or enumeration that breaks a rule.
    pub fn from_parts(schema: impl Into<Arc<ArraySchema>>, definitions: Definitions) -> Result<Schema> {
        let stored = definitions.naming(&schema.into());
        stored.check()?;
        check_filters(&stored)?;
        definitions.check(&stored)?;
        definitions.labels.iter().try_for_each(check_filters)?;
        Ok(Schema { stored: Arc::new(stored), definitions: Arc::new(definitions) })
    }

    /// The enumerations and labels that the schema was built with.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The schema of an array that is there: what is on disk need not keep the rules of today.
    pub(crate) fn unchecked(schema: Arc<ArraySchema>) -> Schema {
        Schema { stored: schema, definitions: Arc::default() }
    }
}

impl Deref for Schema {
    type Target = ArraySchema;

    fn deref(&self) -> &ArraySchema {
        &self.stored
    }
}

/// Checks that every filter accepts what comes to it.
fn check_filters(schema: &ArraySchema) -> Result<()> {
    let sparse = !schema.is_dense();
    for dimension in schema.dimensions.iter().filter(|_| sparse) {
        let kind = FieldKind::data(dimension.datatype, dimension.cell_val_num);
        let checked = if dimension.filters.filters.is_empty() {
            Codec::check_inherited(&schema.coords_filters, kind)
        } else {
            Codec::check(&dimension.filters, kind)
        };
        checked.map_err(|error| error.context(format_args!("dimension {:?}", dimension.name)))?;
    }
    for attribute in &schema.attributes {
        let kind = FieldKind::data(attribute.datatype, attribute.cell_val_num);
        Codec::check(&attribute.filters, kind)
            .map_err(|error: Error| error.context(format_args!("attribute {:?}", attribute.name)))?;
    }
    Codec::check(&schema.offsets_filters, FieldKind::offsets())
        .map_err(|error| error.context("offsets filters"))?;
    Codec::check(&schema.validity_filters, FieldKind::validity())
        .map_err(|error| error.context("validity filters"))
}

/// What filters can be given as: one filter, a list, or a whole [`FilterPipeline`] with its chunk size.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no filter, list of filters or pipeline",
    note = "filters are given as `Filter::zstd(3)`, `[Filter::byteshuffle(), Filter::zstd(3)]` or a `FilterPipeline`"
)]
pub trait IntoPipeline {
    /// The pipeline.
    fn into_pipeline(self) -> FilterPipeline;
}

impl IntoPipeline for FilterPipeline {
    fn into_pipeline(self) -> FilterPipeline {
        self
    }
}

impl IntoPipeline for Filter {
    fn into_pipeline(self) -> FilterPipeline {
        FilterPipeline::new([self])
    }
}

impl<const N: usize> IntoPipeline for [Filter; N] {
    fn into_pipeline(self) -> FilterPipeline {
        FilterPipeline::new(self)
    }
}

impl IntoPipeline for Vec<Filter> {
    fn into_pipeline(self) -> FilterPipeline {
        FilterPipeline { filters: self, ..FilterPipeline::default() }
    }
}

impl IntoPipeline for &[Filter] {
    fn into_pipeline(self) -> FilterPipeline {
        FilterPipeline::new(self.iter().copied())
    }
}
