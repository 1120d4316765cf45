//! Reads: from a request to a stream of batches.

use crate::condition::{BoundCondition, BoundField};
use crate::count::Count;
use crate::current_domain;
use crate::dense::DenseBatches;
use crate::explanation::{self, Explanation, Strategy};
use crate::field_statistics::FieldStatistics;
use crate::fields::{check_layout, result_field, result_fields};
use crate::folded::Folded;
use crate::gather::{CellRun, Output, Room, gather_lists};
use crate::labels::{self, LabelFields, LabelsAlone};
use crate::part::OrderPart;
use crate::progress::{Announced, Phase, Progress};
use crate::ranges;
use crate::request::{Batch, ReadRequest, ResultField};
use crate::sparse::{DeleteHistory, SparseBatches, SparsePlan};
use crate::steps::Steps;
use smalti_array::{FieldId, Snapshot};
use smalti_space::CELLS_BETWEEN_CHECKS;
use smalti_tile::{Column, ColumnRef};
use smalti_types::parallel::{self, Workers};
use smalti_types::{Error, Layout, Result, Spares};
use std::mem;
use std::sync::Arc;

/// The batches of a read, made as they are pulled. An error ends the stream.
pub struct Batches {
    fields: Vec<ResultField>,
    labels: Option<LabelFields>,
    progress: Arc<Progress>,
    /// Buffers for batches.
    spares: Arc<Spares>,
    /// Of a read that is no part of other work: its phase.
    announced: Announced,
    state: State,
    steps: Steps,
    is_unwritten: bool,
    /// Whether nothing keeps a vacuum from taking files away that the read wants.
    is_unclaimed: bool,
    /// Who stood by when the read was planned.
    owner: Option<Arc<Workers>>,
    /// Who helps: those that stood by when the read was planned, if it is large enough.
    workers: Option<Arc<Workers>>,
}

/// Reads of fewer bytes are done by the thread that asks for them, and start no other.
const FEWEST_BYTES_TO_SHARE: u64 = 1 << 18;

/// Dense reads of little out of so many tiles are shared out nevertheless: whole tiles are decoded for it, if they take so many bytes.
const FEWEST_TILES_TO_SHARE: u64 = 4;
const FEWEST_TILE_BYTES_TO_SHARE: u64 = 1 << 20;

/// What a value of any length is taken for.
const TYPICAL_BYTE_LEN: u64 = 16;

enum State {
    Dense(Box<DenseBatches>),
    Sparse(Box<SparseBatches>),
    /// Nothing but labels.
    Labels(Box<LabelsAlone>),
    Done,
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("fields", &self.fields).finish_non_exhaustive()
    }
}

/// Starts a read of a snapshot.
///
/// # Errors
/// `InvalidArgument` for unknown fields, ranges that do not fit the dimensions, or an order that the array does not have;
/// `Corrupt` from the fragments' metadata. No cell is read yet.
pub fn read(snapshot: &Snapshot, request: &ReadRequest) -> Result<Batches> {
    ranges::check(snapshot.schema(), &request.ranges, request.is_strict)?;
    let skipping = request.skips_checksums.then(|| snapshot.skipping_checksums());
    let snapshot = skipping.as_ref().unwrap_or(snapshot);
    if snapshot.schema().dimension_labels.is_empty() && request.label_ranges.is_empty() {
        return read_cells(snapshot, request);
    }
    // What reads the labels stops when the read is stopped.
    let progress = request.progress.clone().unwrap_or_default();
    let request = &ReadRequest { progress: Some(Arc::clone(&progress)), ..request.clone() };
    let (resolved, is_empty) = match labels::resolved(snapshot, request)? {
        Some(resolved) => (resolved, false),
        None => (ReadRequest { label_ranges: Vec::new(), ..request.clone() }, true),
    };
    if let Some((fields, alone)) = LabelsAlone::new(snapshot, &resolved)? {
        let state = if is_empty { State::Done } else { State::Labels(Box::new(alone)) };
        let steps = Steps::new(request, false, &fields);
        let announced = progress.announce(&[Phase::Reading]);
        let batches = Batches {
            fields,
            labels: None,
            progress,
            spares: spares_of(snapshot),
            announced,
            state,
            steps,
            is_unwritten: false,
            is_unclaimed: !snapshot.is_leased(),
            owner: None,
            workers: None,
        };
        return Ok(batches.with_workers());
    }
    let mut batches = match LabelFields::new(snapshot, &resolved)? {
        None => read_cells(snapshot, &resolved)?,
        Some((cells, labels)) => {
            let mut batches = read_cells(snapshot, &cells)?;
            batches.fields = labels.fields(&batches.fields, &request.fields);
            batches.labels = Some(labels);
            batches
        }
    };
    if is_empty {
        batches.state = State::Done;
    }
    Ok(batches)
}

