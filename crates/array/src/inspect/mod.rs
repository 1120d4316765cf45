//! Any file of an array or group, to the last byte: the very readers that open arrays, with a trace.

mod chunks;
mod data;
mod fragment;
mod inspector;
mod lists;
mod output;
mod tile;

pub use inspector::Inspector;
pub use output::{InspectedPart, Inspection, UNEXPLAINED};

use crate::ArrayPlace;
use bytes::Bytes;
use inspector::Kind;
use output::{Output, Visit};
use smalti_format::names::{
    self, CommitKind, ENUMERATIONS_FOLDER, FRAGMENT_META_FOLDER, FRAGMENT_METADATA_FILE, GROUP_FILE,
    GROUP_FOLDER, LOCK_FILE, META_ENDING, METADATA_FOLDER, OLD_SCHEMA_FILE, SCHEMA_FOLDER, VACUUM_ENDING,
    parse_commit_file,
};
use smalti_format::{ArraySchema, ConditionTree, Enumeration, GroupFile, MetadataFile, Reader, TraceDetail};
use smalti_store::split;
use smalti_types::{Error, Result};

impl Kind {
    fn of(folder: &str, name: &str) -> Result<Kind> {
        Ok(match (folder, name) {
            (_, FRAGMENT_METADATA_FILE) => Kind::FragmentMetadata,
            (_, LOCK_FILE) => Kind::Lock,
            (_, GROUP_FILE) => Kind::GroupMarker,
            (ENUMERATIONS_FOLDER, _) => Kind::Enumeration,
            (SCHEMA_FOLDER, _) | (_, OLD_SCHEMA_FILE) => Kind::Schema,
            (METADATA_FOLDER | GROUP_FOLDER, _) if name.ends_with(VACUUM_ENDING) => Kind::Vacuum,
            (METADATA_FOLDER, _) => Kind::Metadata,
            (GROUP_FOLDER, _) => Kind::Group,
            (FRAGMENT_META_FOLDER, _) => Kind::ConsolidatedFooters,
            _ if name.ends_with(META_ENDING) => Kind::ConsolidatedFooters,
            _ => match parse_commit_file(name) {
                Some((_, CommitKind::Write)) => Kind::Commit,
                Some((_, CommitKind::Delete)) => Kind::Delete,
                Some((_, CommitKind::Update)) => {
                    return Err(Error::unsupported("update commits, which no release writes"));
                }
                Some((_, CommitKind::Consolidated)) => Kind::ConsolidatedCommits,
                Some((_, CommitKind::Vacuum)) => Kind::Vacuum,
                Some((_, CommitKind::Ignore)) => Kind::Ignore,
                None if name.ends_with(VACUUM_ENDING) => Kind::Vacuum,
                None if name.ends_with(names::DATA_ENDING) => Kind::Data,
                None => {
                    return Err(Error::unsupported(format!(
                        "{name:?} is no file of an array or group; give a file of __schema, __fragments, \
                         __commits, __meta or __group"
                    )));
                }
            },
        })
    }

    fn name(self) -> &'static str {
        match self {
            Kind::FragmentMetadata => "fragment metadata",
            Kind::Enumeration => "enumeration",
            Kind::Schema => "array schema",
            Kind::Metadata => "metadata file",
            Kind::Group => "group file",
            Kind::ConsolidatedFooters => "consolidated fragment metadata",
            Kind::Delete => "delete commit",
            Kind::ConsolidatedCommits => "consolidated commits",
            Kind::Vacuum => "vacuum file",
            Kind::Ignore => "ignore file",
            Kind::Data => "data file",
            Kind::Commit => "commit",
            Kind::Lock => "lock file",
            Kind::GroupMarker => "group marker",
        }
    }
}

impl Inspector {
    /// Finds a file by its URI, which messages name it by, and what it is.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` for files that are no part of an array.
    pub fn open(uri: &str, file: ArrayPlace) -> Result<Inspector> {
        Inspector::of(file, uri.to_owned(), false)
    }

    /// The same, if no generic tile may take more than so many bytes, on disk or in memory.
    #[must_use]
    pub fn with_metadata_limit(self, byte_len: u64) -> Inspector {
        Inspector { file: self.file.with_metadata_limit(byte_len), ..self }
    }

