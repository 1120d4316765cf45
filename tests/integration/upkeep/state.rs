//! What a reader sees of an array, and what upkeep may change of it: nothing, but for times whose history is gone.

use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::MetadataValue;
use smalti_query::{ReadRequest, read};
use smalti_types::{ErrorKind, Extent, Layout, Result, TimeRange};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Times at which states are compared, the latest last.
pub const TIMES: &[u64] = &[5, 10, 15, 20, 22, 25, 30, u64::MAX];

/// An array at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Coordinates and numbers of the cells, in order; `None` where they are gone, which reads say.
    pub cells: Option<Vec<(i32, u32)>>,
    /// The least rectangle around all cells.
    pub non_empty_domain: Option<Vec<Extent>>,
    /// The metadata; `None` where it is gone.
    pub metadata: Option<BTreeMap<String, MetadataValue>>,
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
        let (non_empty_domain, warnings) = (snapshot.non_empty_domain(), snapshot.warnings().to_vec());
        Ok(State { cells, non_empty_domain, metadata, warnings })
    }

    /// Reads an array at all [`TIMES`].
    pub fn history(place: &ArrayPlace) -> Result<Vec<State>> {
        TIMES.iter().map(|&time| State::at(place, time)).collect()
    }
}

/// Invariants I3 to I6: each time has the cells that it had, and the metadata or, in the past, none any more.
pub fn assert_unchanged(before: &[State], after: &[State], context: &dyn Display) {
    assert_eq!(before.len(), after.len());
    for ((before, after), time) in before.iter().zip(after).zip(TIMES) {
        if after.cells.is_some() || *time == u64::MAX {
            assert_eq!(before.cells, after.cells, "cells at {time}, {context}");
        }
        // A merged fragment has one rectangle for all of its times.
        if *time == u64::MAX {
            assert_eq!(before.non_empty_domain, after.non_empty_domain, "domain at {time}, {context}");
        }
        assert_eq!(before.warnings, after.warnings, "warnings at {time}, {context}");
        if after.metadata.is_some() || *time == u64::MAX {
            assert_eq!(before.metadata, after.metadata, "metadata at {time}, {context}");
        }
    }
}
