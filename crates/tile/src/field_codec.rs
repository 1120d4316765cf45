//! The codecs of one field, and its tiles between disk and memory.

use crate::column::starts_to_ends;
use crate::{Column, ColumnRef, check_offsets};
use smalti_codecs::{Codec, CodecRules, Encryption, FOLDED_OFFSETS_TILE, FieldKind, Scratch};
use smalti_types::{AlignedBuf, CellValNum, Datatype, Error, FilterPipeline, Result};

/// What the tiles of a field hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellShape {
    /// The type of one value.
    pub datatype: Datatype,
    /// Values a cell.
    pub cell_val_num: CellValNum,
    /// Whether each cell has a validity byte.
    pub is_nullable: bool,
}

impl CellShape {
    /// Bytes of a cell; of one value where cells are var-sized.
    pub fn cell_byte_len(self) -> usize {
        self.cell_val_num.fixed().unwrap_or(1) * self.datatype.byte_len()
    }

    /// Whether cells are var-sized.
    pub fn is_var(self) -> bool {
        self.cell_val_num.is_var()
    }
}

/// The pipelines of a field's three kinds of tile.
#[derive(Debug, Clone, Copy)]
pub struct FieldFilters<'a> {
    /// Of the values.
    pub data: &'a FilterPipeline,
    /// Of the offsets of var-sized fields.
    pub offsets: &'a FilterPipeline,
    /// Of the validity of nullable fields.
    pub validity: &'a FilterPipeline,
}

/// The codecs of one field, ready to run. Immutable; threads share it and bring their own [`Scratch`].
pub struct FieldCodec {
    shape: CellShape,
    data: Codec,
    /// Reads tiles that keep the offsets of strings in the data against the rules of the schema's version: libtiledb 2.8
    /// and later write these into arrays of older versions, where no release of it can read them.
    folded: Option<Codec>,
    offsets: Option<Codec>,
    validity: Option<Codec>,
}

impl std::fmt::Debug for FieldCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldCodec").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// The filtered bytes of one tile of one field.
#[derive(Debug, Clone, Default)]
pub struct FilteredTile {
    /// For `NAME.tdb`: the values, or the offsets of a var-sized field.
    pub fixed: Vec<u8>,
    /// For `NAME_var.tdb`: the values of a var-sized field.
    pub var: Vec<u8>,
    /// For `NAME_validity.tdb`.
    pub validity: Vec<u8>,
}

/// The filtered bytes of one tile as they were read; parts that the field does not have are empty.
#[derive(Debug, Clone, Copy)]
pub struct FilteredTileRef<'a> {
    /// From `NAME.tdb`.
    pub fixed: &'a [u8],
    /// From `NAME_var.tdb`.
    pub var: &'a [u8],
    /// From `NAME_validity.tdb`.
    pub validity: &'a [u8],
}

/// Where the cells of a tile of a var-sized field are wanted.
#[derive(Debug)]
pub struct VarPlaces<'p> {
    /// For the values; their length.
    pub data: &'p mut [u8],
    /// For the byte offset in `data` at which each cell ends; as many as cells.
    pub ends: &'p mut [u64],
    /// For the validity of nullable fields; as many as cells.
    pub validity: &'p mut [u8],
}

impl FieldCodec {
    /// Readies the pipelines of a field.
    ///
    /// # Errors
    /// `Unsupported` for a filter that cannot run on the field's datatype.
    pub fn new(
        shape: CellShape,
        filters: FieldFilters<'_>,
        rules: CodecRules,
        encryption: Option<&Encryption>,
    ) -> Result<Self> {
        let data_kind = FieldKind::data(shape.datatype, shape.cell_val_num);
        let data = Codec::new(filters.data, data_kind, rules, encryption)?;
        let folded = (shape.is_var() && !data.folds_offsets())
            .then(|| Codec::new(filters.data, data_kind, CodecRules::NEWEST, encryption).ok())
            .flatten()
            .filter(Codec::folds_offsets);
        let offsets = shape
            .is_var()
            .then(|| Codec::new(filters.offsets, FieldKind::offsets(), rules, encryption))
            .transpose()?;
        let validity = shape
            .is_nullable
            .then(|| Codec::new(filters.validity, FieldKind::validity(), rules, encryption))
            .transpose()?;
        Ok(FieldCodec { shape, data, folded, offsets, validity })
    }

    /// What the tiles hold.
    pub fn shape(&self) -> CellShape {
        self.shape
    }

