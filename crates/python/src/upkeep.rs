//! Checks, repairs, and reports of upkeep.

use crate::call::work;
use crate::options::{Options, given};
use crate::scan::Split;
use crate::write::share_of;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smalti::upkeep::{ConsolidationPart, FileReport, PartOptions, UpkeepReport};
use smalti::{Finding, FsckOptions, FsckReport, Progress, Remedy, RepairOptions};
use std::sync::{Arc, Mutex, PoisonError};

/// Files that were read, written and removed, each with its bytes, and warnings.
#[derive(IntoPyObject)]
pub(crate) struct Files {
    read: Vec<(String, u64)>,
    written: Vec<(String, u64)>,
    removed: Vec<(String, u64)>,
    warnings: Vec<String>,
}

impl Files {
    pub(crate) fn of(report: UpkeepReport) -> Self {
        let UpkeepReport { read, written, removed, warnings, .. } = report;
        let told =
            |files: Vec<FileReport>| files.into_iter().map(|file| (file.path, file.byte_len)).collect();
        Files { read: told(read), written: told(written), removed: told(removed), warnings }
    }
}

/// A finding, its parts by name.
#[derive(IntoPyObject)]
struct ToldFinding {
    kind: &'static str,
    severity: &'static str,
    file: String,
    structure: Option<String>,
    field: Option<String>,
    offset: Option<u64>,
    message: String,
    text: String,
    repairable: bool,
    remedy: Option<String>,
}

impl ToldFinding {
    fn of(finding: &Finding) -> Self {
        let (repairable, remedy) = match &finding.remedy {
            Remedy::None(why) => (false, Some(why.clone())),
            Remedy::Steps { words, .. } => (true, Some(words.clone())),
            Remedy::GiveUp { words, .. } => (false, Some(words.clone())),
            _ => (false, None),
        };
        ToldFinding {
            kind: finding.kind.name(),
            severity: finding.class.name(),
            file: finding.file.clone(),
            structure: finding.structure.clone(),
            field: finding.field.clone(),
            offset: finding.byte_offset,
            message: finding.message.clone(),
            text: finding.to_string(),
            repairable,
            remedy,
        }
    }
}

/// What a check came to.
#[derive(IntoPyObject)]
struct ToldCheck {
    sound: bool,
    fragments: u64,
    tiles: u64,
    findings: Vec<ToldFinding>,
}

impl ToldCheck {
    fn of(report: &FsckReport) -> Self {
        ToldCheck {
            sound: report.is_sound(),
            fragments: report.fragment_count,
            tiles: report.tile_count,
            findings: report.all_findings().map(ToldFinding::of).collect(),
        }
    }
}

fn check_of(data: bool, shallow: bool, progress: &Arc<Progress>) -> FsckOptions {
    FsckOptions {
        reads_data: data,
        is_shallow: shallow,
        progress: Some(Arc::clone(progress)),
        ..FsckOptions::default()
    }
}

/// A consolidation that several processes do together.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct SharedConsolidation {
    shared: Mutex<Option<smalti::upkeep::SharedConsolidation>>,
}

impl SharedConsolidation {
    pub(crate) fn new(shared: smalti::upkeep::SharedConsolidation) -> Self {
        SharedConsolidation { shared: Mutex::new(Some(shared)) }
    }

    fn take(&self) -> PyResult<smalti::upkeep::SharedConsolidation> {
        let taken = self.shared.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| PyValueError::new_err("the consolidation is committed or abandoned already"))
    }
}

#[pymethods]
impl SharedConsolidation {
    /// The parts: a split, what they share, and whether deleted cells are left out.
    fn parts(&self) -> Vec<(Split, String, bool)> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = shared.as_ref().map(smalti::upkeep::SharedConsolidation::parts).unwrap_or_default();
        let told = |part: ConsolidationPart| (Split::new(part.split), part.share.to_string(), part.purges);
        parts.into_iter().map(told).collect()
    }

    /// Makes what came of the parts visible: the merges.
    fn commit(&self, py: Python<'_>, parts: Vec<Vec<String>>) -> PyResult<Vec<(Vec<String>, Vec<String>)>> {
        let shared = self.take()?;
        let done = work(py, &Arc::new(Progress::new()), None, || shared.commit(&parts))?;
        Ok(done.merges.into_iter().map(|merge| (merge.inputs, merge.outputs)).collect())
    }

    /// Removes what was merged so far.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let shared = self.take()?;
        py.detach(|| shared.abandon());
        Ok(())
    }
}

/// Merges a part of a consolidation: the names of its fragments.
#[pyfunction]
#[pyo3(signature = (split, share, purges, *, memory=None, verify=true, hook=None))]
pub(crate) fn merge_part(
    py: Python<'_>,
    split: &Bound<'_, Split>,
    share: &str,
    purges: bool,
    memory: Option<usize>,
    verify: bool,
    hook: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let part = ConsolidationPart { split: split.get().split().clone(), share: share_of(py, share)?, purges };
    let progress = Arc::new(Progress::new());
    let mut options = PartOptions::default();
    options.memory_byte_len = memory;
    options.verifies = verify;
    options.progress = Some(Arc::clone(&progress));
    work(py, &progress, hook, || part.merge(&options))
}

/// Checks an array or group.
#[pyfunction]
#[pyo3(signature = (uri, options=None, *, data=false, shallow=false, hook=None))]
pub(crate) fn fsck<'py>(
    py: Python<'py>,
    uri: &str,
    options: Option<&Bound<'py, Options>>,
    data: bool,
    shallow: bool,
    hook: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (options, progress) = (given(options), Arc::new(Progress::new()));
    let check = check_of(data, shallow, &progress);
    let report = work(py, &progress, hook, || smalti::Array::fsck(uri, &options, &check))?;
    Ok(ToldCheck::of(&report).into_pyobject(py)?.into_any())
}

/// Mends an array or group: what was found, what was done, what is left, and where what was in the way is now.
#[pyfunction]
#[pyo3(signature = (uri, options=None, *, give_up=false, dry_run=false, data=false, shallow=false, hook=None))]
pub(crate) fn repair<'py>(
    py: Python<'py>,
    uri: &str,
    options: Option<&Bound<'py, Options>>,
    give_up: bool,
    dry_run: bool,
    data: bool,
    shallow: bool,
    hook: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Vec<(String, Option<String>)>, Bound<'py, PyAny>, Option<String>)> {
    let (options, progress) = (given(options), Arc::new(Progress::new()));
    let repair = RepairOptions {
        check: check_of(data, shallow, &progress),
        gives_up: give_up,
        is_dry_run: dry_run,
        ..RepairOptions::default()
    };
    let report = work(py, &progress, hook, || smalti::Array::repair(uri, &options, &repair))?;
    let members = report.members.iter().flat_map(|member| &member.mended);
    let mended = report.mended.iter().chain(members);
    let mended = mended.map(|one| (one.words.clone(), one.failure.clone())).collect();
    let told = |report: &FsckReport| Ok::<_, PyErr>(ToldCheck::of(report).into_pyobject(py)?.into_any());
    Ok((told(&report.found)?, mended, told(&report.left)?, report.aside.clone()))
}
