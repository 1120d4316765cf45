//! Where the demo puts its arrays, and where its pictures.

use crate::args::{Global, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use smalti::{Object, ObjectKind};
use std::path::Path;

/// A folder for everything, or for pictures alone while the arrays are elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    dir: &'a Path,
    to: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// # Errors
    /// For the memory of this process: what comes of the demo is to be looked at when it has ended.
    pub(super) fn new(dir: &'a Path, to: Option<&'a str>) -> Outcome<Place<'a>> {
        if to.is_some_and(|uri| uri.starts_with("mem:")) {
            return Err(Failure::usage("arrays in memory end with the demo; give --to a bucket or a folder"));
        }
        Ok(Place { dir, to })
    }

    /// The path or URI of an array.
    pub(super) fn array(&self, name: &str) -> String {
        match self.to {
            Some(uri) => format!("{}/{name}", uri.trim_end_matches('/')),
            None => self.dir.join(name).to_string_lossy().into_owned(),
        }
    }

    /// The path of a file in the folder, for people.
    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.dir.display())
    }

    /// Removes the array of an earlier demo, and nothing else.
    ///
    /// # Errors
    /// Where something else is in the way.
    pub(super) fn remove_earlier(&self, global: &Global, array: &str) -> Outcome {
        match self.to {
            Some(_) => remove_array(global, array),
            None => remove_folder(Path::new(array)),
        }
    }
}

/// Whether an array is not on the disk.
pub(super) fn is_distant(uri: &str) -> bool {
    uri.contains("://") && !uri.starts_with("file:")
}

/// Where the bytes of an array are, for people.
pub(super) fn stored(uri: &str) -> &'static str {
    if is_distant(uri) { "in the store" } else { "on disk" }
}

fn remove_array(global: &Global, uri: &str) -> Outcome {
    let options = engine::options(global, OpenTimes::default())?;
    let found = Object::at_with(uri, &options).map_err(|error| error.at_uri(uri))?;
    match found {
        Some(array) if array.kind() == ObjectKind::Array => Ok(array.remove()?),
        Some(_) => Err(Failure::invalid("a group is in the way; choose another place with --to").at(uri)),
        None => Ok(()),
    }
}

fn remove_folder(path: &Path) -> Outcome {
    if !path.exists() {
        return Ok(());
    }
    if !path.join("__schema").is_dir() {
        let name = path.display();
        return Err(Failure::invalid(format!(
            "{name} is in the way and is no array; choose another folder with --dir"
        )));
    }
    std::fs::remove_dir_all(path).map_err(|error| Failure::from(error).at(path.display().to_string()))
}
