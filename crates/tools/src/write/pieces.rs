//! Writes of more cells than their budget has room for, piece by piece: dense ones row after row of tiles into one fragment,
//! sparse ones into several that one commit shows, or, where they come in global order, into one.

use crate::cells::{Field, Region, cell_count_of, place, rows_of};
use crate::failure::{Failure, Outcome};
use crate::formats::{Cells, Held, NpyValues, Room, append, behind};
use smalti::{
    Array, Column, ColumnRef, Columns, Duplicates, Extent, GlobalWriter, Layout, Phase, Progress,
    SealedFragment, SharedWrite, WriteRequest, WrittenFragment,
};
use std::io::Read;
use std::sync::Arc;

/// What a write in pieces needs to know.
pub(super) struct Pieces<'a> {
    pub(super) array: &'a Array,
    pub(super) at: Option<u64>,
    pub(super) share: Option<SharedWrite>,
    pub(super) room: &'a Room,
    pub(super) work: &'a Arc<Progress>,
    /// The name of the array in messages.
    pub(super) uri: &'a str,
}

/// What the way of cells into a fragment may take beyond the budget: when there is no room for more is told by their number and mean length.
const BEYOND_BYTE_LEN: u64 = 32 << 20;

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The fragments, which became visible together.
    pub fragments: Vec<WrittenFragment>,
    /// How many cells they have.
    pub cell_count: u64,
}

impl Written {
    pub(super) fn one((fragment, cell_count): (WrittenFragment, usize)) -> Self {
        Written { fragments: vec![fragment], cell_count: cell_count as u64 }
    }
}

impl<'a> Pieces<'a> {
    fn refused(&self) -> impl Fn(smalti::Error) -> Failure {
        let uri = self.uri.to_owned();
        move |error| Failure::Error(error.at_uri(&uri))
    }

    /// A writer of a rectangle whose cells come in an order; `None` where the tiles of the array do not follow each other so.
    pub(super) fn rows(&self, subarray: &[Extent], layout: Layout) -> Option<GlobalWriter> {
        let writer = self.array.global_writer().rectangle(subarray.to_vec()).order(layout);
        let writer = match self.at {
            Some(at) => writer.at(at),
            None => writer,
        };
        writer.progress(Arc::clone(self.work), None).start().ok()
    }

    /// Writes the values of a NumPy file row after row of tiles, as they are read.
    pub(super) fn write_npy<R: Read>(
        &self,
        mut values: NpyValues<R>,
        mut writer: GlobalWriter,
    ) -> Outcome<Written> {
        let cell_byte_len = values.field().cell_byte_len();
        let mut cell_count = 0;
        loop {
            let due = writer.due_cell_count();
            if due == 0 {
                break;
            }
            let byte_len = due.saturating_mul(cell_byte_len);
            let held = Held { byte_len: byte_len as u64, cell_count: due as u64, ..Held::default() };
            self.room.check_work(held, 0)?;
            self.work.resume(Phase::Reading);
            let cells = vec![values.next(byte_len)?];
            self.work.resume(Phase::Writing);
            if cell_count == 0 {
                self.room.check_work(held, self.work_byte_len(&cells))?;
            }
            writer.submit(named(&cells)).map_err(self.refused())?;
            cell_count += due;
        }
        self.work.resume(Phase::Reading);
        values.end()?;
        self.work.resume(Phase::Writing);
        Ok(Written::one((writer.commit().map_err(self.refused())?, cell_count)))
    }

    /// What writing cells takes beside them.
    fn work_byte_len(&self, cells: &Cells) -> u64 {
        self.array.write_byte_len(&self.request(cells, Layout::Unordered, None))
    }

    fn request<'c>(&self, cells: &'c Cells, layout: Layout, at: Option<u64>) -> WriteRequest<'c> {
        let columns = cells.iter().map(|(field, column)| (field.name.clone(), column.as_ref()));
        WriteRequest {
            columns: columns.collect::<Vec<(String, ColumnRef<'_>)>>(),
            subarray: None,
            layout,
            at: at.or(self.at),
            duplicates: Duplicates::default(),
            progress: Some(Arc::clone(self.work)),
        }
    }
}

fn named(cells: &Cells) -> Columns<'_> {
    cells
        .iter()
        .fold(Columns::new(), |named, (field, column)| named.column(field.name.clone(), column.as_ref()))
}