    /// Whether tiles that `other` writes come back through this: the same filters act on the same types.
    pub fn reads_as(&self, other: &FieldCodec) -> bool {
        let same = |a: Option<&Codec>, b: Option<&Codec>| match (a, b) {
            (Some(a), Some(b)) => a.reads_as(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.shape == other.shape
            && self.data.reads_as(&other.data)
            && same(self.offsets.as_ref(), other.offsets.as_ref())
            && same(self.validity.as_ref(), other.validity.as_ref())
    }

    /// The codec of the values.
    pub fn data(&self) -> &Codec {
        &self.data
    }

    /// The codec of the validity bytes of a nullable field.
    pub fn validity(&self) -> Option<&Codec> {
        self.validity.as_ref()
    }

    /// Filters the cells of a tile, replacing the content of `out`.
    ///
    /// # Errors
    /// `InvalidArgument` when a filter cannot represent the values, or the column's parts are not the field's.
    pub fn encode_tile(
        &self,
        cells: ColumnRef<'_>,
        out: &mut FilteredTile,
        scratch: &mut Scratch,
    ) -> Result<()> {
        out.fixed.clear();
        out.var.clear();
        out.validity.clear();
        match (&self.offsets, cells.offsets) {
            (None, _) => self.data.encode(cells.data, &mut out.fixed, scratch)?,
            (Some(codec), Some([starts @ .., _])) => {
                self.data.encode_var(cells.data, starts, &mut out.var, scratch)?;
                if self.data.folds_offsets() {
                    out.fixed.extend_from_slice(&FOLDED_OFFSETS_TILE);
                } else {
                    codec.encode(bytemuck::cast_slice(starts), &mut out.fixed, scratch)?;
                }
            }
            (Some(_), _) => return Err(Error::invalid("var-sized cells come with offsets")),
        }
        if let Some(codec) = &self.validity {
            let validity =
                cells.validity.ok_or_else(|| Error::invalid("nullable cells come with validity bytes"))?;
            codec.encode(validity, &mut out.validity, scratch)?;
        }
        Ok(())
    }

    /// Unfilters a tile of `cell_count` cells whose values take `var_byte_len` bytes where they are var-sized. The memory of values and
    /// validity comes from `room`, once the tile was found to hold so many bytes, and all of it is written.
    ///
    /// # Errors
    /// `Corrupt`, `Permission` as the codecs; `Corrupt` when the offsets are wrong.
    pub fn decode_tile(
        &self,
        tile: FilteredTileRef<'_>,
        cell_count: usize,
        var_byte_len: usize,
        room: &dyn Fn(usize) -> Result<AlignedBuf>,
        scratch: &mut Scratch,
    ) -> Result<Column> {
        let decode = |codec: &Codec, filtered: &[u8], out: &mut [u8], scratch: &mut Scratch| {
            codec.decode_into(filtered, out, scratch)
        };
        self.decode_tile_by(&decode, tile, cell_count, var_byte_len, room, scratch)
    }

    /// [Unfilters](FieldCodec::decode_tile) a tile, with somebody else to unfilter the bytes of each of its parts.
    ///
    /// # Errors
    /// As [`decode_tile`](FieldCodec::decode_tile); what `decode` returns.
    pub fn decode_tile_by(
        &self,
        decode: &dyn Fn(&Codec, &[u8], &mut [u8], &mut Scratch) -> Result<()>,
        tile: FilteredTileRef<'_>,
        cell_count: usize,
        var_byte_len: usize,
        room: &dyn Fn(usize) -> Result<AlignedBuf>,
        scratch: &mut Scratch,
    ) -> Result<Column> {
        let room = |codec: &Codec, filtered: &[u8], byte_len: usize| {
            check_len(codec, filtered, byte_len)?;
            room(byte_len)
        };
        let mut column = Column::default();
        match &self.offsets {
            None => {
                let byte_len = cell_count
                    .checked_mul(self.shape.cell_byte_len())
                    .ok_or_else(|| Error::corrupt(format!("a tile of {cell_count} cells")))?;
                column.data = room(&self.data, tile.fixed, byte_len)?;
                decode(&self.data, tile.fixed, column.data.as_mut_slice(), scratch)?;
            }
            Some(codec) => {
                let values = self.values_codec(tile, cell_count);
                let mut data = room(values, tile.var, var_byte_len)?;
                let mut offsets = if values.folds_offsets() {
                    values.decode_counted_strings(tile.var, data.as_mut_slice(), cell_count, scratch)?
                } else {
                    let starts_byte_len = cell_count
                        .checked_mul(8)
                        .ok_or_else(|| Error::corrupt(format!("a tile of {cell_count} cells")))?;
                    check_len(codec, tile.fixed, starts_byte_len)?;
                    let mut offsets = AlignedBuf::zeroed(starts_byte_len.saturating_add(8))?;
                    #[expect(
                        clippy::indexing_slicing,
                        reason = "it was just made eight bytes longer than that"
                    )]
                    let starts: &mut [u8] = &mut offsets.as_mut_slice()[..starts_byte_len];
                    decode(codec, tile.fixed, starts, scratch)?;
                    decode(values, tile.var, data.as_mut_slice(), scratch)?;
                    offsets
                };
                let all: &mut [u64] = offsets.values_mut();
                if let Some(end) = all.get_mut(cell_count) {
                    *end = var_byte_len as u64;
                }
                check_offsets(all, var_byte_len, self.shape.datatype.byte_len())?;
                column.data = data;
                column.offsets = Some(offsets);
            }
        }
        if let Some(codec) = &self.validity {
            let mut validity = room(codec, tile.validity, cell_count)?;
            decode(codec, tile.validity, validity.as_mut_slice(), scratch)?;
            column.validity = Some(validity);
        }
        Ok(column)
    }

