//! Operations on an array: what changes it, and upkeep, which does not.

use crate::oracle::arrays::{Columns, Row, dimension, schema};
use smalti_array::{ArrayPlace, SchemaChange, Snapshot, Upgrade};
use smalti_format::names::TimestampedName;
use smalti_format::{Enumeration, MetadataEntry, MetadataValue, Version};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Duplicates, Progress, WriteRequest, delete, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, CellValNum, Datatype, Extent, Layout, Result, Scalar, TimeRange};
use smalti_upkeep::{
    ConsolidationPart, FileReport, FragmentChoice, FragmentDeletion, FragmentOptions, Options, PartOptions,
    Report, VacuumOptions,
};
use std::sync::Arc;

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
    /// Adds an attribute, and an enumeration of the same name for it.
    Evolve {
        at: u64,
        name: &'static str,
    },
    /// Raises the format version: to the default from an older one, otherwise to the newest.
    Upgrade {
        at: u64,
    },
    ConsolidateFragmentMeta,
    VacuumFragmentMeta,
    ConsolidateCommits,
    VacuumCommits,
    ConsolidateMetadata,
    VacuumMetadata,
    ConsolidateFragments,
    /// The same by several processes, in up to three parts.
    ConsolidateTogether,
    PurgeFragments,
    VacuumFragments,
    /// Deletes the fragments of all times up to that, with what they replace.
    DeleteFragments {
        until: u64,
    },
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

/// Every operation on an array that is there. Changes come at times from `at` on.
pub fn every_operation(at: u64, number: u32, name: &'static str, value: i32) -> Vec<Operation> {
    let mut all = vec![
        Operation::Write { at, cells: &[3, 4, 5], number },
        Operation::Delete { at: at + 1, number: 105 },
        Operation::PutMetadata { at: at + 2, key: "kept", value: Some(value) },
        Operation::Evolve { at: at + 3, name },
        Operation::Upgrade { at: at + 4 },
        Operation::PurgeFragments,
        Operation::DeleteFragments { until: 35 },
    ];
    all.extend(ALL_UPKEEP);
    all
}

/// What [`Operation::run`] reports as a warning where vacuum removed nothing.
pub const WAITS_FOR_READERS: &str = "waits for readers";

impl Operation {
    /// Whether the operation must not change what an array says.
    pub fn is_upkeep(self) -> bool {
        let others = [Operation::PurgeFragments, Operation::ConsolidateTogether];
        ALL_UPKEEP.contains(&self) || others.contains(&self)
    }

    /// Whether it cannot be done to dense arrays.
    pub fn is_sparse_only(self) -> bool {
        matches!(self, Operation::Delete { .. })
    }