fn row_count(cells: &Cells) -> usize {
    cells.first().map_or(0, |(field, column)| cell_count_of(field, column))
}

/// Sparse cells, as many at a time as there is room for.
pub(super) struct Chunks<'a> {
    pieces: Pieces<'a>,
    layout: Layout,
    /// Of cells in any order.
    sealed: Vec<SealedFragment>,
    /// Of a shared write.
    put: Vec<WrittenFragment>,
    /// Of cells in global order.
    writer: Option<GlobalWriter>,
    cell_count: usize,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(pieces: Pieces<'a>, layout: Layout) -> Self {
        Chunks { pieces, layout, sealed: Vec::new(), put: Vec::new(), writer: None, cell_count: 0 }
    }

    /// Whether cells were taken.
    pub(super) fn is_begun(&self) -> bool {
        self.cell_count > 0
    }

    /// Takes cells.
    pub(super) fn add(&mut self, cells: Cells) -> Outcome {
        let pieces = &self.pieces;
        if row_count(&cells) == 0 {
            return Ok(());
        }
        if self.layout == Layout::GlobalOrder && pieces.share.is_none() {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                none => {
                    let writer = pieces.array.global_writer();
                    let writer = match pieces.at {
                        Some(at) => writer.at(at),
                        None => writer,
                    };
                    let watched = writer.progress(Arc::clone(pieces.work), None);
                    none.insert(watched.start().map_err(pieces.refused())?)
                }
            };
            pieces.work.resume(Phase::Writing);
            writer.submit(named(&cells)).map_err(pieces.refused())?;
        } else {
            let work = pieces.work_byte_len(&cells).saturating_sub(BEYOND_BYTE_LEN);
            pieces.room.check_work(held(&cells), work)?;
            let at = self.sealed.first().map(SealedFragment::timestamp);
            let request = pieces.request(&cells, self.layout, at);
            match &pieces.share {
                Some(share) => {
                    self.put.push(pieces.array.put_raw(&request, share).map_err(pieces.refused())?)
                }
                None => self.sealed.push(pieces.array.seal_raw(&request).map_err(pieces.refused())?),
            }
            pieces.work.complete(Phase::Syncing);
        }
        pieces.work.resume(Phase::Reading);
        self.cell_count += row_count(&cells);
        Ok(())
    }

    /// Writes what is left, and makes all of it visible.
    pub(super) fn finish(mut self, rest: Cells) -> Outcome<Written> {
        self.add(rest)?;
        let pieces = self.pieces;
        if let Some(writer) = self.writer {
            let fragment = writer.commit().map_err(pieces.refused())?;
            return Ok(Written::one((fragment, self.cell_count)));
        }
        if pieces.share.is_some() {
            return Ok(Written { fragments: self.put, cell_count: self.cell_count as u64 });
        }
        // A count of many fragments cannot do with very little.
        let memory = usize::try_from(pieces.room.budget().byte_len().max(BEYOND_BYTE_LEN)).ok();
        let is_unique = self.sealed.len() < 2
            || pieces.array.schema().allows_dups
            || pieces.array.count_sealed(&self.sealed, memory)? == self.cell_count as u64;
        if !is_unique {
            return Err(Failure::invalid(
                "two cells have the same coordinates, which the array does not allow; nothing was written. With more --memory, so that \
                 they come to be in memory together, the message names them",
            ));
        }
        pieces.work.check()?;
        let fragments = pieces.array.commit_together(self.sealed).map_err(pieces.refused())?;
        Ok(Written { fragments, cell_count: self.cell_count as u64 })
    }
}

/// Dense cells with their coordinates, which come row after row of tiles, in any order inside of each.
pub(super) struct Rows<'a> {
    pieces: Pieces<'a>,
    writer: GlobalWriter,
    region: Region,
    /// How many positions on the first dimension are written.
    done: u64,
    waiting: Cells,
    cell_count: usize,
}

impl<'a> Rows<'a> {
    /// Rows of tiles of a rectangle; `None` where the tiles of the array do not follow each other so.
    pub(super) fn new(pieces: Pieces<'a>, subarray: &[Extent]) -> Outcome<Option<Self>> {
        let region = Region::new(subarray)?;
        let writer = pieces.rows(subarray, Layout::RowMajor);
        Ok(writer.map(|writer| Rows { pieces, writer, region, done: 0, waiting: Vec::new(), cell_count: 0 }))
    }

