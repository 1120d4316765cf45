//! The cases of a version, all checked once in a run of the tests.

use super::Archive;
use super::case::{Case, Failure};
use rayon::prelude::*;
use std::sync::OnceLock;

/// How a case went.
pub struct Outcome {
    pub name: String,
    pub result: Result<(), Failure>,
}

const NEWEST: usize = 23;

/// The outcomes of a version, by name. The first caller checks the cases; others wait for it.
pub fn of_version(version: u32) -> &'static [Outcome] {
    static TALLIES: [OnceLock<Vec<Outcome>>; NEWEST + 1] = [const { OnceLock::new() }; NEWEST + 1];
    TALLIES[version as usize].get_or_init(|| walk(version))
}

fn walk(version: u32) -> Vec<Outcome> {
    let archive = Archive::unpack(version);
    let check = |folder: &std::path::PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Outcome { name, result: Case::load(folder).and_then(|case| case.check()) }
    };
    archive.cases().par_iter().map(check).collect()
}
