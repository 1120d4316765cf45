//! A tile that is unfiltered by several workers: where there are fewer tiles than would keep all of them at work to the end.

use smalti_tile::{ChunkDirectory, Codec, KeptWorkspaces, Scratch};
use smalti_types::Result;
use smalti_types::parallel;
use std::ops::Range;

/// Fewer bytes are unfiltered by one worker.
const LEAST_BYTE_LEN: usize = 128 << 10;

/// Unfilters the bytes of a part of a tile, chunks beside each other.
///
/// # Errors
/// As [`Codec::decode_into`].
pub(crate) fn decode(
    codec: &Codec,
    filtered: &[u8],
    out: &mut [u8],
    scratch: &mut Scratch,
    workspaces: &KeptWorkspaces,
) -> Result<()> {
    if out.len() > LEAST_BYTE_LEN
        && !codec.is_plain()
        && let Ok(directory) = ChunkDirectory::new(filtered, out.len())
    {
        let tile = Tile { codec, filtered, directory, workspaces };
        if tile.decode(0..tile.directory.chunk_count(), out, scratch).is_ok() {
            return Ok(());
        }
    }
    // What is wrong is told of the first chunk that has it.
    codec.decode_into(filtered, out, scratch)
}

struct Tile<'t> {
    codec: &'t Codec,
    filtered: &'t [u8],
    directory: ChunkDirectory,
    /// For those who come to help.
    workspaces: &'t KeptWorkspaces,
}

impl Tile<'_> {
    /// Unfilters some chunks: half of them, while the others wait for a worker that has nothing else to do.
    fn decode(&self, chunks: Range<usize>, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let directory = &self.directory;
        if out.len() <= LEAST_BYTE_LEN || chunks.len() < 2 {
            let place = directory.filtered_range(chunks);
            let part = self.filtered.get(place.start as usize..place.end as usize).unwrap_or_default();
            return self.codec.decode_part(part, out, scratch);
        }
        let middle = chunks.start + chunks.len() / 2;
        let start = directory.tile_range(chunks.start).start;
        let (first, second) = out.split_at_mut(directory.tile_range(middle).start - start);
        let (first, second) = parallel::join(
            || self.decode(chunks.start..middle, first, scratch),
            || {
                let mut workspace = self.workspaces.take();
                let decoded = self.decode(middle..chunks.end, second, &mut workspace.scratch);
                self.workspaces.give([workspace]);
                decoded
            },
        );
        first.and(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspaces;
    use rayon::prelude::*;
    use smalti_format::Version;
    use smalti_tile::{CellShape, ColumnRef, FieldCodec, FieldFilters, FilteredTile, codec_rules};
    use smalti_types::parallel::{Shareable as _, Workers};
    use smalti_types::{CellValNum, Datatype, Filter, FilterPipeline};

    fn decoded(
        codec: &Codec,
        filtered: &[u8],
        byte_len: usize,
        workspaces: &KeptWorkspaces,
    ) -> Result<Vec<u8>> {
        let mut out = vec![7; byte_len];
        decode(codec, filtered, &mut out, &mut Scratch::new(), workspaces).map(|()| out)
    }

    /// A codec, and a tile of whole numbers, filtered and not.
    fn tile(cell_count: u32) -> (FieldCodec, Vec<u8>, Vec<u8>) {
        let zstd = FilterPipeline::new([Filter::Zstd { level: 3 }]);
        let filters = FieldFilters { data: &zstd, offsets: &zstd, validity: &zstd };
        let shape =
            CellShape { datatype: Datatype::Int32, cell_val_num: CellValNum::ONE, is_nullable: false };
        let codec = FieldCodec::new(shape, filters, codec_rules(Version::DEFAULT), None).unwrap();
        let cells: Vec<u8> = (0..cell_count).flat_map(|at| (at / 3).to_le_bytes()).collect();
        let mut tile = FilteredTile::default();
        codec.encode_tile(ColumnRef::fixed(&cells), &mut tile, &mut Scratch::new()).unwrap();
        (codec, tile.fixed, cells)
    }

    #[test]
    fn a_tile_that_several_workers_unfilter_is_the_same_and_so_is_what_is_said_of_a_damaged_one() {
        let (workers, workspaces) = (Workers::new(3), KeptWorkspaces::new(64 << 20));
        for cell_count in [0, 1, 40_000, 250_001] {
            let (codec, filtered, cells) = tile(cell_count);
            let data = codec.data();
            let spread = |filtered: &[u8]| workers.run(|| decoded(data, filtered, cells.len(), &workspaces));
            assert!(spread(&filtered).unwrap() == cells, "{cell_count} cells");
            for at in (0..filtered.len()).step_by(filtered.len() / 40 + 1) {
                let mut damaged = filtered.clone();
                damaged[at] ^= 0x55;
                let alone = data.decode_into(&damaged, &mut vec![0; cells.len()], &mut Scratch::new());
                let told = |error: smalti_types::Error| error.to_string();
                assert_eq!(spread(&damaged).map(drop).map_err(told), alone.map_err(told), "byte {at}");
            }
        }
    }

    #[test]
    fn tasks_that_are_begun_while_others_wait_for_help_find_workspaces() {
        let (workers, kept) = (Workers::new(3), KeptWorkspaces::new(64 << 20));
        let (codec, filtered, cells) = tile(150_000);
        const TILE_COUNT: usize = 9;
        for _ in 0..20 {
            let mut workspaces = Workspaces::default();
            workspaces.limit(TILE_COUNT);
            assert!(workspaces.suffice(TILE_COUNT) && !workspaces.suffice(TILE_COUNT + 1));
            let task = |_: usize| {
                workspaces.with(|workspace| {
                    let mut out = vec![0; cells.len()];
                    decode(codec.data(), &filtered, &mut out, &mut workspace.scratch, &kept)?;
                    Ok(out == cells)
                })
            };
            let done = workers.run(|| (0..TILE_COUNT).into_par_iter().steps(task));
            assert_eq!(done.unwrap(), [true; TILE_COUNT]);
            assert!(workspaces.suffice(TILE_COUNT));
        }
    }
}
