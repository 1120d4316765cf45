//! Building dimension labels.

use crate::schema::IntoPipeline;
use crate::{Number, Value};
use smalti_format::{ArraySchema, DataOrder, DimensionLabel};
use smalti_types::{Datatype, Error, FilterPipeline, Result, Scalar};

/// A dimension label of a schema that is being built: names for the positions on a dimension of integers, dates or times, such
/// as the latitude of each row.
///
/// Labels increase along the dimension, or [decrease](Label::decreasing); no two are equal. They are written as columns of
/// their own, as many as the range of their dimension has positions, and read as fields, or [by
/// range](crate::ReadBuilder::label_range).
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
///
/// let schema = Schema::dense()
///     .dimension(Dimension::new("row", 0..=2))
///     .dimension(Dimension::new("col", 0..=1))
///     .label(Label::of::<f64>("lat", "row").decreasing())
///     .label(Label::ascii("name", "col"))
///     .attribute(Attribute::of::<i32>("a"))
///     .build()?;
/// let array = Array::create("mem://label-docs", &schema)?;
/// array.write()
///     .column("a", &[1, 2, 3, 4, 5, 6])
///     .column("lat", &[60.0, 45.5, 30.0])
///     .column("name", &["east", "west"])
///     .commit()?;
/// let south = array.read().select(["lat", "name", "a"]).label_range("lat", ..=50.0).collect()?;
/// assert_eq!(south.num_rows(), 4);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Label {
    name: String,
    dimension: String,
    datatype: Datatype,
    order: DataOrder,
    tile: Option<Scalar>,
    filters: FilterPipeline,
}

impl Label {
    /// Labels of any datatype that a dimension can have, on a dimension.
    pub fn of_datatype(name: impl Into<String>, dimension: impl Into<String>, datatype: Datatype) -> Label {
        Label {
            name: name.into(),
            dimension: dimension.into(),
            datatype,
            order: DataOrder::Increasing,
            tile: None,
            filters: FilterPipeline::default(),
        }
    }

    /// Numbers on a dimension.
    pub fn of<T: Number>(name: impl Into<String>, dimension: impl Into<String>) -> Label {
        Label::of_datatype(name, dimension, T::DATATYPE)
    }

    /// ASCII text on a dimension, in the order of its bytes.
    pub fn ascii(name: impl Into<String>, dimension: impl Into<String>) -> Label {
        Label::of_datatype(name, dimension, Datatype::StringAscii)
    }

    /// Each label is less than the one before.
    #[must_use]
    pub fn decreasing(mut self) -> Label {
        self.order = DataOrder::Decreasing;
        self
    }

    /// The number of labels in a tile; by default that of the dimension's positions.
    #[must_use]
    pub fn tile(mut self, extent: impl Into<Scalar>) -> Label {
        self.tile = Some(extent.into());
        self
    }

    /// Filters for the labels, first to last; by default none.
    #[must_use]
    pub fn filters(mut self, filters: impl IntoPipeline) -> Label {
        self.filters = filters.into_pipeline();
        self
    }

    /// Adds the label to a schema; the schema of its array.
    pub(super) fn build(self, schema: &mut ArraySchema) -> Result<ArraySchema> {
        let Label { name, dimension, datatype, order, tile, filters } = self;
        let Some((dim, _)) = schema.dimension(&dimension) else {
            return Err(Error::invalid(format!(
                "dimension label {name:?}: there is no dimension {dimension:?}"
            )));
        };
        let dim = u32::try_from(dim).map_err(|_| Error::invalid("too many dimensions"))?;
        let label = DimensionLabel::new(name, dim, datatype, order);
        let mut array = schema.label_array(&label)?;
        array.attributes[0].filters = filters;
        if let Some(tile) = tile {
            let index = array.dimensions[0].datatype;
            let tile = Value::of_datatype(index, tile)
                .map_err(|error| error.context(format_args!("dimension label {:?}", label.name)))?;
            array.dimensions[0].tile_extent = tile.as_scalar();
        }
        schema.add_label(label);
        Ok(array)
    }
}
