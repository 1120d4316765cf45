//! Arrays of older format versions as they live on: written to again, and upgraded.

use crate::corpus::archive::Archive;
use crate::corpus::case::Case;
use crate::corpus::reads::place_with;
use smalti_array::{ArrayPlace, Snapshot, Upgrade};
use smalti_format::Version;
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Batch, Duplicates, ReadRequest, WriteRequest, read, write};
use smalti_store::{Stores, SyncLevel};
use smalti_tile::Column;
use smalti_types::{Error, Layout, Scalar, TimeRange};
use smalti_upkeep::{Class, Finding, FindingKind, FsckOptions, FsckReport, Remedy, fsck};

/// What is not written again, by the start of the case's name.
const OTHER_CASES: &[(&str, &str)] = &[
    ("group", "no array"),
    ("deletes", "deleted cells are not told apart yet"),
    ("dense_huge_domain", "too large to be read whole"),
    ("v7/sparse_nullable", "its release wrote it so that nobody can read it"),
];

/// Up to version 4 these cases keep cells in an order that is not the true one, and so does a merge with them.
const DISORDERED: &[&str] = &["sparse_dim_datetime", "sparse_dim_int64", "sparse_dim_uint64"];

fn is_disordered(version: u32, case: &str) -> bool {
    version <= 4 && DISORDERED.iter().any(|part| case.contains(part))
}

/// The cells of an array in row-major order, field by field.
struct Cells {
    names: Vec<String>,
    batch: Batch,
}

/// All cells; `None` where they do not come in one batch.
fn cells(place: &ArrayPlace) -> Result<Option<Cells>, Error> {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL)?;
    let request = ReadRequest { layout: Some(Layout::RowMajor), ..ReadRequest::default() };
    let batches = read(&snapshot, &request)?;
    let names: Vec<String> = batches.fields().iter().map(|field| field.name.clone()).collect();
    let mut batches = batches.collect::<Result<Vec<Batch>, Error>>()?;
    Ok((batches.len() == 1).then(|| Cells { names, batch: batches.remove(0) }))
}

fn bytes(column: &Column) -> [&[u8]; 3] {
    let cells = column.as_ref();
    [cells.data, cells.offsets.map_or(&[], bytemuck::cast_slice), cells.validity.unwrap_or_default()]
}

fn assert_same(what: &str, a: &Cells, b: &Cells) {
    assert_eq!((&a.names, a.batch.cell_count), (&b.names, b.batch.cell_count), "{what}");
    for ((name, a), b) in a.names.iter().zip(&a.batch.columns).zip(&b.batch.columns) {
        assert_eq!(bytes(a), bytes(b), "{what}: {name}");
    }
}

/// Writes cells into an array again.
fn write_again(place: &ArrayPlace, cells: &Cells) {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    let is_dense = snapshot.schema().is_dense();
    let is_dimension =
        |name: &str| snapshot.schema().dimensions.iter().any(|dimension| dimension.name == name);
    let columns = cells.names.iter().zip(&cells.batch.columns);
    let columns = columns.filter(|(name, _)| !is_dense || !is_dimension(name));
    let request = WriteRequest {
        columns: columns.map(|(name, column)| (name.clone(), column.as_ref())).collect(),
        subarray: None,
        layout: if is_dense { Layout::RowMajor } else { Layout::Unordered },
        at: None,
        duplicates: Duplicates::default(),
        progress: None,
    };
    write(&snapshot, &request).unwrap();
}

/// Does something with every array of a version that can be written again; how many there were.
fn with_each(version: u32, mut work: impl FnMut(&str, &ArrayPlace, &Cells)) -> usize {
    let archive = Archive::unpack(version);
    let mut count = 0;
    for folder in archive.cases() {
        let case = Case::load(&folder).unwrap();
        let name = format!("v{version}/{}", case.name);
        if OTHER_CASES.iter().any(|(start, _)| case.name.starts_with(start) || name.starts_with(start)) {
            continue;
        }
        let place = place_with(&case, SyncLevel::None).unwrap();
        if let Some(cells) = cells(&place).unwrap_or_else(|error| panic!("{name}: {error}")) {
            work(&name, &place, &cells);
            count += 1;
        }
    }
    count
}

