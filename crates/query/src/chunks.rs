//! Chunks of tiles that are kept: decoded by the thread that reads, and where there are several by a second one too.

use crate::gather::Output;
use crate::progress::Progress;
use smalti_array::{CachedChunks, Plane, Snapshot};
use smalti_tile::{Codec, FieldCodec, KeptWorkspaces, Scratch};
use smalti_types::parallel::{Workers, standing_by};
use smalti_types::{Result, Spares};
use std::mem;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

/// Fewer bytes are decoded before another thread has begun.
const LEAST_SHARED_BYTE_LEN: usize = 64 << 10;

/// Decodes chunks to where they are kept.
#[derive(Clone)]
pub(crate) struct ChunkDecoder {
    progress: Arc<Progress>,
    spares: Arc<Spares>,
    workspaces: Arc<KeptWorkspaces>,
    /// Whose threads may help.
    workers: Option<Arc<Workers>>,
}

/// Chunks of a tile, one behind the other.
#[derive(Clone)]
pub(crate) struct MetChunks {
    pub(crate) codec: Arc<FieldCodec>,
    pub(crate) plane: Plane,
    pub(crate) chunks: Arc<CachedChunks>,
    pub(crate) range: Range<usize>,
    /// Where the bytes of the first begin in a buffer that holds those of all.
    pub(crate) start: usize,
}

/// The codec of the values or the validity of a field.
pub(crate) fn codec_of(field: &FieldCodec, plane: Plane) -> Option<&Codec> {
    match plane {
        Plane::Validity => field.validity(),
        _ => Some(field.data()),
    }
}

impl MetChunks {
    /// Those that are not decoded yet.
    fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        self.range.clone().filter(|&idx| self.chunks.chunk(idx).is_none())
    }

    /// A filtered chunk, header included.
    fn bytes<'b>(&self, filtered: &'b [u8], idx: usize) -> Option<&'b [u8]> {
        let directory = self.chunks.directory();
        let first = directory.filtered_range(self.range.start..self.range.start).start;
        let place = directory.filtered_range(idx..idx + 1);
        let place = (place.start - first) as usize..(place.end - first) as usize;
        filtered.get(self.start..)?.get(place)
    }
}

impl ChunkDecoder {
    /// For a read of a snapshot, planned on this thread.
    pub(crate) fn new(snapshot: &Snapshot, progress: &Arc<Progress>) -> Self {
        let resources = snapshot.place().resources();
        ChunkDecoder {
            progress: Arc::clone(progress),
            spares: Arc::clone(resources.spares()),
            workspaces: Arc::clone(resources.workspaces()),
            workers: standing_by(),
        }
    }

    /// Decodes chunks that are not there yet; `filtered` holds them, and is as it was afterwards.
    ///
    /// # Errors
    /// What the codec reports, with the chunk; `OutOfMemory`; `Cancelled`.
    pub(crate) fn decode(
        &self,
        met: &MetChunks,
        filtered: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode_on_two_threads(met, filtered);
        // All of them, or those that failed: here it is told why.
        met.missing().try_for_each(|idx| self.decode_one(met, idx, filtered, scratch))
    }

    /// Tries to decode chunks on two threads, where that is worth it.
    fn decode_on_two_threads(&self, met: &MetChunks, filtered: &mut Vec<u8>) {
        let Some(workers) = self.workers.as_ref().filter(|workers| workers.may_take_short()) else { return };
        let missing: Vec<usize> = met.missing().collect();
        let byte_len: usize = missing.iter().map(|&idx| met.chunks.directory().tile_range(idx).len()).sum();
        if missing.len() < 2 || byte_len < LEAST_SHARED_BYTE_LEN {
            return;
        }
        // What another thread may still have when this one goes on does not belong to this one's callers.
        let lent = Arc::new(RwLock::new(mem::take(filtered)));
        let (decoder, met, bytes, count) = (self.clone(), met.clone(), Arc::clone(&lent), missing.len());
        workers.take_short(
            count,
            Box::new(move |step| {
                let (Some(&idx), Ok(bytes)) = (missing.get(step), bytes.read()) else { return };
                let mut workspace = decoder.workspaces.take();
                // Why a chunk failed is told when it is decoded again.
                let _ = decoder.decode_one(&met, idx, &bytes, &mut workspace.scratch);
                decoder.workspaces.give([workspace]);
            }),
        );
        *filtered = mem::take(&mut *lent.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn decode_one(&self, met: &MetChunks, idx: usize, filtered: &[u8], scratch: &mut Scratch) -> Result<()> {
        let (Some(codec), Some(bytes)) = (codec_of(&met.codec, met.plane), met.bytes(filtered, idx)) else {
            return Err(crate::dest::lacking());
        };
        let check = || self.progress.check();
        let output = Output::in_spares(&self.spares, &check);
        let mut chunk = output.buffer(met.chunks.directory().tile_range(idx).len())?;
        codec
            .decode_part(bytes, chunk.as_mut_slice(), scratch)
            .map_err(|error| error.context(format_args!("chunk {idx}")))?;
        met.chunks.set(idx, chunk);
        Ok(())
    }
}