/// A read without dimension labels.
pub(crate) fn read_cells(snapshot: &Snapshot, request: &ReadRequest) -> Result<Batches> {
    snapshot.check_history()?;
    begin(snapshot, request).map_err(|error| snapshot.explain_missing(error))
}

fn begin(snapshot: &Snapshot, request: &ReadRequest) -> Result<Batches> {
    let schema = snapshot.schema();
    let layout = check_layout(schema, request.layout)?;
    let fields = result_fields(schema, &request.fields)?;
    let condition = request
        .condition
        .as_ref()
        .map(|condition| BoundCondition::bind(condition, schema, &|name| snapshot.enumeration(name)))
        .transpose()?;
    let progress = request.progress.clone().unwrap_or_default();
    let announced = progress.announce(&[Phase::Reading]);
    let state = if schema.is_dense() {
        State::Dense(Box::new(DenseBatches::new(snapshot, request, layout, &fields, condition, &progress)?))
    } else if let Some(request) = current_domain::narrowed(snapshot, request) {
        let plan = SparsePlan::new(snapshot, &request, layout, &fields, condition, &progress, None)?;
        State::Sparse(Box::new(SparseBatches::new(plan)))
    } else {
        State::Done
    };
    let has_attributes = fields.iter().any(|(id, _)| matches!(id, FieldId::Attribute(_)));
    let is_unwritten = has_attributes && matches!(&state, State::Dense(dense) if dense.is_unwritten());
    let fields: Vec<ResultField> = fields.into_iter().map(|(_, field)| field).collect();
    let leaves_out = !schema.is_dense() || request.leaves_out || request.written_only;
    let steps = steps_of(request, leaves_out, &fields, &state);
    let batches = Batches {
        fields,
        labels: None,
        progress,
        spares: spares_of(snapshot),
        announced,
        state,
        steps,
        is_unwritten,
        is_unclaimed: !snapshot.is_leased(),
        owner: None,
        workers: None,
    };
    Ok(batches.with_workers())
}

/// Starts a read of every version of every cell of a sparse array as it is stored, in no order: nothing hides anything, and deletes are
/// not looked at. So it takes no longer than decoding does. Of the request the fields, the memory and the rest of what has no say in which cells
/// are read is heeded.
///
/// # Errors
/// As [`read`]; `InvalidArgument` for dense arrays.
pub fn read_versions(snapshot: &Snapshot, request: &ReadRequest) -> Result<Batches> {
    let schema = snapshot.schema();
    if schema.is_dense() {
        return Err(Error::invalid("cells of dense arrays are not stored one by one"));
    }
    let fields = result_fields(schema, &request.fields)?;
    versions(snapshot, fields, Layout::Unordered, DeleteHistory::default(), request)
}

/// Starts a read of every version of every cell of a sparse array, in global order, those of equal coordinates newest first.
/// The condition of a delete is a place in the history's list.
///
/// # Errors
/// As [`read`]; `Corrupt` from delete commits.
pub(crate) fn read_history(
    snapshot: &Snapshot,
    fields: &[FieldId],
    history: &DeleteHistory,
    request: &ReadRequest,
) -> Result<Batches> {
    let schema = snapshot.schema();
    let fields = fields.iter().map(|id| result_field(schema, *id)).collect::<Result<Vec<_>>>()?;
    versions(snapshot, fields, Layout::GlobalOrder, history.clone(), request)
}

fn versions(
    snapshot: &Snapshot,
    fields: Vec<(FieldId, ResultField)>,
    layout: Layout,
    history: DeleteHistory,
    request: &ReadRequest,
) -> Result<Batches> {
    let progress = request.progress.clone().unwrap_or_default();
    let announced = progress.announce(&[Phase::Reading]);
    let plan = SparsePlan::new(snapshot, request, layout, &fields, None, &progress, Some(history))?;
    let fields: Vec<ResultField> = fields.into_iter().map(|(_, field)| field).collect();
    let state = State::Sparse(Box::new(SparseBatches::new(plan)));
    let steps = steps_of(request, true, &fields, &state);
    let batches = Batches {
        fields,
        labels: None,
        progress,
        spares: spares_of(snapshot),
        announced,
        state,
        steps,
        is_unwritten: false,
        is_unclaimed: !snapshot.is_leased(),
        owner: None,
        workers: None,
    };
    Ok(batches.with_workers())
}

