//! Memory and codec contexts that threads borrow for a task and give back.

use smalti_tile::Scratch;
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
