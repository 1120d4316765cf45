//! A fragment on its way to disk: its name, its files, its commit.

use crate::stamp::next_timestamp;
use crate::{ArrayPlace, CellHistory, Fragment, FragmentContent, Plane, SharedWrite, Snapshot};
use smalti_format::fragment::FieldId;
use smalti_format::names::{
    self, COMMITS_FOLDER, CommitKind, DataPart, TimestampedName, commit_path, data_file_name, fragment_path,
};
use smalti_format::{ArraySchema, ConsolidatedCommits, NewCommitEntry, Rule, Version};
use smalti_store::{FileWriter, join};
use smalti_types::{Error, Result, TimeRange};
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
    history: CellHistory,
}

impl NewFragment {
    /// Names a new fragment, at a timestamp or now.
    ///
    /// # Errors
    /// `Io` when there is no randomness.
    pub fn new(snapshot: &Snapshot, at: Option<u64>) -> Result<Self> {
        let time = next_timestamp(snapshot.place().env(), at);
        NewFragment::merged(snapshot, TimeRange { start: time, end: time }, CellHistory::default())
    }

    /// Names a new fragment of a write that several processes do together.
    ///
    /// # Errors
    /// `Io` when there is no randomness.
    pub fn of_shared(snapshot: &Snapshot, write: &SharedWrite) -> Result<Self> {
        NewFragment::of_shared_merge(snapshot, write, CellHistory::default())
    }

    /// Names a new fragment that takes the place of others, by several processes.
    ///
    /// # Errors
    /// `Io` when there is no randomness.
    pub fn of_shared_merge(snapshot: &Snapshot, write: &SharedWrite, history: CellHistory) -> Result<Self> {
        Ok(NewFragment::named(snapshot, write.time(), write.new_id(snapshot.place())?, history))
    }

    /// A fragment that was written as a whole, but for its commit.
    pub(crate) fn sealed(place: &ArrayPlace, fragment: &Fragment) -> Self {
        let (name, version) = (fragment.name().clone(), fragment.version());
        let folder = place.join(&fragment_path(&name, version));
        NewFragment {
            place: place.clone(),
            schema: Arc::clone(fragment.schema()),
            schema_name: fragment.footer().schema_name.clone(),
            name,
            version,
            folder,
            history: CellHistory::default(),
        }
    }

    /// Names a new fragment that takes the place of others, with the cells of all their times.
    ///
    /// # Errors
    /// `Io` when there is no randomness.
    pub fn merged(snapshot: &Snapshot, range: TimeRange, history: CellHistory) -> Result<Self> {
        Ok(NewFragment::named(snapshot, range, snapshot.place().new_id()?, history))
    }

    fn named(snapshot: &Snapshot, range: TimeRange, id: [u8; 16], history: CellHistory) -> Self {
        let place = snapshot.place().clone();
        let schema = Arc::clone(snapshot.schema());
        let version = schema.write_version();
        let name = TimestampedName::new(range, id, Some(version));
        let folder = place.join(&fragment_path(&name, version));
        let schema_name = snapshot.schema_name().to_owned();
        NewFragment { place, schema, schema_name, name, version, folder, history }
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
        FragmentContent::with_history(&self.schema, &self.schema_name, self.history.clone())
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

    /// What its cells say of themselves.
    pub fn history(&self) -> &CellHistory {
        &self.history
    }

    /// The file name of its schema.
    pub fn schema_name(&self) -> &str {
        &self.schema_name
    }

    /// The path of its folder in the store.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The path of its commit file, relative to the array.
    pub fn commit_path(&self) -> String {
        commit_path(&self.name, CommitKind::Write, self.version)
    }

    /// Removes what was written of it. It must not be committed.
    ///
    /// # Errors
    /// What the store reports; what is left then is an orphan, which no reader sees.
    pub fn discard(&self) -> Result<()> {
        self.place.store().delete_folders(&[&self.folder])
    }

    /// Puts the commit file: the fragment becomes visible. All its other files must be durable.
    ///
    /// # Errors
    /// What the store reports.
    pub fn commit(&self) -> Result<()> {
        self.place.store().put(&self.place.join(&self.commit_path()), &[])
    }

    /// Puts one commit for several fragments of an array: all of them become visible at one moment. All their other files must
    /// be durable.
    ///
    /// # Errors
    /// `Unsupported` for several fragments in format versions that keep commits beside the fragments; what the store reports.
    pub fn commit_all(fragments: &[NewFragment]) -> Result<()> {
        let (first, range) = match fragments {
            [] => return Ok(()),
            [only] => return only.commit(),
            [first, ..] => (first, hull_of_times(fragments)),
        };
        let (place, version) = (&first.place, first.version);
        if !version.has(Rule::CommitsFolder) {
            return Err(Error::unsupported(format!(
                "format version {version} cannot commit several fragments at once; make one fragment, or upgrade the array"
            )));
        }
        let entries: Vec<NewCommitEntry<'_>> = fragments
            .iter()
            .map(|fragment| NewCommitEntry { name: &fragment.name, version, delete_tile: None })
            .collect();
        let name = TimestampedName::new(range, place.new_id()?, Some(version));
        let file = names::commit_file_name(&name, CommitKind::Consolidated, version);
        let path = place.join(&join(COMMITS_FOLDER, &file));
        place.store().put(&path, &[&ConsolidatedCommits::encode(&entries)])
    }
}

fn hull_of_times(fragments: &[NewFragment]) -> TimeRange {
    let ranges = fragments.iter().map(|fragment| fragment.name.range());
    let hull = |a: TimeRange, b: TimeRange| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) };
    ranges.reduce(hull).unwrap_or(TimeRange::ALL)
}
