//! The enumerations of an array, each a file that schemas name.

use crate::{ArrayPlace, Snapshot};
use smalti_format::names::{ENUMERATIONS_FOLDER, SCHEMA_FOLDER, is_plain};
use smalti_format::{ArraySchema, Enumeration};
use smalti_types::{Error, Result};
use std::sync::Arc;

impl Snapshot {
    /// An enumeration as the snapshot's schema has it, by the name that attributes give it; kept for later calls. An
    /// enumeration that is extended gets a new file, so earlier snapshots keep the shorter one.
    ///
    /// # Errors
    /// `NotFound` when the schema has no enumeration of that name; `Corrupt` and `Permission`, with the file named.
    pub fn enumeration(&self, name: &str) -> Result<Arc<Enumeration>> {
        if let Some(found) = self.known_enumerations().get(name) {
            return Ok(Arc::clone(found));
        }
        let read = Arc::new(self.place().enumeration(self.schema(), name)?);
        let mut known = self.known_enumerations();
        Ok(Arc::clone(known.entry(name.to_owned()).or_insert(read)))
    }
}

impl ArrayPlace {
    /// An enumeration of a schema.
    ///
    /// # Errors
    /// As [`Snapshot::enumeration`].
    pub fn enumeration(&self, schema: &ArraySchema, name: &str) -> Result<Enumeration> {
        let file = schema.enumeration_file(name).ok_or_else(|| {
            let known: Vec<&str> = schema.enumerations.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Error::not_found(format!("the schema has no enumeration {name:?}; there are {known}"))
                .at_uri(self.uri())
        })?;
        // A name read from a file never forms a path beyond its folder.
        if !is_plain(file) || file.contains('\\') {
            let error = Error::corrupt(format!("{file:?} is no name of a file"))
                .in_field("array schema", "enumerations");
            return Err(error.at_uri(self.uri()));
        }
        let path = self.join(&format!("{SCHEMA_FOLDER}/{ENUMERATIONS_FOLDER}/{file}"));
        let tile = self.read_tile_file(&path)?;
        Enumeration::decode(tile.as_slice()).map_err(|error| error.at_uri(self.store().address(&path)))
    }
}
