//! Brings tiles from the store: the one file of this crate that names it for reading.
//!
//! A whole tile is one read; of a tile that no filter touched only the bytes that are wanted are read, merged as the
//! store likes it; of a filtered tile only the chunks that are wanted are decoded.

use crate::workspace::{Workspace, room};
use smalti_array::{FieldId, Fragment, Plane, Snapshot};
use smalti_store::{ReadInto, Store};
use smalti_tile::{Codec, Column, FieldCodec, FilteredTileRef, PlainLayout};
use smalti_types::{Error, Result};
use std::ops::Range;

/// Reads and decodes tiles of one snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Fetch<'a> {
    store: &'a dyn Store,
}

/// A field of a fragment, ready to read.
#[derive(Clone)]
pub(crate) struct FieldSource<'a> {
    pub(crate) fragment: &'a Fragment,
    /// The field, by the fragment's own schema.
    pub(crate) field: FieldId,
    pub(crate) codec: std::sync::Arc<FieldCodec>,
}

/// Below this many bytes between two wanted ranges of an unfiltered tile one read fetches both.
const MAX_GAP: u64 = 4096;

impl<'a> Fetch<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        Fetch { store: &**snapshot.store() }
    }

    /// A whole tile.
    ///
    /// # Errors
    /// What the store and the codecs report, with the file named.
    pub(crate) fn tile(
        &self,
        source: &FieldSource<'_>,
        tile_idx: usize,
        cell_count: usize,
        workspace: &mut Workspace,
    ) -> Result<Column> {
        let FieldSource { fragment, field, codec } = source;
        let shape = codec.shape();
        let fixed = fragment.tile_place(*field, Plane::Fixed, tile_idx)?;
        let var = shape.is_var().then(|| fragment.tile_place(*field, Plane::Var, tile_idx)).transpose()?;
        let validity =
            shape.is_nullable.then(|| fragment.tile_place(*field, Plane::Validity, tile_idx)).transpose()?;
        let len =
            |range: &Option<Range<u64>>| range.as_ref().map_or(0, |range| (range.end - range.start) as usize);
        let fixed_len = (fixed.end - fixed.start) as usize;
        let (var_len, validity_len) = (len(&var), len(&validity));
        let Workspace { scratch, filtered, .. } = workspace;
        let buffer = room(filtered, fixed_len + var_len + validity_len)?;
        let (fixed_bytes, rest) = buffer.split_at_mut(fixed_len);
        let (var_bytes, validity_bytes) = rest.split_at_mut(var_len);
        let paths = [
            fragment.data_file(*field, Plane::Fixed)?,
            fragment.data_file(*field, Plane::Var)?,
            fragment.data_file(*field, Plane::Validity)?,
        ];
        let mut reads = vec![ReadInto { path: &paths[0], offset: fixed.start, dest: fixed_bytes }];
        if let Some(range) = &var {
            reads.push(ReadInto { path: &paths[1], offset: range.start, dest: var_bytes });
        }
        if let Some(range) = &validity {
            reads.push(ReadInto { path: &paths[2], offset: range.start, dest: validity_bytes });
        }
        self.store.read_into(&mut reads)?;
        drop(reads);
        let var_byte_len = match shape.is_var() {
            true => fragment.var_byte_len(*field, tile_idx)?,
            false => 0,
        };
        let tile = FilteredTileRef { fixed: fixed_bytes, var: var_bytes, validity: validity_bytes };
        codec.decode_tile(tile, cell_count, var_byte_len, scratch).map_err(|error| {
            error
                .context(format_args!("tile {tile_idx}"))
                .at_uri(self.store.address(&paths[usize::from(shape.is_var())]))
        })
    }

    /// Bytes `wanted` of a tile of fixed-size values or validity, into the same place of `out`, a buffer of the whole
    /// tile's length. Bytes of `out` outside the ranges are arbitrary after the call.
    ///
    /// # Errors
    /// As [`tile`](Fetch::tile).
    pub(crate) fn bytes(
        &self,
        source: &FieldSource<'_>,
        plane: Plane,
        tile_idx: usize,
        wanted: &[Range<usize>],
        out: &mut [u8],
        workspace: (&mut smalti_tile::Scratch, &mut Vec<u8>),
    ) -> Result<()> {
        let FieldSource { fragment, field, codec } = source;
        let codec: &Codec = match plane {
            Plane::Validity => {
                codec.validity().ok_or_else(|| Error::invalid("a field without validity was asked for it"))?
            }
            _ => codec.data(),
        };
        let place = fragment.tile_place(*field, plane, tile_idx)?;
        let path = fragment.data_file(*field, plane)?;
        let wanted_len: usize = wanted.iter().map(Range::len).sum();
        let named =
            |error: Error| error.context(format_args!("tile {tile_idx}")).at_uri(self.store.address(&path));
        if codec.is_plain() && wanted_len * 2 < out.len() {
            let mut prefix = [0; PlainLayout::PREFIX_BYTE_LEN];
            let filtered_len = place.end - place.start;
            if filtered_len >= prefix.len() as u64 {
                self.store.read_into(&mut [ReadInto {
                    path: &path,
                    offset: place.start,
                    dest: &mut prefix,
                }])?;
                if let Some(layout) =
                    PlainLayout::new(&prefix, out.len() as u64, filtered_len).map_err(named)?
                {
                    return self.plain_bytes(&path, place.start, layout, wanted, out);
                }
            }
        }
        let (scratch, filtered) = workspace;
        let buffer = room(filtered, (place.end - place.start) as usize)?;
        self.store.read_into(&mut [ReadInto { path: &path, offset: place.start, dest: buffer }])?;
        let hull = wanted
            .iter()
            .fold(out.len()..0, |hull, range| hull.start.min(range.start)..hull.end.max(range.end));
        codec.decode_range(buffer, hull, out, scratch).map_err(named)
    }

    fn plain_bytes(
        &self,
        path: &str,
        file_offset: u64,
        layout: PlainLayout,
        wanted: &[Range<usize>],
        out: &mut [u8],
    ) -> Result<()> {
        let mut places: Vec<(u64, Range<usize>)> = Vec::with_capacity(wanted.len());
        for range in wanted {
            for run in layout.runs(range.start as u64..range.end as u64) {
                let start = run.tile_byte_offset as usize;
                let (from, end) = (run.filtered_byte_offset, start + run.byte_len as usize);
                match places.last_mut() {
                    // Neighbours in the same chunk keep their distance on disk and in the tile.
                    Some((first, last))
                        if from >= *first
                            && start >= last.end
                            && from - *first == (start - last.start) as u64
                            && (start - last.end) as u64 <= MAX_GAP =>
                    {
                        last.end = end;
                    }
                    _ => places.push((from, start..end)),
                }
            }
        }
        let mut reads = Vec::with_capacity(places.len());
        let (mut rest, mut at) = (out, 0);
        for (from, range) in places {
            let (_, behind) = rest.split_at_mut(range.start - at);
            let (dest, behind) = behind.split_at_mut(range.end - range.start);
            reads.push(ReadInto { path, offset: file_offset + from, dest });
            at = range.end;
            rest = behind;
        }
        self.store.read_into(&mut reads)
    }
}
