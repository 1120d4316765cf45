//! Building dimensions.

use crate::Value;
use crate::schema::IntoPipeline;
use smalti_format::Dimension as StoredDimension;
use smalti_types::{CellValNum, Datatype, Error, FilterPipeline, Result, Scalar};
use std::ops::RangeInclusive;

/// A dimension of a schema that is being built.
///
/// The type of the range's ends is the type of the dimension: `0..=99` makes it `INT32`, `-90.0..=90.0` `FLOAT64`.
/// Dates and times are `i64` with a [`datatype`](Dimension::datatype):
///
/// ```
/// use smalti::{Datatype, Dimension, Filter, Schema, Attribute};
///
/// let schema = Schema::sparse()
///     .dimension(Dimension::string("station"))
///     .dimension(Dimension::new("day", 0..=i64::from(i32::MAX)).datatype(Datatype::DateTimeDay).tile(365))
///     .attribute(Attribute::of::<f32>("celsius"))
///     .build()?;
/// assert_eq!(schema.dimensions[1].datatype, Datatype::DateTimeDay);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dimension {
    name: String,
    datatype: Datatype,
    domain: Option<(Scalar, Scalar)>,
    tile: Option<Scalar>,
    filters: FilterPipeline,
}

impl Dimension {
    /// A dimension of numbers with the least and the greatest coordinate.
    pub fn new<T: Into<Scalar>>(name: impl Into<String>, domain: RangeInclusive<T>) -> Dimension {
        let (lo, hi) = domain.into_inner();
        let (lo, hi) = (lo.into(), hi.into());
        Dimension {
            name: name.into(),
            datatype: Value::from(lo).datatype(),
            domain: Some((lo, hi)),
            tile: None,
            filters: FilterPipeline::default(),
        }
    }

    /// A dimension of strings of any length, without bounds; for sparse arrays.
    pub fn string(name: impl Into<String>) -> Dimension {
        Dimension {
            name: name.into(),
            datatype: Datatype::StringAscii,
            domain: None,
            tile: None,
            filters: FilterPipeline::default(),
        }
    }

    /// The same as [`string`](Dimension::string), by the name that attributes of such cells have: coordinates are text in ASCII,
    /// ordered by their bytes.
    pub fn ascii(name: impl Into<String>) -> Dimension {
        Dimension::string(name)
    }

    /// Another datatype for the coordinates; the domain and the tile extent must fit it.
    #[must_use]
    pub fn datatype(mut self, datatype: Datatype) -> Dimension {
        self.datatype = datatype;
        self
    }

    /// The length of a space tile. Without it one tile spans the domain; reads then decode all of a dense fragment.
    #[must_use]
    pub fn tile(mut self, extent: impl Into<Scalar>) -> Dimension {
        self.tile = Some(extent.into());
        self
    }

    /// Filters for the coordinates (sparse arrays), first to last; without them the schema's
    /// [`coords_filters`](crate::SchemaBuilder::coords_filters).
    #[must_use]
    pub fn filters(mut self, filters: impl IntoPipeline) -> Dimension {
        self.filters = filters.into_pipeline();
        self
    }

    pub(super) fn build(self) -> Result<StoredDimension> {
        let Dimension { name, datatype, domain, tile, filters } = self;
        let named = |error: Error| error.context(format_args!("dimension {name:?}"));
        let cast = |value: Scalar| value.cast(datatype).map_err(named);
        let domain = domain.map(|(lo, hi)| Ok::<_, Error>((cast(lo)?, cast(hi)?))).transpose()?;
        let tile_extent = tile.map(cast).transpose()?;
        let cell_val_num = if domain.is_none() { CellValNum::Var } else { CellValNum::ONE };
        Ok(StoredDimension { name, datatype, cell_val_num, filters, domain, tile_extent })
    }
}
