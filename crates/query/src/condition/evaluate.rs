//! Conditions over whole columns.
//!
//! Cells are taken in blocks, and the nodes one after the other for each block: a combination opens a frame with the
//! bits of its children so far, a test folds its own in. So memory is a block's bits for each level of nesting, and what
//! cannot change the outcome is skipped.

use super::bound::{Absent, BoundCondition, BoundField, BoundNode, Leaf};
use super::cells::run_test;
use rayon::prelude::*;
use smalti_space::{BitMask, Check};
use smalti_tile::ColumnRef;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Result};
use std::ops::Range;

/// Cells of a block: a multiple of 64.
const BLOCK: usize = 1 << 13;
/// Cells of one parallel task.
const TASK: usize = 8 * BLOCK;

/// A combination whose children are being evaluated.
struct Frame {
    is_and: bool,
    /// The node behind its last child.
    end: usize,
    words: Vec<u64>,
}

impl BoundCondition {
    /// The cells for which the condition holds. `columns` are those of [`fields`](BoundCondition::fields), in that order,
    /// each with `cell_count` cells at least; `None` where the cells' fragment lacks the field.
    ///
    /// # Errors
    /// `InvalidArgument` when the number of columns is wrong; `Corrupt` when a column is too short, its offsets leave its
    /// data, or it lacks a part that its field has; what `check` returns.
    pub fn evaluate(
        &self,
        columns: &[Option<ColumnRef<'_>>],
        cell_count: usize,
        check: Check<'_>,
    ) -> Result<BitMask> {
        if columns.len() != self.fields.len() {
            return Err(Error::invalid(format!(
                "a condition on {} fields was given {} columns",
                self.fields.len(),
                columns.len()
            )));
        }
        let absent = self.absent_tests(columns)?;
        let mut words = Vec::new();
        words
            .try_reserve_exact(cell_count.div_ceil(64))
            .map_err(|_| Error::new(smalti_types::ErrorKind::OutOfMemory, format!("{cell_count} cells")))?;
        words.resize(cell_count.div_ceil(64), 0);
        let task = |(task_idx, words): (usize, &mut [u64])| {
            check()?;
            let (absent, spare) = (absent.as_slice(), Vec::new());
            let mut machine = Machine { condition: self, columns, absent, frames: Vec::new(), spare };
            let starts = (task_idx * TASK..cell_count).step_by(BLOCK);
            for (start, words) in starts.zip(words.chunks_mut(BLOCK / 64)) {
                let block = machine.block(start..cell_count.min(start + BLOCK))?;
                words.copy_from_slice(&block);
                machine.spare.push(block);
            }
            Ok::<(), Error>(())
        };
        if cell_count <= TASK {
            words.chunks_mut(TASK / 64).enumerate().try_for_each(task)?;
        } else {
            words.par_chunks_mut(TASK / 64).enumerate().shared().try_for_each(task)?;
        }
        Ok(BitMask::from_words(words, cell_count))
    }

    /// Per field that is absent, what each of its tests gives for the fill value, by node.
    fn absent_tests(&self, columns: &[Option<ColumnRef<'_>>]) -> Result<Vec<bool>> {
        if columns.iter().all(Option::is_some) || self.absent == Absent::Fails {
            return Ok(Vec::new());
        }
        let holds = |node: &BoundNode| match node {
            BoundNode::Leaf(leaf) if columns[leaf.field].is_none() => {
                self.fields[leaf.field].holds_for_fill(leaf)
            }
            _ => Ok(false),
        };
        self.nodes.iter().map(holds).collect()
    }
}

impl BoundField {
    fn holds_for_fill(&self, leaf: &Leaf) -> Result<bool> {
        let (offsets, validity) = ([0, self.fill.len() as u64], [u8::from(self.fill_valid)]);
        let column = if self.shape.is_var() {
            ColumnRef::var(&self.fill, &offsets)
        } else {
            ColumnRef::fixed(&self.fill)
        };
        let mut word = [0];
        run_test(&leaf.test, self.shape, column.with_validity(&validity), 0..1, &mut word)
            .map_err(|error| error.context(format_args!("the fill value of field {:?}", self.name)))?;
        Ok(word[0] & 1 == 1)
    }
}

struct Machine<'a> {
    condition: &'a BoundCondition,
    columns: &'a [Option<ColumnRef<'a>>],
    /// By node, whether a test of an absent field holds; empty when none is absent or no such test ever holds.
    absent: &'a [bool],
    frames: Vec<Frame>,
    /// Buffers to use again.
    spare: Vec<Vec<u64>>,
}

impl Machine<'_> {
    /// The bits of a block.
    fn block(&mut self, cells: Range<usize>) -> Result<Vec<u64>> {
        let nodes = &self.condition.nodes;
        let word_count = cells.len().div_ceil(64);
        let mut at = 0;
        loop {
            let Some(node) = nodes.get(at) else {
                return Err(Error::invalid("a condition without an end"));
            };
            let leaf = match node {
                BoundNode::Combination { is_and, span, .. } => {
                    let words = self.words(word_count, if *is_and { u64::MAX } else { 0 });
                    self.frames.push(Frame { is_and: *is_and, end: at + span, words });
                    at += 1;
                    continue;
                }
                BoundNode::Leaf(leaf) => leaf,
            };
            let mut words = self.words(word_count, 0);
            let resets = self.run(at, leaf, cells.clone(), &mut words)?;
            at += 1;
            // Folds what is finished into what it belongs to.
            let mut resets = resets;
            loop {
                let Some(frame) = self.frames.last_mut() else { return Ok(words) };
                let may_skip = fold(frame, &words, resets);
                resets = false;
                // In an `or`, a field that is absent may still take with it what stands before it.
                if may_skip && (frame.is_and || self.condition.absent == Absent::Filled) {
                    at = frame.end;
                }
                if at < frame.end {
                    self.spare.push(words);
                    break;
                }
                let Some(finished) = self.frames.pop() else { return Ok(words) };
                self.spare.push(std::mem::replace(&mut words, finished.words));
            }
        }
    }

    /// Runs a test; `true` when its field is absent and it takes what stands before it in an `or` with it.
    fn run(&self, node: usize, leaf: &Leaf, cells: Range<usize>, words: &mut [u64]) -> Result<bool> {
        let field = &self.condition.fields[leaf.field];
        match &self.columns[leaf.field] {
            Some(column) => {
                run_test(&leaf.test, field.shape, *column, cells, words)
                    .map_err(|error| error.context(format_args!("field {:?}", field.name)))?;
                Ok(false)
            }
            None => {
                let holds = self.absent.get(node).copied().unwrap_or(false);
                words.fill(if holds { u64::MAX } else { 0 });
                Ok(self.condition.absent == Absent::Fails)
            }
        }
    }

    fn words(&mut self, word_count: usize, value: u64) -> Vec<u64> {
        let mut words = self.spare.pop().unwrap_or_default();
        words.clear();
        words.resize(word_count, value);
        words
    }
}

/// Adds the bits of a child; `true` when the other children cannot change anything.
fn fold(frame: &mut Frame, child: &[u64], resets: bool) -> bool {
    let pairs = frame.words.iter_mut().zip(child);
    if frame.is_and {
        let mut any = 0;
        for (word, child) in pairs {
            *word &= child;
            any |= *word;
        }
        any == 0
    } else {
        let mut all = u64::MAX;
        for (word, child) in pairs {
            *word = if resets { *child } else { *word | child };
            all &= *word;
        }
        all == u64::MAX
    }
}
