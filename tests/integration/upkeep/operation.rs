//! Operations on an array: what changes it, and upkeep, which does not.

use crate::oracle::arrays::{Columns, Row, dimension, schema};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::{MetadataEntry, MetadataValue};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Duplicates, WriteRequest, delete, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Datatype, Extent, Layout, Result, Scalar, TimeRange};
use smalti_upkeep::{FileReport, FragmentOptions, Options, Report, VacuumOptions};

/// An operation on an array of one dimension `x`, with a number `n` and a text `s` in each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Makes a sparse array without duplicates.
    Create,
    /// Makes a sparse array with duplicates.
    CreateDups,
    /// Makes a dense array. The cells of its writes follow each other.
    CreateDense,
    /// Writes cells; the first has the number, the others those that follow.
    Write {
        at: u64,
        cells: &'static [i32],
        number: u32,
    },
    /// Deletes the cell of a number.
    Delete {
        at: u64,
        number: u32,
    },
    /// Sets a key, or deletes it.
    PutMetadata {
        at: u64,
        key: &'static str,
        value: Option<i32>,
    },
    ConsolidateFragmentMeta,
    VacuumFragmentMeta,
    ConsolidateCommits,
    VacuumCommits,
    ConsolidateMetadata,
    VacuumMetadata,
    ConsolidateFragments,
    PurgeFragments,
    VacuumFragments,
}

/// Those that change nothing of what an array says.
pub const UPKEEP: &[Operation] = &[
    Operation::ConsolidateFragmentMeta,
    Operation::VacuumFragmentMeta,
    Operation::ConsolidateCommits,
    Operation::VacuumCommits,
    Operation::ConsolidateMetadata,
    Operation::VacuumMetadata,
];

/// [`UPKEEP`], and what merges and removes fragments.
pub const ALL_UPKEEP: &[Operation] = &[
    Operation::ConsolidateFragmentMeta,
    Operation::VacuumFragmentMeta,
    Operation::ConsolidateCommits,
    Operation::VacuumCommits,
    Operation::ConsolidateMetadata,
    Operation::VacuumMetadata,
    Operation::ConsolidateFragments,
    Operation::VacuumFragments,
];

impl Operation {
    /// Performs the operation; upkeep says what it did.
    pub fn run(self, place: &ArrayPlace) -> Result<Option<Report>> {
        self.run_with(place, &Options::default())
    }

    /// As [`run`](Operation::run), with options for upkeep.
    pub fn run_with(self, place: &ArrayPlace, options: &Options) -> Result<Option<Report>> {
        let open = || Snapshot::open(place.clone(), TimeRange::ALL);
        match self {
            Operation::Create | Operation::CreateDups | Operation::CreateDense => {
                let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(99))), Some(Scalar::I32(10)));
                let array_type =
                    if self == Operation::CreateDense { ArrayType::Dense } else { ArrayType::Sparse };
                let mut schema = schema(array_type, vec![x], (Layout::RowMajor, Layout::RowMajor));
                schema.allows_dups = self == Operation::CreateDups;
                place.create(&schema)?;
            }
            Operation::Write { at, cells, number } => {
                let text = |cell: i32| (cell % 3 != 0).then(|| vec![b'a'; cell as usize % 7]);
                let rows: Vec<Row> =
                    (number..).zip(cells).map(|(number, &cell)| (number, text(cell))).collect();
                let columns = Columns::of(rows.iter());
                let mut columns = columns.refs();
                let (snapshot, duplicates) = (open()?, Duplicates::Refuse);
                let (mut layout, mut subarray) = (Layout::RowMajor, None);
                if snapshot.schema().is_dense() {
                    let side = Extent::between(Scalar::I32(cells[0]), Scalar::I32(cells[cells.len() - 1]))?;
                    subarray = Some(vec![side]);
                } else {
                    columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(cells))));
                    layout = Layout::Unordered;
                }
                write(&snapshot, &WriteRequest { columns, subarray, layout, at: Some(at), duplicates })?;
            }
            Operation::Delete { at, number } => {
                delete(&open()?, &Condition::compare("n", Relation::Eq, number), Some(at))?;
            }
            Operation::PutMetadata { at, key, value } => {
                let value = value.map(|value| MetadataValue {
                    datatype: Datatype::Int32,
                    bytes: value.to_le_bytes().to_vec(),
                });
                place.put_metadata(vec![MetadataEntry { key: key.into(), value }], Some(at))?;
            }
            Operation::ConsolidateFragmentMeta => {
                return smalti_upkeep::consolidate_fragment_meta(place, options).map(Some);
            }
            Operation::VacuumFragmentMeta => {
                return smalti_upkeep::vacuum_fragment_meta(place, options).map(Some);
            }
            Operation::ConsolidateCommits => {
                return smalti_upkeep::consolidate_commits(place, options).map(Some);
            }
            Operation::VacuumCommits => return smalti_upkeep::vacuum_commits(place, options).map(Some),
            Operation::ConsolidateMetadata => {
                return smalti_upkeep::consolidate_metadata(place, options).map(Some);
            }
            Operation::VacuumMetadata => return smalti_upkeep::vacuum_metadata(place, options).map(Some),
            Operation::ConsolidateFragments | Operation::PurgeFragments => {
                let purges = self == Operation::PurgeFragments;
                let wanted = FragmentOptions { purges, ..FragmentOptions::default() };
                let done = smalti_upkeep::consolidate_fragments(place, &wanted)?;
                let inputs = done.merges.iter().flat_map(|merge| &merge.inputs);
                let outputs = done.merges.iter().flat_map(|merge| &merge.outputs);
                return Ok(Some(Report {
                    read: files(inputs),
                    written: files(outputs),
                    ..Report::default()
                }));
            }
            Operation::VacuumFragments => {
                let done = smalti_upkeep::vacuum_fragments(place, &VacuumOptions::default())?;
                assert!(!done.waits_for_readers);
                let removed = files(done.fragments.iter().chain(&done.vacuum_files));
                return Ok(Some(Report { removed, ..Report::default() }));
            }
        }
        Ok(None)
    }
}

fn files<'n>(names: impl Iterator<Item = &'n String>) -> Vec<FileReport> {
    names.map(|name| FileReport { path: name.clone(), byte_len: 0 }).collect()
}
