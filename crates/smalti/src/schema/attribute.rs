//! Building attributes.

use crate::schema::IntoPipeline;
use crate::{Number, Value};
use smalti_format::{Attribute as StoredAttribute, DataOrder, new_fill_value};
use smalti_types::{CellValNum, Datatype, Error, FilterPipeline, Result};

/// An attribute of a schema that is being built.
///
/// ```
/// use smalti::{Attribute, Datatype, Dimension, Filter, Schema};
///
/// let schema = Schema::dense()
///     .dimension(Dimension::new("x", 0..=99).tile(10))
///     .attribute(Attribute::of::<f32>("depth").fill(-1.0).filters([Filter::byteshuffle(), Filter::zstd(5)]))
///     .attribute(Attribute::of::<u8>("rgb").values_per_cell(3))
///     .attribute(Attribute::utf8("note").nullable())
///     .attribute(Attribute::var::<i32>("samples"))
///     .attribute(Attribute::of_datatype("seen", Datatype::DateTimeMs))
///     .build()?;
/// assert_eq!(schema.attributes.len(), 5);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Attribute {
    name: String,
    datatype: Datatype,
    /// 0 stands for what no cell can hold, and is refused when the schema is built.
    values_per_cell: u32,
    filters: FilterPipeline,
    nullable: bool,
    fill: Option<Value>,
    enumeration: Option<String>,
}

impl Attribute {
    /// One value of any datatype a cell.
    pub fn of_datatype(name: impl Into<String>, datatype: Datatype) -> Attribute {
        Attribute {
            name: name.into(),
            datatype,
            values_per_cell: 1,
            filters: FilterPipeline::default(),
            nullable: false,
            fill: None,
            enumeration: None,
        }
    }

    /// One number a cell.
    pub fn of<T: Number>(name: impl Into<String>) -> Attribute {
        Attribute::of_datatype(name, T::DATATYPE)
    }

    /// One boolean a cell.
    pub fn boolean(name: impl Into<String>) -> Attribute {
        Attribute::of_datatype(name, Datatype::Bool)
    }

    /// Any number of numbers a cell.
    pub fn var<T: Number>(name: impl Into<String>) -> Attribute {
        Attribute::of::<T>(name).var_sized()
    }

    /// UTF-8 text of any length.
    pub fn utf8(name: impl Into<String>) -> Attribute {
        Attribute::of_datatype(name, Datatype::StringUtf8).var_sized()
    }

    /// ASCII text of any length.
    pub fn ascii(name: impl Into<String>) -> Attribute {
        Attribute::of_datatype(name, Datatype::StringAscii).var_sized()
    }

    /// Bytes of any length.
    pub fn binary(name: impl Into<String>) -> Attribute {
        Attribute::of_datatype(name, Datatype::Blob).var_sized()
    }

    /// The same number of values in every cell; of text and bytes the length in bytes.
    #[must_use]
    pub fn values_per_cell(mut self, count: u32) -> Attribute {
        // The format's word for "any number" is no number of values.
        self.values_per_cell = if count == CellValNum::Var.raw() { 0 } else { count };
        self
    }

    /// Any number of values in a cell.
    #[must_use]
    pub fn var_sized(mut self) -> Attribute {
        self.values_per_cell = CellValNum::Var.raw();
        self
    }

    /// Cells can be null.
    #[must_use]
    pub fn nullable(mut self) -> Attribute {
        self.nullable = true;
        self
    }

    /// What cells of a dense array hold that nobody wrote. Without it: the datatype's default, and null where the
    /// attribute is nullable; with it such cells are not null.
    #[must_use]
    pub fn fill(mut self, value: impl Into<Value>) -> Attribute {
        self.fill = Some(value.into());
        self
    }

    /// The values are codes of the labels of an [enumeration](crate::Enumeration); for one integer a cell.
    #[must_use]
    pub fn enumeration(mut self, name: impl Into<String>) -> Attribute {
        self.enumeration = Some(name.into());
        self
    }

    /// Filters for the values, first to last.
    #[must_use]
    pub fn filters(mut self, filters: impl IntoPipeline) -> Attribute {
        self.filters = filters.into_pipeline();
        self
    }

    pub(crate) fn build(self) -> Result<StoredAttribute> {
        let Attribute { name, datatype, values_per_cell, filters, nullable, fill, enumeration } = self;
        let named = |error: Error| error.context(format_args!("attribute {name:?}"));
        let cell_val_num = CellValNum::from_raw(values_per_cell)
            .ok_or_else(|| named(Error::invalid("a cell holds between 1 and 4294967294 values")))?;
        let fill_valid = nullable && fill.is_some();
        let fill_value = match fill {
            None => new_fill_value(datatype, cell_val_num).map_err(named)?,
            Some(fill) => {
                new_fill_value(datatype, cell_val_num).map_err(named)?;
                let fill = fill.cast(datatype).map_err(named)?;
                match cell_val_num.fixed() {
                    Some(count) if fill.len() == 1 => fill.as_bytes().repeat(count),
                    Some(count) if fill.len() != count => {
                        return Err(named(Error::invalid(format!(
                            "the fill value has {} values, a cell {count}",
                            fill.len()
                        ))));
                    }
                    None if fill.is_empty() => {
                        return Err(named(Error::invalid(
                            "the fill value is empty; the format needs one value at least",
                        )));
                    }
                    _ => fill.into_bytes(),
                }
            }
        };
        Ok(StoredAttribute {
            name,
            datatype,
            cell_val_num,
            filters,
            fill_value,
            nullable,
            fill_valid,
            order: DataOrder::Unordered,
            enumeration,
        })
    }
}
