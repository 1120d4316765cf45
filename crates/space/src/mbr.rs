//! Bounds of cells: of columns, of tiles, of fragments.

use crate::Interval;
use crate::column::{Column, values_of};
use multiversion::multiversion;
use rayon::prelude::*;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Datatype, Error, Extent, ExtentRef, Physical, RectList, Result, dispatch_physical};

/// The least and greatest ordinal of a column of numbers, NaN included, as sort keys need them; `None` for strings and
/// without cells.
pub fn column_bounds(column: &Column<'_>) -> Option<Interval> {
    let datatype = column.datatype()?;
    let values = column.number_bytes(0..column.cell_count());
    let piece_len = CELLS_A_PIECE * datatype.byte_len();
    let of_piece = |values: &[u8]| dispatch_physical!(datatype, T => bounds_of::<T>(values, false));
    if values.len() <= piece_len {
        return of_piece(values);
    }
    values
        .par_chunks(piece_len)
        .shared()
        .filter_map(of_piece)
        .reduce_with(|a, b| Interval { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) })
}

/// The least interval around a column, as MBRs and non-empty domains have it; `None` without cells.
///
/// NaN is left out, because no range selects it; a column of nothing else is bounded by its NaN.
pub fn column_extent(column: &Column<'_>) -> Option<Extent> {
    let Some(datatype) = column.datatype() else {
        let mut strings = (0..column.cell_count()).filter_map(|cell| column.string(cell));
        let first = strings.next()?;
        let (lo, hi) = strings.fold((first, first), |(lo, hi), string| (string.min(lo), string.max(hi)));
        return Some(Extent::Str { lo: lo.into(), hi: Some(hi.into()) });
    };
    let values = column.number_bytes(0..column.cell_count());
    let numbers = if datatype.is_float() {
        dispatch_physical!(datatype, T => bounds_of::<T>(values, true))
    } else {
        None
    };
    numbers.or_else(|| column_bounds(column)).map(Extent::from)
}