    /// The codec of the offsets of a var-sized field.
    pub fn offsets(&self) -> Option<&Codec> {
        self.offsets.as_ref()
    }

    /// Unfilters a tile of var-sized cells to where they are wanted.
    ///
    /// # Errors
    /// As [`decode_tile`](FieldCodec::decode_tile); what the places hold is arbitrary then.
    pub fn decode_var_into(
        &self,
        tile: FilteredTileRef<'_>,
        VarPlaces { data, ends, validity }: VarPlaces<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let codec = self.offsets.as_ref().ok_or_else(|| Error::invalid("the cells have one length"))?;
        let values = self.values_codec(tile, ends.len());
        check_len(values, tile.var, data.len())?;
        if values.folds_offsets() {
            let offsets = values.decode_counted_strings(tile.var, data, ends.len(), scratch)?;
            for (end, start) in ends.iter_mut().zip(offsets.values::<u64>()) {
                *end = *start;
            }
        } else {
            check_len(codec, tile.fixed, size_of_val(ends))?;
            codec.decode_into(tile.fixed, bytemuck::cast_slice_mut(ends), scratch)?;
            values.decode_into(tile.var, data, scratch)?;
        }
        starts_to_ends(ends, data.len(), self.shape.datatype.byte_len())?;
        if let Some(codec) = &self.validity {
            check_len(codec, tile.validity, validity.len())?;
            codec.decode_into(tile.validity, validity, scratch)?;
        }
        Ok(())
    }

    /// The codec of the values of a tile of var-sized cells.
    fn values_codec(&self, tile: FilteredTileRef<'_>, cell_count: usize) -> &Codec {
        match &self.folded {
            Some(folded) if cell_count > 0 && tile.fixed == FOLDED_OFFSETS_TILE => folded,
            _ => &self.data,
        }
    }
}

fn check_len(codec: &Codec, filtered: &[u8], byte_len: usize) -> Result<()> {
    let chunks_byte_len = codec.decoded_len(filtered, u64::MAX)?;
    if chunks_byte_len == byte_len {
        return Ok(());
    }
    Err(Error::corrupt(format!("the tile's chunks hold {chunks_byte_len} bytes, its cells need {byte_len}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::Filter;

    #[test]
    fn a_nullable_var_sized_tile_comes_back() {
        let shape =
            CellShape { datatype: Datatype::StringUtf8, cell_val_num: CellValNum::Var, is_nullable: true };
        let zstd = FilterPipeline::new([Filter::Zstd { level: 3 }]);
        let rle = FilterPipeline::new([Filter::Rle { level: -1 }]);
        let filters = FieldFilters { data: &zstd, offsets: &zstd, validity: &rle };
        let codec = FieldCodec::new(shape, filters, CodecRules::NEWEST, None).unwrap();
        let cells = ColumnRef::var(b"abbccc", &[0, 1, 3, 3, 6]).with_validity(&[1, 1, 0, 1]);
        let (mut tile, mut scratch) = (FilteredTile::default(), Scratch::new());
        codec.encode_tile(cells, &mut tile, &mut scratch).unwrap();
        let filtered = FilteredTileRef { fixed: &tile.fixed, var: &tile.var, validity: &tile.validity };
        let column = codec.decode_tile(filtered, 4, 6, &AlignedBuf::zeroed, &mut scratch).unwrap();
        assert_eq!(column.as_ref().data, cells.data);
        assert_eq!(column.as_ref().offsets, cells.offsets);
        assert_eq!(column.as_ref().validity, cells.validity);
        let (mut data, mut ends, mut validity) = ([0; 6], [0; 5], [0; 5]);
        let mut decode = |bytes: usize, cells: usize, flags: usize| {
            let places = VarPlaces {
                data: &mut data[..bytes],
                ends: &mut ends[..cells],
                validity: &mut validity[..flags],
            };
            codec.decode_var_into(filtered, places, &mut scratch)
        };
        decode(6, 4, 4).unwrap();
        assert!([(5, 4, 4), (6, 5, 4), (6, 4, 5)].into_iter().all(|(a, b, c)| decode(a, b, c).is_err()));
        decode(6, 4, 4).unwrap();
        assert_eq!(
            (&data[..], &ends[..4], &validity[..4]),
            (cells.data, &[1, 3, 3, 6][..], &[1, 1, 0, 1][..])
        );
        assert!(codec.decode_tile(filtered, 5, 6, &AlignedBuf::zeroed, &mut scratch).is_err());
        assert!(codec.decode_tile(filtered, 4, 7, &AlignedBuf::zeroed, &mut scratch).is_err());
    }
}
