//! Memory and codec contexts that threads borrow for a task and give back.

use smalti_tile::Scratch;
use std::sync::Mutex;

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

/// Workspaces that are not in use. There are never more than tasks that ran at once.
#[derive(Debug, Default)]
pub(crate) struct Workspaces {
    idle: Mutex<Vec<Workspace>>,
}

impl Workspaces {
    /// Runs a task with a workspace of its own.
    pub(crate) fn with<T>(&self, task: impl FnOnce(&mut Workspace) -> T) -> T {
        let idle = self.idle.lock().map_or(None, |mut idle| idle.pop());
        let mut workspace = idle.unwrap_or_default();
        let result = task(&mut workspace);
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(workspace);
        }
        result
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
