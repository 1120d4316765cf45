//! What a reader sees of an array, and what upkeep may change of it: nothing, but for times whose history is gone.

use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::MetadataValue;
use smalti_query::{ReadRequest, read};
use smalti_types::{ErrorKind, Extent, Layout, Result, TimeRange};
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

/// Times at which states are compared, the latest last.
pub const TIMES: &[u64] = &[5, 10, 15, 20, 22, 25, 30, 55, u64::MAX];

/// An array at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Coordinates and numbers of the cells, in order; `None` where they are gone, which reads say.
    pub cells: Option<Vec<(i32, u32)>>,
    /// The least rectangle around all cells.
    pub non_empty_domain: Option<Vec<Extent>>,
    /// The metadata; `None` where it is gone.
    pub metadata: Option<BTreeMap<String, MetadataValue>>,
    /// The schema: its format version, its attributes with the elements of their enumerations.
    pub schema: Vec<String>,
    /// What readers warn of.
    pub warnings: Vec<String>,
}

impl State {
    /// Reads an array at a time.
    pub fn at(place: &ArrayPlace, time: u64) -> Result<State> {
        let snapshot = Snapshot::open(place.clone(), TimeRange::until(time))?;
        let request = ReadRequest {
            fields: vec!["x".into(), "n".into()],
            layout: Some(Layout::RowMajor),
            ..ReadRequest::default()
        };
        let cells = match read(&snapshot, &request) {
            Err(error) if error.kind() == ErrorKind::NotFound && snapshot.check_history().is_err() => None,
            batches => {
                let mut cells = Vec::new();
                for batch in batches? {
                    let batch = batch?;
                    let (x, n) =
                        (batch.columns[0].data.values::<i32>(), batch.columns[1].data.values::<u32>());
                    cells.extend(x.iter().copied().zip(n.iter().copied()));
                }
                // Of duplicates none comes first.
                cells.sort_unstable();
                Some(cells)
            }
        };
        let metadata = match place.metadata(TimeRange::until(time)) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            metadata => Some(metadata?),
        };
        let mut schema = vec![snapshot.schema().version.to_string()];
        for attribute in &snapshot.schema().attributes {
            schema.push(attribute.name.clone());
            if let Some(name) = &attribute.enumeration {
                let elements = snapshot.enumeration(name)?;
                schema.extend(elements.elements().map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
            }
        }
        let (non_empty_domain, warnings) = (snapshot.non_empty_domain(), snapshot.warnings().to_vec());
        Ok(State { cells, non_empty_domain, metadata, schema, warnings })
    }

    /// Reads an array at all [`TIMES`].
    pub fn history(place: &ArrayPlace) -> Result<Vec<State>> {
        TIMES.iter().map(|&time| State::at(place, time)).collect()
    }
}

/// Invariants I3 to I6: each time has the cells that it had, and the metadata or, in the past, none any more.
pub fn assert_unchanged(before: &[State], after: &[State], context: &dyn Display) {
    if let Some(difference) = difference(before, after) {
        panic!("{difference}, {context}");
    }
}

/// What upkeep has changed that it may not change.
pub fn difference(before: &[State], after: &[State]) -> Option<String> {
    assert_eq!((before.len(), after.len()), (TIMES.len(), TIMES.len()));
    before.iter().zip(after).zip(TIMES).find_map(|((before, after), time)| {
        let is_latest = *time == u64::MAX;
        let differs = |what: &str, before: &dyn Debug, after: &dyn Debug| {
            Some(format!("{what} at {time} were {before:?} and are {after:?}"))
        };
        if before.cells != after.cells && (is_latest || after.cells.is_some()) {
            return differs("cells", &before.cells, &after.cells);
        }
        // A merged fragment has one rectangle for all of its times.
        if before.non_empty_domain != after.non_empty_domain && is_latest {
            return differs("domains", &before.non_empty_domain, &after.non_empty_domain);
        }
        if before.metadata != after.metadata && (is_latest || after.metadata.is_some()) {
            return differs("metadata", &before.metadata, &after.metadata);
        }
        if before.schema != after.schema {
            return differs("schemas", &before.schema, &after.schema);
        }
        (before.warnings != after.warnings)
            .then(|| differs("warnings", &before.warnings, &after.warnings))
            .flatten()
    })
}
