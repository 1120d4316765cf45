//! What a pipeline needs to know about the field whose tiles it filters, and the rules of the format version.

use smalti_types::{CellValNum, Datatype};

/// The three kinds of tile that a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileRole {
    /// Values; of var-sized fields the concatenated values.
    Data,
    /// The u64 byte offsets at which the cells of a var-sized field start.
    Offsets,
    /// One byte a cell, 0 for null.
    Validity,
}

/// The datatype, cell size and role of the tiles that a [`Codec`](crate::Codec) filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FieldKind {
    /// The datatype of the values in the tile: `UINT64` for offsets and `UINT8` for validity.
    pub datatype: Datatype,
    /// Values in a cell of the field. For offsets and validity tiles: one.
    pub cell_val_num: CellValNum,
    /// What the tile holds.
    pub role: TileRole,
}

impl FieldKind {
    /// The data tiles of an attribute or dimension.
    pub fn data(datatype: Datatype, cell_val_num: CellValNum) -> Self {
        FieldKind { datatype, cell_val_num, role: TileRole::Data }
    }

    /// The offsets tiles of any var-sized field.
    pub fn offsets() -> Self {
        FieldKind { datatype: Datatype::UInt64, cell_val_num: CellValNum::ONE, role: TileRole::Offsets }
    }

    /// The validity tiles of any nullable field.
    pub fn validity() -> Self {
        FieldKind { datatype: Datatype::UInt8, cell_val_num: CellValNum::ONE, role: TileRole::Validity }
    }

    /// A generic tile, as schemas and metadata are stored in: bytes, always declared `CHAR` with cells of one byte.
    pub fn bytes() -> Self {
        FieldKind::data(Datatype::Char, CellValNum::ONE)
    }

    /// Bytes of a cell, or of one value where the field is var-sized.
    pub fn cell_byte_len(self) -> usize {
        match self.cell_val_num {
            CellValNum::Fixed(count) => self.datatype.byte_len().saturating_mul(count.get() as usize),
            CellValNum::Var => self.datatype.byte_len(),
        }
    }

    /// Var-sized ASCII or UTF-8: the tiles that rle and dictionary encode string by string.
    pub(crate) fn is_var_string(self) -> bool {
        self.role == TileRole::Data
            && self.cell_val_num == CellValNum::Var
            && matches!(self.datatype, Datatype::StringAscii | Datatype::StringUtf8)
    }
}

/// What filters did differently in older format versions. The caller asks its table of rules; this crate knows no
/// version numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodecRules {
    /// Chunks of var-sized data end at the end of a cell (from version 11). Reading does not depend on it.
    pub whole_cells_per_chunk: bool,
    /// Chunks that are written have this length in bytes, where the pipeline cuts tiles into chunks at all; `None`: the
    /// length that the pipeline says. Reading does not depend on it.
    pub written_chunk_byte_len: Option<u32>,
    /// Every filter sees the datatype that the filter before it produced, and positive delta and bit-width reduction act
    /// on dates and times too (from version 20). Without it all filters see the field's own datatype, so that integer
    /// filters after float scaling have no effect and leave no metadata.
    pub typed_chain: bool,
    /// Rle on var-sized ASCII encodes strings and takes the offsets into the data tile (from version 12).
    pub rle_folds_ascii: bool,
    /// Dictionary on var-sized ASCII does (from version 13).
    pub dictionary_folds_ascii: bool,
    /// Both do on var-sized UTF-8 (from version 17).
    pub folds_utf8: bool,
    /// Reading compares the digests of checksum filters with those of the data. No rule of a version: the caller says so.
    pub compares_digests: bool,
}

impl CodecRules {
    /// The rules of the newest version.
    pub const NEWEST: CodecRules = CodecRules {
        whole_cells_per_chunk: true,
        written_chunk_byte_len: None,
        typed_chain: true,
        rle_folds_ascii: true,
        dictionary_folds_ascii: true,
        folds_utf8: true,
        compares_digests: true,
    };

    /// The rules of the oldest version.
    pub const OLDEST: CodecRules = CodecRules {
        whole_cells_per_chunk: false,
        written_chunk_byte_len: None,
        typed_chain: false,
        rle_folds_ascii: false,
        dictionary_folds_ascii: false,
        folds_utf8: false,
        compares_digests: true,
    };
}
