//! Conditions of dense reads: cells that do not fulfil them become fill values, or are left out.
//!
//! Space tiles whose statistics rule all of their cells out, or all in, are not asked. Of the others the fields of the
//! condition are read first; where no cell of a batch fulfils it, nothing else is.

use super::prune::FragmentStatistics;
use super::reader::{DenseField, DensePlan, Purpose, Task};
use crate::condition::{BoundCondition, Verdict};
use crate::gather::{CELLS_BETWEEN_CHECKS, CellRun, constant, gather};
use crate::request::Batch;
use rayon::prelude::*;
use smalti_space::{BitMask, Check};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::{CellValNum, Error, Result};

/// The condition of a dense read.
pub(crate) struct DenseFilter<'a> {
    pub(crate) condition: BoundCondition,
    /// The fields that it looks at, in its order.
    pub(crate) fields: Vec<DenseField<'a>>,
    /// For each of these, the field of the result that is the same.
    pub(crate) results: Vec<Option<usize>>,
    /// By fragment, what is known about the fields' values in its tiles.
    pub(super) statistics: Vec<FragmentStatistics>,
    /// Whether cells that do not fulfil it are left out.
    pub(crate) leaves_out: bool,
}

impl DensePlan<'_> {
    /// Reads the cells of some tasks that fulfil the condition, and fill values for the others.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(super) fn run_filtered(
        &self,
        filter: &DenseFilter<'_>,
        mut tasks: Vec<Task>,
        cell_count: usize,
    ) -> Result<Batch> {
        tasks.par_iter_mut().try_for_each(|task| {
            task.verdicts = self.verdicts(filter, task)?;
            Ok::<(), Error>(())
        })?;
        let mut mask = BitMask::zeros(cell_count);
        let mut known: Vec<Option<Column>> = (0..self.fields.len()).map(|_| None).collect();
        if tasks.iter().any(|task| task.verdicts.contains(&Verdict::Some)) {
            let looked_at = filter
                .fields
                .iter()
                .zip(&filter.results)
                .map(|(field, result)| {
                    let purpose = if result.is_some() { Purpose::Result } else { Purpose::Condition };
                    self.read_field(field, &tasks, cell_count, purpose)
                })
                .collect::<Result<Vec<_>>>()?;
            let refs: Vec<Option<ColumnRef<'_>>> =
                looked_at.iter().map(|column| Some(column.as_ref())).collect();
            mask = filter.condition.evaluate(&refs, cell_count, &|| self.fetch.check())?;
            drop(refs);
            for (column, result) in looked_at.into_iter().zip(&filter.results) {
                if let Some(result) = result {
                    known[*result] = Some(column);
                }
            }
        }
        self.apply_verdicts(&tasks, &mut mask)?;
        let kept = if filter.leaves_out { mask.count() } else { cell_count };
        let columns = self
            .fields
            .iter()
            .zip(known)
            .map(|(field, known)| {
                let is_wanted = mask.any() || (matches!(field, DenseField::Dimension { .. }) && kept > 0);
                let column = match known {
                    Some(column) => column,
                    None if is_wanted => self.read_field(field, &tasks, cell_count, Purpose::Result)?,
                    None => return constant_of(field, kept),
                };
                keep(field, column, &mask, filter.leaves_out, &|| self.fetch.check())
            })
            .collect::<Result<_>>()?;
        Ok(Batch { cell_count: kept, columns })
    }
}

/// The cells of a mask, and nothing or fill values for the others.
fn keep(
    field: &DenseField<'_>,
    mut column: Column,
    mask: &BitMask,
    leaves_out: bool,
    check: Check<'_>,
) -> Result<Column> {
    if mask.all() {
        return Ok(column);
    }
    let run =
        |run: std::ops::Range<usize>| CellRun { slot: 0, start: run.start as u32, len: run.len() as u32 };
    if leaves_out {
        let runs: Vec<CellRun> = mask.iter_runs().map(run).collect();
        return gather(&runs, &[column.as_ref()], shape_of(field), check);
    }
    let DenseField::Attribute { shape, fill, fill_valid, .. } = field else { return Ok(column) };
    if !shape.is_var() {
        fill_unset(column.data.as_mut_slice(), fill, mask, check)?;
        if let Some(validity) = &mut column.validity {
            fill_unset(validity.as_mut_slice(), &[u8::from(*fill_valid)], mask, check)?;
        }
        return Ok(column);
    }
    let (fill_offsets, fill_validity) = ([0, fill.len() as u64], [u8::from(*fill_valid)]);
    let filler = ColumnRef::var(fill, &fill_offsets).with_validity(&fill_validity);
    let mut runs: Vec<CellRun> = Vec::new();
    let mut at = 0;
    let unkept = |runs: &mut Vec<CellRun>, count: usize| {
        runs.extend(std::iter::repeat_n(CellRun { slot: 1, start: 0, len: 1 }, count));
    };
    for kept in mask.iter_runs() {
        unkept(&mut runs, kept.start - at);
        at = kept.end;
        runs.push(run(kept));
    }
    unkept(&mut runs, mask.len() - at);
    gather(&runs, &[column.as_ref(), filler], *shape, check)
}

/// Puts the fill value into the cells that a mask has not.
fn fill_unset(cells: &mut [u8], fill: &[u8], mask: &BitMask, check: Check<'_>) -> Result<()> {
    let steps = cells.par_chunks_mut(CELLS_BETWEEN_CHECKS * fill.len().max(1)).enumerate();
    steps.try_for_each(|(step, cells)| {
        check()?;
        for (cell, bytes) in (step * CELLS_BETWEEN_CHECKS..).zip(cells.chunks_exact_mut(fill.len().max(1))) {
            if !mask.is_set(cell) {
                bytes.copy_from_slice(fill);
            }
        }
        Ok(())
    })
}

fn shape_of(field: &DenseField<'_>) -> CellShape {
    match field {
        DenseField::Attribute { shape, .. } => *shape,
        DenseField::Dimension { datatype, .. } => {
            CellShape { datatype: *datatype, cell_val_num: CellValNum::ONE, is_nullable: false }
        }
    }
}

/// A column of fill values; nothing of coordinates, which are never left out while there are cells.
fn constant_of(field: &DenseField<'_>, cell_count: usize) -> Result<Column> {
    match field {
        DenseField::Attribute { shape, fill, fill_valid, .. } => {
            constant(*shape, fill, *fill_valid, cell_count)
        }
        DenseField::Dimension { .. } => Ok(Column::default()),
    }
}
