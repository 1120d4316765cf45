//! A fragment on its way to disk: its name, its files, its commit.

use crate::stamp::next_timestamp;
use crate::{ArrayPlace, FragmentContent, Plane, Snapshot};
use smalti_format::fragment::FieldId;
use smalti_format::names::{
    self, CommitKind, DataPart, TimestampedName, commit_path, data_file_name, fragment_path,
};
use smalti_format::{ArraySchema, Version};
use smalti_store::{FileWriter, join};
use smalti_types::{Result, TimeRange};
use std::sync::Arc;

/// A fragment that no commit names yet.
#[derive(Debug, Clone)]
pub struct NewFragment {
    place: ArrayPlace,
    schema: Arc<ArraySchema>,
    schema_name: String,
    name: TimestampedName,
    version: Version,
    folder: String,
}

impl NewFragment {
    /// Names a new fragment, at a timestamp or now.
    ///
    /// # Errors
    /// `Io` when there is no randomness.
    pub fn new(snapshot: &Snapshot, at: Option<u64>) -> Result<Self> {
        let place = snapshot.place().clone();
        let schema = Arc::clone(snapshot.schema());
        let version = schema.write_version();
        let time = next_timestamp(place.env(), at);
        let name = TimestampedName::new(TimeRange { start: time, end: time }, place.new_id()?, Some(version));
        let folder = place.join(&fragment_path(&name, version));
        Ok(NewFragment {
            place,
            schema,
            schema_name: snapshot.schema_name().to_owned(),
            name,
            version,
            folder,
        })
    }

    /// The timestamp of a write that makes several fragments: the one asked for, or now, later than every write of this
    /// process.
    pub fn stamp(snapshot: &Snapshot, at: Option<u64>) -> u64 {
        next_timestamp(snapshot.place().env(), at)
    }

    /// The name.
    pub fn name(&self) -> &TimestampedName {
        &self.name
    }

    /// Where the array is.
    pub fn place(&self) -> &ArrayPlace {
        &self.place
    }

    /// The schema that the fragment is written with.
    pub fn schema(&self) -> &Arc<ArraySchema> {
        &self.schema
    }

    /// Empty metadata to fill.
    pub fn content(&self) -> FragmentContent {
        FragmentContent::new(&self.schema, &self.schema_name)
    }

    /// The path of a data file.
    ///
    /// # Errors
    /// `Corrupt` when the schema has no such field.
    pub fn data_file(&self, field: FieldId, plane: Plane) -> Result<String> {
        let part = match plane {
            Plane::Fixed => DataPart::Main,
            Plane::Var => DataPart::Var,
            Plane::Validity => DataPart::Validity,
        };
        Ok(join(&self.folder, &data_file_name(self.version, &self.schema, field, part)?))
    }

    /// The path of the metadata file.
    pub fn metadata_file(&self) -> String {
        join(&self.folder, names::FRAGMENT_METADATA_FILE)
    }

    /// Starts a data file that is written piece by piece.
    ///
    /// # Errors
    /// What the store reports.
    pub fn create_data_file(&self, field: FieldId, plane: Plane) -> Result<Box<dyn FileWriter>> {
        self.place.store().create(&self.data_file(field, plane)?)
    }

    /// The bytes of the metadata file.
    ///
    /// # Errors
    /// As [`FragmentContent::encode`].
    pub fn encode_metadata(&self, content: FragmentContent) -> Result<Vec<u8>> {
        content.encode(&self.schema, &self.place)
    }

    /// Puts the commit file: the fragment becomes visible. All its other files must be durable.
    ///
    /// # Errors
    /// What the store reports.
    pub fn commit(&self) -> Result<()> {
        let path = self.place.join(&commit_path(&self.name, CommitKind::Write, self.version));
        self.place.store().put(&path, &[])
    }
}
