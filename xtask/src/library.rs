//! What is handed out of the drop-in libtiledb: the library, its headers, and what pkg-config and CMake find it by.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::fs;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name that programs were linked with; the file has it.
const SONAME: &str = "libtiledb.so.2.30";

/// The name that linkers look for, a symbolic link.
const LINK: &str = "libtiledb.so";

/// What the library may need where it runs: the C library with its parts, the unwinder of the compiler, and the loader.
const MAY_NEED: [&str; 4] = ["libc.so.", "libm.so.", "libgcc_s.so.", "ld-linux-"];

/// Files that others find the library by, in the folder `packaging` of the crate, and where they go.
const PACKAGING: [(&str, &str); 3] = [
    ("tiledb.pc", "lib/pkgconfig"),
    ("TileDBConfig.cmake", "lib/cmake/TileDB"),
    ("TileDBConfigVersion.cmake", "lib/cmake/TileDB"),
];

/// Builds the library with `profile`, puts it into `folder` with all that belongs to it, checks it, and says the sizes.
pub(crate) fn build(workspace: &Workspace, profile: &str, folder: &Path) -> Outcome {
    let mut build = Command::new(cargo());
    // Of the kinds of library that the crate has, those for its tests keep the linker from optimising the whole.
    let options = ["rustc", "--locked", "--package", "smalti-capi", "--lib", "--crate-type", "cdylib"];
    run(build.args(options).args(["--profile", profile]).current_dir(&workspace.root))?;
    let built = workspace.target.join(if profile == "dev" { "debug" } else { profile }).join(LINK);
    let crate_folder = workspace.root.join("crates").join("capi");
    let library = lay_out(&built, &crate_folder, folder)?;
    check_needed(&library)?;
    check_symbols(&library, &crate_folder.join("tests").join("symbols.txt"))?;
    let byte_len = fs::metadata(&library).map_err(|e| told(&library, &e))?.len();
    println!("{}: {:.1} MB", library.display(), byte_len as f64 / 1e6);
    Ok(())
}

/// Copies the library and what belongs to it into `folder`. The place of the library there.
fn lay_out(built: &Path, crate_folder: &Path, folder: &Path) -> Result<PathBuf, String> {
    let libraries = made(&folder.join("lib"))?;
    let library = libraries.join(SONAME);
    replaced(built, &library)?;
    let link = libraries.join(LINK);
    if link.symlink_metadata().is_ok() {
        fs::remove_file(&link).map_err(|e| told(&link, &e))?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(SONAME, &link).map_err(|e| told(&link, &e))?;
    for (name, place) in PACKAGING {
        replaced(&crate_folder.join("packaging").join(name), &made(&folder.join(place))?.join(name))?;
    }
    // A header that is no more is not left behind.
    let headers = folder.join("include").join("tiledb");
    if headers.exists() {
        fs::remove_dir_all(&headers).map_err(|e| told(&headers, &e))?;
    }
    made(&headers)?;
    let ours = crate_folder.join("include").join("tiledb");
    let (mut count, mut byte_len) = (0, 0);
    for entry in fs::read_dir(&ours).map_err(|e| told(&ours, &e))? {
        let entry = entry.map_err(|e| told(&ours, &e))?;
        count += 1;
        byte_len += replaced(&entry.path(), &headers.join(entry.file_name()))?;
    }
    println!("{}: {count} headers, {:.1} kB", headers.display(), byte_len as f64 / 1e3);
    Ok(library)
}

/// Copies a file: beside its place first, so that programs which have the old one mapped keep it.
fn replaced(from: &Path, to: &Path) -> Result<u64, String> {
    let beside = to.with_extension("new");
    let byte_len = fs::copy(from, &beside).map_err(|e| told(from, &e))?;
    fs::rename(&beside, to).map_err(|e| told(to, &e))?;
    Ok(byte_len)
}

fn made(folder: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).map_err(|e| told(folder, &e))?;
    Ok(folder.to_owned())
}

