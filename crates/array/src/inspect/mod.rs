//! Any file of an array or group, field by field with offsets: the very readers that open arrays, with a trace.

mod data;
mod fragment;

use crate::ArrayPlace;
use smalti_format::names::{
    self, CommitKind, ENUMERATIONS_FOLDER, FRAGMENT_META_FOLDER, FRAGMENT_METADATA_FILE, GROUP_FOLDER,
    META_ENDING, METADATA_FOLDER, OLD_SCHEMA_FILE, SCHEMA_FOLDER, VACUUM_ENDING, parse_commit_file,
};
use smalti_format::{
    ArraySchema, ConditionTree, ConsolidatedCommits, Enumeration, GenericTileHeader, GroupFile, MetadataFile,
    NameList, Reader, TraceEntry,
};
use smalti_store::{StoreExt, SyncLevel, split};
use smalti_tile::{MAX_GENERIC_TILE_BYTE_LEN, Scratch, read_generic_tile};
use smalti_types::{EncryptionKey, Env, Error, Result};
use std::ops::Range;

/// What a file holds.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The address of the file.
    pub uri: String,
    /// What the file is, such as `array schema`.
    pub kind: &'static str,
    /// Its size in bytes.
    pub file_byte_len: u64,
    /// Its parts, in the order of the file.
    pub parts: Vec<InspectedPart>,
}

/// A part of a file.
#[derive(Debug, Clone)]
pub struct InspectedPart {
    /// What the part is.
    pub title: String,
    /// The bytes of the file that it takes up.
    pub file_range: Range<u64>,
    /// Whether the fields' offsets count in the unfiltered tile rather than in the file.
    pub in_unfiltered_tile: bool,
    /// The fields, in the order of their bytes.
    pub fields: Vec<TraceEntry>,
}

/// Explains a file of an array or group.
///
/// What the file is follows from its name and folder; fragment metadata and data files are read with the schema of the array
/// that they lie in.
///
/// # Errors
/// `Unsupported` for files that are no part of an array; `Corrupt` with the field and offset of the damage.
pub fn inspect(uri: &str, key: Option<EncryptionKey>, env: Env) -> Result<Inspection> {
    let file = ArrayPlace::open(uri, SyncLevel::None, key, env)?;
    // The store of a path is rooted at its folder; the array is some folders further up.
    inspected(&file, uri, &|uri| file.at(uri))
}

/// Explains a file of an array that is in the same store as a whole, as [`inspect`] does.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_in_store(file: &ArrayPlace) -> Result<Inspection> {
    inspected(file, file.path(), &|path| Ok(file.beside(path)))
}

/// Opens the place of the array by what the file's own address begins with.
type ArrayAt<'a> = &'a dyn Fn(&str) -> Result<ArrayPlace>;

fn inspected(file: &ArrayPlace, address: &str, array_at: ArrayAt<'_>) -> Result<Inspection> {
    let (folder_uri, name) = split(address.trim_end_matches('/'));
    let folder = names::last_part(folder_uri);
    let bytes = file.store().read_all(file.path(), MAX_GENERIC_TILE_BYTE_LEN)?;
    let (kind, parts) = parts_of(file, array_at, folder_uri, folder, name, &bytes)
        .map_err(|error| error.at_uri(file.uri()))?;
    Ok(Inspection { uri: file.uri(), kind, file_byte_len: bytes.len() as u64, parts })
}

