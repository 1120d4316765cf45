//! Vacuum of the metadata of arrays and groups.

use crate::report::remove;
use crate::{FileReport, Options, Report};
use smalti_array::{ArrayPlace, History, HistoryVacuum};
use smalti_format::names::{METADATA_FOLDER, TimestampedName, VACUUM_ENDING};
use smalti_store::join;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Removes the metadata files that merged ones replace, then the vacuum files that list them. Reading in a time range that
/// cuts the times of a merged file is an error afterwards.
///
/// Files go before the vacuum file that hides them, each step durable before the next: whenever this is cut short, what is
/// left is hidden as before. Nothing goes before the merged file has been read and found to say what its originals say;
/// where it does not, they stay, and the report says so.
///
/// # Errors
/// `NotFound` when neither an array nor a group is here; what the store reports.
pub fn vacuum_metadata(place: &ArrayPlace, options: &Options) -> Result<Report> {
    if !place.has_array()? {
        place.expect_group()?;
    }
    let mut report = Report::default();
    let history = History::read(place, METADATA_FOLDER)?;
    let sizes: HashMap<&str, u64> =
        history.files.iter().map(|(name, byte_len)| (name.as_str(), *byte_len)).collect();
    let (mut replaced, mut done) = (BTreeMap::new(), Vec::new());
    for vacuum in &history.vacuums {
        match sources(place, &history, vacuum) {
            Ok(sources) => {
                replaced.extend(sources.into_iter().map(|name| (name, ())));
                let path = join(METADATA_FOLDER, &format!("{}{VACUUM_ENDING}", vacuum.name));
                done.push(FileReport { path, byte_len: vacuum.byte_len });
            }
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Permission) => return Err(error),
            Err(error) => report.warnings.push(error.to_string()),
        }
    }
    let replaced: Vec<FileReport> = replaced
        .keys()
        .map(|name| FileReport {
            path: join(METADATA_FOLDER, name.as_str()),
            byte_len: sizes.get(name.as_str()).copied().unwrap_or_default(),
        })
        .collect();
    remove(place, options, &replaced, &mut report)?;
    remove(place, options, &done, &mut report)?;
    Ok(report)
}

/// The files of the listing that a vacuum file lets go, once it is sure that the merged file replaces them.
fn sources(place: &ArrayPlace, history: &History, vacuum: &HistoryVacuum) -> Result<Vec<TimestampedName>> {
    let listed: HashSet<&str> = vacuum.list.names.iter().map(String::as_str).collect();
    let mut names = history.files.iter().map(|(name, _)| name);
    let sources: Vec<TimestampedName> =
        names.clone().filter(|name| listed.contains(name.as_str())).cloned().collect();
    if sources.is_empty() {
        return Ok(sources);
    }
    let stays = |what: &str| {
        Err(Error::corrupt(format!("the metadata that {}{VACUUM_ENDING} lists stays: {what}", vacuum.name))
            .at_uri(place.uri()))
    };
    if let Some(stray) =
        sources.iter().find(|name| **name == vacuum.name || !vacuum.name.range().contains(name.range()))
    {
        return stays(&format!("{stray} is not of the times that were merged"));
    }
    // Where some are gone already, a vacuum was cut short: it had compared all of them.
    let is_complete = sources.len() == listed.len();
    let originals = if is_complete { place.merged_metadata(&sources)? } else { BTreeMap::new() };
    let is_there = names.any(|name| *name == vacuum.name);
    let merged = match is_there {
        true => place.merged_metadata(std::slice::from_ref(&vacuum.name))?,
        // The merged file was merged itself, and a vacuum that was cut short took it before its originals.
        false if is_replaced(history, &vacuum.name) => return Ok(sources),
        // libtiledb puts no merged file when all keys are deleted.
        false if is_complete => BTreeMap::new(),
        false => return stays("the merged file is missing"),
    };
    for (key, value) in originals {
        if merged.get(&key).cloned().flatten() != value {
            return stays(match is_there {
                true => "the merged file has another value for a key",
                false => "the merged file is missing",
            });
        }
    }
    Ok(sources)
}

/// Whether a vacuum file beside a file that is there lists a name.
fn is_replaced(history: &History, name: &TimestampedName) -> bool {
    let is_listed = |vacuum: &&HistoryVacuum| vacuum.list.names.iter().any(|listed| listed == name.as_str());
    let is_there = |vacuum: &HistoryVacuum| history.files.iter().any(|(file, _)| *file == vacuum.name);
    history.vacuums.iter().filter(is_listed).any(is_there)
}
