//! What filters make of cells, before an array is made of them.

use smalti_codecs::{Codec, CodecRules, FieldKind, Scratch};
use smalti_types::{CellValNum, Datatype, FilterPipeline, Result};

/// How many bytes filters make of a tile of cells of one value each, headers of chunks included. `cells` are the little-endian values, one after the
/// other. For those who choose between pipelines by a sample.
///
/// ```
/// use smalti::{Datatype, Filter, FilterPipeline};
///
/// let cells: Vec<u8> = (0..10_000_u32).flat_map(|value| (value * value % 5_003).to_le_bytes()).collect();
/// let len = |filters: &[Filter]| smalti::filtered_byte_len(Datatype::UInt32, &FilterPipeline::new(filters.to_vec()), &cells);
/// assert!(len(&[Filter::byteshuffle(), Filter::zstd(3)])? < len(&[Filter::zstd(3)])?);
/// # Ok::<(), smalti::Error>(())
/// ```
///
/// # Errors
/// `InvalidArgument` for filters that do not go with the type or each other, or cannot represent the values.
pub fn filtered_byte_len(datatype: Datatype, filters: &FilterPipeline, cells: &[u8]) -> Result<u64> {
    let kind = FieldKind::data(datatype, CellValNum::ONE);
    Codec::check(filters, kind)?;
    let mut out = Vec::new();
    Codec::new(filters, kind, CodecRules::NEWEST, None)?.encode(cells, &mut out, &mut Scratch::default())?;
    Ok(out.len() as u64)
}

/// Whether filters take the cells of a field, asked of the field alone: programs that put schemas together piece by piece ask early.
/// What hangs on the rest of a schema, such as the dimensions that pictures need, is asked when the schema is built.
///
/// ```
/// use smalti::{CellValNum, Datatype, Filter, FilterPipeline};
///
/// let delta = FilterPipeline::new([Filter::delta()]);
/// assert!(smalti::check_pipeline(&delta, Datatype::Int32, CellValNum::ONE).is_ok());
/// assert!(smalti::check_pipeline(&delta, Datatype::Float64, CellValNum::ONE).is_err());
/// ```
///
/// # Errors
/// `InvalidArgument` for filters that do not go with the type or each other.
pub fn check_pipeline(filters: &FilterPipeline, datatype: Datatype, cell_val_num: CellValNum) -> Result<()> {
    Codec::check(filters, FieldKind::data(datatype, cell_val_num))
}