    /// As [`open`](Inspector::open), of a file of an array that is in the same store as a whole.
    ///
    /// # Errors
    /// As [`open`](Inspector::open).
    pub fn in_store(file: ArrayPlace) -> Result<Inspector> {
        let address = file.path().to_owned();
        Inspector::of(file, address, true)
    }

    fn of(file: ArrayPlace, address: String, is_in_store: bool) -> Result<Inspector> {
        let address = address.trim_end_matches('/').to_owned();
        let (folder, name) = split(&address);
        let named = |error: Error| error.at_uri(file.uri());
        let byte_len = file.store().byte_len(file.path()).map_err(named)?;
        let kind = Kind::of(names::last_part(folder), name).map_err(named)?;
        Ok(Inspector { file, address, is_in_store, kind, byte_len })
    }

    /// The address of the file.
    pub fn uri(&self) -> String {
        self.file.uri()
    }

    /// What the file is, such as `array schema`.
    pub fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// Its size in bytes.
    pub fn file_byte_len(&self) -> u64 {
        self.byte_len
    }

    /// Explains the file, one part after the other. Bytes that have no meaning, or that damage hides, are fields named
    /// [`UNEXPLAINED`].
    ///
    /// # Errors
    /// `Corrupt` with the field and offset of the first damage, `Permission` when a key is missing: after all parts that
    /// can be explained. What `visit` reports ends the inspection.
    pub fn parts(&self, detail: TraceDetail, visit: Visit<'_>) -> Result<()> {
        let mut output = Output::new(detail, visit);
        self.explain(&mut output)
            .and_then(|()| output.finish(self.byte_len))
            .map_err(|error| error.at_uri(self.file.uri()))
    }

    /// All parts at once.
    ///
    /// # Errors
    /// `Io` and whatever else hinders reading. Damage is no error here: see [`Inspection::damage`].
    pub fn inspection(&self, detail: TraceDetail) -> Inspection {
        let mut parts = Vec::new();
        let outcome = self.parts(detail, &mut |part| {
            parts.push(part);
            Ok(())
        });
        Inspection {
            uri: self.uri(),
            kind: self.kind(),
            file_byte_len: self.byte_len,
            parts,
            damage: outcome.err(),
        }
    }

    fn explain(&self, output: &mut Output<'_>) -> Result<()> {
        match self.kind {
            Kind::Data => data::explain(self, output),
            Kind::FragmentMetadata => fragment::explain(self, output),
            Kind::ConsolidatedFooters => fragment::explain_consolidated(self, output),
            Kind::ConsolidatedCommits => lists::explain_commits(self, output),
            Kind::Vacuum | Kind::Ignore => lists::explain_names(self, output),
            Kind::Commit | Kind::Lock | Kind::GroupMarker => Ok(()),
            Kind::Schema => self.whole(output, |reader| ArraySchema::decode_from(reader).map(drop)),
            Kind::Enumeration => self.whole(output, |reader| Enumeration::decode_from(reader).map(drop)),
            Kind::Metadata => self.whole(output, |reader| MetadataFile::decode_from(reader).map(drop)),
            Kind::Group => self.whole(output, |reader| GroupFile::decode_from(reader).map(drop)),
            Kind::Delete => self.whole(output, |reader| ConditionTree::decode_from(reader).map(drop)),
        }
    }

    /// A file that is one generic tile.
    fn whole(&self, output: &mut Output<'_>, decode: fn(&mut Reader<'_>) -> Result<()>) -> Result<()> {
        let bytes = self.bytes()?;
        tile::explain(&self.file, self.kind(), &bytes, 0, output, &mut |payload, detail| {
            tile::traced(payload, detail, decode)
        })?;
        Ok(())
    }

    /// The whole file.
    fn bytes(&self) -> Result<Bytes> {
        self.file.read_metadata_file(self.file.path())
    }

    /// The folder of the file.
    fn folder(&self) -> &str {
        split(&self.address).0
    }

    /// The array at an address that the file's own begins with.
    fn array_at(&self, address: &str) -> Result<ArrayPlace> {
        let address = if address.is_empty() && !self.is_in_store { "." } else { address };
        if self.is_in_store { Ok(self.file.beside(address)) } else { self.file.at(address) }
    }
}
