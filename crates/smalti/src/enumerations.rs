//! The enumerations of an array.

use crate::Array;
use smalti_format::Enumeration;
use smalti_format::names::{ENUMERATIONS_FOLDER, SCHEMA_FOLDER};
use smalti_types::{Error, Result};

impl Array {
    /// An enumeration of the schema at the end of the time range, by the name that attributes give it.
    ///
    /// # Errors
    /// `NotFound` when the schema has no enumeration of that name; `Corrupt` and `Permission`, with the file named.
    ///
    /// ```
    /// # use smalti::prelude::*;
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<u8>("a")).build()?;
    /// # let array = Array::create("mem://enumeration-docs", &schema)?;
    /// assert_eq!(array.enumeration("colors").unwrap_err().kind(), ErrorKind::NotFound);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn enumeration(&self, name: &str) -> Result<Enumeration> {
        let file = self.schema().enumeration_file(name).ok_or_else(|| {
            Error::not_found(format!("the schema has no enumeration {name:?}")).at_uri(self.uri())
        })?;
        // A name read from a file never forms a path beyond its folder.
        if file.is_empty() || file.contains(['/', '\\', '\0']) || file == ".." {
            let error = Error::corrupt(format!("{file:?} is no name of a file"))
                .in_field("array schema", "enumerations");
            return Err(error.at_uri(self.uri()));
        }
        let place = self.snapshot()?.place();
        let path = place.join(&format!("{SCHEMA_FOLDER}/{ENUMERATIONS_FOLDER}/{file}"));
        let tile = place.read_tile_file(&path)?;
        Enumeration::decode(tile.as_slice()).map_err(|error| error.at_uri(place.store().address(&path)))
    }
}
