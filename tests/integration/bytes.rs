//! Bytes that are written: the same each time, and those of libtiledb.

use crate::corpus::archive::Archive;
use crate::corpus::case::Case;
use crate::corpus::reads::place_with;
use smalti_array::{ArrayPlace, FieldId, Fragment, Plane, Snapshot, field_filters};
use smalti_format::ArraySchema;
use smalti_query::{Batch, Duplicates, ReadRequest, WriteRequest, read, write};
use smalti_store::{ManualClock, MemoryStore, SeededEntropy, StoreExt, SyncLevel};
use smalti_types::{Env, Extent, Filter, Layout, TimeRange};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether the bytes of a data file depend on the library that compresses and on its version: gzip and WebP streams are
/// made by other libraries here than in libtiledb, and zstd's differ from version to version.
fn is_library_dependent(schema: &ArraySchema, file: &str) -> bool {
    let stem = file.split(['.', '_']).next().unwrap();
    let idx: usize = stem[1..].parse().unwrap();
    let field = if stem.starts_with('a') { FieldId::Attribute(idx) } else { FieldId::Dimension(idx) };
    let filters = field_filters(schema, schema.version, field).unwrap();
    [filters.data, filters.offsets, filters.validity]
        .iter()
        .flat_map(|pipeline| &pipeline.filters)
        .any(|filter| matches!(filter, Filter::Gzip { .. } | Filter::Zstd { .. } | Filter::Webp { .. }))
}

/// Cases whose data files differ from libtiledb's for another reason, by the start of their name.
const DIFFERENT: &[(&str, &str)] = &[
    ("encrypted", "nonces are random"),
    ("group", "no array"),
    ("deletes", "deleted cells are not told apart yet"),
    ("labels", "labels are not written yet"),
    ("enumerations", "enumerations are not created yet"),
    ("dense_huge_domain", "too large to be read whole"),
];

/// Cases that older releases wrote with other bytes than the newest does for the same filters.
const OTHER_RELEASES: &[(&str, &str)] = &[
    (
        "v15/filter_double_delta_coords",
        "double delta gave one bit to deltas that are all 0, and gives two now",
    ),
    ("v17/filter_double_delta_coords", "as above"),
    ("v19/filter_delta_coords", "the first release with delta kept eight bytes more"),
];

fn new_place() -> ArrayPlace {
    let env = Env::new(ManualClock::new(1), SeededEntropy::new(1));
    ArrayPlace::in_store(Arc::new(MemoryStore::new()), "array".into(), None, env)
}

/// Every file below a folder, by its path.
fn files(place: &ArrayPlace, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let store = place.store();
    let mut files = BTreeMap::new();
    for entry in store.list(folder).unwrap() {
        let path = format!("{folder}/{}", entry.name);
        if entry.is_file() {
            files.insert(path.clone(), store.read_all(&path, u64::MAX).unwrap().to_vec());
        } else {
            files.extend(self::files(place, &path));
        }
    }
    files
}

/// The folder of the only fragment.
fn folder(snapshot: &Snapshot) -> String {
    let file = snapshot.fragments()[0].data_file(FieldId::Attribute(0), Plane::Fixed).unwrap();
    file.rsplit_once('/').unwrap().0.to_owned()
}

