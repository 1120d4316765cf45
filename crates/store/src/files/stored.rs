//! A file or folder in a store that is no folder of this machine.

use crate::Store;
use smalti_types::{Error, Result};
use std::sync::Arc;

/// A file or folder in a store; the empty path is a bucket.
pub(super) struct Stored {
    pub(super) store: Arc<dyn Store>,
    pub(super) path: String,
}

impl Stored {
    pub(super) fn is_file(&self) -> Result<bool> {
        if self.path.is_empty() { Ok(false) } else { self.store.has_file(&self.path) }
    }

    pub(super) fn is_folder(&self) -> Result<bool> {
        if !self.store.list_names(&self.path)?.is_empty() {
            return Ok(true);
        }
        // Where there are folders one may be empty.
        let (parent, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let is_it = |entry: &crate::Entry| entry.is_folder() && entry.name == name;
        Ok(!self.store.is_distant() && self.store.list(parent)?.iter().any(is_it))
    }

    pub(super) fn missing(&self, what: &str) -> Error {
        Error::not_found(format!("there is no such {what}")).at_uri(self.store.address(&self.path))
    }

    /// Removes all that is below.
    pub(super) fn emptied(&self) -> Result<()> {
        if !self.path.is_empty() {
            return self.store.delete_folders(&[&self.path]);
        }
        let entries = self.store.list("")?;
        let names = |is_folder: bool| {
            entries
                .iter()
                .filter(move |entry| entry.is_folder() == is_folder)
                .map(|entry| entry.name.as_str())
                .collect::<Vec<_>>()
        };
        self.store.delete_folders(&names(true))?;
        self.store.delete_files(&names(false))
    }
}
