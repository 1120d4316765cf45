//! Metadata of arrays and groups: keys with typed values.

use crate::{Context, IntoTimestamp, Value};
use smalti_array::ArrayPlace;
use smalti_format::{MetadataEntry, MetadataValue};
use smalti_types::Result;
use std::collections::BTreeMap;
use std::collections::btree_map;

/// The metadata of an array or group in a time range, ordered by key.
///
/// Made by [`Array::metadata`](crate::Array::metadata) and [`Group::metadata`](crate::Group::metadata).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    entries: BTreeMap<String, Value>,
}

impl Metadata {
    pub(crate) fn new(stored: BTreeMap<String, MetadataValue>) -> Result<Metadata> {
        let value = |(key, stored): (String, MetadataValue)| {
            Ok((key, Value::from_le_bytes(stored.datatype, stored.bytes)?))
        };
        Ok(Metadata { entries: stored.into_iter().map(value).collect::<Result<_>>()? })
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// Keys and values, in the order of the keys.
    pub fn iter(&self) -> btree_map::Iter<'_, String, Value> {
        self.entries.iter()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<'a> IntoIterator for &'a Metadata {
    type Item = (&'a String, &'a Value);
    type IntoIter = btree_map::Iter<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A change of metadata; made by [`Array::write_metadata`](crate::Array::write_metadata).
#[derive(Debug, Clone)]
#[must_use = "nothing is written before commit"]
pub struct MetadataBuilder<'a> {
    place: &'a ArrayPlace,
    context: &'a Context,
    entries: Vec<MetadataEntry>,
    at: Option<u64>,
    takes_any_text: bool,
}

impl<'a> MetadataBuilder<'a> {
    pub(crate) fn new(place: &'a ArrayPlace, context: &'a Context) -> Self {
        MetadataBuilder { place, context, entries: Vec::new(), at: None, takes_any_text: false }
    }

    /// Sets a key.
    pub fn put(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let value = value.into();
        let value = MetadataValue { datatype: value.datatype(), bytes: value.into_bytes() };
        self.entries.push(MetadataEntry { key: key.into(), value: Some(value) });
        self
    }

    /// Deletes a key; earlier times still have it.
    pub fn delete(mut self, key: impl Into<String>) -> Self {
        self.entries.push(MetadataEntry { key: key.into(), value: None });
        self
    }

    /// The time of the change: milliseconds since 1970, or a [`SystemTime`](std::time::SystemTime); by default now.
    pub fn at(mut self, time: impl IntoTimestamp) -> Self {
        self.at = Some(time.into_timestamp());
        self
    }

    /// Takes values of type `STRING_ASCII` that are not ASCII, as libtiledb does: for programs that pass on what others call so.
    pub fn any_text(mut self) -> Self {
        self.takes_any_text = true;
        self
    }

    /// Makes the change, atomic and durable. Returns its time in milliseconds since 1970.
    ///
    /// # Errors
    /// `InvalidArgument` for no keys, a key given twice, or text of type `STRING_ASCII` that is not ASCII, unless
    /// [`any_text`](MetadataBuilder::any_text) is taken; what the store reports.
    pub fn commit(self) -> Result<u64> {
        self.context.check_process()?;
        if self.takes_any_text {
            return self.place.put_known_metadata(self.entries, self.at);
        }
        self.place.put_metadata(self.entries, self.at)
    }
}
