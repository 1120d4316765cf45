//! Consolidation of the metadata of arrays and groups.

use super::hull;
use crate::{Options, Report};
use smalti_array::{ArrayPlace, History};
use smalti_format::names::{METADATA_FOLDER, TimestampedName, VACUUM_ENDING};
use smalti_format::{MetadataEntry, MetadataFile, NameList, Rule, Version};
use smalti_query::{Phase, Unit};
use smalti_store::{Store, join};
use smalti_types::{ErrorKind, Result, TimeRange};
use std::collections::BTreeMap;

/// Merges the metadata files of an array or group into one, and puts a vacuum file beside it that hides the originals from
/// readers whose time range holds all of them. Does nothing for fewer than two files.
///
/// The merged file comes first, the vacuum file after. Between the two, readers see the merged file with its originals. It
/// stands where the first of them stands, and what comes after it in their order repeats the history to the same end: no
/// key can end in another value. A consolidation that was cut short there is done again over all of them.
///
/// A deleted key stays in the merged file as deleted, where libtiledb drops it: so it cannot come back with a file that was
/// written with an older time, or of which the range of the merged files did not know.
///
/// # Errors
/// `NotFound` when neither an array nor a group is here; `Cancelled`, with nothing written; `Corrupt` and `Permission`, with the file named; what the store
/// reports. After an error the merged file may be there, and hides nothing.
pub fn consolidate_metadata(place: &ArrayPlace, options: &Options) -> Result<Report> {
    let version = vacuum_version(place)?;
    let mut report = Report::default();
    let history = History::read(place, METADATA_FOLDER)?;
    let files = history.visible(TimeRange::ALL);
    let Some(range) = hull(&files).filter(|_| files.len() > 1) else { return Ok(report) };
    let (progress, _announced) = options.announce();
    progress.enter(Phase::Reading, Unit::Files, Some(files.len() as u64));
    let mut merged = BTreeMap::new();
    for file in &files {
        progress.check()?;
        merged.extend(place.merged_metadata(std::slice::from_ref(file))?);
        progress.advance(Phase::Reading, Unit::Files, 1);
    }
    for (name, byte_len) in history.files.iter().filter(|(name, _)| files.contains(name)) {
        report.note_read(&join(METADATA_FOLDER, name.as_str()), *byte_len);
    }
    let entries = merged.into_iter().map(|(key, value)| MetadataEntry { key, value }).collect();
    let payload = MetadataFile { entries }.encode()?;
    let name = place.new_name(range, None)?;
    let path = join(METADATA_FOLDER, name.as_str());
    let list = vacuum_list(place, &files, version);
    let vacuum_path = format!("{path}{VACUUM_ENDING}");
    let byte_len = match options.dry_run {
        true => payload.len() as u64,
        false => {
            progress.check()?;
            progress.enter(Phase::Publishing, Unit::Files, Some(2));
            let byte_len = place.put_tile_file(&place.join(&path), &payload)?;
            progress.advance(Phase::Publishing, Unit::Files, 1);
            place.store().put(&place.join(&vacuum_path), &[&list])?;
            progress.complete(Phase::Publishing);
            byte_len
        }
    };
    report.note_written(&path, byte_len);
    report.note_written(&vacuum_path, list.len() as u64);
    Ok(report)
}

/// The version that says how vacuum files name others: `None` for groups, which always hold whole URIs.
fn vacuum_version(place: &ArrayPlace) -> Result<Option<Version>> {
    match place.newest_schema() {
        Ok(schema) => Ok(Some(schema.write_version())),
        Err(error) if error.kind() == ErrorKind::NotFound && place.has_group()? => Ok(None),
        Err(error) => Err(error),
    }
}

fn vacuum_list(place: &ArrayPlace, files: &[TimestampedName], version: Option<Version>) -> Vec<u8> {
    let paths: Vec<String> = files.iter().map(|name| join(METADATA_FOLDER, name.as_str())).collect();
    // No version before the rule has relative paths.
    let version = version.unwrap_or(Version::MIN);
    debug_assert!(!Version::MIN.has(Rule::RelativeVacuumPaths));
    NameList::encode_vacuum(paths.iter().map(String::as_str), version, &place.foreign_uri())
}
