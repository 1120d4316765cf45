//! Changing values of cells by a condition.

use crate::{Array, IntoTimestamp, Value};
use smalti_format::Attribute;
use smalti_query::condition::Condition;
use smalti_query::{Batch, Duplicates, ReadRequest, ResultField, WriteRequest};
use smalti_tile::{Column, ColumnRef};
use smalti_types::{ArrayType, Error, Layout, Result};

/// An update; made by [`Array::update`].
#[derive(Debug)]
#[must_use = "nothing is changed before commit"]
pub struct UpdateBuilder<'a> {
    array: &'a Array,
    condition: Condition,
    values: Vec<(String, Option<Value>)>,
    at: Option<u64>,
}

/// An update that was just committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenUpdate {
    /// The number of cells that were written anew.
    pub cell_count: u64,
    /// The time of the update in milliseconds since 1970; `None` where there was nothing to change.
    pub timestamp: Option<u64>,
}

impl Array {
    /// Starts a change of values in the cells of a sparse array that fulfil a condition. The cells are written anew with all their fields, in fragments
    /// that one commit shows; earlier times have the old values.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    ///
    /// let schema = Schema::sparse()
    ///     .dimension(Dimension::new("x", 0..=9))
    ///     .attribute(Attribute::of::<i32>("a"))
    ///     .attribute(Attribute::utf8("s").nullable())
    ///     .build()?;
    /// let array = Array::create("mem://update-docs", &schema)?;
    /// array.write().column("x", &[1, 2, 3]).column("a", &[10, 20, 30]).column("s", &["p", "q", "r"]).commit()?;
    /// let done = array.update("a >= 20".parse()?).set("a", 0_i32).set_null("s").commit()?;
    /// assert_eq!(done.cell_count, 2);
    /// assert_eq!(array.read().filter("a = 0 and s is null".parse()?).collect()?.num_rows(), 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn update(&self, condition: Condition) -> UpdateBuilder<'_> {
        UpdateBuilder { array: self, condition, values: Vec::new(), at: None }
    }
}

impl UpdateBuilder<'_> {
    /// The value that an attribute gets.
    pub fn set(mut self, attribute: impl Into<String>, value: impl Into<Value>) -> Self {
        self.values.push((attribute.into(), Some(value.into())));
        self
    }

    /// An attribute that becomes null.
    pub fn set_null(mut self, attribute: impl Into<String>) -> Self {
        self.values.push((attribute.into(), None));
        self
    }

    /// The time of the update: milliseconds since 1970, or a [`SystemTime`](std::time::SystemTime); by default now. Cells that were written
    /// later stay as they are.
    pub fn at(mut self, time: impl IntoTimestamp) -> Self {
        self.at = Some(time.into_timestamp());
        self
    }

    /// Writes the cells anew, atomic and durable. Cells that others write meanwhile are changed or not as their times have it.
    ///
    /// # Errors
    /// `InvalidArgument` for attributes that are not there, come twice, or have another type, and no attribute at all; `Unsupported` for dense arrays,
    /// those that allow duplicates, where the old cells would stay, and versions before 12; what reading and writing report. Nothing is
    /// changed then.
    pub fn commit(self) -> Result<WrittenUpdate> {
        self.committed().map_err(|error| error.at_uri(self.array.uri().to_string()))
    }

    fn committed(&self) -> Result<WrittenUpdate> {
        let schema = self.array.schema();
        if schema.array_type == ArrayType::Dense {
            return Err(Error::unsupported("cells of dense arrays are updated by writing them"));
        }
        if schema.allows_dups {
            return Err(Error::unsupported(
                "cells of arrays that allow duplicates are updated by deleting them and writing them anew",
            ));
        }
        if self.values.is_empty() {
            return Err(Error::invalid("the update sets no attribute"));
        }
        for (at, (name, value)) in self.values.iter().enumerate() {
            let attribute = schema
                .attribute(name)
                .ok_or_else(|| Error::invalid(format!("there is no attribute {name:?} to update")))?;
            check_value(attribute.1, value.as_ref())?;
            if self.values.iter().take(at).any(|(other, _)| other == name) {
                return Err(Error::invalid(format!("the attribute {name:?} is set twice")));
            }
        }
        let fields = schema.dimensions.iter().map(|dimension| dimension.name.clone());
        let fields = fields.chain(schema.attributes.iter().map(|attribute| attribute.name.clone())).collect();
        let request = ReadRequest {
            fields,
            condition: Some(self.condition.clone()),
            layout: Some(Layout::Unordered),
            ..ReadRequest::default()
        };
        let mut batches = self.array.read_raw(&request)?;
        let fields = batches.fields().to_vec();
        let Some(first) = batches.next() else { return Ok(WrittenUpdate { cell_count: 0, timestamp: None }) };
        let write = match self.at {
            Some(at) => self.array.share_write_at(at)?,
            None => self.array.share_write()?,
        };
        let mut cell_count = 0;
        let mut names = Vec::new();
        let written = std::iter::once(first).chain(batches).try_for_each(|batch| {
            let batch = batch?;
            cell_count += batch.cell_count as u64;
            names.push(self.put(&fields, &batch, &write)?);
            Ok(())
        });
        match written.and_then(|()| self.array.commit_shared(&write, &names)) {
            Ok(fragments) => {
                let timestamp = fragments.first().map(crate::WrittenFragment::timestamp);
                Ok(WrittenUpdate { cell_count, timestamp })
            }
            Err(error) => {
                // Nobody sees what is left.
                let _ = self.array.abandon_shared(&write);
                Err(error)
            }
        }
    }

    /// Puts the cells of a batch with the new values; the name of the fragment.
    fn put(
        &self,
        fields: &[ResultField],
        batch: &Batch,
        write: &smalti_array::SharedWrite,
    ) -> Result<String> {
        let changed: Vec<Option<Changed>> = fields
            .iter()
            .map(|field| {
                let set = self.values.iter().find(|(name, _)| *name == field.name);
                set.map(|(_, value)| Changed::new(field, value.as_ref(), batch.cell_count))
            })
            .collect();
        let columns = fields.iter().zip(&batch.columns).zip(&changed);
        let request = WriteRequest {
            columns: columns
                .map(|((field, column), changed)| {
                    let column = changed.as_ref().map_or_else(|| Column::as_ref(column), Changed::column);
                    (field.name.clone(), column)
                })
                .collect(),
            subarray: None,
            layout: Layout::Unordered,
            at: self.at,
            duplicates: Duplicates::Refuse,
            progress: None,
        };
        Ok(self.array.put_raw(&request, write)?.name().to_owned())
    }
}

