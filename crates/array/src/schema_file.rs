//! Schema files: a new one beside the others is how an array's schema changes.

use crate::ArrayPlace;
use crate::lease::SchemaLock;
use crate::listing::schema_files;
use crate::stamp::next_timestamp;
use smalti_format::ArraySchema;
use smalti_format::names::{SCHEMA_FOLDER, TimestampedName};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, ErrorKind, Result, TimeRange};

/// The time of a schema that is put beside others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaTime {
    /// In milliseconds since 1970; `None`: now.
    pub(crate) at: Option<u64>,
    /// Whether it may be before that of the newest schema, which then goes on being the newest.
    pub(crate) may_be_past: bool,
}

impl ArrayPlace {
    /// The bytes of a schema's file.
    pub(crate) fn encode_schema(&self, schema: &ArraySchema) -> Result<Vec<u8>> {
        let mut tile = Vec::new();
        let stored = schema.clone().with_image_extents().encode()?;
        write_generic_tile(&stored, schema.version, self.cipher(), &mut tile, &mut Scratch::new())?;
        Ok(tile)
    }

    /// A name for a schema file.
    pub(crate) fn new_schema_name(&self, at: Option<u64>) -> Result<TimestampedName> {
        let time = next_timestamp(self.env(), at);
        Ok(TimestampedName::new(TimeRange { start: time, end: time }, self.new_id()?, None))
    }

    /// A name for a schema that is to be newer than the array's others: at a time, or now, or just behind the newest if
    /// that lies ahead of the clock.
    ///
    /// # Errors
    /// `InvalidArgument` when the time is not after that of the newest schema, unless it may be; what the store reports.
    pub(crate) fn newest_schema_name(
        &self,
        SchemaTime { at, may_be_past }: SchemaTime,
    ) -> Result<TimestampedName> {
        let name = self.new_schema_name(at)?;
        if may_be_past && at.is_some() {
            return Ok(name);
        }
        let newest = schema_files(self)?.into_iter().filter_map(|(name, _)| name).next_back();
        let Some(newest) = newest.filter(|newest| newest.range().end >= name.range().start) else {
            return Ok(name);
        };
        match (at, newest.range().end.checked_add(1)) {
            (None, Some(behind)) => self.new_schema_name(Some(behind)),
            _ => Err(Error::invalid(format!(
                "the array's schema is of {}, and a new one must be later; {} is not",
                newest.range().end,
                name.range().start
            ))),
        }
    }

    /// Puts a schema beside the array's others, durable on return; from its time on it is the array's schema. It was made from the newest one,
    /// which has this path: nothing but the put follows the look whether that is so still.
    ///
    /// # Errors
    /// As [`newest_schema_name`](ArrayPlace::newest_schema_name); `Io` where another process has put a schema or taken the claim over.
    pub(crate) fn put_schema(
        &self,
        schema: &ArraySchema,
        time: SchemaTime,
        made_from: &str,
        lock: &SchemaLock,
    ) -> Result<TimestampedName> {
        let tile = self.encode_schema(schema)?;
        lock.confirm()?;
        let name = self.newest_schema_name(time)?;
        if schema_files(self)?.last().is_none_or(|(_, newest)| newest != made_from) {
            let overtaken = "another process changed the schema meanwhile; nothing was changed: do it again";
            return Err(Error::new(ErrorKind::Io, overtaken).at_uri(self.uri()));
        }
        self.store().put(&self.join(&format!("{SCHEMA_FOLDER}/{name}")), &[&tile])?;
        Ok(name)
    }
}
