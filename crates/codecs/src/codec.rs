//! A field's filter pipeline, ready to run.

use crate::aes_gcm::{self, AesGcm, Encryption};
use crate::chunks::{
    CHUNK_HEADER_BYTE_LEN, Chunk, Chunks, TILE_HEADER_BYTE_LEN, fixed_chunk_byte_len, var_chunk_ends,
};
use crate::compression::{self, Compressor, length};
use crate::context::{ChunkContext, ChunkFilter, MetadataReader, StringCodec};
use crate::field::{CodecRules, FieldKind};
use crate::parts::Parts;
use crate::scratch::{Scratch, Stream, room};
use crate::{chain, empty, steps};
use smalti_types::{AlignedBuf, CellValNum, DEFAULT_MAX_CHUNK_SIZE, Error, FilterPipeline, Result};

/// The filtered form of the offsets tile of a field whose [`Codec::folds_offsets`]: no chunks at all.
pub const FOLDED_OFFSETS_TILE: [u8; 8] = [0; 8];

/// The filters of one field's tiles of one kind, checked and in order, with the encryption of the array behind them.
///
/// A codec is immutable and may be shared between threads; each thread brings its own [`Scratch`]. Make one a field and
/// role, not one a tile.
///
/// Strings: where [`folds_offsets`](Codec::folds_offsets) is true, rle or dictionary is the first filter of a var-sized
/// string field. Its data tile is then one chunk that holds the offsets too: write it with
/// [`encode_var`](Codec::encode_var), read it with [`decode_strings`](Codec::decode_strings). The offsets tile still takes its place
/// in the offsets file, as [`FOLDED_OFFSETS_TILE`]: 8 bytes, a chunk count of 0, without any filter and without encryption.
pub struct Codec {
    pub(crate) steps: Vec<Step>,
    max_chunk_size: usize,
    written_chunk_size: usize,
    cell_byte_len: usize,
    whole_cells: bool,
    folds_offsets: bool,
    one_chunk: bool,
    /// Whether chunks without data are written.
    writes_empty: bool,
}

/// A filter and what it is told.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) stage: Stage,
    pub(crate) context: ChunkContext,
    /// Whether a filter before it handed on what it was given, so that parts of no bytes got lost.
    pub(crate) behind_pass: bool,
}

/// The shapes that filters have.
pub(crate) enum Stage {
    Chunk(Box<dyn ChunkFilter + Send + Sync>),
    Compress(Compressor),
    Strings(Box<dyn StringCodec + Send + Sync>),
    Encrypt(AesGcm),
}

/// Where a chunk is decoded to.
enum Target<'a> {
    Bytes(&'a mut [u8]),
    Strings(&'a mut [u8], Starts<'a>),
}

/// Where the offsets of strings are decoded to.
enum Starts<'a> {
    Given(&'a mut [u64]),
    /// A number of them, and a buffer that gets room for them, and for one more, once the tile agrees on the number.
    Due(usize, &'a mut AlignedBuf),
}

impl Starts<'_> {
    fn len(&self) -> usize {
        match self {
            Starts::Given(starts) => starts.len(),
            Starts::Due(count, _) => *count,
        }
    }

    /// The room for the offsets; allocated now if it was not before.
    fn room(&mut self) -> Result<&mut [u64]> {
        match self {
            Starts::Given(starts) => Ok(starts),
            Starts::Due(count, buffer) => {
                **buffer = AlignedBuf::zeroed(count.saturating_add(1).saturating_mul(8))?;
                #[expect(clippy::indexing_slicing, reason = "it was just made for one more")]
                let starts = &mut buffer.values_mut()[..*count];
                Ok(starts)
            }
        }
    }
}

