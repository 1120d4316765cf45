//! Conditions of dense reads: cells that do not fulfil them become fill values, or are left out.
//!
//! Space tiles whose statistics rule all of their cells out, or all in, are not asked. Of the others the fields of the
//! condition are read first; where no cell of a batch fulfils it, nothing else is.

use super::plan::{DenseField, DenseFilter, DensePlan};
use super::task::{Purpose, Task};
use crate::condition::Verdict;
use crate::gather::{CellRun, Output, constant, gather_lists};
use crate::request::Batch;
use rayon::prelude::*;
use smalti_space::{BitMask, CELLS_BETWEEN_CHECKS, Check};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel::Shareable as _;
use smalti_types::{CellValNum, Error, Result};

impl DensePlan {
    /// Reads the cells of some tasks that fulfil the condition, and fill values for the others.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(super) fn run_filtered(
        &self,
        filter: &DenseFilter,
        mut tasks: Vec<Task>,
        cell_count: usize,
    ) -> Result<Batch> {
        tasks.par_iter_mut().shared().try_for_each(|task| {
            task.verdicts = self.verdicts(filter, task)?;
            Ok::<(), Error>(())
        })?;
        let check = || self.fetch.check();
        let mut mask = BitMask::zeros(cell_count);
        let mut known: Vec<Option<Column>> = (0..self.fields.len()).map(|_| None).collect();
        if tasks.iter().any(|task| task.verdicts.contains(&Verdict::Some)) {
            let looked_at = filter
                .fields
                .iter()
                .zip(&filter.results)
                .map(|(field, result)| {
                    let purpose = if result.is_some() { Purpose::Result } else { Purpose::Condition };
                    self.read_field(field, &tasks, cell_count, purpose, None)
                })
                .collect::<Result<Vec<_>>>()?;
            let refs: Vec<Option<ColumnRef<'_>>> =
                looked_at.iter().map(|column| Some(column.as_ref())).collect();
            mask = filter.condition.evaluate(&refs, cell_count, &check)?;
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
                    None if is_wanted => self.read_field(field, &tasks, cell_count, Purpose::Result, None)?,
                    None => return constant_of(field, kept, self.fetch.output(&check)),
                };
                keep(field, column, &mask, filter.leaves_out, self.fetch.output(&check))
            })
            .collect::<Result<_>>()?;
        Ok(Batch { cell_count: kept, columns })
    }
}

/// The cells of a mask, and nothing or fill values for the others.
fn keep(
    field: &DenseField,
    mut column: Column,
    mask: &BitMask,
    leaves_out: bool,
    to: Output<'_>,
) -> Result<Column> {
    if mask.all() {
        return Ok(column);
    }
    let check = to.check;
    if leaves_out {
        return gather_lists(&run_lists(mask, None, check)?, &[column.as_ref()], shape_of(field), to);
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
    gather_lists(&run_lists(mask, Some(1), check)?, &[column.as_ref(), filler], *shape, to)
}

/// The cells of a mask as runs of slot 0, and for each of the others, if there is a filler, the only cell of that slot.
fn run_lists(mask: &BitMask, filler: Option<u32>, check: Check<'_>) -> Result<Vec<Vec<CellRun>>> {
    let list = |step: usize| {
        check()?;
        let start = step * CELLS_BETWEEN_CHECKS;
        let cells = start..mask.len().min(start + CELLS_BETWEEN_CHECKS);
        let (mut runs, mut at) = (Vec::new(), cells.start);
        let fill = |runs: &mut Vec<CellRun>, count: usize| {
            if let Some(slot) = filler {
                runs.extend(std::iter::repeat_n(CellRun { slot, start: 0, len: 1 }, count));
            }
        };
        for kept in mask.iter_runs_in(cells.clone()) {
            fill(&mut runs, kept.start - at);
            runs.push(CellRun { slot: 0, start: kept.start as u32, len: kept.len() as u32 });
            at = kept.end;
        }
        fill(&mut runs, cells.end - at);
        Ok(runs)
    };
    (0..mask.len().div_ceil(CELLS_BETWEEN_CHECKS)).into_par_iter().shared().map(list).collect()
}

/// Puts the fill value into the cells that a mask has not.
fn fill_unset(cells: &mut [u8], fill: &[u8], mask: &BitMask, check: Check<'_>) -> Result<()> {
    let steps = cells.par_chunks_mut(CELLS_BETWEEN_CHECKS * fill.len().max(1)).enumerate().shared();
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

fn shape_of(field: &DenseField) -> CellShape {
    match field {
        DenseField::Attribute { shape, .. } => *shape,
        DenseField::Dimension { datatype, .. } => {
            CellShape { datatype: *datatype, cell_val_num: CellValNum::ONE, is_nullable: false }
        }
    }
}

/// A column of fill values; nothing of coordinates, which are never left out while there are cells.
fn constant_of(field: &DenseField, cell_count: usize, to: Output<'_>) -> Result<Column> {
    match field {
        DenseField::Attribute { shape, fill, fill_valid, .. } => {
            constant(*shape, fill, *fill_valid, cell_count, to)
        }
        DenseField::Dimension { .. } => Ok(Column::default()),
    }
}
