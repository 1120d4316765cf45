//! One set of features for each crate from outside: those that the program asks for are those that tests ask for, so that both share
//! what is compiled (docs/decisions/0024).

use crate::workspace::{Workspace, cargo};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

/// What is built by itself, beside the tests of the whole workspace.
const BUILT_ALONE: &[&str] = &["smalti-cli", "smalti-python", "smalti-bench"];

/// Packages with a set of features for each of their builds. One for programs of the build differs from one for the target.
type Builds = BTreeMap<String, BTreeSet<String>>;

/// A line for each crate that has other features in a build of its own than in that of the tests.
pub(crate) fn violations(workspace: &Workspace) -> Result<Vec<String>, String> {
    let tested = builds(workspace, &["--workspace", "--edges", "normal,build,dev"])?;
    let mut found = Vec::new();
    for package in BUILT_ALONE {
        let alone = builds(workspace, &["--package", package, "--edges", "normal,build"])?;
        found.extend(differences(package, &alone, &tested, |name| workspace.has_package(name)));
    }
    Ok(found)
}

fn differences(
    package: &str,
    alone: &Builds,
    tested: &Builds,
    is_ours: impl Fn(&str) -> bool,
) -> Vec<String> {
    let differs = |(name, features): &(&String, &BTreeSet<String>)| {
        // Our own crates have features that tests and programs do not share by design: what a command line needs, say.
        let short = name.split(' ').next().unwrap_or_default();
        !is_ours(short) && tested.get(*name).is_some_and(|tested| !features.is_subset(tested))
    };
    let told = |(name, features): (&String, &BTreeSet<String>)| {
        let list = |sets: &BTreeSet<String>| sets.iter().cloned().collect::<Vec<_>>().join("; ");
        format!(
            "{name} has the features {} in builds of {package} and {} in those of all tests: it compiles twice, with all crates above it; \
             name what is missing in crates/features/Cargo.toml",
            list(features),
            tested.get(name).map(list).unwrap_or_default()
        )
    };
    alone.iter().filter(differs).map(told).collect()
}

fn builds(workspace: &Workspace, what: &[&str]) -> Result<Builds, String> {
    let output = Command::new(cargo())
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"])
        .args(what)
        .current_dir(&workspace.root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run cargo tree: {e}"))?;
    if !output.status.success() {
        return Err("cargo tree failed".into());
    }
    Ok(parsed(&String::from_utf8_lossy(&output.stdout)))
}

/// Lines of a package and its features; a star behind them says that the package was told before.
fn parsed(told: &str) -> Builds {
    let mut builds = Builds::new();
    for (package, features) in told.lines().filter_map(|line| line.split_once('|')) {
        let features = features.trim_end_matches(" (*)");
        builds.entry(package.to_owned()).or_default().insert(features.to_owned());
    }
    builds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_of_other_features_is_named() {
        let alone = parsed("hyper v1.0|client\nsmalti-tools v0.1.0 (/x)|\nsyn v3.0|\nonly-here v1.0|a");
        let tested = parsed(
            "hyper v1.0|client,server (*)\nsmalti-tools v0.1.0 (/x)|clap\nsyn v3.0|\nsyn v3.0|full\nother v1.0|",
        );
        let found = differences("smalti-cli", &alone, &tested, |name| name.starts_with("smalti"));
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert!(one.contains("hyper v1.0") && one.contains("client,server"), "{one}");
        assert!(differences("smalti-cli", &tested, &tested, |_| false).is_empty());
    }
}