impl Codec {
    /// Readies a pipeline for the tiles of a field. `encryption` is that of the array, if it is encrypted.
    ///
    /// # Errors
    /// `Unsupported` for a filter that cannot run on the field's datatype.
    pub fn new(
        pipeline: &FilterPipeline,
        field: FieldKind,
        rules: CodecRules,
        encryption: Option<&Encryption>,
    ) -> Result<Codec> {
        let (mut steps, behind_pass) = steps::of_pipeline(pipeline, field, rules)?;
        let folds_offsets = matches!(steps.first(), Some(Step { stage: Stage::Strings(_), .. }));
        if let Some(encryption) = encryption {
            let context = ChunkContext { datatype: field.datatype, cell_byte_len: field.cell_byte_len() };
            let stage = Stage::Encrypt(AesGcm::new(encryption));
            steps.push(Step { name: "aes_256_gcm", stage, context, behind_pass });
        }
        Ok(Codec {
            max_chunk_size: pipeline.max_chunk_size as usize,
            written_chunk_size: rules.written_chunk_byte_len.unwrap_or(pipeline.max_chunk_size) as usize,
            cell_byte_len: field.cell_byte_len(),
            whole_cells: rules.whole_cells_per_chunk && field.cell_val_num == CellValNum::Var,
            folds_offsets,
            writes_empty: empty::is_written(pipeline, field, rules, encryption.is_some()),
            one_chunk: folds_offsets
                || pipeline.max_chunk_size == 0
                || pipeline.filters.iter().any(|filter| matches!(filter, smalti_types::Filter::Webp { .. })),
            steps,
        })
    }

    /// Checks a pipeline as a schema is made: every filter accepts the datatype that the one before it produces.
    ///
    /// # Errors
    /// `InvalidArgument`; the message names the filter, its position and the datatype, and says what would be accepted.
    pub fn check(pipeline: &FilterPipeline, field: FieldKind) -> Result<()> {
        chain::check(pipeline, field)
    }

    /// Checks the coordinate filters of a schema for a dimension that has none of its own. As in libtiledb, the integer
    /// filters may meet datatypes here that they leave alone, such as floats and strings.
    ///
    /// # Errors
    /// As [`check`](Codec::check).
    pub fn check_inherited(pipeline: &FilterPipeline, field: FieldKind) -> Result<()> {
        chain::check_inherited(pipeline, field)
    }

    /// Whether tiles that `other` writes come back through this codec: the same filters act on the same datatypes.
    pub fn reads_as(&self, other: &Codec) -> bool {
        let acts_alike = |(a, b): (&Step, &Step)| {
            a.name == b.name
                && a.context.datatype == b.context.datatype
                && matches!(a.stage, Stage::Strings(_)) == matches!(b.stage, Stage::Strings(_))
        };
        self.steps.len() == other.steps.len() && self.steps.iter().zip(&other.steps).all(acts_alike)
    }

