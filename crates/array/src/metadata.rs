//! Metadata of arrays and groups: keys with typed values, with their own history.

use crate::ArrayPlace;
use crate::commits::LISTING_ATTEMPTS;
use crate::history::{self, History};
use crate::stamp::next_timestamp;
use smalti_format::names::{METADATA_FOLDER, TimestampedName};
use smalti_format::{MetadataEntry, MetadataFile, MetadataValue};
use smalti_types::{Datatype, Error, ErrorKind, Result, TimeRange};
use std::collections::{BTreeMap, HashSet};

impl ArrayPlace {
    /// The metadata in a time range: of several values of a key the latest.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named; `NotFound` when the range cuts a span that was merged into one file,
    /// and the originals are gone.
    pub fn metadata(&self, time: TimeRange) -> Result<BTreeMap<String, MetadataValue>> {
        let mut attempt = 1;
        loop {
            let history = History::read(self, METADATA_FOLDER)?;
            if let Some(merged) = history.cut_by(time) {
                return Err(history::gone(self, merged, time));
            }
            match self.merged_metadata(&history.visible(time)) {
                // A vacuum took files since they were listed.
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < LISTING_ATTEMPTS => {
                    attempt += 1
                }
                merged => {
                    let known = merged?.into_iter().filter_map(|(key, value)| Some((key, value?)));
                    return Ok(known.collect());
                }
            }
        }
    }

    /// What files of metadata say together, given oldest first: of each key the latest value, or that it was deleted.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named; `NotFound` when a file is gone.
    pub fn merged_metadata(
        &self,
        files: &[TimestampedName],
    ) -> Result<BTreeMap<String, Option<MetadataValue>>> {
        let mut merged = BTreeMap::new();
        for name in files {
            let path = self.join(&format!("{METADATA_FOLDER}/{name}"));
            let tile = self.read_tile_file(&path)?;
            let file = MetadataFile::decode(tile.as_slice())
                .map_err(|error| error.at_uri(self.store().address(&path)))?;
            merged.extend(file.entries.into_iter().map(|MetadataEntry { key, value }| (key, value)));
        }
        Ok(merged)
    }

    /// Writes metadata entries as one file, atomic and durable: `None` deletes a key. Returns the time of the change, in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// `InvalidArgument` for no entries, a key given twice, or text of type `STRING_ASCII` that is not ASCII; what the store reports.
    pub fn put_metadata(&self, entries: Vec<MetadataEntry>, at: Option<u64>) -> Result<u64> {
        entries.iter().try_for_each(check_text)?;
        self.put_known_metadata(entries, at)
    }

    /// As [`put_metadata`](ArrayPlace::put_metadata), for entries of others, who may call text ASCII that is not: an array has them
    /// already, or a program passes them on.
    ///
    /// # Errors
    /// As there, but for the text.
    pub fn put_known_metadata(&self, entries: Vec<MetadataEntry>, at: Option<u64>) -> Result<u64> {
        if entries.is_empty() {
            return Err(Error::invalid("there are no metadata entries to write"));
        }
        let mut keys = HashSet::new();
        if let Some(twice) = entries.iter().find(|entry| !keys.insert(entry.key.as_str())) {
            return Err(Error::invalid(format!("the metadata key {:?} is given twice", twice.key)));
        }
        let time = next_timestamp(self.env(), at);
        let name = history::new_name(self, time)?;
        history::put(self, METADATA_FOLDER, name.as_str(), &MetadataFile { entries }.encode()?)?;
        Ok(time)
    }
}

/// Checks that ASCII text is ASCII, as for cells. UTF-8 is what the writer says it is: libtiledb keeps any bytes as such.
fn check_text(entry: &MetadataEntry) -> Result<()> {
    let Some(MetadataValue { datatype: Datatype::StringAscii, bytes }) = &entry.value else { return Ok(()) };
    if Datatype::StringAscii.text_fault(bytes).is_none() {
        return Ok(());
    }
    let shown: String = String::from_utf8_lossy(bytes).chars().take(40).collect();
    Err(Error::invalid(format!(
        "the value of the metadata key {:?}, {shown:?}, is not ASCII, as the type STRING_ASCII demands; STRING_UTF8 takes all text, \
         BLOB all bytes",
        entry.key
    )))
}
