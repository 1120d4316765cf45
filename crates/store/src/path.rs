//! Paths inside a store: UTF-8, components joined by `/`, never absolute, never climbing.

use smalti_types::{Error, Result};

/// Checks a path of a file or folder inside a store.
///
/// Legal: `cities/__schema/__1_1_ab`, `.tdb`, `a b/ü`. Illegal: the empty path, `/a`, `a/`, `a//b`, `a/../b`, `./a`,
/// and anything with a NUL byte.
///
/// # Errors
/// `InvalidArgument` quoting the path.
pub fn check_path(path: &str) -> Result<()> {
    let reason = if path.is_empty() {
        "is empty"
    } else if path.contains('\0') {
        "contains a NUL byte"
    } else {
        match path.split('/').find(|part| matches!(*part, "" | "." | "..")) {
            Some("") => "has an empty component",
            Some(_) => "has a component `.` or `..`",
            None => return Ok(()),
        }
    };
    Err(Error::invalid(format!("the storage path {path:?} {reason}")))
}

/// Checks a path where the empty path, the store's root, is legal too.
pub(crate) fn check_folder(path: &str) -> Result<()> {
    if path.is_empty() { Ok(()) } else { check_path(path) }
}

/// Checks the two paths of a move: a folder cannot go into itself, nor to where it is.
///
/// # Errors
/// `InvalidArgument`, with the path quoted.
pub fn check_move(from: &str, to: &str) -> Result<()> {
    check_path(from)?;
    check_path(to)?;
    match to.strip_prefix(from) {
        Some(below) if below.is_empty() || below.starts_with('/') => {
            Err(Error::invalid(format!("{from:?} cannot be moved to {to:?}, which is itself or inside it")))
        }
        _ => Ok(()),
    }
}

/// The folder and the name of a path: `a/b/c` is `c` in `a/b`, and `c` is in the root, the empty path.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The path of `name`, itself maybe of several components, in a folder.
pub fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { [folder, "/", name].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_climb_or_are_absolute_are_refused() {
        for bad in ["", "/", "/a", "a/", "a//b", "..", "a/..", "a/./b", "../a", "a\0b"] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "a/b", ".tdb", "..a", "a b/ü", "a\\b", "~"] {
            check_path(good).unwrap();
        }
    }

    #[test]
    fn splitting_and_joining_are_inverse() {
        for path in ["a", "a/b", "a/b/c"] {
            let (folder, name) = split(path);
            assert_eq!(join(folder, name), path);
        }
    }
}
