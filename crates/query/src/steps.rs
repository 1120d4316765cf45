//! Batches of the size that was asked for, out of the steps that a read goes in.
//!
//! A step plans, fetches and decodes; what it costs beside its cells, such as tiles that it meets in part, is the same however
//! few cells it has. So steps are large, whatever the size of batches: the first ones are small, because a caller with a limit
//! may want no more, and they grow to the default. Batches are cut out of the cells of a step. Of a read with a limit no step asks for
//! more than is left to it, unless cells are left out of the steps.

use crate::gather::{Output, part};
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ReadRequest, ResultField};
use smalti_tile::CellShape;
use smalti_types::Result;

/// Cells of the first step.
const FIRST_STEP_CELL_COUNT: usize = 1 << 12;

/// How many times as many cells as the last a step has.
const GROWTH: usize = 8;

/// Cells of the largest steps of reads that go tile after tile.
const SMALL_STEP_CELL_COUNT: usize = 1 << 17;

/// Where a read is in the cells of a step.
#[derive(Debug)]
pub(crate) struct Steps {
    /// What the columns of a step are.
    shapes: Vec<CellShape>,
    batch_cell_count: usize,
    step_cell_count: usize,
    /// The cells that steps grow to.
    most: usize,
    /// How many cells are still to be handed out at most.
    left: u64,
    is_limited: bool,
    /// Whether steps may hold fewer cells than were looked at.
    leaves_out: bool,
    /// The cells of a step, and the first that was not handed out.
    held: Option<(Batch, usize)>,
}

impl Steps {
    /// The steps of a read with batches and a limit as a request says. Where cells may be left out of a step, the limit does not tell
    /// how many to look at.
    pub(crate) fn new(request: &ReadRequest, leaves_out: bool, fields: &[ResultField]) -> Self {
        let batch_cell_count = request.batch_cell_count.unwrap_or(DEFAULT_BATCH_CELL_COUNT).max(1);
        let shapes = fields.iter().map(|field| field.shape).collect();
        let left = request.limit.unwrap_or(u64::MAX);
        let step_cell_count = match request.limit {
            Some(_) => batch_cell_count.min(cells(left).max(1)),
            None => batch_cell_count.max(FIRST_STEP_CELL_COUNT),
        };
        Steps {
            shapes,
            batch_cell_count,
            step_cell_count,
            most: DEFAULT_BATCH_CELL_COUNT,
            left,
            is_limited: request.limit.is_some(),
            leaves_out,
            held: None,
        }
    }

    /// Steps grow no larger than tiles make worth while, for reads that decode each tile once however small steps are: the memory of a step serves
    /// for the next one, and is in the cache still.
    pub(crate) fn stay_small(&mut self) {
        self.most = SMALL_STEP_CELL_COUNT;
    }

    /// From now on batches have as many cells as memory allows, for those who join them: of a read with a limit steps grow as before.
    pub(crate) fn widen(&mut self) {
        self.batch_cell_count = usize::MAX;
        if !self.is_limited {
            self.step_cell_count = usize::MAX;
        }
    }

    /// From now on a batch is a step as it is, unless it goes beyond a limit; returns how many cells a batch was to have.
    pub(crate) fn leave_whole(&mut self) -> usize {
        std::mem::replace(&mut self.batch_cell_count, usize::MAX)
    }

    /// Whether a step may have any number of cells: no batch is cut out of it, and there is no limit.
    pub(crate) fn are_wide(&self) -> bool {
        self.batch_cell_count == usize::MAX && !self.is_limited
    }

    /// How many cells the next step asks for.
    pub(crate) fn set_step(&mut self, cell_count: usize) {
        self.step_cell_count = cell_count.max(1);
    }

    /// Whether the next batch is cut out of cells that are there.
    pub(crate) fn are_held(&self) -> bool {
        self.held.is_some()
    }

    /// Whether as many cells were handed out as the read is to have.
    pub(crate) fn are_done(&self) -> bool {
        self.left == 0
    }

    /// How many steps there are until so many cells were looked at, from the first step on.
    pub(crate) fn count(&self, cell_count: u64) -> u64 {
        let mut left = if self.leaves_out { cell_count } else { cell_count.min(self.left) };
        let (mut step, mut count) = (self.step_cell_count, 0_u64);
        while left > 0 {
            let full = step.max(1) as u64;
            let grown = self.grown(step);
            // The last steps are of one size, however many there are.
            let taken = if grown == step { left.div_ceil(full) } else { 1 };
            count = count.saturating_add(taken);
            left = left.saturating_sub(full.saturating_mul(taken));
            step = grown;
        }
        count
    }

    /// The cells of the step behind one of so many.
    fn grown(&self, step_cell_count: usize) -> usize {
        step_cell_count.saturating_mul(GROWTH).min(self.most).max(step_cell_count)
    }

