//! The library of a wheel and the link in its place.
//!
//! The modules of a wheel find their library by a path that is built in: in the folder `PACKAGE.libs` beside the package, or in a folder `lib` or
//! `lib64` in it. So what has that name is what is loaded: neither LD_LIBRARY_PATH nor LD_PRELOAD of another name changes it.

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
    /// The package that they are of, as Python imports it.
    pub(super) package: String,
}

/// How deep in a package a folder of libraries is looked for.
const MAX_DEPTH: usize = 2;

/// The libraries of an environment that ours can stand for.
///
/// # Errors
/// Where there is none, or one with another interface.
pub(super) fn places(environment: &Environment) -> Outcome<Vec<Place>> {
    let mut found = Vec::new();
    for packages in environment.packages()? {
        for folder in folders_in(&packages)? {
            match name_of(&folder).strip_suffix(".libs") {
                Some(package) => push_libraries(&folder, package, &mut found)?,
                None => push_places(&folder, &name_of(&folder), MAX_DEPTH, &mut found)?,
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

/// The libraries in `lib` and `lib64` of a package, and of those in it.
fn push_places(folder: &Path, package: &str, depth: usize, found: &mut Vec<Place>) -> Outcome {
    // Packages that have nothing to do with it are many, and some of them large.
    if !package.starts_with("tiledb") {
        return Ok(());
    }
    for below in folders_in(folder)? {
        let name = name_of(&below);
        if matches!(name.as_str(), "lib" | "lib64") {
            push_libraries(&below, package, found)?;
        } else if depth > 0 && name != "__pycache__" {
            push_places(&below, &format!("{package}.{name}"), depth - 1, found)?;
        }
    }
    Ok(())
}

fn push_libraries(folder: &Path, package: &str, found: &mut Vec<Place>) -> Outcome {
    let libraries = entries(folder)?.into_iter().filter(|library| is_library(&name_of(library)));
    found.extend(libraries.map(|library| Place { library, package: package.to_owned() }));
    Ok(())
}

/// The folders in a folder; links are what they lead to, found elsewhere.
fn folders_in(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let folders = entries(folder)?.into_iter().filter(|path| path.is_dir() && !is_link(path));
    Ok(folders.collect())
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

/// Whether a file is the library as a wheel has it: its name, perhaps a part of its hash, and the version behind `.so`.
fn is_library(name: &str) -> bool {
    let parts = name.strip_prefix("libtiledb").and_then(|name| name.split_once(".so."));
    parts.is_some_and(|(hash, version)| {
        (hash.is_empty() || hash.starts_with('-'))
            && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_wheel_is_told_from_what_stands_beside_it() {
        for name in ["libtiledb-edd2b82f.so.2.30", "libtiledb-0.so.2.31", "libtiledb.so.2.30"] {
            assert!(is_library(name), "{name}");
        }
        for name in [
            "libtiledb-edd2b82f.so.2.30.original",
            "libtiledb-edd2b82f.so.2.30.link",
            "libtiledb.cpython-311-x86_64-linux-gnu.so",
            "libtiledbsoma.so.2.30",
            "libgcc_s-1.so.1",
        ] {
            assert!(!is_library(name), "{name}");
        }
    }
}
