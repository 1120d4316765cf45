//! What cargo knows about the workspace.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The workspace, as `cargo metadata` describes it.
pub(crate) struct Workspace {
    /// The folder of the root Cargo.toml.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// The member packages.
    pub(crate) packages: Vec<Package>,
}

/// A member package.
pub(crate) struct Package {
    /// Its name in Cargo.toml.
    pub(crate) name: String,
    /// The names of the packages that it depends on, of every kind (normal, development, build).
    pub(crate) dependencies: Vec<String>,
    /// Those of them that every build of it needs, whatever is asked for.
    pub(crate) needs: Vec<String>,
    /// The root source files of its libraries and programs; not of its tests, benches and examples.
    pub(crate) roots: Vec<PathBuf>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load() -> Result<Self, String> {
        let output = Command::new(cargo())
            .args(["metadata", "--no-deps", "--format-version", "1", "--locked"])
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| format!("cannot run cargo metadata: {e}"))?;
        if !output.status.success() {
            return Err("cargo metadata failed; is Cargo.lock up to date?".into());
        }
        let metadata: Value =
            serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
        Self::from_metadata(&metadata).ok_or_else(|| "cargo metadata has an unknown layout".into())
    }

    /// The member with that name.
    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }

    fn from_metadata(metadata: &Value) -> Option<Self> {
        let packages = metadata["packages"].as_array()?.iter().map(Package::from_metadata);
        Some(Self {
            root: metadata["workspace_root"].as_str()?.into(),
            target: metadata["target_directory"].as_str()?.into(),
            packages: packages.collect::<Option<_>>()?,
        })
    }
}

impl Package {
    fn from_metadata(package: &Value) -> Option<Self> {
        let all = package["dependencies"].as_array()?;
        let dependencies = all.iter().map(|d| d["name"].as_str());
        let needs = all.iter().filter(|d| d["kind"].is_null() && d["optional"] == false);
        let roots = package["targets"].as_array()?.iter().filter(|target| {
            let kinds = target["kind"].as_array().map(Vec::as_slice).unwrap_or_default();
            !kinds.iter().any(|kind| matches!(kind.as_str(), Some("test" | "bench" | "example")))
        });
        Some(Self {
            name: package["name"].as_str()?.to_owned(),
            dependencies: dependencies.map(|name| name.map(str::to_owned)).collect::<Option<_>>()?,
            needs: needs.map(|d| d["name"].as_str().map(str::to_owned)).collect::<Option<_>>()?,
            roots: roots
                .map(|target| target["src_path"].as_str().map(PathBuf::from))
                .collect::<Option<_>>()?,
        })
    }
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}
