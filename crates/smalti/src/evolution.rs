//! Changing the schema of an array.

use crate::enumerations::encoded;
use crate::range::current_domain_side;
use crate::{Array, Attribute, Cell, Enumeration, IntoTimestamp, RangeEnd};
use smalti_array::SchemaChange;
use smalti_types::{Error, Result};
use std::ops::RangeBounds;

/// A change of an array's schema; made by [`Array::evolve`].
///
/// All of it happens at once, as a new schema beside the older ones. Cells stay as they are: those of an attribute that is
/// added are its fill value until they are written, and those of one that is dropped are there for reads of earlier times.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
///
/// let schema = Schema::sparse()
///     .dimension(Dimension::new("day", 0..=9999))
///     .current_domain("day", 0..=364)
///     .attribute(Attribute::of::<f32>("celsius"))
///     .attribute(Attribute::of::<u8>("old"))
///     .build()?;
/// let array = Array::create("mem://evolution-docs", &schema)?;
/// array.evolve()
///     .add_attribute(Attribute::of::<i8>("sky").enumeration("skies").fill(0))
///     .add_enumeration(Enumeration::new("skies", ["clear", "overcast"]))
///     .drop_attribute("old")
///     .expand_current_domain("day", 0..=729)
///     .commit()?;
/// array.write().column("day", &[400]).column("celsius", &[21.5_f32]).column("sky", &["clear"]).commit()?;
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing changes before commit"]
pub struct Evolution<'a> {
    array: &'a Array,
    change: SchemaChange,
    /// The first thing that was wrong, for the call that commits.
    refused: Option<Error>,
}

impl<'a> Evolution<'a> {
    fn new(array: &'a Array) -> Self {
        Evolution { array, change: SchemaChange::default(), refused: None }
    }

    /// Adds an attribute behind the others. Where cells were written without it, it has its fill value.
    pub fn add_attribute(mut self, attribute: Attribute) -> Self {
        let built = attribute.build();
        self.take(built, |change, attribute| change.add_attributes.push(attribute));
        self
    }

    /// Drops an attribute.
    pub fn drop_attribute(mut self, attribute: impl Into<String>) -> Self {
        self.change.drop_attributes.push(attribute.into());
        self
    }

    /// Adds an enumeration; attributes that are added can use it at once.
    pub fn add_enumeration(mut self, enumeration: Enumeration) -> Self {
        let built = enumeration.build();
        self.take(built, |change, enumeration| change.add_enumerations.push(enumeration));
        self
    }

    /// Appends labels to an enumeration; the codes of the others stay. Numbers and text must be of the enumeration's type.
    pub fn extend_enumeration<C: Cell>(
        mut self,
        name: impl Into<String>,
        more: impl IntoIterator<Item = C>,
    ) -> Self {
        let name = name.into();
        self.take(encoded(more), |change, labels| change.extend_enumerations.push((name, labels)));
        self
    }

    /// Drops an enumeration that no attribute uses any more.
    pub fn drop_enumeration(mut self, name: impl Into<String>) -> Self {
        self.change.drop_enumerations.push(name.into());
        self
    }

    /// Makes the current domain of a dimension larger. In an array without a current domain this sets one, which takes in all
    /// of the other dimensions; cells that lie outside are then read at earlier times only.
    pub fn expand_current_domain<T: RangeEnd>(mut self, dimension: &str, range: impl RangeBounds<T>) -> Self {
        let side = match self.array.schema().dimension(dimension) {
            Some((_, found)) => current_domain_side(found, &range),
            None => Err(Error::invalid(format!("there is no dimension {dimension:?}"))),
        };
        self.take(side, |change, side| change.current_domain.push((dimension.to_owned(), side)));
        self
    }

    /// The time of the change, later than the newest schema's: milliseconds since 1970, or a
    /// [`SystemTime`](std::time::SystemTime); by default now.
    pub fn at(mut self, time: impl IntoTimestamp) -> Self {
        self.change.at = Some(time.into_timestamp());
        self
    }

    /// Changes the schema, durable as [`Options::sync`](crate::Options::sync) says, and returns the time of the change in
    /// milliseconds since 1970. The handle shows the new schema from then on, if its time range takes it in.
    ///
    /// # Errors
    /// `InvalidArgument` names what cannot be added, dropped, extended or expanded, and why: an attribute or enumeration that
    /// is not there, in use or there already, a label that is there already, a current domain that shrinks or leaves the
    /// domain, a time before the newest schema, anything that the array's format version cannot hold. `NotFound` for an
    /// enumeration to extend that is not there. Nothing changes then.
    pub fn commit(self) -> Result<u64> {
        let Evolution { array, change, refused } = self;
        match refused {
            Some(error) => Err(error),
            None => array.evolve_raw(&change),
        }
    }

    fn take<T>(&mut self, value: Result<T>, put: impl FnOnce(&mut SchemaChange, T)) {
        match value {
            Ok(value) => put(&mut self.change, value),
            Err(error) => {
                self.refused.get_or_insert(error);
            }
        }
    }
}

impl Array {
    /// Starts a change of the schema; see [`Evolution`].
    pub fn evolve(&self) -> Evolution<'_> {
        Evolution::new(self)
    }

    /// A change of the schema in the words of the engine; returns its time in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Evolution::commit`].
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::SchemaChange;
    /// # let schema = Schema::dense()
    /// #     .dimension(Dimension::new("x", 0..=1))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .attribute(Attribute::of::<i32>("b"))
    /// #     .build()?;
    /// # let array = Array::create("mem://evolve-raw-docs", &schema)?;
    /// array.evolve_raw(&SchemaChange { drop_attributes: vec!["a".into()], ..SchemaChange::default() })?;
    /// assert!(array.schema().attribute("a").is_none());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn evolve_raw(&self, change: &SchemaChange) -> Result<u64> {
        let name = self.place().evolve(change)?;
        self.expire();
        self.snapshot().map(|_| name.range().end)
    }
}
