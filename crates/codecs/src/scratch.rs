//! Memory and compressor contexts that outlive a tile.
#![expect(clippy::indexing_slicing, reason = "the ends are lengths of what was decoded into the room")]

use crate::gzip::GzipContexts;
use crate::parts::Parts;
use crate::zstd::ZstdContexts;
use smalti_types::{Error, ErrorKind, Result};

/// Buffers and compressor contexts that codecs reuse from chunk to chunk and tile to tile. Keep one a thread; any codec
/// may use it. It holds no more than the largest chunk needed, and nothing before the first use.
#[derive(Default)]
pub struct Scratch {
    /// Data on its way from one filter to the next while reading.
    pub(crate) data: Flow,
    /// Metadata on its way from one filter to the next while reading.
    pub(crate) metadata: Flow,
    /// Chunks on their way from one filter to the next while writing.
    pub(crate) front: Parts,
    pub(crate) back: Parts,
    pub(crate) ends: Vec<usize>,
    pub(crate) contexts: Contexts,
}

/// The compressors' own state.
#[derive(Default)]
pub(crate) struct Contexts {
    pub(crate) zstd: ZstdContexts,
    pub(crate) gzip: GzipContexts,
}

impl Scratch {
    /// An empty scratch.
    pub fn new() -> Self {
        Scratch::default()
    }

    /// Lets go of buffers that are longer than so many bytes, and keeps the compressors' contexts, which take no more for long tiles.
    pub fn shed(&mut self, byte_len: usize) {
        for buffer in [&mut self.data, &mut self.metadata]
            .into_iter()
            .flat_map(|flow| [&mut flow.front, &mut flow.back])
        {
            if buffer.capacity() > byte_len {
                *buffer = Vec::new();
            }
        }
        for parts in [&mut self.front, &mut self.back] {
            if parts.capacity() > byte_len {
                *parts = Parts::default();
            }
        }
        if self.ends.capacity().saturating_mul(size_of::<usize>()) > byte_len {
            self.ends = Vec::new();
        }
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// Two buffers between which bytes go back and forth. They keep their size, so that nothing is cleared twice.
#[derive(Default)]
pub(crate) struct Flow {
    front: Vec<u8>,
    back: Vec<u8>,
}

/// The bytes that a filter is given: those of the chunk as read, or those that the filter after it left in the flow.
pub(crate) struct Stream<'a> {
    outside: Option<&'a [u8]>,
    flow: &'a mut Flow,
    start: usize,
    end: usize,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(outside: &'a [u8], flow: &'a mut Flow) -> Self {
        Stream { outside: Some(outside), flow, start: 0, end: 0 }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.outside.unwrap_or(&self.flow.front[self.start..self.end])
    }

    /// The current bytes, and room for what comes next.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses.
    pub(crate) fn with_room(&mut self, byte_len: usize) -> Result<(&[u8], &mut [u8])> {
        let Flow { front, back } = &mut *self.flow;
        Ok((self.outside.unwrap_or(&front[self.start..self.end]), room(back, byte_len)?))
    }

    /// Makes the first `byte_len` bytes of the room the current bytes.
    pub(crate) fn advance(&mut self, byte_len: usize) {
        std::mem::swap(&mut self.flow.front, &mut self.flow.back);
        self.outside = None;
        (self.start, self.end) = (0, byte_len);
    }

    /// Drops current bytes so that the last `byte_len` are left.
    pub(crate) fn keep_last(&mut self, byte_len: usize) {
        match &mut self.outside {
            Some(bytes) => *bytes = &bytes[bytes.len() - byte_len..],
            None => self.start = self.end - byte_len,
        }
    }
}

/// Grows a buffer to at least `byte_len` bytes and lends that many. The content is arbitrary.
///
/// # Errors
/// `OutOfMemory` when the allocator refuses.
pub fn room(buffer: &mut Vec<u8>, byte_len: usize) -> Result<&mut [u8]> {
    if buffer.len() < byte_len {
        buffer.try_reserve_exact(byte_len - buffer.len()).map_err(|_| {
            Error::new(ErrorKind::OutOfMemory, format!("the allocator refused {byte_len} bytes"))
        })?;
        buffer.resize(byte_len, 0);
    }
    Ok(&mut buffer[..byte_len])
}
