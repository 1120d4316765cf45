//! Metadata of arrays: keys with typed values, with their own history.

use crate::ArrayPlace;
use crate::listing::read_list;
use crate::stamp::next_timestamp;
use smalti_format::names::{METADATA_FOLDER, TimestampedName, VACUUM_ENDING};
use smalti_format::{MetadataEntry, MetadataFile, MetadataValue, Version};
use smalti_store::Entry;
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, Result, TimeRange};
use std::collections::{BTreeMap, HashSet};

impl ArrayPlace {
    /// The metadata in a time range: of several values of a key the latest.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn metadata(&self, time: TimeRange) -> Result<BTreeMap<String, MetadataValue>> {
        let folder = self.join(METADATA_FOLDER);
        let mut files = Vec::new();
        let mut hidden = HashSet::new();
        for entry in self.store().list(&folder)?.into_iter().filter(Entry::is_file) {
            let stem = entry.name.strip_suffix(VACUUM_ENDING);
            let Ok(name) = TimestampedName::parse(stem.unwrap_or(&entry.name)) else { continue };
            if !time.contains(name.range()) {
                continue;
            }
            if stem.is_some() {
                let path = format!("{METADATA_FOLDER}/{}", entry.name);
                hidden.extend(read_list(self, &path, &mut Vec::new())?.names);
            } else {
                files.push(name);
            }
        }
        files.retain(|name| !hidden.contains(name.as_str()));
        files.sort();
        let mut metadata = BTreeMap::new();
        for name in files {
            let path = smalti_store::join(&folder, name.as_str());
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
        let time = next_timestamp(self.env(), at);
        let name = TimestampedName::new(TimeRange { start: time, end: time }, self.new_id()?, None);
        let payload = MetadataFile { entries }.encode()?;
        let mut tile = Vec::new();
        write_generic_tile(&payload, Version::DEFAULT, self.cipher(), &mut tile, &mut Scratch::new())?;
        self.store().put(&self.join(&format!("{METADATA_FOLDER}/{name}")), &[&tile])
    }
}