    /// Whether chunks hold the tile's bytes as they are, so that [`PlainLayout`](crate::PlainLayout) can find rows in them.
    pub fn is_plain(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether data tiles hold the offsets too; see the type's documentation.
    pub fn folds_offsets(&self) -> bool {
        self.folds_offsets
    }

    /// Appends the filtered form of a tile of cells of a fixed size, of offsets or of validity to `out`.
    ///
    /// # Errors
    /// `InvalidArgument` when a filter cannot represent the values, or on a chunk of 4 GiB; `out` is then as before.
    pub fn encode(&self, tile: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        if self.folds_offsets {
            return Err(Error::invalid("the tiles of this field are encoded together with their offsets"));
        }
        let chunk_byte_len = if self.one_chunk {
            tile.len()
        } else {
            fixed_chunk_byte_len(self.written_chunk_size, self.cell_byte_len)
        };
        let mut ends = std::mem::take(&mut scratch.ends);
        ends.clear();
        ends.extend((1..tile.len().div_ceil(chunk_byte_len.max(1))).map(|chunk| chunk * chunk_byte_len));
        ends.push(tile.len());
        let result = self.encode_chunks(tile, &ends, &[], out, scratch);
        scratch.ends = ends;
        result
    }

    /// Appends the filtered form of a data tile of var-sized cells to `out`. Cell `i` starts at byte `offsets[i]` of the
    /// tile and ends where the next one starts, the last one with the tile.
    ///
    /// # Errors
    /// As [`encode`](Codec::encode); `InvalidArgument` too when the offsets do not start at 0, fall, or leave the tile.
    pub fn encode_var(
        &self,
        tile: &[u8],
        offsets: &[u64],
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        check_offsets(tile, offsets)?;
        if !self.folds_offsets && !self.whole_cells {
            return self.encode(tile, out, scratch);
        }
        let mut ends = std::mem::take(&mut scratch.ends);
        if self.one_chunk {
            ends.clear();
            ends.push(tile.len());
        } else {
            let chunk_byte_len = fixed_chunk_byte_len(self.written_chunk_size, self.cell_byte_len);
            var_chunk_ends(chunk_byte_len, tile.len(), offsets, &mut ends);
        }
        let result = self.encode_chunks(tile, &ends, offsets, out, scratch);
        scratch.ends = ends;
        result
    }

    fn encode_chunks(
        &self,
        tile: &[u8],
        ends: &[usize],
        offsets: &[u64],
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let tile_start = out.len();
        if self.is_plain() {
            out.reserve(TILE_HEADER_BYTE_LEN + ends.len() * CHUNK_HEADER_BYTE_LEN + tile.len());
        }
        let is_written = |start: usize, end: usize| start < end || self.writes_empty || self.folds_offsets;
        let starts = || std::iter::once(0).chain(ends.iter().copied());
        let chunk_count = starts().zip(ends).filter(|&(start, &end)| is_written(start, end)).count();
        out.extend((chunk_count as u64).to_le_bytes());
        for (start, &end) in starts().zip(ends) {
            if !is_written(start, end) {
                continue;
            }
            #[expect(clippy::indexing_slicing, reason = "chunks end within the tile, one behind the other")]
            let chunk = &tile[start..end];
            if let Err(error) = self.encode_chunk(chunk, offsets, out, scratch) {
                out.truncate(tile_start);
                return Err(error);
            }
        }
        Ok(())
    }

    fn encode_chunk(
        &self,
        chunk: &[u8],
        offsets: &[u64],
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { front, back, contexts, .. } = scratch;
        // Filters store lengths and counts of what they are given in 32 bits.
        length(chunk.len())?;
        let mut started = false;
        for step in &self.steps {
            back.clear();
            if !started && !matches!(step.stage, Stage::Strings(_)) {
                front.clear();
                front.data.push(chunk);
            }
            started = true;
            if step.behind_pass {
                front.data.drop_empty();
            }
            match &step.stage {
                Stage::Chunk(filter) => filter.encode(front, back, &step.context)?,
                Stage::Compress(compressor) => compressor.encode(front, back, &step.context, contexts)?,
                Stage::Strings(codec) => codec.encode_strings(chunk, offsets, back)?,
                Stage::Encrypt(aes) => aes.encode(front, back)?,
            }
            std::mem::swap(front, back);
            length(front.data.bytes().len())?;
        }
        let Parts { metadata, data } = &*front;
        let (metadata, data) = if started { (metadata.bytes(), data.bytes()) } else { (&[][..], chunk) };
        out.extend(length(chunk.len())?.to_le_bytes());
        out.extend(length(data.len())?.to_le_bytes());
        out.extend(length(metadata.len())?.to_le_bytes());
        out.extend_from_slice(metadata);
        out.extend_from_slice(data);
        Ok(())
    }

    /// Decodes a filtered tile into `out`, which has the tile's unfiltered length. Every chunk's last filter writes straight
    /// into its place in `out`.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are damaged or the chunks do not fill `out` exactly; `Permission` when an encrypted chunk does
    /// not decrypt. The content of `out` is arbitrary then.
    pub fn decode_into(&self, filtered: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        if self.folds_offsets {
            return Err(Error::invalid("the tiles of this field are decoded together with their offsets"));
        }
        let tile_byte_len = out.len();
        let mut chunks = Chunks::new(filtered)?;
        let mut rest = out;
        for (index, chunk) in chunks.by_ref().enumerate() {
            let chunk = chunk?;
            let (target, behind) = rest
                .split_at_mut_checked(chunk.original_byte_len)
                .ok_or_else(|| overfull(tile_byte_len, index))?;
            self.decode_chunk(&chunk, Target::Bytes(target), scratch)
                .map_err(|error| in_chunk(error, index))?;
            rest = behind;
        }
        finished(chunks.rest(), tile_byte_len - rest.len(), tile_byte_len)
    }

    /// Decodes chunks that stand one behind the other, `part` being all bytes from the header of the first to the end of the last, into
    /// `out`, which has their unfiltered length. No chunk needs another one.
    ///
    /// # Errors
    /// As [`decode_into`](Codec::decode_into).
    pub fn decode_part(&self, part: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        if self.folds_offsets {
            return Err(Error::invalid("the tiles of this field are decoded together with their offsets"));
        }
        let part_byte_len = out.len();
        let (mut chunks, mut rest) = (Chunks::of_part(part), out);
        while !chunks.rest().is_empty() {
            let Some(chunk) = chunks.next().transpose()? else { break };
            let (target, behind) = rest.split_at_mut_checked(chunk.original_byte_len).ok_or_else(|| {
                Error::corrupt(format!("chunks hold more than the {part_byte_len} bytes due"))
            })?;
            self.decode_chunk(&chunk, Target::Bytes(target), scratch)?;
            rest = behind;
        }
        match rest.len() {
            0 => Ok(()),
            missing => Err(Error::corrupt(format!("chunks lack {missing} of the {part_byte_len} bytes due"))),
        }
    }

    /// Decodes the chunks of a filtered tile that hold bytes `wanted` of it, each into its place in `out`, which has the tile's
    /// unfiltered length. Other bytes of `out` are left as they are.
    ///
    /// # Errors
    /// As [`decode_into`](Codec::decode_into), as far as the chunks were looked at.
    pub fn decode_range(
        &self,
        filtered: &[u8],
        wanted: std::ops::Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        if self.folds_offsets {
            return Err(Error::invalid("the tiles of this field are decoded together with their offsets"));
        }
        if wanted.start == 0 && wanted.end >= out.len() {
            return self.decode_into(filtered, out, scratch);
        }
        let tile_byte_len = out.len();
        let mut start = 0;
        for (index, chunk) in Chunks::new(filtered)?.enumerate() {
            if start >= wanted.end {
                return Ok(());
            }
            let chunk = chunk?;
            let end = start + chunk.original_byte_len;
            let target = out.get_mut(start..end).ok_or_else(|| overfull(tile_byte_len, index))?;
            if end > wanted.start {
                self.decode_chunk(&chunk, Target::Bytes(target), scratch)
                    .map_err(|error| in_chunk(error, index))?;
            }
            start = end;
        }
        if start >= wanted.end.min(tile_byte_len) {
            return Ok(());
        }
        finished(&[], start, tile_byte_len)
    }

    /// Decodes the chunks of a filtered tile that hold bytes `wanted` of it, one after the other, and shows each with its place in the tile
    /// while it is in the processor's cache: the next one is decoded over it. Chunks that no filter touched are shown where they are. Pieces
    /// are whole cells of `cell_byte_len` bytes; where chunks end within cells there is one piece, with as much of the tile as is wanted.
    ///
    /// `buffer` grows to the longest chunk; `tile_byte_len` is the tile's unfiltered length.
    ///
    /// # Errors
    /// As [`decode_range`](Codec::decode_range); what `visit` returns.
    pub fn decode_pieces(
        &self,
        filtered: &[u8],
        (wanted, tile_byte_len): (std::ops::Range<usize>, usize),
        cell_byte_len: usize,
        (buffer, scratch): (&mut Vec<u8>, &mut Scratch),
        visit: &mut dyn FnMut(std::ops::Range<usize>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        /// Short chunks are taken together: so many bytes stay in the cache of a processor.
        const PIECE_BYTE_LEN: usize = 256 << 10;
        let wanted = wanted.start..wanted.end.min(tile_byte_len);
        let has_whole_cells = |chunk: Result<Chunk<'_>>| match chunk {
            Ok(chunk) => chunk.original_byte_len.is_multiple_of(cell_byte_len.max(1)),
            // What is wrong with it is told when it is decoded, if it is.
            Err(_) => true,
        };
        if self.folds_offsets || !Chunks::new(filtered)?.all(has_whole_cells) {
            let tile = room(buffer, tile_byte_len)?;
            self.decode_range(filtered, wanted.clone(), tile, scratch)?;
            let bytes = tile.get(wanted.clone());
            let bytes =
                bytes.ok_or_else(|| Error::invalid("bytes beyond the end of a tile were asked for"))?;
            return visit(wanted, bytes);
        }
        let mut chunks = Chunks::new(filtered)?;
        let (mut start, mut piece) = (0, 0..0);
        for (index, chunk) in chunks.by_ref().enumerate() {
            if start >= wanted.end && wanted.end < tile_byte_len {
                break;
            }
            let chunk = chunk?;
            let place = start..start + chunk.original_byte_len;
            if place.end > tile_byte_len {
                return Err(overfull(tile_byte_len, index));
            }
            start = place.end;
            if place.end <= wanted.start && wanted != (0..tile_byte_len) {
                continue;
            }
            if self.is_plain() {
                check_plain(&chunk).map_err(|error| in_chunk(error, index))?;
                visit(place, chunk.data)?;
                continue;
            }
            if piece.len() + place.len() > PIECE_BYTE_LEN && !piece.is_empty() {
                visit(piece.clone(), buffer.get(..piece.len()).unwrap_or_default())?;
                piece = place.start..place.start;
            }
            if piece.is_empty() {
                piece = place.start..place.start;
            }
            let (_, bytes) = room(buffer, piece.len() + place.len())?.split_at_mut(piece.len());
            self.decode_chunk(&chunk, Target::Bytes(bytes), scratch)
                .map_err(|error| in_chunk(error, index))?;
            piece.end = place.end;
        }
        if !piece.is_empty() {
            visit(piece.clone(), buffer.get(..piece.len()).unwrap_or_default())?;
        }
        match start < wanted.end || wanted.end == tile_byte_len {
            true => finished(chunks.rest(), start, tile_byte_len),
            false => Ok(()),
        }
    }

    /// Decodes a data tile of strings of a field whose [`folds_offsets`](Codec::folds_offsets): the strings into `out` and the byte
    /// offset of each, starting with 0, into `offsets`.
    ///
    /// # Errors
    /// As [`decode_into`](Codec::decode_into), when the tile does not hold exactly `out.len()` bytes in `offsets.len()` strings.
    pub fn decode_strings(
        &self,
        filtered: &[u8],
        out: &mut [u8],
        offsets: &mut [u64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode_strings_to(filtered, out, Starts::Given(offsets), scratch)
    }

    /// As [`decode_strings`](Codec::decode_strings), with a buffer of the offsets that is allocated once the tile agrees on
    /// their number: it claims less than any damaged metadata. Behind the offsets is room for one more.
    ///
    /// # Errors
    /// As [`decode_strings`](Codec::decode_strings); `OutOfMemory`.
    pub fn decode_counted_strings(
        &self,
        filtered: &[u8],
        out: &mut [u8],
        string_count: usize,
        scratch: &mut Scratch,
    ) -> Result<AlignedBuf> {
        let mut offsets = AlignedBuf::new();
        self.decode_strings_to(filtered, out, Starts::Due(string_count, &mut offsets), scratch)?;
        Ok(offsets)
    }

    fn decode_strings_to(
        &self,
        filtered: &[u8],
        out: &mut [u8],
        offsets: Starts<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut offsets = Some(offsets);
        if !self.folds_offsets {
            return Err(Error::invalid("the tiles of this field are decoded without their offsets"));
        }
        let tile_byte_len = out.len();
        let mut chunks = Chunks::new(filtered)?;
        if chunks.left() != 1 {
            return Err(Error::corrupt(format!("{} chunks; a tile of strings is one", chunks.left()))
                .in_field("tile", "chunk_count"));
        }
        let mut chunk_byte_len = 0;
        for chunk in chunks.by_ref() {
            let chunk = chunk?;
            chunk_byte_len = chunk.original_byte_len;
            if chunk_byte_len != tile_byte_len {
                break;
            }
            let Some(offsets) = offsets.take() else { break };
            self.decode_chunk(&chunk, Target::Strings(out, offsets), scratch)
                .map_err(|error| in_chunk(error, 0))?;
        }
        finished(chunks.rest(), chunk_byte_len, tile_byte_len)
    }

    /// The most bytes that a tile of `filtered_byte_len` bytes can hold: what claims more is damaged, and nothing need be
    /// allocated for it.
    ///
    /// A chunk has a header, and holds no more than the pipeline lets a writer put into it, or 64 KiB, except in tiles of one chunk
    /// and those of var-sized cells, whose chunks have but the limit of their length field.
    pub fn max_decoded_len(&self, filtered_byte_len: u64) -> u64 {
        if self.is_plain() {
            return filtered_byte_len;
        }
        let headers = filtered_byte_len.saturating_sub(TILE_HEADER_BYTE_LEN as u64);
        let chunk_count = headers / CHUNK_HEADER_BYTE_LEN as u64;
        let chunk_byte_len = match self.one_chunk || self.whole_cells {
            true => u32::MAX as usize,
            // Releases differ in what they do with cells that are larger than a chunk.
            false => fixed_chunk_byte_len(self.max_chunk_size, self.cell_byte_len)
                .max(DEFAULT_MAX_CHUNK_SIZE as usize),
        };
        chunk_count.saturating_mul(chunk_byte_len as u64)
    }

    /// The unfiltered length of a tile as its chunk headers state it. Headers may lie: only allocate what also fits a bound of
    /// your own, `max_byte_len`.
    ///
    /// # Errors
    /// `Corrupt` when the tile is cut short or states more than `max_byte_len` bytes.
    pub fn decoded_len(&self, filtered: &[u8], max_byte_len: u64) -> Result<usize> {
        let mut byte_len = 0u64;
        for chunk in Chunks::new(filtered)? {
            byte_len += chunk?.original_byte_len as u64;
            if byte_len > max_byte_len {
                return Err(Error::corrupt(format!(
                    "the chunks hold more than the {max_byte_len} bytes that are allowed here"
                ))
                .in_field("tile", "original_length"));
            }
        }
        usize::try_from(byte_len).map_err(|_| Error::corrupt(format!("a tile of {byte_len} bytes")))
    }

    fn decode_chunk(&self, chunk: &Chunk<'_>, mut target: Target<'_>, scratch: &mut Scratch) -> Result<()> {
        if self.is_plain()
            && let Target::Bytes(out) = &mut target
        {
            check_plain(chunk)?;
            out.copy_from_slice(chunk.data);
            return Ok(());
        }
        let limit = target.limit();
        let Scratch { data: data_flow, metadata: metadata_flow, contexts, .. } = scratch;
        let mut data = Stream::new(chunk.data, data_flow);
        let mut metadata = Stream::new(chunk.metadata, metadata_flow);
        for (idx, step) in self.steps.iter().enumerate().rev() {
            let reader = MetadataReader::new(step.name, metadata.bytes());
            let context = &step.context;
            let (metadata_byte_len, data_byte_len) = match &step.stage {
                Stage::Chunk(filter) => (0, filter.decoded_len(reader.clone(), data.bytes(), context)?),
                Stage::Compress(_) => {
                    let lens = compression::frame_lens(reader.clone())?;
                    (lens.metadata_byte_len, lens.data_byte_len)
                }
                Stage::Encrypt(_) => {
                    let lens = aes_gcm::frame_lens(reader.clone())?;
                    (lens.metadata_byte_len, lens.data_byte_len)
                }
                Stage::Strings(codec) => {
                    let (bytes, strings) = codec.decoded_string_lens(reader.clone(), data.bytes())?;
                    let Target::Strings(out, offsets) = &mut target else {
                        return Err(Error::corrupt("strings in a tile without strings"));
                    };
                    if (bytes, strings) != (out.len(), offsets.len()) {
                        return Err(Error::corrupt(format!(
                            "filter {}: {strings} strings of {bytes} bytes; {} of {} bytes are due",
                            step.name,
                            offsets.len(),
                            out.len()
                        )));
                    }
                    let mut reader = reader;
                    return codec.decode_strings(&mut reader, data.bytes(), out, offsets.room()?);
                }
            };
            if data_byte_len > limit || metadata_byte_len > limit {
                return Err(Error::corrupt(format!(
                    "filter {}: {data_byte_len} bytes of data and {metadata_byte_len} of metadata for a chunk of {} bytes",
                    step.name, chunk.original_byte_len
                )));
            }
            match (&mut target, idx) {
                (Target::Bytes(out), 0) => {
                    if data_byte_len != out.len() {
                        return Err(Error::corrupt(format!(
                            "filter {}: the chunk decodes to {data_byte_len} bytes instead of {}",
                            step.name,
                            out.len()
                        )));
                    }
                    step.decode(&mut metadata, metadata_byte_len, data.bytes(), out, contexts)?;
                }
                _ => {
                    let (input, room) = data.with_room(data_byte_len)?;
                    step.decode(&mut metadata, metadata_byte_len, input, room, contexts)?;
                    data.advance(data_byte_len);
                }
            }
        }
        Ok(())
    }
}

impl Step {
    fn decode(
        &self,
        metadata: &mut Stream<'_>,
        metadata_byte_len: usize,
        data: &[u8],
        out: &mut [u8],
        contexts: &mut crate::scratch::Contexts,
    ) -> Result<()> {
        match &self.stage {
            Stage::Chunk(filter) => {
                let mut reader = MetadataReader::new(self.name, metadata.bytes());
                filter.decode(&mut reader, data, out, &self.context)?;
                let left = reader.rest().len();
                metadata.keep_last(left);
                return Ok(());
            }
            Stage::Compress(compressor) => {
                let (input, room) = metadata.with_room(metadata_byte_len)?;
                let reader = MetadataReader::new(self.name, input);
                compressor.decode(reader, data, room, out, &self.context, contexts)?;
            }
            Stage::Encrypt(aes) => {
                let (input, room) = metadata.with_room(metadata_byte_len)?;
                aes.decode(MetadataReader::new(self.name, input), data, room, out)?;
            }
            Stage::Strings(_) => return Err(Error::corrupt("strings are decoded last")),
        }
        metadata.advance(metadata_byte_len);
        Ok(())
    }
}

impl Target<'_> {
    /// The most bytes that a stage before the last may yield: no filter makes more than three times of what it is given, and
    /// chains of those that do are short. What goes beyond is a bomb.
    fn limit(&self) -> usize {
        let byte_len = match self {
            Target::Bytes(out) => out.len(),
            Target::Strings(out, offsets) => out.len().saturating_add(offsets.len().saturating_mul(8)),
        };
        byte_len.saturating_mul(4).saturating_add(1 << 20)
    }
}

impl std::fmt::Debug for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.steps.iter().map(|step| step.name).collect();
        f.debug_struct("Codec")
            .field("filters", &names)
            .field("max_chunk_size", &self.max_chunk_size)
            .finish()
    }
}

