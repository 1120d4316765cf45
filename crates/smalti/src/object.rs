//! Arrays and groups as things in folders.

use crate::Options;
use smalti_array::{ArrayPlace, ObjectKind, WalkOrder};
use smalti_types::Result;
use std::fmt;

/// An array or group at a URI, whatever is in it: to find, to move, to remove.
///
/// Nothing but arrays and groups is ever moved or removed. Where the URI names a symbolic link to one, the link is what is moved or
/// removed, never what it leads to.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
/// use smalti::{Object, ObjectKind, WalkOrder};
///
/// let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<f32>("a")).build()?;
/// Group::create("mem://object-docs/weather")?;
/// Array::create("mem://object-docs/weather/rain", &schema)?;
///
/// let weather = Object::at("mem://object-docs/weather")?.expect("it was made above");
/// assert_eq!(weather.kind(), ObjectKind::Group);
/// assert!(Object::at("mem://object-docs/snow")?.is_none());
///
/// let all = Object::walk("mem://object-docs", WalkOrder::Post)?;
/// let uris: Vec<String> = all.iter().map(Object::uri).collect();
/// assert_eq!(uris, ["mem://object-docs/weather/rain", "mem://object-docs/weather"]);
///
/// let climate = weather.move_to("mem://object-docs/climate")?;
/// Array::open("mem://object-docs/climate/rain")?;
/// climate.remove()?;
/// assert!(Object::children("mem://object-docs")?.is_empty());
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Clone)]
pub struct Object {
    place: ArrayPlace,
    kind: ObjectKind,
    options: Options,
}

impl Object {
    /// What is at a URI; `None` for nothing, and for a file or folder that is neither array nor group.
    ///
    /// # Errors
    /// `InvalidArgument` for a URI that names nothing; `Permission`, `Io`.
    pub fn at(uri: &str) -> Result<Option<Object>> {
        Object::at_with(uri, &Options::new())
    }

    /// As [`at`](Object::at), in another context, or with another durability of moves and removals.
    ///
    /// # Errors
    /// As [`at`](Object::at).
    pub fn at_with(uri: &str, options: &Options) -> Result<Option<Object>> {
        let place = options.link(uri)?.map_or_else(|| options.place(uri), Ok)?;
        let kind = place.object_kind()?;
        Ok(kind.map(|kind| Object { place, kind, options: options.clone() }))
    }

    /// The arrays and groups directly in a folder, sorted by name. The folder itself may be anything.
    ///
    /// # Errors
    /// `NotFound` when there is no such folder; as [`at`](Object::at).
    pub fn children(uri: &str) -> Result<Vec<Object>> {
        Object::children_with(uri, &Options::new())
    }

    /// As [`children`](Object::children), in another context, or with another durability of moves and removals.
    ///
    /// # Errors
    /// As [`children`](Object::children).
    pub fn children_with(uri: &str, options: &Options) -> Result<Vec<Object>> {
        let found = options.place(uri)?.child_objects()?;
        Ok(found.into_iter().map(|found| Object::found(found, options)).collect())
    }

    /// The arrays and groups in a folder, those in them, and so on, sorted by name at each level. Folders that are neither
    /// are not entered.
    ///
    /// # Errors
    /// As [`children`](Object::children).
    pub fn walk(uri: &str, order: WalkOrder) -> Result<Vec<Object>> {
        Object::walk_with(uri, order, &Options::new())
    }

    /// As [`walk`](Object::walk), in another context, or with another durability of moves and removals.
    ///
    /// # Errors
    /// As [`children`](Object::children).
    pub fn walk_with(uri: &str, order: WalkOrder, options: &Options) -> Result<Vec<Object>> {
        let found = options.place(uri)?.walk_objects(order)?;
        Ok(found.into_iter().map(|found| Object::found(found, options)).collect())
    }

    /// Where its files are: of a symbolic link, in what it leads to.
    pub(crate) fn files(&self) -> Result<ArrayPlace> {
        if self.is_link()? { self.options.place(&self.uri()) } else { Ok(self.place.clone()) }
    }

    fn found((place, kind): (ArrayPlace, ObjectKind), options: &Options) -> Object {
        Object { place, kind, options: options.clone() }
    }

    /// Array or group.
    pub fn kind(&self) -> ObjectKind {
        self.kind
    }

    /// Whether it is a symbolic link to an array or group.
    ///
    /// # Errors
    /// As [`at`](Object::at).
    pub fn is_link(&self) -> Result<bool> {
        Ok(self.options.link(&self.uri())?.is_some())
    }

    /// Its address: an absolute path or a URI.
    pub fn uri(&self) -> String {
        self.place.uri()
    }

    /// The last part of its address.
    pub fn name(&self) -> &str {
        self.place.path().rsplit('/').next().unwrap_or_default()
    }

    /// Moves it with all that its folder holds; the object at its new place. On the local file system, and inside
    /// one memory store, that is one rename. Relative members of groups move along; absolute URIs that name it elsewhere
    /// are left as they are.
    ///
    /// # Errors
    /// `AlreadyExists` when something is at the new place: nothing is ever replaced; `InvalidArgument` when that is inside the
    /// object itself; `NotFound` when the object has gone; `Unsupported` when it is on another file system.
    pub fn move_to(&self, uri: &str) -> Result<Object> {
        let place = self.options.place(uri)?;
        let kind = self.place.move_object(&place, self.options.sync_level())?;
        Ok(Object { place, kind, options: self.options.clone() })
    }

    /// Removes it with all that its folder holds, of a group also what is no member; of a symbolic link, the link alone. To keep that, see
    /// [`Group::delete`](crate::Group::delete).
    ///
    /// # Errors
    /// `NotFound` when it has gone, or something else has taken its place.
    pub fn remove(self) -> Result<()> {
        self.place.remove_object().map(drop)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?})", self.kind, self.uri())
    }
}