/// Up to version 4 the coordinates of all dimensions are one field, of which a condition may want several.
#[test]
fn a_condition_on_several_dimensions_of_an_old_array_looks_at_each() {
    let mut count = 0;
    for version in [1, 2, 4] {
        with_each(version, |name, place, _| {
            let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
            let dimensions = &snapshot.schema().dimensions;
            if snapshot.schema().is_dense() || dimensions.len() < 2 || !dimensions[0].datatype.is_integer() {
                return;
            }
            let unordered = ReadRequest { layout: Some(Layout::Unordered), ..ReadRequest::default() };
            let coordinates = |request: &ReadRequest| {
                let batches = read(&snapshot, request).unwrap();
                let fields: Vec<_> = batches.fields().to_vec();
                let mut cells: Vec<Vec<i64>> = Vec::new();
                for batch in batches {
                    let batch = batch.unwrap();
                    cells.extend((0..batch.cell_count).map(|cell| {
                        let value = |dimension: &smalti_format::Dimension| {
                            let at = fields.iter().position(|field| field.name == dimension.name).unwrap();
                            let byte_len = dimension.datatype.byte_len();
                            let bytes = &batch.columns[at].data.as_slice()[cell * byte_len..][..byte_len];
                            let number = Scalar::read(dimension.datatype, bytes).unwrap().as_i128();
                            i64::try_from(number.unwrap()).unwrap()
                        };
                        dimensions.iter().map(value).collect()
                    }));
                }
                cells
            };
            let all = coordinates(&unordered);
            let mut sides: Vec<Vec<i64>> =
                (0..2).map(|dim| all.iter().map(|cell| cell[dim]).collect()).collect();
            sides.iter_mut().for_each(|side| side.sort_unstable());
            let [least, most] = [sides[0][all.len() / 3], sides[1][all.len() * 2 / 3]];
            let condition = Condition::compare(&dimensions[0].name, Relation::Ge, least)
                .and(Condition::compare(&dimensions[1].name, Relation::Le, most));
            let found = coordinates(&ReadRequest { condition: Some(condition), ..unordered });
            let is_wanted = |cell: &Vec<i64>| cell[0] >= least && cell[1] <= most;
            let expected: Vec<Vec<i64>> = all.iter().filter(|cell| is_wanted(cell)).cloned().collect();
            assert_eq!(found, expected, "{name}");
            count += usize::from(expected.len() < all.len());
        });
    }
    assert!(count > 0);
}

#[test]
fn arrays_of_old_versions_are_written_to_in_the_version_of_the_reference_rule() {
    for version in [1, 2, 4, 5, 7, 8, 9, 10, 11] {
        let count = with_each(version, |name, place, before| {
            let schema = Snapshot::open(place.clone(), TimeRange::ALL).unwrap().schema().clone();
            write_again(place, before);
            let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
            let written = snapshot.fragments().last().unwrap().version().number();
            let wanted = schema.version.number();
            assert_eq!(written, if wanted < 7 { 22 } else { wanted }, "{name}");
            let case = name.split('/').nth(1).unwrap();
            if !schema.allows_dups && !is_disordered(version, case) {
                assert_same(name, before, &cells(place).unwrap().unwrap());
            }
        });
        assert!(count > 0, "version {version}");
    }
}

#[test]
fn an_upgrade_keeps_every_cell_and_new_fragments_take_the_new_version() {
    for version in [4, 5, 8, 9, 11, 19, 20] {
        let count = with_each(version, |name, place, before| {
            let to = Version::DEFAULT;
            let upgrade = Upgrade { to, at: None, force: true, ..Upgrade::default() };
            let old = Snapshot::open(place.clone(), TimeRange::ALL).unwrap().schema().clone();
            assert_eq!(place.upgrade(&upgrade).unwrap().is_some(), old.version != to, "{name}");
            assert!(place.upgrade(&upgrade).unwrap().is_none(), "{name}: again");
            assert_same(name, before, &cells(place).unwrap().unwrap());
            write_again(place, before);
            let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
            assert_eq!(snapshot.fragments().last().unwrap().version(), to, "{name}");
            let case = name.split('/').nth(1).unwrap();
            if !old.allows_dups && !is_disordered(version, case) && !case.contains("lossy") {
                assert_same(name, before, &cells(place).unwrap().unwrap());
            }
        });
        assert!(count > 0, "version {version}");
    }
}

