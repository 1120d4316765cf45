//! How a read would be carried out, without reading a cell.

use crate::explanation::Explanation;
use crate::progress::ReadStatistics;
use crate::read::read;
use crate::request::ReadRequest;
use smalti_array::Snapshot;
use smalti_types::Result;
use std::time::{Duration, Instant};

/// What a read did.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Analysis {
    /// Its counts.
    pub statistics: ReadStatistics,
    /// How long it took.
    pub time: Duration,
}

/// Explains a read.
///
/// # Errors
/// As [`read`](crate::read).
pub fn explain(snapshot: &Snapshot, request: &ReadRequest) -> Result<Explanation> {
    let mut explanation = read(snapshot, request)?.explanation(snapshot)?;
    explanation.fragments_outside_time = snapshot.fragments_outside_time() as u64;
    Ok(explanation)
}

/// Explains a read, and performs it: what was planned, and what came of it. The cells are dropped.
///
/// # Errors
/// As [`read`](crate::read).
pub fn analyze(snapshot: &Snapshot, request: &ReadRequest) -> Result<(Explanation, Analysis)> {
    let explanation = explain(snapshot, request)?;
    let start = Instant::now();
    let mut batches = read(snapshot, request)?;
    for batch in &mut batches {
        batch?;
    }
    let statistics = batches.progress().statistics();
    Ok((explanation, Analysis { statistics, time: start.elapsed() }))
}
