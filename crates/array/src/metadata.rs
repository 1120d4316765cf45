//! Metadata of arrays and groups: keys with typed values, with their own history.

use crate::ArrayPlace;
use crate::history::{self, visible_files};
use crate::stamp::next_timestamp;
use smalti_format::names::METADATA_FOLDER;
use smalti_format::{MetadataEntry, MetadataFile, MetadataValue};
use smalti_types::{Error, Result, TimeRange};
use std::collections::{BTreeMap, HashSet};

impl ArrayPlace {
    /// The metadata in a time range: of several values of a key the latest.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn metadata(&self, time: TimeRange) -> Result<BTreeMap<String, MetadataValue>> {
        let mut metadata = BTreeMap::new();
        for name in visible_files(self, METADATA_FOLDER, time)? {
            let path = self.join(&format!("{METADATA_FOLDER}/{name}"));
            let tile = self.read_tile_file(&path)?;
            let file = MetadataFile::decode(tile.as_slice())
                .map_err(|error| error.at_uri(self.store().address(&path)))?;
            for MetadataEntry { key, value } in file.entries {
                match value {
                    Some(value) => metadata.insert(key, value),
                    None => metadata.remove(&key),
                };
            }
        }
        Ok(metadata)
    }

    /// Writes metadata entries as one file, atomic and durable: `None` deletes a key.
    ///
    /// # Errors
    /// `InvalidArgument` for no entries or a key given twice; what the store reports.
    pub fn put_metadata(&self, entries: Vec<MetadataEntry>, at: Option<u64>) -> Result<()> {
        if entries.is_empty() {
            return Err(Error::invalid("there are no metadata entries to write"));
        }
        let mut keys = HashSet::new();
        if let Some(twice) = entries.iter().find(|entry| !keys.insert(entry.key.as_str())) {
            return Err(Error::invalid(format!("the metadata key {:?} is given twice", twice.key)));
        }
        let name = history::new_name(self, next_timestamp(self.env(), at))?;
        history::put(self, METADATA_FOLDER, name.as_str(), &MetadataFile { entries }.encode()?)
    }
}