/// A column of one value.
struct Changed {
    data: Vec<u8>,
    offsets: Option<Vec<u64>>,
    validity: Option<Vec<u8>>,
}

impl Changed {
    fn new(field: &ResultField, value: Option<&Value>, cell_count: usize) -> Changed {
        let none = vec![0; if field.shape.is_var() { 0 } else { field.shape.cell_byte_len() }];
        let value_bytes = value.map_or(&none[..], Value::as_bytes);
        let offsets = (0..=cell_count).map(|cell| (cell * value_bytes.len()) as u64);
        Changed {
            data: value_bytes.repeat(cell_count),
            offsets: field.shape.is_var().then(|| offsets.collect()),
            validity: field.shape.is_nullable.then(|| vec![u8::from(value.is_some()); cell_count]),
        }
    }

    fn column(&self) -> ColumnRef<'_> {
        ColumnRef { data: &self.data, offsets: self.offsets.as_deref(), validity: self.validity.as_deref() }
    }
}

fn check_value(attribute: &Attribute, value: Option<&Value>) -> Result<()> {
    let name = &attribute.name;
    let Some(value) = value else {
        return match attribute.nullable {
            true => Ok(()),
            false => Err(Error::invalid(format!("the attribute {name:?} cannot be null"))),
        };
    };
    let (given, wanted) = (value.datatype(), attribute.datatype);
    if given.physical() != wanted.physical() && !(given.is_bytes() && wanted.is_bytes()) {
        return Err(Error::invalid(format!(
            "the attribute {name:?} is of type {wanted}, and the value of type {given}"
        )));
    }
    match attribute.cell_val_num.fixed() {
        Some(count) if value.len() != count => Err(Error::invalid(format!(
            "a cell of {name:?} has {count} values, and {} are given",
            value.len()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Array, Dimension, ErrorKind, Options, prelude::*};

    fn array(name: &str, allows_dups: bool) -> Array {
        let schema = Schema::sparse()
            .dimension(Dimension::string("d"))
            .attribute(Attribute::of::<i32>("a"))
            .attribute(Attribute::utf8("s"))
            .attribute(Attribute::of::<f64>("f").nullable())
            .allow_duplicates(allows_dups)
            .build()
            .unwrap();
        let array = Array::create(&format!("mem://{name}"), &schema).unwrap();
        let write =
            array.write().column("d", &["p", "q", "r"]).column("a", &[1, 2, 3]).column("s", &["x", "", "z"]);
        write.column("f", &[Some(0.5), None, Some(2.5)]).at(10).commit().unwrap();
        array
    }

    #[test]
    fn cells_that_fulfil_the_condition_change_and_no_others() {
        let array = array("update", false);
        let done =
            array.update("a >= 2".parse().unwrap()).set("s", "longer").set("f", 7.5).at(20).commit().unwrap();
        assert_eq!((done.cell_count, done.timestamp), (2, Some(20)));
        let count = |array: &Array, condition: &str| {
            array.read().filter(condition.parse().unwrap()).collect().unwrap().num_rows()
        };
        assert_eq!(array.read().collect().unwrap().num_rows(), 3);
        assert_eq!(count(&array, "s = 'longer' and f = 7.5 and a >= 2"), 2);
        assert_eq!(count(&array, "d = 'p' and s = 'x' and f = 0.5"), 1);
        let before = Array::open_with("mem://update", &Options::new().at(19)).unwrap();
        assert_eq!(count(&before, "s = 'longer'"), 0);
        let none = array.update("a > 100".parse().unwrap()).set("a", 0).commit().unwrap();
        assert_eq!((none.cell_count, none.timestamp), (0, None));
        assert_eq!(array.fragments().unwrap().len(), 2);
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let array = array("update-refused", false);
        let update = || array.update("a > 0".parse().unwrap());
        for (update, words) in [
            (update(), "no attribute"),
            (update().set("d", "t"), "\"d\""),
            (update().set("a", 1_i64), "INT64"),
            (update().set("a", [1, 2]), "1 values"),
            (update().set("a", 1).set("a", 2), "twice"),
            (update().set_null("a"), "null"),
            (array.update("nothing > 0".parse().unwrap()).set("a", 1), "nothing"),
        ] {
            let error = update.commit().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.message().contains(words), "{words}: {error}");
        }
        assert_eq!(array.fragments().unwrap().len(), 1);
        let dups = self::array("update-dups", true);
        let error = dups.update("a > 0".parse().unwrap()).set("a", 1).commit().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
