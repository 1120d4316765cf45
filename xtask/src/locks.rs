//! The versions of crates from outside that fuzz targets are built with. Their workspace is one of its own, which the tests do not build: its lock file
//! would be forgotten.

use crate::workspace::{Package, Workspace};
use std::collections::{BTreeMap, BTreeSet};

/// The lock file of the fuzz targets.
const OF_FUZZING: &str = "fuzz/Cargo.lock";

/// What a lock file says of the packages of a name: their versions, and the names of the packages that one of them uses.
#[derive(Debug, Default, PartialEq)]
struct Locked {
    versions: BTreeSet<String>,
    uses: BTreeSet<String>,
}

/// A line for everything in which the lock file of the fuzz targets is behind.
pub(crate) fn violations(workspace: &Workspace) -> Result<Vec<String>, String> {
    let read = |name: &str| {
        let path = workspace.root.join(name);
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok::<_, String>(parsed(&text))
    };
    Ok(differences(&workspace.packages, &read("Cargo.lock")?, &read(OF_FUZZING)?))
}

fn differences(
    packages: &[Package],
    ours: &BTreeMap<String, Locked>,
    fuzzed: &BTreeMap<String, Locked>,
) -> Vec<String> {
    const MEND: &str = "`cargo update --workspace` in fuzz/, or `--package NAME --precise VERSION`, mends it";
    let mut found = Vec::new();
    for package in packages {
        let Some(locked) = fuzzed.get(&package.name) else { continue };
        let missing = package.needs.iter().filter(|name| !locked.uses.contains(*name));
        found.extend(
            missing
                .map(|name| format!("{OF_FUZZING}: {} without {name}, which it uses; {MEND}", package.name)),
        );
    }
    for (name, locked) in fuzzed {
        let Some(own) = ours.get(name) else { continue };
        let other = locked.versions.difference(&own.versions);
        found.extend(other.map(|version| {
            let own: Vec<&str> = own.versions.iter().map(String::as_str).collect();
            format!("{OF_FUZZING}: {name} {version}, and {} in Cargo.lock; {MEND}", own.join(", "))
        }));
    }
    found
}

fn parsed(text: &str) -> BTreeMap<String, Locked> {
    let mut packages: BTreeMap<String, Locked> = BTreeMap::new();
    for package in text.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let quoted = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            Some(quoted?.trim_matches('"').to_owned())
        };
        let Some(name) = value("name") else { continue };
        let locked = packages.entry(name).or_default();
        locked.versions.extend(value("version"));
        // A name, and where there are several of it a version.
        let uses = package.lines().filter_map(|line| line.strip_prefix(" \"")?.split(['"', ' ']).next());
        locked.uses.extend(uses.map(str::to_owned));
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\n \"b\",\n \"c 2.0.0\",\n]\n\n\
                        [[package]]\nname = \"c\"\nversion = \"2.0.0\"\n\n[[package]]\nname = \"c\"\nversion = \"1.0.0\"\n";

    #[test]
    fn packages_have_versions_and_use_others() {
        let packages = parsed(OURS);
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(packages["a"], Locked { versions: set(&["1.0.0"]), uses: set(&["b", "c"]) });
        assert_eq!(packages["c"].versions, set(&["1.0.0", "2.0.0"]));
    }

    #[test]
    fn what_is_missing_and_what_has_another_version_is_told() {
        let package = |needs: &[&str]| Package {
            name: "a".into(),
            dependencies: Vec::new(),
            needs: needs.iter().map(|&name| name.to_owned()).collect(),
            roots: Vec::new(),
        };
        let (ours, fuzzed) = (parsed(OURS), parsed(&OURS.replace("2.0.0", "2.1.0")));
        assert!(differences(&[package(&["b", "c"])], &ours, &ours).is_empty());
        let told = differences(&[package(&["b", "d"])], &ours, &fuzzed);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("a without d") && told[1].contains("c 2.1.0, and 1.0.0, 2.0.0"), "{told:?}");
    }
}
