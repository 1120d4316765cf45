//! The arrows between crates: which crate may use which.
//!
//! The table is the drawing in ARCHITECTURE.md. Development and build dependencies count too, so that a
//! crate's tests cannot reach above it either.

use crate::workspace::{Package, Workspace};

/// What a crate may use of the workspace.
enum Uses {
    /// These crates, by their names without `smalti-`.
    Only(&'static [&'static str]),
    /// All of them: the development crates.
    Anything,
}

const LAYERS: &[(&str, Uses)] = &[
    ("types", Uses::Only(&[])),
    ("format", Uses::Only(&["types"])),
    ("codecs", Uses::Only(&["types"])),
    ("space", Uses::Only(&["types"])),
    ("store", Uses::Only(&["types"])),
    ("object", Uses::Only(&["types", "store"])),
    ("tile", Uses::Only(&["types", "format", "codecs"])),
    ("array", Uses::Only(&["types", "format", "codecs", "space", "store", "tile"])),
    ("query", Uses::Only(&["types", "format", "codecs", "space", "store", "tile", "array"])),
    ("upkeep", Uses::Only(&["types", "format", "codecs", "space", "store", "tile", "array", "query"])),
    (
        "smalti",
        Uses::Only(&[
            "types", "format", "codecs", "space", "store", "object", "tile", "array", "query", "upkeep",
        ]),
    ),
    // No code: features of crates from outside.
    ("features", Uses::Only(&[])),
    ("tools", Uses::Only(&["smalti"])),
    ("cli", Uses::Only(&["smalti", "tools", "features"])),
    ("capi", Uses::Only(&["smalti"])),
    ("sql", Uses::Only(&["smalti"])),
    ("python", Uses::Only(&["smalti", "tools", "features"])),
    // Filters without an engine are a limit that it measures.
    ("bench", Uses::Only(&["smalti", "codecs", "types", "features"])),
    // Kernels of all these are counted one by one.
    ("counts", Uses::Only(&["types", "format", "codecs", "space", "store", "tile", "smalti"])),
    // In the place of a crate from outside: vendor/crc-fast.
    ("crc-fast", Uses::Only(&[])),
    ("tests", Uses::Anything),
    ("xtask", Uses::Anything),
];

/// The arrows that are not in the table, a line each.
pub(crate) fn violations(workspace: &Workspace) -> Vec<String> {
    workspace.packages.iter().flat_map(|package| package_violations(package, workspace)).collect()
}

fn package_violations(package: &Package, workspace: &Workspace) -> Vec<String> {
    let name = short(&package.name);
    let Some((_, uses)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        return vec![format!(
            "{} is in no layer; give it a row in xtask/src/arrows.rs and a place in ARCHITECTURE.md",
            package.name
        )];
    };
    let Uses::Only(allowed) = uses else { return Vec::new() };
    let inside = package.dependencies.iter().filter(|dependency| workspace.has_package(dependency));
    inside
        .filter(|dependency| !allowed.contains(&short(dependency)))
        .map(|dependency| match allowed {
            [] => format!("{} uses {dependency}; it may use no crate of the workspace", package.name),
            _ => format!("{} uses {dependency}; it may use {}", package.name, allowed.join(", ")),
        })
        .collect()
}

fn short(name: &str) -> &str {
    name.strip_prefix("smalti-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(edges: &[(&str, &[&str])]) -> Workspace {
        let packages = edges.iter().map(|(name, dependencies)| Package {
            name: (*name).to_owned(),
            dependencies: dependencies.iter().map(|&d| d.to_owned()).collect(),
            needs: Vec::new(),
            roots: Vec::new(),
        });
        Workspace { root: "".into(), target: "".into(), packages: packages.collect() }
    }

    #[test]
    fn arrows_down_and_foreign_crates_pass() {
        let edges: &[(&str, &[&str])] = &[
            ("smalti-types", &["bytemuck"]),
            ("smalti-format", &["smalti-types"]),
            ("smalti-tests", &["smalti-types", "smalti-format"]),
        ];
        assert_eq!(violations(&workspace(edges)), Vec::<String>::new());
    }

    #[test]
    fn arrows_up_and_between_siblings_fail() {
        let edges: &[(&str, &[&str])] = &[
            ("smalti-types", &["smalti-format"]),
            ("smalti-format", &["smalti-types", "smalti-store"]),
            ("smalti-store", &["smalti-types"]),
            ("smalti-cli", &["smalti-types"]),
        ];
        assert_eq!(
            violations(&workspace(edges)),
            [
                "smalti-types uses smalti-format; it may use no crate of the workspace",
                "smalti-format uses smalti-store; it may use types",
                "smalti-cli uses smalti-types; it may use smalti, tools, features",
            ]
        );
    }

    #[test]
    fn a_crate_without_a_layer_fails() {
        let found = violations(&workspace(&[("smalti-new", &[])]));
        assert!(found[0].starts_with("smalti-new is in no layer"), "{found:?}");
    }

    #[test]
    fn every_layer_uses_only_layers_above_it_in_the_table() {
        for (at, (name, uses)) in LAYERS.iter().enumerate() {
            let Uses::Only(allowed) = uses else { continue };
            for used in *allowed {
                assert!(LAYERS[..at].iter().any(|(layer, _)| layer == used), "{name} uses {used}");
            }
        }
    }
}