/// The cells of a fragment and the rectangle that it fills, if dense, in the order that it keeps them.
fn cells(snapshot: &Snapshot) -> Option<(Vec<String>, Batch, Option<Vec<Extent>>)> {
    let domain = snapshot.non_empty_domain()?;
    let is_dense = snapshot.schema().is_dense();
    let request = ReadRequest {
        ranges: if is_dense { domain.iter().map(|side| vec![side.clone()]).collect() } else { Vec::new() },
        layout: Some(if is_dense { Layout::RowMajor } else { Layout::GlobalOrder }),
        ..ReadRequest::default()
    };
    let batches = read(snapshot, &request).ok()?;
    let is_dimension: Vec<bool> = batches.fields().iter().map(|field| field.is_dimension).collect();
    let names: Vec<String> = batches.fields().iter().map(|field| field.name.clone()).collect();
    let mut batches = batches.collect::<Result<Vec<Batch>, _>>().ok()?;
    if batches.len() != 1 {
        return None;
    }
    let Batch { cell_count, columns } = batches.remove(0);
    let wanted = names.into_iter().zip(columns).zip(is_dimension);
    let (names, columns) =
        wanted.filter(|(_, is_dimension)| !is_dense || !is_dimension).map(|(field, _)| field).unzip();
    Some((names, Batch { cell_count, columns }, is_dense.then_some(domain)))
}

/// A new array with a fragment of these cells.
fn rewritten(snapshot: &Snapshot) -> Option<ArrayPlace> {
    let (names, batch, subarray) = cells(snapshot)?;
    let place = new_place();
    place.create(snapshot.schema()).ok()?;
    let layout = if subarray.is_some() { Layout::RowMajor } else { Layout::GlobalOrder };
    let columns = names.into_iter().zip(batch.columns.iter().map(|column| column.as_ref())).collect();
    let duplicates = Duplicates::default();
    let request = WriteRequest { columns, subarray, layout, at: Some(100), duplicates, progress: None };
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    Some(place)
}

/// Does something with every array of a version that has one fragment and can be written anew.
fn with_each(version: u32, mut work: impl FnMut(&str, &Snapshot, &ArrayPlace)) {
    let archive = Archive::unpack(version);
    for folder in archive.cases() {
        let case = Case::load(&folder).unwrap();
        if DIFFERENT.iter().any(|(start, _)| case.name.starts_with(start)) {
            continue;
        }
        let Ok(place) = place_with(&case, SyncLevel::None) else { continue };
        let Ok(snapshot) = Snapshot::open(place, TimeRange::ALL) else { continue };
        let is_single = |fragment: &Fragment| fragment.time().start == fragment.time().end;
        if snapshot.fragments().len() == 1
            && is_single(&snapshot.fragments()[0])
            && snapshot.schema().version.number() == version
            && let Some(written) = rewritten(&snapshot)
        {
            work(&format!("v{version}/{}", case.name), &snapshot, &written);
        }
    }
}

#[test]
fn with_clock_and_names_fixed_the_same_data_gives_the_same_bytes() {
    let mut count = 0;
    for version in [12, 22] {
        with_each(version, |name, snapshot, written| {
            let again = rewritten(snapshot).unwrap();
            assert!(files(written, "array") == files(&again, "array"), "{name}");
            count += 1;
        });
    }
    assert!(count > 80, "{count} arrays were written twice");
}

#[test]
fn data_files_are_those_of_libtiledb_where_filters_leave_no_choice() {
    let (mut same, mut failed) = (0, Vec::new());
    for version in [12, 13, 15, 17, 19, 20, 21, 22] {
        with_each(version, |name, snapshot, written| {
            let theirs = files(snapshot.place(), &folder(snapshot));
            let ours = Snapshot::open(written.clone(), TimeRange::ALL).unwrap();
            let ours = files(written, &folder(&ours));
            for (path, bytes) in &theirs {
                let file = path.rsplit('/').next().unwrap();
                if file.starts_with("__") {
                    continue;
                }
                let (_, other) = ours.iter().find(|(path, _)| path.ends_with(&format!("/{file}"))).unwrap();
                if bytes == other {
                    same += 1;
                } else if !is_library_dependent(snapshot.schema(), file)
                    && !OTHER_RELEASES.iter().any(|(case, _)| case == &name)
                {
                    failed.push(format!("{name} {file}: {} and {}", bytes.len(), other.len()));
                }
            }
        });
    }
    assert!(
        failed.is_empty(),
        "{same} data files are the same, {} differ:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