fn told(path: &Path, error: &Error) -> String {
    format!("{}: {error}", path.display())
}

/// That the library needs nothing that is not everywhere.
fn check_needed(library: &Path) -> Outcome {
    let listing = output(Command::new("readelf").args(["--dynamic", "--wide"]).arg(library))?;
    let needed = needed(&listing);
    println!("{}: needs {}", library.display(), needed.join(", "));
    let is_known = |name: &str| MAY_NEED.iter().any(|known| name.starts_with(known));
    match needed.iter().find(|name| !is_known(name)) {
        Some(name) => Err(format!("{} needs {name}", library.display())),
        None if soname(&listing) != Some(SONAME) => {
            Err(format!("{} is not called {SONAME} inside", library.display()))
        }
        None => Ok(()),
    }
}

/// That what the profile leaves is what the headers declare.
fn check_symbols(library: &Path, names: &Path) -> Outcome {
    let listing = output(Command::new("nm").args(["-D", "--defined-only"]).arg(library))?;
    let mut exported: Vec<&str> = listing.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    exported.sort_unstable();
    let expected = fs::read_to_string(names).map_err(|e| told(names, &e))?;
    if exported == expected.lines().collect::<Vec<_>>() {
        println!("{}: {} symbols", library.display(), exported.len());
        return Ok(());
    }
    let found = exported.len();
    Err(format!("{} exports {found} symbols, which are not those of {}", library.display(), names.display()))
}

/// What a program of the linker's package prints.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("cannot run {:?}: {e}", command.get_program()))?;
    if !output.status.success() {
        return Err(format!("{:?}: {}", command.get_program(), String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The libraries that a listing of readelf says are needed.
fn needed(listing: &str) -> Vec<&str> {
    listing.lines().filter(|line| line.contains("(NEEDED)")).filter_map(in_brackets).collect()
}

/// The name that a listing of readelf says the library has.
fn soname(listing: &str) -> Option<&str> {
    listing.lines().find(|line| line.contains("(SONAME)")).and_then(in_brackets)
}

fn in_brackets(line: &str) -> Option<&str> {
    line.split_once('[')?.1.split_once(']').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_read_from_the_listing() {
        let listing = " 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]\n \
                       0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]\n \
                       0x000000000000000e (SONAME)             Library soname: [libtiledb.so.2.30]\n \
                       0x000000000000000c (INIT)               0x1000\n";
        assert_eq!(needed(listing), ["libc.so.6", "ld-linux-x86-64.so.2"]);
        assert_eq!(soname(listing), Some(SONAME));
        assert_eq!(soname(""), None);
    }

    #[test]
    fn what_is_laid_out_replaces_what_was_there() {
        let folder = std::env::temp_dir().join(format!("smalti-xtask-library-{}", std::process::id()));
        let source = folder.join("source");
        for (name, place) in
            PACKAGING.map(|(name, _)| (name, "packaging")).into_iter().chain([("tiledb.h", "include/tiledb")])
        {
            fs::write(made(&source.join(place)).unwrap().join(name), name).unwrap();
        }
        let built = source.join(LINK);
        let dist = folder.join("dist");
        for content in ["first", "second"] {
            fs::write(&built, content).unwrap();
            made(&dist.join("include").join("tiledb")).unwrap();
            fs::write(dist.join("include").join("tiledb").join("old.h"), "").unwrap();
            let library = lay_out(&built, &source, &dist).unwrap();
            assert_eq!(library, dist.join("lib").join(SONAME));
            assert_eq!(fs::read_to_string(dist.join("lib").join(LINK)).unwrap(), content);
        }
        let mut listing: Vec<_> =
            fs::read_dir(dist.join("lib")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        listing.sort();
        assert_eq!(listing, ["cmake", LINK, SONAME, "pkgconfig"]);
        assert!(dist.join("lib/pkgconfig/tiledb.pc").exists());
        assert!(dist.join("lib/cmake/TileDB/TileDBConfig.cmake").exists());
        assert!(!dist.join("include/tiledb/old.h").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
