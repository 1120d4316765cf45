//! The seeds: small real inputs in `fuzz/seeds/TARGET`, one a file.

use std::path::{Path, PathBuf};

/// An input to start from.
#[derive(Debug, Clone)]
pub struct Seed {
    /// The name of its file.
    pub name: String,
    /// The input.
    pub bytes: Vec<u8>,
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// Where the seeds of a target are.
pub fn seeds_folder(target: &str) -> PathBuf {
    fuzz_folder().join("seeds").join(target)
}

/// Where inputs that failed are put.
pub fn artifacts_folder(target: &str) -> PathBuf {
    fuzz_folder().join("artifacts").join(target)
}

/// The seeds of a target in the order of their names; none where there is no folder.
///
/// # Errors
/// What the file system reports.
pub fn seeds(target: &str) -> std::io::Result<Vec<Seed>> {
    inputs(&seeds_folder(target))
}

/// What `cargo xtask fuzz --coverage` keeps of a target: inputs that reach what the seeds do not, in the order of their names.
///
/// # Errors
/// What the file system reports.
pub fn kept(target: &str) -> std::io::Result<Vec<Seed>> {
    inputs(&fuzz_folder().join("kept").join(target))
}

fn inputs(folder: &Path) -> std::io::Result<Vec<Seed>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        seeds.push(Seed { name, bytes: std::fs::read(entry.path())? });
    }
    seeds.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(seeds)
}
