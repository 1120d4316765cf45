//! The array that an import makes: built beside its place, and moved there when all of it is written.

use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::warning::Warning;
use smalti::{Array, ErrorKind, Object};

/// A new array.
pub(super) struct NewArray<'a> {
    engine: &'a smalti::Options,
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
        environment: &Environment<'a>,
        uri: &'a str,
        schema: &str,
        at: Option<u64>,
        is_staged: bool,
    ) -> Outcome<NewArray<'a>> {
        check_free(uri)?;
        let file = smalti::json::schema_from_json(schema)?;
        let staged = is_staged.then(|| beside(uri));
        let engine = environment.engine;
        let place = staged.as_deref().unwrap_or(uri);
        let named = |error: smalti::Error| error.at_uri(place);
        let schema = file.build().map_err(named)?;
        let options = match at {
            Some(at) => engine.clone().created_at(at),
            None => engine.clone(),
        };
        let array = Array::create_with(place, &schema, &options).map_err(named)?;
        Ok(NewArray { engine, uri, staged, array: Some(array) })
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
        let object = Object::at_with(staged, self.engine)?
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
pub(super) fn existing(environment: &Environment<'_>, uri: &str) -> Outcome<Option<Array>> {
    match Array::open_with(uri, environment.engine) {
        Ok(array) => {
            for warning in array.warnings()? {
                (environment.warn)(Warning::new(uri, warning));
            }
            Ok(Some(array))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.at_uri(uri).into()),
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
