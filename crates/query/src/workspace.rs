//! Memory and codec contexts that threads borrow for a task and give back.

use smalti_tile::{Column, Scratch};
use smalti_types::{AlignedBuf, Result};
use std::sync::{Condvar, Mutex, PoisonError};

/// What one task of a read or write needs besides its input and output.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Codec contexts and the filters' own buffers.
    pub(crate) scratch: Scratch,
    /// Filtered bytes as they come from the store.
    pub(crate) filtered: Vec<u8>,
    /// A decoded tile, or the wanted part of one.
    pub(crate) tile: Vec<u8>,
    /// The cells of a tile that is being written.
    pub(crate) cells: SpareColumn,
}

/// The buffers of a column that nobody needs any more, for another to be made in: pages that were touched before.
#[derive(Debug, Default)]
pub(crate) struct SpareColumn {
    data: AlignedBuf,
    offsets: AlignedBuf,
    validity: AlignedBuf,
}

impl SpareColumn {
    /// Buffers of some lengths, without offsets or validity where their length is `None`. The content is arbitrary.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses.
    pub(crate) fn column(
        &mut self,
        data: usize,
        offsets: Option<usize>,
        validity: Option<usize>,
    ) -> Result<Column> {
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
    pub(crate) fn take_back(&mut self, column: Column) {
        self.data = column.data;
        self.offsets = column.offsets.unwrap_or(std::mem::take(&mut self.offsets));
        self.validity = column.validity.unwrap_or(std::mem::take(&mut self.validity));
    }
}

/// Workspaces: never more than tasks that ran at once, and never more than a limit.
#[derive(Debug)]
pub(crate) struct Workspaces {
    idle: Mutex<Idle>,
    given_back: Condvar,
}

#[derive(Debug)]
struct Idle {
    workspaces: Vec<Workspace>,
    /// How many more may be made.
    left: usize,
}

impl Default for Workspaces {
    fn default() -> Self {
        Workspaces::at_most(usize::MAX)
    }
}

impl Workspaces {
    /// Workspaces for so many tasks at once; others wait.
    pub(crate) fn at_most(count: usize) -> Self {
        let idle = Idle { workspaces: Vec::new(), left: count.max(1) };
        Workspaces { idle: Mutex::new(idle), given_back: Condvar::new() }
    }

    /// Runs a task with a workspace of its own. The task must not start others that need one.
    pub(crate) fn with<T>(&self, task: impl FnOnce(&mut Workspace) -> T) -> T {
        let mut workspace = self.take();
        let result = task(&mut workspace);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).workspaces.push(workspace);
        self.given_back.notify_one();
        result
    }

    fn take(&self) -> Workspace {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(workspace) = idle.workspaces.pop() {
                return workspace;
            }
            if idle.left > 0 {
                idle.left -= 1;
                return Workspace::default();
            }
            idle = self.given_back.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Grows a buffer to at least `byte_len` bytes and lends that many. The content is arbitrary.
pub(crate) fn room(buffer: &mut Vec<u8>, byte_len: usize) -> smalti_types::Result<&mut [u8]> {
    if buffer.len() < byte_len {
        buffer.try_reserve_exact(byte_len - buffer.len()).map_err(|_| {
            smalti_types::Error::new(
                smalti_types::ErrorKind::OutOfMemory,
                format!("the allocator refused {byte_len} bytes"),
            )
        })?;
        buffer.resize(byte_len, 0);
    }
    Ok(&mut buffer[..byte_len])
}