    /// Whether cells were taken.
    pub(super) fn is_begun(&self) -> bool {
        !self.waiting.is_empty() || self.cell_count > 0
    }

    /// Takes cells.
    pub(super) fn add(&mut self, cells: Cells) -> Outcome {
        if self.waiting.is_empty() {
            self.waiting = cells;
        } else {
            for ((field, column), (other, more)) in self.waiting.iter_mut().zip(&cells) {
                if field.name != other.name {
                    return Err(Failure::invalid(format!(
                        "the cells have {:?} where those before have {:?}; name all fields in every row",
                        other.name, field.name
                    )));
                }
                append(column, more)?;
            }
        }
        while self.write_row()? {}
        // A row of tiles: as it waits, its cells alone, and in their order.
        let held = held(&self.waiting);
        self.pieces.room.check_work(held, held.byte_len.saturating_mul(2))
    }

    /// Writes the row of tiles that is due, if all of its cells are there.
    fn write_row(&mut self) -> Outcome<bool> {
        let due = self.writer.due_cell_count();
        let waiting_count = row_count(&self.waiting);
        if due == 0 || waiting_count < due {
            return Ok(false);
        }
        let Some(&(start, _)) = self.region.ranges.first() else { return Ok(false) };
        let line: usize = self.region.shape().iter().skip(1).product();
        let lo = start.saturating_add(self.done);
        let hi = lo.saturating_add((due / line.max(1)) as u64).saturating_sub(1);
        let (mut own, mut others) = (Vec::with_capacity(due), Vec::new());
        match self.waiting.iter().find(|(field, _)| field.is_dimension) {
            Some((field, column)) => {
                let (cells, byte_len) = (column.as_ref(), field.datatype.byte_len());
                for row in 0..waiting_count {
                    let ordinal = field.datatype.ordinal(cells.cell(row, byte_len))?;
                    // What lies before was given twice, which is found when it is put in its place.
                    if ordinal <= hi { own.push(row) } else { others.push(row) }
                }
            }
            None => {
                own.extend(0..due);
                others.extend(due..waiting_count);
            }
        }
        if own.len() < due {
            return Ok(false);
        }
        let picked = |rows: &[usize]| -> Outcome<Cells> {
            let cells = self.waiting.iter();
            cells.map(|(field, column)| Ok((field.clone(), rows_of(field, column, rows)?))).collect()
        };
        let (row, rest) = (picked(&own)?, picked(&others)?);
        self.waiting = rest;
        let mut ranges = self.region.ranges.clone();
        if let Some(side) = ranges.first_mut() {
            *side = (lo, hi);
        }
        let placed =
            place(row, &Region { ranges }).map_err(|failure| behind(failure, self.cell_count as u64))?;
        self.pieces.work.resume(Phase::Writing);
        self.writer.submit(named(&placed)).map_err(self.pieces.refused())?;
        self.pieces.work.resume(Phase::Reading);
        self.done += hi - lo + 1;
        self.cell_count += due;
        Ok(true)
    }

    /// Writes what is left, and makes it visible.
    pub(super) fn finish(mut self, rest: Cells) -> Outcome<Written> {
        self.add(rest)?;
        if self.writer.due_cell_count() > 0 || row_count(&self.waiting) > 0 {
            // Says what is missing, or too much.
            let mut ranges = self.region.ranges.clone();
            if let Some((lo, hi)) = ranges.first_mut() {
                *lo = lo.saturating_add(self.done).min(*hi);
            }
            let done = self.cell_count as u64;
            place(self.waiting, &Region { ranges }).map_err(|failure| behind(failure, done))?;
            return Err(Failure::invalid("the cells do not fill the range to write"));
        }
        let fragment = self.writer.commit().map_err(self.pieces.refused())?;
        Ok(Written::one((fragment, self.cell_count)))
    }
}

/// What the columns of a write take.
pub(super) fn held(columns: &[(Field, Column)]) -> Held {
    let byte_len = |column: &Column| {
        let parts = [Some(&column.data), column.offsets.as_ref(), column.validity.as_ref()];
        parts.into_iter().flatten().map(|part| part.len() as u64).sum::<u64>()
    };
    let byte_lens = || columns.iter().map(|(_, column)| byte_len(column));
    let cell_count = columns.first().map_or(0, |(field, column)| cell_count_of(field, column)) as u64;
    Held { byte_len: byte_lens().sum(), beside: byte_lens().max().unwrap_or(0), cell_count }
}
