//! Chunks of tiles that are kept: decoded by the thread that reads, and where there are several by a second one too.

use crate::gather::Output;
use crate::progress::Progress;
use crate::reads::Reads;
use crate::workspace::{Workspace, room};
use smalti_array::{CachedChunks, Plane, Snapshot};
use smalti_store::ReadInto;
use smalti_tile::{Codec, FieldCodec, KeptWorkspaces, Scratch};
use smalti_types::parallel::{Workers, standing_by};
use smalti_types::{Result, Spares};
use std::mem;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

/// Fewer bytes are decoded before another thread has begun.
const LEAST_SHARED_BYTE_LEN: usize = 64 << 10;

/// Reads and decodes chunks to where they are kept.
#[derive(Clone)]
pub(crate) struct ChunkDecoder {
    reads: Reads,
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
}

/// A filtered tile in its file.
#[derive(Clone)]
pub(crate) struct TileInFile {
    pub(crate) path: String,
    /// Where it begins.
    pub(crate) start: u64,
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
}

impl ChunkDecoder {
    /// For a read of a snapshot, planned on this thread.
    pub(crate) fn new(snapshot: &Snapshot, reads: &Reads, progress: &Arc<Progress>) -> Self {
        let resources = snapshot.place().resources();
        ChunkDecoder {
            reads: reads.clone(),
            progress: Arc::clone(progress),
            spares: Arc::clone(resources.spares()),
            workspaces: Arc::clone(resources.workspaces()),
            workers: standing_by(),
        }
    }

    /// What those who help find at hand.
    pub(crate) fn workspaces(&self) -> &KeptWorkspaces {
        &self.workspaces
    }

    /// Decodes chunks that are not there yet; `filtered` holds the whole filtered tile, and is as it was afterwards.
    ///
    /// # Errors
    /// What the codec reports, with the chunk; `OutOfMemory`; `Cancelled`.
    pub(crate) fn decode(&self, met: &MetChunks, memory: (&mut Scratch, &mut Vec<u8>)) -> Result<()> {
        let (scratch, filtered) = memory;
        // What another thread may still have when this one goes on does not belong to this one's callers.
        let lent = Arc::new(RwLock::new(mem::take(filtered)));
        let bytes = Arc::clone(&lent);
        self.on_two_threads(met, move |decoder, met, idx, workspace| {
            let Ok(bytes) = bytes.read() else { return Ok(()) };
            decoder.decode_one(met, idx, (&bytes, 0), &mut workspace.scratch)
        });
        *filtered = mem::take(&mut *lent.write().unwrap_or_else(PoisonError::into_inner));
        met.missing().try_for_each(|idx| self.decode_one(met, idx, (filtered, 0), scratch))
    }

    /// Reads and decodes chunks that are not there yet: in one read, or where two threads decode each for itself.
    ///
    /// # Errors
    /// As [`decode`](ChunkDecoder::decode); what the store reports.
    pub(crate) fn read(
        &self,
        met: &MetChunks,
        file: &TileInFile,
        memory: (&mut Scratch, &mut Vec<u8>),
    ) -> Result<()> {
        let of_other = file.clone();
        self.on_two_threads(met, move |decoder, met, idx, workspace| {
            decoder.read_range(
                met,
                idx..idx + 1,
                &of_other,
                (&mut workspace.scratch, &mut workspace.filtered),
            )
        });
        let Some(first) = met.missing().next() else { return Ok(()) };
        self.read_range(met, first..met.range.end, file, memory)
    }

    /// Takes chunks on two threads, where that is worth it. Those that fail are left: why is told when they are taken again.
    fn on_two_threads(
        &self,
        met: &MetChunks,
        take: impl Fn(&ChunkDecoder, &MetChunks, usize, &mut Workspace) -> Result<()> + Send + Sync + 'static,
    ) {
        let Some(workers) = self.workers.as_ref().filter(|workers| workers.may_take_short()) else { return };
        let missing: Vec<usize> = met.missing().collect();
        let byte_len: usize = missing.iter().map(|&idx| met.chunks.directory().tile_range(idx).len()).sum();
        if missing.len() < 2 || byte_len < LEAST_SHARED_BYTE_LEN {
            return;
        }
        let (decoder, met, count) = (self.clone(), met.clone(), missing.len());
        workers.take_short(
            count,
            Box::new(move |step| {
                let Some(&idx) = missing.get(step) else { return };
                let mut workspace = decoder.workspaces.take();
                let _ = take(&decoder, &met, idx, &mut workspace);
                decoder.workspaces.give([workspace]);
            }),
        );
    }

    /// Reads chunks at once, and decodes those that are not there yet.
    fn read_range(
        &self,
        met: &MetChunks,
        range: Range<usize>,
        file: &TileInFile,
        (scratch, filtered): (&mut Scratch, &mut Vec<u8>),
    ) -> Result<()> {
        let place = met.chunks.directory().filtered_range(range.clone());
        let bytes = room(filtered, (place.end - place.start) as usize)?;
        self.reads.read(&mut [ReadInto {
            path: &file.path,
            offset: file.start + place.start,
            dest: bytes,
        }])?;
        let missing = range.filter(|&idx| met.chunks.chunk(idx).is_none());
        missing.into_iter().try_for_each(|idx| self.decode_one(met, idx, (bytes, place.start), scratch))
    }

    /// Decodes a chunk out of bytes of the filtered tile from a place on.
    fn decode_one(
        &self,
        met: &MetChunks,
        idx: usize,
        (bytes, start): (&[u8], u64),
        scratch: &mut Scratch,
    ) -> Result<()> {
        let place = met.chunks.directory().filtered_range(idx..idx + 1);
        let place = (place.start - start) as usize..(place.end - start) as usize;
        let (Some(codec), Some(bytes)) = (codec_of(&met.codec, met.plane), bytes.get(place)) else {
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