#[test]
fn an_upgrade_that_hides_fragments_from_libtiledb_must_be_forced() {
    let archive = Archive::unpack(15);
    let folder = archive.cases().into_iter().find(|case| case.ends_with("filter_chain_scale_float_ints"));
    let case = Case::load(&folder.unwrap()).unwrap();
    let place = place_with(&case, SyncLevel::None).unwrap();
    let upgrade = Upgrade { to: Version::new(19).unwrap(), ..Upgrade::default() };
    assert!(place.upgrade(&upgrade).unwrap().is_some(), "up to version 19 the filters mean the same");
    let error = place.upgrade(&Upgrade::default()).unwrap_err();
    assert!(error.to_string().contains("libtiledb could not read"), "{error}");
    assert!(place.upgrade(&Upgrade { force: true, ..Upgrade::default() }).unwrap().is_some());
    let back = place.upgrade(&upgrade).unwrap_err();
    assert!(back.to_string().contains("cannot go back to 19"), "{back}");
}

/// What a listing and a check say of an array of which the name of a fragment, and of its commit where it has one, was changed.
fn told_of_a_renamed_fragment(
    version: u32,
    case: &str,
    rename: fn(&str) -> String,
) -> (Vec<String>, FsckReport) {
    let archive = Archive::unpack(version);
    let folder = archive.cases().into_iter().find(|folder| folder.ends_with(case)).unwrap();
    let place = place_with(&Case::load(&folder).unwrap(), SyncLevel::None).unwrap();
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    assert_eq!(snapshot.warnings().len(), 0);
    let name = snapshot.fragments().last().unwrap().name().to_string();
    let root = std::path::PathBuf::from(place.uri());
    for entry in
        std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap())
    {
        if let Some(ending) = entry.strip_prefix(&name) {
            std::fs::rename(root.join(&entry), root.join(rename(&name) + ending)).unwrap();
        }
    }
    let after = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    assert_eq!(after.fragments().len() + 1, snapshot.fragments().len());
    (after.warnings().to_vec(), fsck(&place, &FsckOptions::default()).unwrap())
}

#[test]
fn a_committed_fragment_of_an_impossible_name_is_hidden_data_and_reads_warn_of_it() {
    let with_version = |name: &str| format!("{}_4294967296", name.rsplit_once('_').unwrap().0);
    let with_time = |name: &str| {
        let (_, rest) = name.trim_start_matches("__").split_once('_').unwrap();
        format!("__99999999999999999999_{rest}")
    };
    let renamings: [(u32, &str, fn(&str) -> String); 4] = [
        (4, "sparse_1d_int32", with_time),
        (5, "sparse_1d_int32", with_version),
        (10, "sparse_2d_rc", with_version),
        (11, "sparse_1d_int32", with_time),
    ];
    for (version, case, rename) in renamings {
        let (warnings, report) = told_of_a_renamed_fragment(version, case, rename);
        assert_eq!(warnings.len(), 1, "version {version}: {warnings:?}");
        assert!(warnings[0].contains("not read") && warnings[0].contains("smalti fsck"), "{warnings:?}");
        assert!(!report.is_sound(), "version {version}: {report:?}");
        let hidden: Vec<&Finding> =
            report.findings.iter().filter(|found| found.class == Class::Hidden).collect();
        assert_eq!(hidden.len(), 1, "version {version}: {report:?}");
        assert_eq!(hidden[0].kind, FindingKind::NameImpossible);
        assert!(matches!(hidden[0].remedy, Remedy::GiveUp { .. }));
    }
}

/// An array of libtiledb 2.2.2: dimension `d`, nullable integers `a`, integers `b`, nullable texts `v`, ten cells.
#[test]
fn cells_that_a_release_mixed_up_are_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nullable_2_2_2.tar.gz");
    let file = std::fs::File::open(archive).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(folder.path()).unwrap();
    let uri = folder.path().join("nul_plain");
    let place = ArrayPlace::open(
        &Stores::new(),
        uri.to_str().unwrap(),
        SyncLevel::None,
        None,
        smalti_store::system_env(),
    );
    let snapshot = Snapshot::open(place.unwrap(), TimeRange::ALL).unwrap();
    let count = |fields: &[&str]| -> Result<usize, Error> {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        let request = ReadRequest { fields, ..ReadRequest::default() };
        read(&snapshot, &request)?.map(|batch| batch.map(|batch| batch.cell_count)).sum()
    };
    assert_eq!(count(&["d", "b", "v"]).unwrap(), 10);
    let error = count(&["d", "a"]).unwrap_err().to_string();
    assert!(error.contains("libtiledb 2.2.1 and 2.2.2"), "{error}");
}