fn check_offsets(tile: &[u8], offsets: &[u64]) -> Result<()> {
    let mut before = 0;
    for (cell, &offset) in offsets.iter().enumerate() {
        if offset < before || offset > tile.len() as u64 || (cell == 0 && offset != 0) {
            return Err(Error::invalid(format!(
                "cell {cell} starts at byte {offset} of a tile of {} bytes, behind one that starts at {before}",
                tile.len()
            )));
        }
        before = offset;
    }
    if offsets.is_empty() && !tile.is_empty() {
        return Err(Error::invalid(format!("{} bytes in no cells", tile.len())));
    }
    Ok(())
}

/// A chunk that no filter touched holds its data alone.
fn check_plain(chunk: &Chunk<'_>) -> Result<()> {
    if chunk.data.len() == chunk.original_byte_len && chunk.metadata.is_empty() {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "{} bytes of data and {} of metadata in an unfiltered chunk of {} bytes",
        chunk.data.len(),
        chunk.metadata.len(),
        chunk.original_byte_len
    )))
}

fn in_chunk(error: Error, index: usize) -> Error {
    error.in_field("tile", format!("chunks[{index}]"))
}

fn overfull(tile_byte_len: usize, index: usize) -> Error {
    in_chunk(Error::corrupt(format!("the chunks hold more than the tile's {tile_byte_len} bytes")), index)
}

fn finished(rest: &[u8], decoded_byte_len: usize, tile_byte_len: usize) -> Result<()> {
    if decoded_byte_len != tile_byte_len {
        return Err(Error::corrupt(format!(
            "the chunks hold {decoded_byte_len} bytes of a tile of {tile_byte_len}"
        ))
        .in_field("tile", "original_length"));
    }
    if !rest.is_empty() {
        return Err(Error::corrupt(format!("{} bytes behind the last chunk", rest.len()))
            .in_field("tile", "chunk_count"));
    }
    Ok(())
}
