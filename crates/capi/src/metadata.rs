//! Metadata of arrays and groups on its way to C and back.

use crate::boundary::{Data, Handle, Out, OutText, Slot};
use crate::failure::{Failure, Fallible, fail};
use crate::names;
use crate::values::{count, index, small_count};
use smalti::{Datatype, Metadata, MetadataBuilder, Value};
use std::collections::BTreeMap;
use std::ffi::c_void;

/// Keys that are put or deleted when the array or group is closed.
#[derive(Debug, Default)]
pub(crate) struct Pending(BTreeMap<String, Option<Value>>);

impl Pending {
    /// Notes a value, or that the key goes.
    pub(crate) fn note(&mut self, key: &str, value: Option<Value>) {
        self.0.insert(key.to_owned(), value);
    }

    /// Writes what was noted, if anything was.
    pub(crate) fn write(self, builder: MetadataBuilder<'_>, at: Option<u64>) -> Fallible<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        // What clients call ASCII is their affair, as it is for libtiledb.
        let mut builder = match at {
            Some(at) => builder.at(at).any_text(),
            None => builder.any_text(),
        };
        for (key, value) in self.0 {
            builder = match value {
                Some(value) => builder.put(key, value),
                None => builder.delete(key),
            };
        }
        builder.commit().map(|_| ()).map_err(Failure::of("Metadata"))
    }
}

/// The value that C passes: so many values of a datatype.
pub(crate) fn stored_value(kind: i32, value_num: u32, value: Data) -> Fallible<Value> {
    let datatype = names::datatype(kind)?;
    if datatype == Datatype::Any {
        return fail("Array", "Cannot put metadata; Value type cannot be ANY");
    }
    let byte_len = u64::from(value_num).saturating_mul(count(datatype.byte_len()));
    let bytes = match value.optional(byte_len)? {
        Some(bytes) => bytes.to_vec(),
        None => Vec::new(),
    };
    Ok(Value::from_le_bytes(datatype, bytes)?)
}

/// Where C wants a key and its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryOut {
    pub(crate) key: OutText,
    pub(crate) key_len: Out<u32>,
    pub(crate) value: ValueOut,
}

impl EntryOut {
    /// Puts the entry of a number there, in memory that a handle lends.
    pub(crate) fn put<T: Handle>(&self, slot: &Slot<T>, found: &Metadata, number: u64) -> Fallible<()> {
        let Some((name, entry)) = found.iter().nth(index(number)) else {
            return fail("Metadata", "Cannot get metadata; index out of bounds");
        };
        self.key.put(slot.lend_text(name))?;
        self.key_len.put(small_count(name.len()))?;
        self.value.put(slot, Some(entry))
    }
}

/// Says whether there is a key, and its type if there is.
pub(crate) fn put_presence(found: &Metadata, key: &str, kind: Out<i32>, has_key: Out<i32>) -> Fallible<()> {
    let entry = found.get(key);
    if let Some(entry) = entry {
        kind.put(entry.datatype().tag().into())?;
    }
    has_key.put(entry.is_some().into())
}

/// Where C wants a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueOut {
    pub(crate) kind: Out<i32>,
    pub(crate) num: Out<u32>,
    pub(crate) value: Out<*const c_void>,
}

impl ValueOut {
    /// Puts a value there, in memory that a handle lends.
    pub(crate) fn put<T: Handle>(&self, slot: &Slot<T>, value: Option<&Value>) -> Fallible<()> {
        let Some(found) = value else {
            return self.value.put(std::ptr::null());
        };
        let datatype = found.datatype();
        self.kind.put(datatype.tag().into())?;
        let bytes = found.as_bytes();
        // libtiledb says of a value of no bytes that it has one, which is not there.
        let num = if bytes.is_empty() { 1 } else { small_count(bytes.len() / datatype.byte_len()) };
        self.num.put(num)?;
        self.value.put(if bytes.is_empty() { std::ptr::null() } else { slot.lend(bytes) })
    }
}
