//! The array that an import makes: built beside its place, and moved there when all of it is written.

use crate::args::{Global, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use smalti::{Array, ErrorKind, Object};

/// A new array.
pub(super) struct NewArray<'a> {
    global: &'a Global,
    uri: &'a str,
    /// Where it is built; `None` once it stays.
    staged: Option<String>,
    array: Option<Array>,
}

impl<'a> NewArray<'a> {
    /// Makes the array beside its place, or at once there, at the time of its cells.
    ///
    /// # Errors
    /// What is wrong with the schema; what the engine reports.
    pub(super) fn create(
        global: &'a Global,
        uri: &'a str,
        schema: &str,
        at: Option<u64>,
        is_staged: bool,
    ) -> Outcome<NewArray<'a>> {
        check_free(uri)?;
        let file = smalti::json::schema_from_json(schema)?;
        let staged = is_staged.then(|| beside(uri));
        let array = engine::create(global, staged.as_deref().unwrap_or(uri), file, at)?;
        Ok(NewArray { global, uri, staged, array: Some(array) })
    }

    pub(super) fn array(&self) -> Outcome<&Array> {
        self.array.as_ref().ok_or_else(|| Failure::invalid("the array was moved"))
    }

    /// Gives the array its name.
    ///
    /// # Errors
    /// When something has taken its place meanwhile.
    pub(super) fn keep(mut self) -> Outcome {
        self.array = None;
        let Some(staged) = &self.staged else { return Ok(()) };
        let options = engine::options(self.global, OpenTimes::default())?;
        let object = Object::at_with(staged, &options)?
            .ok_or_else(|| Failure::invalid("the array has gone").at(staged))?;
        object.move_to(self.uri)?;
        self.staged = None;
        Ok(())
    }
}

impl Drop for NewArray<'_> {
    fn drop(&mut self) {
        self.array = None;
        if let Some(staged) = &self.staged {
            // What stopped the import tells more than why its remains cannot be removed.
            let _ = Object::at(staged).map(|object| object.map(Object::remove));
        }
    }
}

/// The array of a URI; `None` where there is none.
///
/// # Errors
/// What the engine reports.
pub(super) fn existing(global: &Global, uri: &str) -> Outcome<Option<Array>> {
    match engine::open(global, uri, OpenTimes::default()) {
        Ok(array) => Ok(Some(array)),
        Err(Failure::Error(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Checks early that nothing else is where the array will be.
pub(super) fn check_free(uri: &str) -> Outcome {
    if Object::at(uri)?.is_some() {
        return Err(Failure::invalid("a group is there; give another name").at(uri));
    }
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    if !path.contains("://") && std::path::Path::new(path).symlink_metadata().is_ok() {
        return Err(Failure::invalid(
            "something that is no array is there; give another name, or move it away",
        )
        .at(uri));
    }
    Ok(())
}

/// A name beside an array's that no other import has.
fn beside(uri: &str) -> String {
    let uri = uri.trim_end_matches('/');
    let (folder, name) = match uri.rfind('/') {
        Some(at) => uri.split_at(at + 1),
        None => ("", uri),
    };
    format!("{folder}.{name}.import-{}", std::process::id())
}
