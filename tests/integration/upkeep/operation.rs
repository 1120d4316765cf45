//! Operations on an array: what changes it, and upkeep, which does not.

use crate::oracle::arrays::{Columns, Row, dimension, schema};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::{MetadataEntry, MetadataValue};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Duplicates, WriteRequest, delete, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Datatype, Layout, Result, Scalar, TimeRange};
use smalti_upkeep::{Options, Report};

/// An operation on an array of one dimension `x`, with a number `n` and a text `s` in each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Makes the array.
    Create,
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

impl Operation {
    /// Performs the operation; upkeep says what it did.
    pub fn run(self, place: &ArrayPlace) -> Result<Option<Report>> {
        self.run_with(place, &Options::default())
    }

    /// As [`run`](Operation::run), with options for upkeep.
    pub fn run_with(self, place: &ArrayPlace, options: &Options) -> Result<Option<Report>> {
        let open = || Snapshot::open(place.clone(), TimeRange::ALL);
        match self {
            Operation::Create => {
                let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(99))), Some(Scalar::I32(10)));
                place.create(&schema(ArrayType::Sparse, vec![x], (Layout::RowMajor, Layout::RowMajor)))?;
            }
            Operation::Write { at, cells, number } => {
                let text = |cell: i32| (cell % 3 != 0).then(|| vec![b'a'; cell as usize % 7]);
                let rows: Vec<Row> =
                    (number..).zip(cells).map(|(number, &cell)| (number, text(cell))).collect();
                let columns = Columns::of(rows.iter());
                let mut columns = columns.refs();
                columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(cells))));
                let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
                write(&open()?, &WriteRequest { columns, subarray: None, layout, at: Some(at), duplicates })?;
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
        }
        Ok(None)
    }
}
