//! Tiles of fields: cells and their filtered form, and statistics.

use crate::case::{Case, Outcome, Work, again, case, work};
use crate::input;
use smalti_codecs::{CodecRules, Scratch};
use smalti_tile::{
    CellShape, ColumnRef, FieldCodec, FieldFilters, FilteredTile, FilteredTileRef, StatsBuilder, StatsKind,
};
use smalti_types::{AlignedBuf, CellValNum, Datatype, Filter, FilterPipeline};
use std::hint::black_box;

const CELL_COUNT: usize = 16 << 10;
/// Cells of text, which take more bytes.
const TEXT_COUNT: usize = 4 << 10;

/// The cases.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("tile-of-text-encode", || {
            let (codec, cells, mut scratch) = (text_codec()?, Text::new(), Scratch::new());
            let mut tile = FilteredTile::default();
            again(move || Ok(codec.encode_tile(cells.column(), &mut tile, &mut scratch)?))
        }),
        case("tile-of-text-decode", || {
            let (codec, cells, mut scratch) = (text_codec()?, Text::new(), Scratch::new());
            let mut tile = FilteredTile::default();
            codec.encode_tile(cells.column(), &mut tile, &mut scratch)?;
            again(move || {
                let FilteredTile { fixed, var, validity } = &tile;
                let tile = FilteredTileRef { fixed, var, validity };
                black_box(codec.decode_tile(
                    tile,
                    TEXT_COUNT,
                    cells.values.len(),
                    &AlignedBuf::zeroed,
                    &mut scratch,
                )?);
                Ok(())
            })
        }),
        case("statistics-of-integers", || {
            let values = input::bytes(&input::walk(11, CELL_COUNT), |value| value.to_le_bytes());
            statistics(Datatype::Int32, values, Vec::new())
        }),
        case("statistics-of-floats", || {
            let values = input::bytes(&input::floats(12, CELL_COUNT), |value| value.to_le_bytes());
            statistics(Datatype::Float64, values, Vec::new())
        }),
        case("statistics-with-nulls", || {
            let values = input::bytes(&input::walk(13, CELL_COUNT), |value| value.to_le_bytes());
            statistics(Datatype::Int32, values, input::validity(14, CELL_COUNT))
        }),
    ]
}

/// Nullable cells of text.
struct Text {
    values: Vec<u8>,
    offsets: Vec<u64>,
    validity: Vec<u8>,
}

impl Text {
    fn new() -> Text {
        let (values, offsets) = input::names(15, TEXT_COUNT);
        Text { values, offsets, validity: input::validity(16, TEXT_COUNT) }
    }

    fn column(&self) -> ColumnRef<'_> {
        ColumnRef::var(&self.values, &self.offsets).with_validity(&self.validity)
    }
}

/// What imports choose for text.
fn text_codec() -> Outcome<FieldCodec> {
    let shape =
        CellShape { datatype: Datatype::StringUtf8, cell_val_num: CellValNum::Var, is_nullable: true };
    let data = FilterPipeline::new([Filter::lz4()]);
    let offsets = FilterPipeline::new([Filter::delta(), Filter::bit_width_reduction(), Filter::lz4()]);
    let validity = FilterPipeline::new([Filter::rle()]);
    let filters = FieldFilters { data: &data, offsets: &offsets, validity: &validity };
    Ok(FieldCodec::new(shape, filters, CodecRules::NEWEST, None)?)
}

fn statistics(datatype: Datatype, values: Vec<u8>, validity: Vec<u8>) -> Outcome<Work> {
    let kind = StatsKind::new(datatype, CellValNum::ONE, false);
    work(move || {
        let column = ColumnRef::fixed(&values);
        let column = if validity.is_empty() { column } else { column.with_validity(&validity) };
        let mut statistics = StatsBuilder::new(kind);
        statistics.add(column, 0..CELL_COUNT);
        black_box(statistics.finish());
        Ok(())
    })
}
