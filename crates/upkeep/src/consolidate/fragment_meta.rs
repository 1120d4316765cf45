//! Consolidated fragment metadata: the footers of all fragments in one file, so that an array opens with one read.

use super::hull;
use crate::{Options, Report};
use smalti_array::{ArrayPlace, Fragment, Snapshot, fragment_meta_files};
use smalti_format::Rule;
use smalti_format::fragment::{ConsolidatedFooters, FooterIndex};
use smalti_format::names::{FRAGMENT_META_FOLDER, FRAGMENT_METADATA_FILE, META_ENDING};
use smalti_query::{Phase, Unit};
use smalti_store::{Store, join};
use smalti_types::{Result, TimeRange};
use std::sync::Arc;

/// Puts the footers of all visible fragments into one new file. Does nothing for fewer than two fragments that have footers
/// (versions 1 and 2 have none), and where a file has all these footers already.
///
/// The file repeats what the fragments say themselves, so that no moment at which this is cut short matters. Footers are
/// taken from the fragments' own files, never from older consolidated metadata.
///
/// # Errors
/// `Cancelled`, with nothing written; what opening the array reports, and the store.
pub fn consolidate_fragment_meta(place: &ArrayPlace, options: &Options) -> Result<Report> {
    let (progress, _announced) = options.announce();
    let mut report = Report::default();
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL)?;
    let fragments: Vec<&Arc<Fragment>> =
        snapshot.fragments().iter().filter(|fragment| fragment.version().has(Rule::FragmentFooter)).collect();
    let Some(range) = hull(fragments.iter().map(|fragment| fragment.name())) else { return Ok(report) };
    if fragments.len() < 2 {
        return Ok(report);
    }
    let version = snapshot.schema().write_version();
    let mut footers = Vec::with_capacity(fragments.len());
    progress.enter(Phase::Reading, Unit::Files, Some(fragments.len() as u64));
    for fragment in &fragments {
        progress.check()?;
        let footer = fragment.own_footer()?;
        let folder = smalti_format::names::fragment_path(fragment.name(), fragment.version());
        let path = join(&folder, FRAGMENT_METADATA_FILE);
        let name = match version.has(Rule::FragmentsByName) {
            true => fragment.name().to_string(),
            false => join(&place.foreign_uri(), &folder),
        };
        report.note_read(&path, footer.len() as u64);
        footers.push((name, footer.to_vec()));
        progress.advance(Phase::Reading, Unit::Files, 1);
    }
    if is_known(place, &fragments, &footers)? {
        return Ok(Report::default());
    }
    let name = place.new_name(range, Some(version))?;
    let folder = if version.has(Rule::CommitsFolder) { FRAGMENT_META_FOLDER } else { "" };
    let path = join(folder, &format!("{name}{META_ENDING}"));
    let payload = ConsolidatedFooters::encode(&footers)?;
    if options.dry_run {
        report.note_written(&path, payload.len() as u64);
        return Ok(report);
    }
    progress.check()?;
    progress.enter(Phase::Publishing, Unit::Files, Some(1));
    let byte_len = place.put_tile_file(&place.join(&path), &payload)?;
    progress.complete(Phase::Publishing);
    report.note_written(&path, byte_len);
    Ok(report)
}

/// Whether one of the newest files has just these footers. One that cannot be read has none.
fn is_known(place: &ArrayPlace, fragments: &[&Arc<Fragment>], footers: &[(String, Vec<u8>)]) -> Result<bool> {
    let root = place.store().list_names(place.path())?;
    let files = fragment_meta_files(place, &root)?;
    let newest = files.first().map(|(name, _)| name.range().end);
    let is_same = |path: &str| -> Result<bool> {
        let tile = place.read_tile_file(&place.join(path))?;
        let index = FooterIndex::decode(tile.as_slice())?;
        let mut pairs = fragments.iter().zip(footers);
        Ok(pairs.all(|(fragment, (_, footer))| index.footer(fragment.name()) == Some(&footer[..])))
    };
    let mut same_end = files.iter().filter(|(name, _)| Some(name.range().end) == newest);
    Ok(same_end.any(|(_, path)| is_same(path).unwrap_or(false)))
}
