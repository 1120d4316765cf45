//! A Python environment as a folder: where its packages are, and how it is copied.

use crate::failure::{Failure, Outcome};
use std::fs;
use std::io::Error;
use std::path::{Path, PathBuf};

/// Scripts that name their environment are short; what is longer is a program.
const MAX_SCRIPT_BYTE_LEN: u64 = 1 << 20;

/// A folder with `bin/python` and `lib/python3.N/site-packages`.
#[derive(Debug)]
pub(super) struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The environment in a folder.
    pub(super) fn at(folder: &Path) -> Outcome<Environment> {
        let found = std::path::absolute(folder).map_err(|error| told(folder, error))?;
        let environment = Environment { folder: found };
        match environment.python().exists() {
            true => Ok(environment),
            false => Err(Failure::Error(
                smalti::Error::not_found("this is no Python environment: it has no bin/python")
                    .at_uri(folder.display().to_string()),
            )),
        }
    }

    /// Its folder, from the root.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its Python.
    pub(super) fn python(&self) -> PathBuf {
        self.folder.join("bin").join("python")
    }

    /// The folders of packages, one for each version of Python.
    pub(super) fn packages(&self) -> Outcome<Vec<PathBuf>> {
        let versions = entries(&self.folder.join("lib"))?.into_iter();
        let packages = versions.map(|version| version.join("site-packages"));
        Ok(packages.filter(|packages| packages.is_dir()).collect())
    }

    /// A copy of all of it in a folder that is not there yet.
    pub(super) fn copied_to(&self, folder: &Path) -> Outcome<Environment> {
        let copy = Environment { folder: std::path::absolute(folder).map_err(|error| told(folder, error))? };
        if copy.folder.starts_with(&self.folder) {
            return Err(Failure::usage("an environment cannot be copied into itself"));
        }
        // A folder that is there is refused: it is nobody's to remove again.
        fs::create_dir(&copy.folder).map_err(|error| told(folder, error))?;
        let copied = copy_entries(&self.folder, &copy.folder)
            .and_then(|()| rename_in_scripts(&self.folder, &copy.folder));
        match copied {
            Ok(()) => Ok(copy),
            Err(failure) => {
                copy.removed_again();
                Err(failure)
            }
        }
    }

    /// Removes a copy that is of no use.
    pub(super) fn removed_again(&self) {
        // What made it of no use is told, not what is left of it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An error with the path that it is about.
pub(super) fn told(path: &Path, error: Error) -> Failure {
    Failure::from(error).at(path.display().to_string())
}

/// What is in a folder, in the order of the names.
pub(super) fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let listing = fs::read_dir(folder).map_err(|error| told(folder, error))?;
    let paths = listing.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(|error| told(folder, error))?;
    paths.sort();
    Ok(paths)
}

/// A symbolic link at `place`.
pub(super) fn link(target: &Path, place: &Path) -> Outcome {
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(target, place);
    #[cfg(not(unix))]
    let made = Err::<(), _>(Error::from(std::io::ErrorKind::Unsupported)).map_err(|error| {
        let _ = target;
        error
    });
    made.map_err(|error| told(place, error))
}

fn copy_entries(from: &Path, to: &Path) -> Outcome {
    for path in entries(from)? {
        let Some(name) = path.file_name() else { continue };
        let place = to.join(name);
        let kind = path.symlink_metadata().map_err(|error| told(&path, error))?.file_type();
        if kind.is_symlink() {
            link(&fs::read_link(&path).map_err(|error| told(&path, error))?, &place)?;
        } else if kind.is_dir() {
            fs::create_dir(&place).map_err(|error| told(&place, error))?;
            copy_entries(&path, &place)?;
        } else if kind.is_file() {
            fs::copy(&path, &place).map_err(|error| told(&path, error))?;
        }
    }
    Ok(())
}

/// Scripts in `bin` name the Python of the environment that they were installed into: those of the copy are to call the copy's,
/// or they would run on the original library without a word.
fn rename_in_scripts(from: &Path, to: &Path) -> Outcome {
    let (Some(from), Some(to)) = (from.to_str(), to.to_str()) else {
        return Err(Failure::invalid("an environment can be copied where its path is UTF-8"));
    };
    for path in entries(&Path::new(to).join("bin"))? {
        let found = path.symlink_metadata().map_err(|error| told(&path, error))?;
        if !found.is_file() || found.len() > MAX_SCRIPT_BYTE_LEN {
            continue;
        }
        let content = fs::read(&path).map_err(|error| told(&path, error))?;
        if let Ok(text) = String::from_utf8(content)
            && let Some(renamed) = renamed(&text, from, to)
        {
            fs::write(&path, renamed).map_err(|error| told(&path, error))?;
        }
    }
    Ok(())
}

/// A text with another path in the place of one, where that path does not go on as a longer name; nothing where it does not occur.
fn renamed(text: &str, from: &str, to: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(from) {
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        out.push_str(before);
        out.push_str(if goes_on { from } else { to });
        rest = after;
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_the_copy_and_no_longer_name_that_begins_alike() {
        let text = "#!/a/venv/bin/python\nVIRTUAL_ENV='/a/venv'\n/a/venv-2 /a/venv.old /a/venv";
        let expected = "#!/b/bin/python\nVIRTUAL_ENV='/b'\n/a/venv-2 /a/venv.old /b";
        assert_eq!(renamed(text, "/a/venv", "/b").as_deref(), Some(expected));
        assert_eq!(renamed("#!/bin/sh\n", "/a/venv", "/b"), None);
    }
}