fn parts_of(
    file: &ArrayPlace,
    array_at: ArrayAt<'_>,
    folder_uri: &str,
    folder: &str,
    name: &str,
    bytes: &[u8],
) -> Result<(&'static str, Vec<InspectedPart>)> {
    let whole =
        |kind, decode: fn(&mut Reader<'_>) -> Result<()>| -> Result<(&'static str, Vec<InspectedPart>)> {
            Ok((kind, generic_tile(file, kind, bytes, 0, decode)?.0))
        };
    if name == FRAGMENT_METADATA_FILE {
        return Ok(("fragment metadata", fragment::parts(file, array_at, folder_uri, bytes)?));
    }
    if folder == ENUMERATIONS_FOLDER {
        return whole("enumeration", |reader| Enumeration::decode_from(reader).map(drop));
    }
    if folder == SCHEMA_FOLDER || name == OLD_SCHEMA_FILE {
        return whole("array schema", |reader| ArraySchema::decode_from(reader).map(drop));
    }
    if folder == METADATA_FOLDER && !name.ends_with(VACUUM_ENDING) {
        return whole("metadata file", |reader| MetadataFile::decode_from(reader).map(drop));
    }
    if folder == GROUP_FOLDER {
        return whole("group file", |reader| GroupFile::decode_from(reader).map(drop));
    }
    if folder == FRAGMENT_META_FOLDER || name.ends_with(META_ENDING) {
        let parts = fragment::consolidated(file, array_at, folder_uri, bytes)?;
        return Ok(("consolidated fragment metadata", parts));
    }
    if let Some((_, kind)) = parse_commit_file(name) {
        return match kind {
            CommitKind::Write => Ok(("commit", Vec::new())),
            CommitKind::Delete => {
                whole("delete commit", |reader| ConditionTree::decode_from(reader).map(drop))
            }
            CommitKind::Update => Err(Error::unsupported("update commits, which no release writes")),
            CommitKind::Consolidated => Ok(("consolidated commits", vec![commits(bytes)?])),
            CommitKind::Vacuum => Ok(("vacuum file", vec![name_list("vacuum file", bytes)])),
            CommitKind::Ignore => Ok(("ignore file", vec![name_list("ignore file", bytes)])),
        };
    }
    if name.ends_with(VACUUM_ENDING) {
        return Ok(("vacuum file", vec![name_list("vacuum file", bytes)]));
    }
    if name.ends_with(names::DATA_ENDING) {
        return Ok(("data file", data::parts(bytes)?));
    }
    Err(Error::unsupported(format!(
        "{name:?} is no file of an array or group; give a file of __schema, __fragments, __commits, __meta or __group"
    )))
}

/// The header and the content of a generic tile at an offset, and where it ends.
fn generic_tile(
    place: &ArrayPlace,
    title: &str,
    file: &[u8],
    offset: u64,
    decode: impl Fn(&mut Reader<'_>) -> Result<()>,
) -> Result<(Vec<InspectedPart>, u64)> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let bytes =
        file.get(start..).ok_or_else(|| Error::corrupt(format!("the {title} starts beyond the file")))?;
    let mut reader = Reader::traced(bytes);
    GenericTileHeader::decode(&mut reader)?;
    let header_end = offset + reader.byte_offset();
    let mut header = reader.into_trace();
    header.iter_mut().for_each(|entry| entry.byte_offset += offset);
    let (tile, byte_len) = read_generic_tile(bytes, place.cipher(), &mut Scratch::new())?;
    let mut reader = Reader::traced(tile.as_slice());
    decode(&mut reader)?;
    let parts = vec![
        InspectedPart {
            title: format!("{title}: header of the generic tile"),
            file_range: offset..header_end,
            in_unfiltered_tile: false,
            fields: header,
        },
        InspectedPart {
            title: title.to_owned(),
            file_range: header_end..offset + byte_len,
            in_unfiltered_tile: true,
            fields: reader.into_trace(),
        },
    ];
    Ok((parts, offset + byte_len))
}

fn entry(
    structure: &'static str,
    field: &'static str,
    byte_offset: u64,
    byte_len: u64,
    value: String,
) -> TraceEntry {
    TraceEntry { depth: 0, structure, field, byte_offset, byte_len, value }
}

fn commits(bytes: &[u8]) -> Result<InspectedPart> {
    let commits = ConsolidatedCommits::decode(bytes)?;
    let fields = commits.entries.iter().map(|commit| {
        let tile = commit.tile.clone().unwrap_or_default();
        let value = format!("{:?} {}", commit.kind, commit.name);
        entry("consolidated commits", "entry", tile.start, tile.end - tile.start, value)
    });
    Ok(InspectedPart {
        title: "entries".into(),
        file_range: 0..bytes.len() as u64,
        in_unfiltered_tile: false,
        fields: fields.collect(),
    })
}

fn name_list(structure: &'static str, bytes: &[u8]) -> InspectedPart {
    let mut fields = Vec::new();
    let mut at = 0u64;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let list = NameList::decode(line);
        let text = String::from_utf8_lossy(line).trim_end().chars().take(200).collect::<String>();
        let value = if list.bad_lines.is_empty() { text } else { format!("{text:?} (names nothing)") };
        fields.push(entry(structure, "line", at, line.len() as u64, value));
        at += line.len() as u64;
    }
    InspectedPart { title: "lines".into(), file_range: 0..at, in_unfiltered_tile: false, fields }
}