/// The MBR of every run of `cells_per_tile` cells; the last may have fewer. Columns come in the order of the
/// dimensions.
///
/// # Errors
/// `InvalidArgument` when `cells_per_tile` is 0, there is no column or the columns differ in length.
pub fn tile_mbrs(columns: &[Column<'_>], cells_per_tile: usize) -> Result<RectList> {
    let cell_count = columns.first().map_or(0, Column::cell_count);
    if cells_per_tile == 0 || columns.is_empty() {
        return Err(Error::invalid("bounds of tiles need a column and at least one cell per tile"));
    }
    if columns.iter().any(|column| column.cell_count() != cell_count) {
        return Err(Error::invalid("the columns of coordinates differ in length"));
    }
    let tile_count = cell_count.div_ceil(cells_per_tile);
    let mbr = |tile: usize| -> Vec<Extent> {
        let cells = tile * cells_per_tile..((tile + 1) * cells_per_tile).min(cell_count);
        columns.iter().filter_map(|column| column_extent(&column.slice(cells.clone()))).collect()
    };
    let mbrs: Vec<Vec<Extent>> = if cell_count < 1 << 16 {
        (0..tile_count).map(mbr).collect()
    } else {
        (0..tile_count).into_par_iter().shared().map(mbr).collect()
    };
    let mut list = RectList::new(columns.iter().map(Column::is_string).collect::<Vec<bool>>());
    mbrs.iter().try_for_each(|mbr| list.push(mbr))?;
    Ok(list)
}

/// The least rectangle around all rectangles of a list: the non-empty domain of tiles; `None` for an empty list.
pub fn hull(rects: &RectList) -> Option<Vec<Extent>> {
    (!rects.is_empty()).then(|| {
        (0..rects.dim_count())
            .map(|dim| {
                let first = rects.extent(0, dim);
                (1..rects.len()).fold(first, |hull, idx| hull_of(hull, rects.extent(idx, dim))).to_owned()
            })
            .collect()
    })
}

/// The interval of an MBR on disk as it may be used to leave out tiles: an end that is NaN is taken as unknown, because
/// writers that met NaN first kept it as the bound of the whole tile.
pub fn stored_mbr_interval(datatype: Datatype, interval: Interval) -> Interval {
    fn is_nan<T: Physical>(ordinal: u64) -> bool {
        let value = T::from_ordinal(ordinal);
        value.partial_cmp(&value).is_none()
    }
    if !datatype.is_float() {
        return interval;
    }
    let (lo_nan, hi_nan) =
        dispatch_physical!(datatype, T => (is_nan::<T>(interval.lo), is_nan::<T>(interval.hi)));
    Interval { lo: if lo_nan { 0 } else { interval.lo }, hi: if hi_nan { u64::MAX } else { interval.hi } }
}

/// The least interval around two of the same kind; the first where the kinds differ.
pub(crate) fn hull_of<'a>(a: ExtentRef<'a>, b: ExtentRef<'a>) -> ExtentRef<'a> {
    match (a, b) {
        (ExtentRef::Num { lo: a, hi: b }, ExtentRef::Num { lo: c, hi: d }) => {
            ExtentRef::Num { lo: a.min(c), hi: b.max(d) }
        }
        (ExtentRef::Str { lo: a, hi: b }, ExtentRef::Str { lo: c, hi: d }) => {
            ExtentRef::Str { lo: a.min(c), hi: b.zip(d).map(|(b, d)| b.max(d)) }
        }
        _ => a,
    }
}

/// Cells that one thread looks at in one go: less is not worth another.
const CELLS_A_PIECE: usize = 1 << 18;

/// Values compared side by side, so that the loop becomes vector code.
const LANES: usize = 8;

/// The bounds of values that are not NaN, or of all, with the vectors that the processor has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn bounds_of<T: Physical>(values: &[u8], leaves_out_nan: bool) -> Option<Interval> {
    if values.len() < size_of::<T>() {
        return None;
    }
    let (mut los, mut his) = ([u64::MAX; LANES], [0u64; LANES]);
    let mut widen = |lane: usize, value: T| {
        let ordinal = value.ordinal();
        let counts = !leaves_out_nan || value.partial_cmp(&value).is_some();
        let (lo, hi) = if counts { (ordinal, ordinal) } else { (u64::MAX, 0) };
        los[lane] = if lo < los[lane] { lo } else { los[lane] };
        his[lane] = if hi > his[lane] { hi } else { his[lane] };
    };
    let blocks = values.chunks_exact(LANES * size_of::<T>());
    let rest = blocks.remainder();
    for block in blocks {
        let mut lane_values = [T::from_ordinal(0); LANES];
        bytemuck::cast_slice_mut(&mut lane_values).copy_from_slice(block);
        for (lane, value) in lane_values.into_iter().enumerate() {
            widen(lane, value);
        }
    }
    for value in values_of::<T>(rest) {
        widen(0, value);
    }
    let lo = los.into_iter().min()?;
    let hi = his.into_iter().max()?;
    (lo <= hi).then_some(Interval { lo, hi })
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::Scalar;

    fn floats(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn bounds_are_those_of_values_one_by_one() {
        fn check<T: Physical>(datatype: Datatype) {
            let mut state = 5_u64;
            for count in [0, 1, 7, 8, 9, 1_000, CELLS_A_PIECE + 3] {
                let values: Vec<T> = (0..count)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        T::from_ordinal(state >> (64 - 8 * size_of::<T>()))
                    })
                    .collect();
                let ordinals = || values.iter().map(|value| value.ordinal());
                let expected = ordinals().min().zip(ordinals().max()).map(|(lo, hi)| Interval { lo, hi });
                let column = Column::numbers(datatype, bytemuck::cast_slice(&values)).unwrap();
                assert_eq!(column_bounds(&column), expected, "{count} of {datatype}");
                if !datatype.is_float() {
                    assert_eq!(column_extent(&column), expected.map(Extent::from), "{count} of {datatype}");
                }
            }
        }
        check::<i8>(Datatype::Int8);
        check::<u16>(Datatype::UInt16);
        check::<i32>(Datatype::Int32);
        check::<u64>(Datatype::UInt64);
        check::<i64>(Datatype::Int64);
        check::<f32>(Datatype::Float32);
        check::<f64>(Datatype::Float64);
    }

    #[test]
    fn nan_bounds_keys_but_no_mbr() {
        let bytes = floats(&[f64::NAN, 2.0, -0.0, 0.0]);
        let column = Column::numbers(Datatype::Float64, &bytes).unwrap();
        assert_eq!(
            column_extent(&column),
            Some(Extent::Num { lo: Scalar::F64(-0.0).ordinal(), hi: Scalar::F64(2.0).ordinal() })
        );
        assert_eq!(column_bounds(&column).unwrap().hi, f64::NAN.ordinal());
        let bytes = floats(&[f64::NAN]);
        let column = Column::numbers(Datatype::Float64, &bytes).unwrap();
        let nan = f64::NAN.ordinal();
        assert_eq!(column_extent(&column), Some(Extent::Num { lo: nan, hi: nan }));
        assert_eq!(stored_mbr_interval(Datatype::Float64, Interval { lo: nan, hi: nan }), Interval::ALL);
    }

    #[test]
    fn tiles_are_bounded_one_by_one_and_together() {
        let bytes: Vec<u8> = [5i32, -3, 9, 1, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
        let numbers = Column::numbers(Datatype::Int32, &bytes).unwrap();
        let strings = Column::strings(&[0, 1, 3, 3, 4], b"bacdz").unwrap();
        let mbrs = tile_mbrs(&[numbers, strings], 2).unwrap();
        assert_eq!(mbrs.len(), 3);
        assert_eq!(mbrs.extent(0, 0).to_owned(), Extent::Num { lo: (-3i32).ordinal(), hi: 5i32.ordinal() });
        assert_eq!(mbrs.extent(0, 1).to_owned(), Extent::between_strings(b"ac", b"b").unwrap());
        assert_eq!(mbrs.extent(1, 1).to_owned(), Extent::between_strings(b"", b"d").unwrap());
        let all = hull(&mbrs).unwrap();
        assert_eq!(all[0], Extent::Num { lo: (-3i32).ordinal(), hi: 9i32.ordinal() });
        assert_eq!(all[1], Extent::between_strings(b"", b"z").unwrap());
        assert!(tile_mbrs(&[numbers], 0).is_err());
    }
}