/// Small steps where each tile is decoded once anyway.
fn steps_of(request: &ReadRequest, leaves_out: bool, fields: &[ResultField], state: &State) -> Steps {
    let mut steps = Steps::new(request, leaves_out, fields);
    if matches!(state, State::Sparse(batches) if batches.plan().stretches.iter().all(|stretch| stretch.is_stored))
    {
        steps.stay_small();
    }
    steps
}

fn spares_of(snapshot: &Snapshot) -> Arc<Spares> {
    Arc::clone(snapshot.place().resources().spares())
}

impl Batches {
    /// Takes those that stand by as workers, if there is enough to do.
    fn with_workers(mut self) -> Batches {
        self.owner = parallel::standing_by();
        self.workers = self.owner.clone().filter(|workers| {
            let field_byte_len = |field: &ResultField| match field.shape.is_var() {
                true => TYPICAL_BYTE_LEN,
                false => field.shape.cell_byte_len() as u64,
            };
            let cell_byte_len = self.fields.iter().map(field_byte_len).sum::<u64>();
            let most = self.cell_count().most().saturating_mul(cell_byte_len.max(8));
            workers.count() > 1 && (most >= FEWEST_BYTES_TO_SHARE || self.has_tiles_to_share(cell_byte_len))
        });
        self
    }

    /// Whether little is read, but many bytes of tiles are decoded for it.
    fn has_tiles_to_share(&self, cell_byte_len: u64) -> bool {
        let State::Dense(dense) = &self.state else { return false };
        let count = dense.met_tile_count();
        let tile_byte_len =
            dense.plan().grid.cell_count_per_tile().unwrap_or(u64::MAX).saturating_mul(cell_byte_len);
        count >= FEWEST_TILES_TO_SHARE && count.saturating_mul(tile_byte_len) >= FEWEST_TILE_BYTES_TO_SHARE
    }

    /// Does work on the cells of the read: on the threads of its context if it is large enough for them, and otherwise on this one.
    #[doc(hidden)]
    pub fn run<T: Send>(&mut self, work: impl FnOnce(&mut Batches) -> T + Send) -> T {
        match self.workers.clone() {
            Some(workers) => workers.run(|| work(self)),
            None => work(self),
        }
    }

    /// [Does](Batches::run) work that begins with the next batch. The end is told on this thread: waking another one for it takes as
    /// long as a small batch.
    #[doc(hidden)]
    pub fn run_next<T: Send>(&mut self, work: impl FnOnce(&mut Batches) -> T + Send) -> T {
        match self.are_over() {
            true => work(self),
            false => self.run(work),
        }
    }

    /// Whether it is known that no cells are left, without looking for any.
    fn are_over(&self) -> bool {
        let are_over = match &self.state {
            State::Dense(batches) => batches.are_over(),
            State::Sparse(batches) => batches.are_over(),
            State::Labels(_) => false,
            State::Done => true,
        };
        are_over && !self.steps.are_held()
    }

    /// The fields of every batch.
    pub fn fields(&self) -> &[ResultField] {
        &self.fields
    }

    /// Whether nothing was ever written where attributes of a dense array are read: all cells of the result have fill values. Never
    /// so of sparse arrays.
    pub fn is_unwritten(&self) -> bool {
        self.is_unwritten
    }

    /// What the read has done so far, and where it can be stopped.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Whether the next batch takes no time to speak of: its cells were decoded with those of the last one.
    pub fn is_ready(&self) -> bool {
        self.steps.are_held() || matches!(&self.state, State::Sparse(batches) if batches.are_ready())
    }

    /// The cells of all batches that are left, as one batch. Columns of the parts are let go as soon as they are copied.
    ///
    /// # Errors
    /// What reading a batch reports; `OutOfMemory` when they do not fit side by side.
    pub fn join(&mut self) -> Result<Batch> {
        self.run(Batches::joined)
    }

