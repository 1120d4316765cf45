//! The enumerations of an array, each a file that schemas name.

use crate::Snapshot;
use smalti_format::Enumeration;
use smalti_format::names::{ENUMERATIONS_FOLDER, SCHEMA_FOLDER};
use smalti_types::{Error, Result};

impl Snapshot {
    /// An enumeration as the snapshot's schema has it, by the name that attributes give it. An enumeration that is
    /// extended gets a new file, so earlier snapshots keep the shorter one.
    ///
    /// # Errors
    /// `NotFound` when the schema has no enumeration of that name; `Corrupt` and `Permission`, with the file named.
    pub fn enumeration(&self, name: &str) -> Result<Enumeration> {
        let place = self.place();
        let file = self.schema().enumeration_file(name).ok_or_else(|| {
            Error::not_found(format!("the schema has no enumeration {name:?}")).at_uri(place.uri())
        })?;
        // A name read from a file never forms a path beyond its folder.
        if file.is_empty() || file.contains(['/', '\\', '\0']) || file == ".." {
            let error = Error::corrupt(format!("{file:?} is no name of a file"))
                .in_field("array schema", "enumerations");
            return Err(error.at_uri(place.uri()));
        }
        let path = place.join(&format!("{SCHEMA_FOLDER}/{ENUMERATIONS_FOLDER}/{file}"));
        let tile = place.read_tile_file(&path)?;
        Enumeration::decode(tile.as_slice()).map_err(|error| error.at_uri(place.store().address(&path)))
    }
}