    /// Makes the array in a version, which is that of all that is written to it later.
    pub fn create(self, place: &ArrayPlace, version: Version) -> Result<()> {
        let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(99))), Some(Scalar::I32(10)));
        let is_dense = self == Operation::CreateDense;
        let array_type = if is_dense { ArrayType::Dense } else { ArrayType::Sparse };
        let mut schema = schema(array_type, vec![x], (Layout::RowMajor, Layout::RowMajor));
        schema.allows_dups = self == Operation::CreateDups;
        schema.version = version;
        place.create(&schema)
    }

    /// Performs the operation; upkeep says what it did.
    pub fn run(self, place: &ArrayPlace) -> Result<Option<Report>> {
        self.run_with(place, &Options::default())
    }

    /// As [`run`](Operation::run), with options for upkeep.
    pub fn run_with(self, place: &ArrayPlace, options: &Options) -> Result<Option<Report>> {
        self.run_watched(place, options, None)
    }

    /// As [`run_with`](Operation::run_with), where `progress` may stop what can be stopped.
    pub fn run_watched(
        self,
        place: &ArrayPlace,
        options: &Options,
        progress: Option<Arc<Progress>>,
    ) -> Result<Option<Report>> {
        let open = || Snapshot::open(place.clone(), TimeRange::ALL);
        match self {
            Operation::Create | Operation::CreateDups | Operation::CreateDense => {
                self.create(place, Version::DEFAULT)?;
            }
            Operation::Write { at, cells, number } => write_cells(place, Some(at), cells, number, progress)?,
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
            Operation::Evolve { at, name } => {
                let mut enumeration = Enumeration::new(name, Datatype::StringAscii, CellValNum::Var);
                enumeration.push(b"first")?;
                enumeration.push(b"second")?;
                let mut attribute = place.newest_schema()?.attributes.swap_remove(0);
                attribute.name = name.into();
                attribute.datatype = Datatype::UInt8;
                attribute.fill_value = vec![u8::MAX];
                attribute.enumeration = Some(name.into());
                let (add_attributes, add_enumerations) = (vec![attribute], vec![enumeration]);
                let change = SchemaChange {
                    add_attributes,
                    add_enumerations,
                    at: Some(at),
                    ..SchemaChange::default()
                };
                place.evolve(&change)?;
            }
            Operation::Upgrade { at } => {
                let is_old = place.newest_schema()?.version < Version::DEFAULT;
                let to = if is_old { Version::DEFAULT } else { Version::new(23)? };
                let upgrade = Upgrade { to, at: Some(at), force: false, ..Upgrade::default() };
                place.upgrade(&upgrade)?;
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
                let wanted = FragmentOptions { purges, progress, ..FragmentOptions::default() };
                let done = smalti_upkeep::consolidate_fragments(place, &wanted)?;
                let inputs = done.merges.iter().flat_map(|merge| &merge.inputs);
                let outputs = done.merges.iter().flat_map(|merge| &merge.outputs);
                return Ok(Some(Report {
                    read: files(inputs),
                    written: files(outputs),
                    ..Report::default()
                }));
            }
            Operation::ConsolidateTogether => {
                let shared = smalti_upkeep::share_consolidation(place, &FragmentOptions::default(), 3)?;
                let merge = |part: &ConsolidationPart| {
                    // Of a process that died, and of another that did its work.
                    smalti_upkeep::merge_part(place, part, &PartOptions::default())?;
                    let names = smalti_upkeep::merge_part(place, part, &PartOptions::default())?;
                    names.iter().map(|name| TimestampedName::parse(name)).collect::<Result<Vec<_>>>()
                };
                let merged = shared.parts().iter().map(merge).collect::<Result<Vec<_>>>()?;
                let done = shared.commit(&merged)?;
                let outputs = done.merges.iter().flat_map(|merge| &merge.outputs);
                return Ok(Some(Report { written: files(outputs), ..Report::default() }));
            }
            Operation::VacuumFragments => {
                let wanted = VacuumOptions { progress, ..VacuumOptions::default() };
                let done = smalti_upkeep::vacuum_fragments(place, &wanted)?;
                let removed = files(done.fragments.iter().chain(&done.vacuum_files));
                let warnings = done.waits_for_readers.then(|| WAITS_FOR_READERS.to_owned());
                let warnings = warnings.into_iter().collect();
                return Ok(Some(Report { removed, warnings, ..Report::default() }));
            }
            Operation::DeleteFragments { until } => {
                let times = TimeRange { start: 0, end: until };
                let deletion = FragmentDeletion::of(FragmentChoice::Within(times));
                let deletion = FragmentDeletion { progress, ..deletion };
                let done = smalti_upkeep::delete_fragments(place, &deletion)?;
                let removed = files(done.fragments.iter().chain(&done.replaced));
                let warnings = done.waits_for_readers.then(|| WAITS_FOR_READERS.to_owned());
                let warnings = warnings.into_iter().collect();
                return Ok(Some(Report { removed, warnings, ..Report::default() }));
            }
        }
        Ok(None)
    }
}

/// Writes cells at a time, or now; the first has the number, the others those that follow.
pub fn write_cells(
    place: &ArrayPlace,
    at: Option<u64>,
    cells: &[i32],
    number: u32,
    progress: Option<Arc<Progress>>,
) -> Result<()> {
    let text = |cell: i32| (cell % 3 != 0).then(|| vec![b'a'; cell as usize % 7]);
    let rows: Vec<Row> = (number..).zip(cells).map(|(number, &cell)| (number, text(cell))).collect();
    let columns = Columns::of(rows.iter());
    let mut columns = columns.refs();
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL)?;
    let (mut layout, mut subarray) = (Layout::RowMajor, None);
    // Of attributes that came later every cell has the first element of the enumeration.
    let codes = vec![0_u8; cells.len()];
    for later in snapshot.schema().attributes.iter().skip(2) {
        columns.push((later.name.clone(), ColumnRef::fixed(&codes)));
    }
    if snapshot.schema().is_dense() {
        let side = Extent::between(Scalar::I32(cells[0]), Scalar::I32(cells[cells.len() - 1]))?;
        subarray = Some(vec![side]);
    } else {
        columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(cells))));
        layout = Layout::Unordered;
    }
    let duplicates = Duplicates::Refuse;
    write(&snapshot, &WriteRequest { columns, subarray, layout, at, duplicates, progress })?;
    Ok(())
}

fn files<'n>(names: impl Iterator<Item = &'n String>) -> Vec<FileReport> {
    names.map(|name| FileReport { path: name.clone(), byte_len: 0 }).collect()
}
