//! The enumerations of an array.

use crate::Array;
use smalti_format::Enumeration;
use smalti_types::Result;

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
        self.snapshot()?.enumeration(name)
    }
}
