//! Memory and codec contexts of tasks, and those that wait for the next read.

use crate::{Column, Scratch};
use smalti_types::{AlignedBuf, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What one task of a read or write needs besides its input and output.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Codec contexts and the filters' own buffers.
    pub scratch: Scratch,
    /// Filtered bytes as they come from the store.
    pub filtered: Vec<u8>,
    /// A decoded tile, or the wanted part of one.
    pub tile: Vec<u8>,
    /// The cells of a tile that is being written.
    pub cells: SpareColumn,
}

/// The buffers of a column that nobody needs any more, for another to be made in: pages that were touched before.
#[derive(Debug, Default)]
pub struct SpareColumn {
    data: AlignedBuf,
    offsets: AlignedBuf,
    validity: AlignedBuf,
}

impl SpareColumn {
    /// Buffers of some lengths, without offsets or validity where their length is `None`. The content is arbitrary.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses.
    pub fn column(&mut self, data: usize, offsets: Option<usize>, validity: Option<usize>) -> Result<Column> {
        let sized = |spare: &mut AlignedBuf, byte_len: usize| {
            let mut buffer = std::mem::take(spare);
            // Shortened first, so that nothing is copied where it has to grow.
            buffer.resize(0).and_then(|()| buffer.resize(byte_len)).map(|()| buffer)
        };
        Ok(Column {
            data: sized(&mut self.data, data)?,
            offsets: offsets.map(|byte_len| sized(&mut self.offsets, byte_len)).transpose()?,
            validity: validity.map(|byte_len| sized(&mut self.validity, byte_len)).transpose()?,
        })
    }

    /// Takes the buffers of a column.
    pub fn take_back(&mut self, column: Column) {
        self.data = column.data;
        self.offsets = column.offsets.unwrap_or(std::mem::take(&mut self.offsets));
        self.validity = column.validity.unwrap_or(std::mem::take(&mut self.validity));
    }
}

impl Workspace {
    /// Lets go of what the next task may have no use for: buffers that are longer than so many bytes, and the cells of what was written.
    fn shed(&mut self, byte_len: usize) {
        self.scratch.shed(byte_len);
        self.cells = SpareColumn::default();
        for buffer in [&mut self.filtered, &mut self.tile] {
            if buffer.capacity() > byte_len {
                *buffer = Vec::new();
            }
        }
    }

    /// About the bytes that it takes.
    fn byte_len(&self) -> usize {
        /// What decoders and their buffers take.
        const SCRATCH_BYTE_LEN: usize = 512 << 10;
        SCRATCH_BYTE_LEN + self.filtered.capacity() + self.tile.capacity()
    }
}

/// Workspaces that reads gave back, for the next: a small read would take most of its time to have memory cleared for a tile of which it
/// wants a few cells, and decoders readied.
#[derive(Debug)]
pub struct KeptWorkspaces {
    idle: Mutex<Idle>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Idle {
    workspaces: Vec<Workspace>,
    byte_len: usize,
}

impl KeptWorkspaces {
    /// What a buffer of one takes at most: a tile of a MiB, and what surrounds it.
    const BUFFER_BYTE_LEN: usize = (1 << 20) + (64 << 10);

    /// None yet, and never more than take about so many bytes.
    pub fn new(capacity: u64) -> Self {
        KeptWorkspaces { idle: Mutex::default(), capacity: usize::try_from(capacity).unwrap_or(usize::MAX) }
    }

    /// One that was given back last, or a new one.
    pub fn take(&self) -> Workspace {
        let mut idle = self.idle();
        let Some(workspace) = idle.workspaces.pop() else { return Workspace::default() };
        idle.byte_len -= workspace.byte_len();
        workspace
    }

    /// Keeps some, as far as there is room.
    pub fn give(&self, workspaces: impl IntoIterator<Item = Workspace>) {
        for mut workspace in workspaces {
            workspace.shed(Self::BUFFER_BYTE_LEN);
            let byte_len = workspace.byte_len();
            let mut idle = self.idle();
            if idle.byte_len + byte_len <= self.capacity {
                idle.byte_len += byte_len;
                idle.workspaces.push(workspace);
            }
        }
    }

    /// Lets go of all.
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.idle());
        drop(dropped);
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(byte_len: usize) -> Workspace {
        Workspace { tile: vec![0; byte_len], ..Workspace::default() }
    }

    #[test]
    fn what_was_given_back_is_taken_again_up_to_the_capacity_and_without_long_buffers() {
        let kept = KeptWorkspaces::new(2 << 20);
        kept.give([of(1000), of(4 << 20), of(1 << 20), of(2000)]);
        let lens: Vec<usize> =
            std::iter::from_fn(|| Some(kept.take())).map(|workspace| workspace.tile.len()).take(4).collect();
        // The third found no room, and the fourth take is of a new one.
        assert_eq!(lens, [2000, 0, 1000, 0]);
        assert_eq!(kept.idle().byte_len, 0);
        kept.give([of(1000)]);
        kept.clear();
        assert!(kept.take().tile.is_empty());
    }
}
