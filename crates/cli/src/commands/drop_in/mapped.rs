//! Which libtiledb a Python environment loads, as /proc/self/maps tells it.

use super::environment::{Environment, told};
use crate::failure::{Failure, Outcome};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Loads packages, and prints what is mapped then.
const SCRIPT: &str = "import importlib, sys\n[importlib.import_module(name) for name in sys.argv[1:]]\nprint(open('/proc/self/maps').read())";

/// Checks that packages of the environment load this library, and no other libtiledb: one that is loaded under another name would answer in its
/// place without a word.
pub(super) fn check(environment: &Environment, library: &Path, packages: &[&str]) -> Outcome {
    let python = environment.python();
    // Isolated from variables and packages of the user, which say nothing of the environment.
    let output = Command::new(&python)
        .args(["-I", "-c", SCRIPT])
        .args(packages)
        .output()
        .map_err(|error| told(&python, error))?;
    let at = |failure: Failure| failure.at(environment.folder().display().to_string());
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("Python says nothing");
        let names = packages.join(", ");
        return Err(at(Failure::invalid(format!("{names} cannot be imported with this library: {last}"))));
    }
    let mapped = mapped(&String::from_utf8_lossy(&output.stdout));
    let others: Vec<String> = mapped
        .iter()
        .filter(|path| path.as_path() != library && is_libtiledb(path))
        .map(|path| path.display().to_string())
        .collect();
    match (mapped.contains(library), others.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => {
            Err(at(Failure::invalid(format!("another libtiledb is loaded, too: {}", others.join(", ")))))
        }
        (false, true) => Err(at(Failure::invalid(format!(
            "the library is not loaded when {} is imported",
            packages.join(", ")
        )))),
        (false, false) => {
            Err(at(Failure::invalid(format!("the library is not loaded, but {}", others.join(", ")))))
        }
    }
}

/// The files that are mapped: what stands behind five fields in each line.
fn mapped(text: &str) -> BTreeSet<PathBuf> {
    let lines = text.lines().filter_map(|line| {
        let mut rest = line.trim_start();
        for _ in 0..5 {
            rest = rest.split_once(' ')?.1.trim_start();
        }
        rest.starts_with('/').then(|| PathBuf::from(rest))
    });
    lines.collect()
}

/// Whether a file is called as the library is, and not as a module of Python.
fn is_libtiledb(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_module = [".cpython-", ".abi3.", ".pypy"].iter().any(|part| name.contains(part));
    let rest = name.strip_prefix("libtiledb").unwrap_or_default();
    rest.starts_with(['-', '.']) && rest.contains(".so") && !is_module
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_are_mapped_are_told_with_the_spaces_in_their_names() {
        let text = "7f0000000000-7f0000001000 r--p 00000000 08:01 1234        /a b/libtiledb.so.2.30\n\
                    7f0000001000-7f0000002000 r-xp 00001000 08:01 1234        /a b/libtiledb.so.2.30\n\
                    7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n\
                    7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0           [stack]\n";
        assert_eq!(mapped(text), BTreeSet::from([PathBuf::from("/a b/libtiledb.so.2.30")]));
    }

    #[test]
    fn modules_of_python_are_no_libtiledb() {
        for (path, expected) in [
            ("/p/tiledb.libs/libtiledb-edd2b82f.so.2.30", true),
            ("/p/tiledb.libs/libtiledb-edd2b82f.so.2.30.original", true),
            ("/p/lib/libtiledb.so", true),
            ("/p/tiledb/libtiledb.cpython-311-x86_64-linux-gnu.so", false),
            ("/p/libtiledbsoma.abi3.so", false),
            ("/p/tiledbsoma.libs/libtiledbsoma-782f5c19.so", false),
            ("/p/libc.so.6", false),
        ] {
            assert_eq!(is_libtiledb(Path::new(path)), expected, "{path}");
        }
    }
}