    fn joined(&mut self) -> Result<Batch> {
        self.steps.widen();
        let mut parts = self.collect::<Result<Vec<Batch>>>()?;
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return Ok(only);
        }
        let check = || self.progress.check();
        let lists = parts.iter().enumerate().map(|(slot, part)| whole(slot, part.cell_count));
        let lists = lists.collect::<Result<Vec<Vec<CellRun>>>>()?;
        let columns = self.fields.iter().enumerate().map(|(idx, field)| {
            let columns: Vec<Column> =
                parts.iter_mut().map(|part| mem::take(&mut part.columns[idx])).collect();
            let columns: Vec<ColumnRef<'_>> = columns.iter().map(Column::as_ref).collect();
            gather_lists(&lists, &columns, field.shape, Output::in_spares(&self.spares, &check))
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Batch { cell_count: parts.iter().map(|part| part.cell_count).sum(), columns })
    }

    /// How the read would be carried out.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn explanation(&self, snapshot: &Snapshot) -> Result<Explanation> {
        let (mut explanation, round_count) = match &self.state {
            State::Dense(batches) => {
                (batches.explanation(snapshot)?, self.steps.count(self.cell_count().most()))
            }
            State::Sparse(batches) => {
                let explanation = batches.explanation()?;
                let share_count = explanation.byte_len.div_ceil(batches.plan().share_byte_len().max(1));
                (explanation, share_count.max(1))
            }
            State::Labels(_) | State::Done => {
                (explanation::blank(snapshot, Layout::RowMajor, Strategy::Nothing), 0)
            }
        };
        explanation.round_count = round_count.min(explanation.request_count);
        Ok(explanation)
    }

    /// The cells of the read, as its plan knows them.
    pub(crate) fn cell_count(&self) -> Count {
        match &self.state {
            State::Dense(batches) => batches.cell_count(),
            State::Sparse(batches) => batches.plan().known_cell_count(),
            State::Labels(labels) => Count::Exact(labels.cell_count()),
            State::Done => Count::Exact(0),
        }
    }

    /// The bytes of the columns of a sparse read with values of any length; `None` of others.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn byte_len(&self) -> Result<Option<Count>> {
        match &self.state {
            State::Sparse(batches) if self.labels.is_none() => batches.plan().known_byte_len().map(Some),
            State::Done => Ok(Some(Count::Exact(0))),
            _ => Ok(None),
        }
    }

    /// What is known of the values of a field; `None` where nothing is.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn field_statistics(
        &self,
        field: &BoundField,
        cells: Count,
    ) -> Result<Option<FieldStatistics>> {
        match &self.state {
            State::Dense(batches) => batches.plan().field_statistics(field, cells).map(Some),
            State::Sparse(batches) => batches.plan().field_statistics(field, cells).map(Some),
            State::Labels(_) | State::Done => Ok(None),
        }
    }

    /// Requests that give the cells of a request one after the other, at most so many, and about how many bytes each. This is what the
    /// request asks for, not begun.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn divided(&self, request: &ReadRequest, count: usize) -> Result<Vec<(ReadRequest, u64)>> {
        let by_ranges = |(ranges, byte_len)| (ReadRequest { ranges, ..request.clone() }, byte_len);
        Ok(match &self.state {
            State::Dense(batches) => {
                batches.divided(&request.ranges, count).into_iter().map(by_ranges).collect()
            }
            State::Sparse(batches) => {
                let parts = batches.plan().divided(count)?.into_iter();
                let by_part = |(part, byte_len)| {
                    let part = Some(part).filter(|part| *part != OrderPart::default());
                    (ReadRequest { part, ..request.clone() }, byte_len)
                };
                parts.map(by_part).collect()
            }
            State::Labels(labels) => {
                labels.divided(&request.ranges, count).into_iter().map(by_ranges).collect()
            }
            State::Done => vec![(request.clone(), 0)],
        })
    }

    /// Folds the next cells of an aggregate; `false` when there are none.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn fold_next(&mut self, folded: &mut [Folded]) -> Result<bool> {
        self.progress.check()?;
        let has_more = self.run(|this| match &mut this.state {
            State::Dense(batches) => batches.fold_next(folded),
            State::Sparse(batches) => batches.fold_next(folded),
            State::Labels(_) | State::Done => Ok(false),
        })?;
        if !has_more {
            self.end();
        }
        Ok(has_more)
    }

    /// Nothing is left to be read.
    fn end(&mut self) {
        self.state = State::Done;
        self.announced.complete(Phase::Reading);
    }

    /// From now on a batch has the cells that are decoded together, for those who cut batches themselves: returns how many cells each should have.
    #[doc(hidden)]
    pub fn leave_whole(&mut self) -> usize {
        self.steps.leave_whole()
    }

    /// From now on [`next_into`](Batches::next_into) says how many cells a batch has, unless the read has a limit.
    pub(crate) fn widen(&mut self) {
        self.steps.widen();
    }

    /// The mean bytes of the values of a cell of each field, as the metadata of some tiles says.
    pub(crate) fn mean_byte_lens(&self) -> Vec<usize> {
        let of_field = |(idx, field): (usize, &ResultField)| {
            if !field.shape.is_var() {
                return field.shape.cell_byte_len();
            }
            let known = match &self.state {
                State::Dense(batches) => batches.plan().mean_var_byte_len(idx),
                State::Sparse(batches) => batches.plan().mean_var_byte_len(idx),
                State::Labels(_) | State::Done => None,
            };
            known.unwrap_or(TYPICAL_BYTE_LEN as usize).max(1)
        };
        self.fields.iter().enumerate().map(of_field).collect()
    }

    /// Whether no tile is decoded more often for smaller batches, as long as a tile fits into one.
    pub(crate) fn goes_tile_after_tile(&self) -> bool {
        match &self.state {
            State::Dense(batches) => batches.plan().axes.len() == 1,
            State::Sparse(_) => true,
            State::Labels(_) | State::Done => false,
        }
    }

    /// The next batch, of about so many cells, into `rooms` where they hold its columns: those are empty in the batch then.
    pub(crate) fn next_into(&mut self, cell_count: usize, rooms: &mut [Room<'_>]) -> Option<Result<Batch>> {
        let is_wide = self.labels.is_none() && self.steps.are_wide();
        if self.steps.are_wide() {
            self.steps.set_step(cell_count);
        }
        self.advance(if is_wide { rooms } else { &mut [] })
    }

    fn pull(&mut self, rooms: &mut [Room<'_>]) -> Result<Option<Batch>> {
        let Batches { progress, spares, state, steps, .. } = self;
        let pull = |max_cell_count| match state {
            State::Dense(batches) => batches.pull(max_cell_count, rooms),
            State::Sparse(batches) => batches.pull(max_cell_count, rooms),
            State::Labels(labels) => labels.pull(max_cell_count),
            State::Done => Ok(None),
        };
        steps.next(Output::in_spares(spares, &|| progress.check()), pull)
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        self.advance(&mut [])
    }
}

impl Batches {
    /// The next batch, into `rooms` where they hold its columns.
    fn advance(&mut self, rooms: &mut [Room<'_>]) -> Option<Result<Batch>> {
        if matches!(self.state, State::Done) {
            return None;
        }
        if self.steps.are_done() {
            self.end();
            return None;
        }
        if let Some(Err(error)) = self.owner.as_ref().map(|owner| owner.check_process()) {
            return Some(Err(error));
        }
        let pulled = self.run_next(|this| {
            let pulled = this.progress.check().and_then(|()| this.pull(rooms));
            pulled.and_then(|batch| match (&this.labels, batch) {
                (Some(labels), Some(batch)) => labels.apply(batch).map(Some),
                (_, batch) => Ok(batch),
            })
        });
        if let Ok(Some(batch)) = &pulled {
            self.progress.count_cells(batch.cell_count as u64);
        }
        match &pulled {
            Ok(Some(_)) => {}
            Ok(None) => self.end(),
            Err(_) => self.state = State::Done,
        }
        let is_unclaimed = self.is_unclaimed;
        let explained = |error| if is_unclaimed { smalti_array::explain_missing(error) } else { error };
        pulled.map_err(explained).transpose()
    }
}

/// All cells of a batch, in runs that can be copied one by one.
fn whole(slot: usize, cell_count: usize) -> Result<Vec<CellRun>> {
    let too_many = || Error::unsupported(format!("a batch of {cell_count} cells cannot be joined to others"));
    let run = |start: usize| {
        let len = (cell_count - start).min(CELLS_BETWEEN_CHECKS) as u32;
        Ok(CellRun { slot: slot as u32, start: u32::try_from(start).map_err(|_| too_many())?, len })
    };
    (0..cell_count).step_by(CELLS_BETWEEN_CHECKS).map(run).collect()
}
