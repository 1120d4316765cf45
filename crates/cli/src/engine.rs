//! The engine as the commands use it: arrays opened with the options of the command line.

use crate::args::{Global, OpenTimes, Sync};
use crate::failure::{Failure, Outcome};
use smalti::json::SchemaFile;
use smalti::{Array, Extent, Options, RectList, SyncLevel, TimeRange, WriteRequest};
use std::collections::BTreeMap;

pub(crate) use smalti::format::MetadataValue;

/// What the commands show of a fragment.
#[derive(Debug, Clone)]
pub(crate) struct FragmentRow {
    pub(crate) name: String,
    pub(crate) time: TimeRange,
    pub(crate) is_dense: bool,
    pub(crate) cell_count: u64,
    pub(crate) tile_count: u64,
    pub(crate) byte_len: u64,
    pub(crate) non_empty_domain: Vec<Extent>,
}

fn options(global: &Global, times: OpenTimes) -> Outcome<Options> {
    let sync = match global.sync {
        Sync::Full => SyncLevel::Full,
        Sync::File => SyncLevel::File,
        Sync::None => SyncLevel::None,
    };
    Ok(Options {
        at: times.at,
        since: times.since,
        key: global.encryption_key()?,
        sync: Some(sync),
        threads: global.threads.map(usize::from),
        memory: global.memory,
    })
}

/// Opens an array.
pub(crate) fn open(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Array> {
    Ok(Array::open(uri, &options(global, times)?).map_err(|error| error.at_uri(uri))?)
}

/// Creates an array.
pub(crate) fn create(global: &Global, uri: &str, file: SchemaFile) -> Outcome {
    if !file.enumerations.is_empty() {
        return Err(smalti::Error::unsupported("this release creates no enumerations").at_uri(uri).into());
    }
    let options = options(global, OpenTimes::default())?;
    Ok(Array::create(uri, &file.schema, &options).map_err(|error| error.at_uri(uri))?)
}

/// The fragments of an array, oldest first.
pub(crate) fn fragments(array: &Array) -> Outcome<Vec<FragmentRow>> {
    let row = |fragment: &std::sync::Arc<_>| -> FragmentRow { fragment_row(fragment) };
    Ok(array.fragments().iter().map(row).collect())
}

fn fragment_row(fragment: &smalti::Fragment) -> FragmentRow {
    FragmentRow {
        name: fragment.name().to_string(),
        time: fragment.time(),
        is_dense: fragment.is_dense(),
        cell_count: fragment.cell_count().unwrap_or(0),
        tile_count: fragment.tile_count(),
        byte_len: fragment.byte_len(),
        non_empty_domain: fragment.non_empty_domain().to_vec(),
    }
}

/// The rectangles of a sparse fragment's tiles.
pub(crate) fn tile_rectangles(array: &Array, fragment_idx: usize) -> Outcome<RectList> {
    let fragment = array.fragments().get(fragment_idx).ok_or_else(|| Failure::invalid("there is no such fragment"))?;
    Ok(fragment.rtree()?.leaves().cloned().unwrap_or_else(|| RectList::new([])))
}

/// Writes cells and gives the name of the new fragment.
pub(crate) fn write(array: &Array, request: WriteRequest<'_>) -> Outcome<String> {
    Ok(array.write(&request)?)
}

/// The metadata of an array, by key.
pub(crate) fn metadata(
    global: &Global,
    uri: &str,
    times: OpenTimes,
) -> Outcome<BTreeMap<String, MetadataValue>> {
    Ok(open(global, uri, times)?.metadata()?)
}

/// Sets a metadata key, or removes it.
pub(crate) fn put_metadata(
    global: &Global,
    uri: &str,
    at: Option<u64>,
    key: &str,
    value: Option<MetadataValue>,
) -> Outcome {
    let array = open(global, uri, OpenTimes::default())?;
    let entry = smalti::format::MetadataEntry { key: key.into(), value };
    Ok(array.put_metadata(vec![entry], at)?)
}