    /// The next batch; `pull` makes the cells of a step, of about as many cells as it is told.
    ///
    /// # Errors
    /// What `pull` and the check return; `OutOfMemory`.
    pub(crate) fn next(
        &mut self,
        to: Output<'_>,
        pull: impl FnOnce(usize) -> Result<Option<Batch>>,
    ) -> Result<Option<Batch>> {
        if self.are_done() {
            self.held = None;
            return Ok(None);
        }
        let most = self.batch_cell_count.min(cells(self.left));
        if self.held.is_none() {
            let wanted = if self.leaves_out { usize::MAX } else { cells(self.left) };
            let Some(step) = pull(self.step_cell_count.min(wanted))? else { return Ok(None) };
            self.step_cell_count = self.grown(self.step_cell_count);
            if step.cell_count <= most {
                self.left -= step.cell_count as u64;
                return Ok(Some(step));
            }
            self.held = Some((step, 0));
        }
        let Some((step, next)) = &mut self.held else { return Ok(None) };
        let cells = *next..step.cell_count.min(next.saturating_add(most));
        let columns = self.shapes.iter().zip(&step.columns);
        let columns = columns.map(|(shape, column)| part(column, *shape, cells.clone(), to));
        let batch = Batch { cell_count: cells.len(), columns: columns.collect::<Result<_>>()? };
        *next = cells.end;
        self.left -= cells.len() as u64;
        if cells.end == step.cell_count || self.left == 0 {
            self.held = None;
        }
        Ok(Some(batch))
    }
}

/// A number of cells that memory may have to hold.
fn cells(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_space::UNSTOPPED;
    use smalti_tile::Column;
    use smalti_types::{AlignedBuf, CellValNum, Datatype};

    #[test]
    fn the_steps_to_come_are_counted_as_they_come() {
        for (cell_count, batch_cell_count, limit) in
            [(0, 10, None), (1, 10, None), (5000, 10, None), (10_000_000, 1000, None), (700, 100, Some(250))]
        {
            let batch_cell_count = Some(batch_cell_count);
            let request = ReadRequest { batch_cell_count, limit, ..ReadRequest::default() };
            let mut steps = Steps::new(&request, false, &[]);
            let (counted, mut seen, mut left) = (steps.count(cell_count as u64), 0, cell_count);
            while let Some(_batch) = steps
                .next(Output::fresh(UNSTOPPED), |most| {
                    let cell_count = most.min(left);
                    left -= cell_count;
                    seen += u64::from(cell_count > 0);
                    Ok((cell_count > 0).then_some(Batch { cell_count, columns: Vec::new() }))
                })
                .unwrap()
            {}
            assert_eq!(counted, seen, "{cell_count} {request:?}");
        }
        let endless = Steps::new(&ReadRequest::default(), false, &[]).count(u64::MAX);
        assert!(endless > 1 << 20, "{endless}");
    }

    #[test]
    fn steps_grow_and_batches_are_cut_out_of_them() {
        let shape =
            CellShape { datatype: Datatype::StringAscii, cell_val_num: CellValNum::Var, is_nullable: true };
        let fields = [ResultField { name: "s".into(), shape, is_dimension: false }];
        let request = ReadRequest { batch_cell_count: Some(1000), ..ReadRequest::default() };
        let mut steps = Steps::new(&request, false, &fields);
        let (mut asked, mut sizes, mut text) = (Vec::new(), Vec::new(), Vec::<u8>::new());
        loop {
            let batch = steps.next(Output::fresh(UNSTOPPED), |cell_count| {
                asked.push(cell_count);
                if asked.len() > 5 {
                    return Ok(None);
                }
                let mut column = Column::default();
                column.data.extend_from_slice(&vec![asked.len() as u8; 2 * 2500])?;
                let offsets: Vec<u64> = (0..=2500).map(|cell| cell * 2).collect();
                let mut buffer = AlignedBuf::default();
                buffer.extend_from_slice(bytemuck::cast_slice(&offsets))?;
                column.offsets = Some(buffer);
                let mut validity = AlignedBuf::default();
                validity.extend_from_slice(&[1; 2500])?;
                column.validity = Some(validity);
                Ok(Some(Batch { cell_count: 2500, columns: vec![column] }))
            });
            let Some(batch) = batch.unwrap() else { break };
            sizes.push(batch.cell_count);
            let column = &batch.columns[0];
            assert_eq!(column.validity.as_ref().unwrap().len(), batch.cell_count);
            let offsets: &[u64] = column.offsets.as_ref().unwrap().values();
            assert_eq!((offsets[0], offsets[batch.cell_count]), (0, 2 * batch.cell_count as u64));
            text.extend(column.data.as_slice());
        }
        assert_eq!(
            asked,
            [
                4096,
                32_768,
                262_144,
                DEFAULT_BATCH_CELL_COUNT,
                DEFAULT_BATCH_CELL_COUNT,
                DEFAULT_BATCH_CELL_COUNT
            ]
        );
        assert_eq!(sizes, [1000, 1000, 500].repeat(5));
        assert_eq!(text, [1, 2, 3, 4, 5].map(|step: u8| vec![step; 5000]).concat());
    }
    #[test]
    fn steps_ask_for_no_more_than_a_limit_leaves_unless_cells_are_left_out() {
        let ask = |leaves_out: bool| {
            let request =
                ReadRequest { batch_cell_count: Some(30), limit: Some(100), ..ReadRequest::default() };
            let mut steps = Steps::new(&request, leaves_out, &[]);
            let (mut asked, mut sizes) = (Vec::new(), Vec::new());
            while let Some(batch) = steps
                .next(Output::fresh(UNSTOPPED), |cell_count| {
                    asked.push(cell_count);
                    Ok(Some(Batch { cell_count: cell_count.div_ceil(2), columns: Vec::new() }))
                })
                .unwrap()
            {
                sizes.push(batch.cell_count);
            }
            assert_eq!(sizes.iter().sum::<usize>(), 100);
            assert!(sizes.iter().all(|size| *size <= 30));
            asked
        };
        assert_eq!(ask(false), [30, 85, 42, 21, 10, 5, 2, 1]);
        assert_eq!(ask(true), [30, 240]);
    }
}
