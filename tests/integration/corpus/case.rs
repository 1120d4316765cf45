//! One case: its folder, what is expected of it, and how it went.

use super::{groups, metadata, reads};
use serde_json::Value;
use smalti_types::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// An array (or group) with what reading it must give.
pub struct Case {
    pub name: String,
    pub array: PathBuf,
    pub expected: Value,
}

/// Why a check of a case failed.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    /// The kind of the error, if it was one of smalti's.
    pub kind: Option<ErrorKind>,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure { message, kind: None }
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Failure::from(message.to_owned())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { message: error.to_string(), kind: Some(error.kind()) }
    }
}

impl Failure {
    /// The same with what was done when it happened.
    pub fn at(self, what: &str) -> Failure {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }
}

impl Case {
    pub fn load(folder: &Path) -> Result<Case, Failure> {
        let text =
            std::fs::read_to_string(folder.join("expected.json")).map_err(|error| error.to_string())?;
        let expected = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Case { name, array: folder.join("array"), expected })
    }

    /// Compares everything with what is expected.
    pub fn check(&self) -> Result<(), Failure> {
        if self.expected.get("group").is_some() {
            return groups::check(self);
        }
        metadata::check(self)?;
        reads::check(self)
    }

    /// Whether the writer read earlier times with the schema of that time. Where it did not, the newest schema's columns
    /// stand among those expected at earlier times (see the fixtures' README).
    pub fn tells_schemas_of_times(&self) -> bool {
        self.expected["format_version"].as_u64().is_some_and(|version| version > 20)
    }

    /// The entries of a list of `expected.json`; none if it has no such list.
    pub fn list(&self, key: &str) -> &[Value] {
        self.expected[key].as_array().map_or(&[], Vec::as_slice)
    }
}
