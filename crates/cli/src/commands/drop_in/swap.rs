//! The library of a wheel and the link in its place.
//!
//! The modules of a wheel find their library by a path that is built in, in the folder `NAME.libs` beside the package. So what has that name
//! is what is loaded: neither LD_LIBRARY_PATH nor LD_PRELOAD of another name changes it.

use super::environment::{Environment, entries, link, told};
use crate::failure::{Failure, Outcome};
use std::fs;
use std::path::{Path, PathBuf};

/// The end of the library's name: the interface that ours has.
const INTERFACE: &str = ".so.2.30";

/// Behind the name of the original, when it has moved aside.
const ASIDE: &str = ".original";

/// A library of an environment.
#[derive(Debug)]
pub(super) struct Place {
    /// What the modules load.
    pub(super) library: PathBuf,
}

/// The libraries of an environment that ours can stand for.
///
/// # Errors
/// Where there is none, or one with another interface.
pub(super) fn places(environment: &Environment) -> Outcome<Vec<Place>> {
    let mut found = Vec::new();
    for packages in environment.packages()? {
        let folders = entries(&packages)?.into_iter();
        for folder in
            folders.filter(|path| path.extension().is_some_and(|end| end == "libs") && path.is_dir())
        {
            for library in entries(&folder)? {
                if is_library(&name_of(&library)) {
                    found.push(Place { library });
                }
            }
        }
    }
    if let Some(other) = found.iter().find(|place| !name_of(&place.library).ends_with(INTERFACE)) {
        let message =
            "this library has not the interface of libtiledb 2.30, which ours has; TileDB-Py 0.36.1 has it";
        return Err(Failure::invalid(message).at(other.library.display().to_string()));
    }
    if found.is_empty() {
        let message = "this environment has no libtiledb of a wheel; `bin/python -m pip install tiledb==0.36.1` brings it";
        return Err(Failure::Error(
            smalti::Error::not_found(message).at_uri(environment.folder().display().to_string()),
        ));
    }
    Ok(found)
}

impl Place {
    /// Puts a link to another library here. At every moment something stands in the place; the original is kept beside it.
    pub(super) fn link_to(&self, library: &Path) -> Outcome {
        let aside = self.aside();
        if !is_link(&self.library) {
            // An older one is of a package that was replaced since.
            if aside.symlink_metadata().is_ok() {
                fs::remove_file(&aside).map_err(|error| told(&aside, error))?;
            }
            fs::hard_link(&self.library, &aside)
                .or_else(|_| fs::copy(&self.library, &aside).map(|_| ()))
                .map_err(|error| told(&aside, error))?;
        } else if !aside.is_file() {
            let message =
                "this is a link already, and the original is not beside it: install the package anew";
            return Err(Failure::invalid(message).at(self.library.display().to_string()));
        }
        let next = self.with_end(".link");
        if next.symlink_metadata().is_ok() {
            fs::remove_file(&next).map_err(|error| told(&next, error))?;
        }
        link(library, &next)?;
        fs::rename(&next, &self.library).map_err(|error| told(&self.library, error))
    }

    /// Puts the original back. Whether a link was in its place.
    pub(super) fn put_back(&self) -> Outcome<bool> {
        let aside = self.aside();
        if !is_link(&self.library) || !aside.is_file() {
            return Ok(false);
        }
        fs::rename(&aside, &self.library).map_err(|error| told(&self.library, error))?;
        Ok(true)
    }

    fn aside(&self) -> PathBuf {
        self.with_end(ASIDE)
    }

    fn with_end(&self, end: &str) -> PathBuf {
        self.library.with_file_name(format!("{}{end}", name_of(&self.library)))
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// Whether a file is the library as a wheel has it: its name, a part of its hash, and the version behind `.so`.
fn is_library(name: &str) -> bool {
    let version = name.strip_prefix("libtiledb-").and_then(|name| name.split_once(".so."));
    version.is_some_and(|(_, version)| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_wheel_is_told_from_what_stands_beside_it() {
        assert!(is_library("libtiledb-edd2b82f.so.2.30") && is_library("libtiledb-0.so.2.31"));
        for name in [
            "libtiledb-edd2b82f.so.2.30.original",
            "libtiledb-edd2b82f.so.2.30.link",
            "libtiledb.cpython-311-x86_64-linux-gnu.so",
            "libgcc_s-1.so.1",
        ] {
            assert!(!is_library(name), "{name}");
        }
    }
}
