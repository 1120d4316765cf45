//! The orders of an array's cells, and the ranges of a read in them.

use smalti_format::{ArraySchema, Dimension};
use smalti_space::{CellOrder, Interval, OrderDim, RangeSet};
use smalti_types::{Error, Extent, Layout, Result, Scalar};

/// The order of an array's cells: the global one, or by coordinates alone.
///
/// # Errors
/// `Corrupt` when the schema's extents do not fit its types.
pub fn cell_order(schema: &ArraySchema, layout: Layout) -> Result<CellOrder> {
    let dims = schema
        .dimensions
        .iter()
        .map(|dimension| OrderDim {
            datatype: dimension.datatype,
            domain: dimension
                .domain
                .map_or(Interval::ALL, |(lo, hi)| Interval { lo: lo.ordinal(), hi: hi.ordinal() }),
            extent: dimension.tile_extent,
        })
        .collect();
    match layout {
        Layout::RowMajor | Layout::ColMajor => CellOrder::plain(dims, layout),
        _ => CellOrder::global(dims, schema.tile_order, schema.cell_order),
    }
}

/// The ranges of a request, one set per dimension. Without a range a dimension is not looked at, so that even NaN is
/// selected there, as libtiledb does.
pub(crate) fn ranges(schema: &ArraySchema, asked: &[Vec<Extent>]) -> Result<Vec<RangeSet>> {
    if asked.len() > schema.dimensions.len() {
        return Err(Error::invalid(format!(
            "ranges for {} dimensions were given, the array has {}",
            asked.len(),
            schema.dimensions.len()
        )));
    }
    schema
        .dimensions
        .iter()
        .enumerate()
        .map(|(idx, dimension)| match asked.get(idx) {
            Some(extents) if !extents.is_empty() => RangeSet::new(dimension.is_var(), extents.clone())
                .map_err(|error| error.context(format_args!("dimension {:?}", dimension.name))),
            _ => Ok(RangeSet::all(dimension.is_var())),
        })
        .collect()
}

/// Whether a dimension has no more than one space tile, so that tiles do not matter for the order of cells.
pub(super) fn is_one_tile(dimension: &Dimension) -> bool {
    let (Some(extent), Some((lo, hi))) = (dimension.tile_extent, dimension.domain) else {
        return dimension.tile_extent.is_none();
    };
    match (extent, lo, hi) {
        (Scalar::F32(extent), Scalar::F32(lo), Scalar::F32(hi)) => hi - lo < extent,
        (Scalar::F64(extent), Scalar::F64(lo), Scalar::F64(hi)) => hi - lo < extent,
        _ => {
            let span = hi.ordinal().saturating_sub(lo.ordinal());
            extent.as_i128().is_some_and(|extent| i128::from(span) < extent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::{CellValNum, Datatype, FilterPipeline};

    fn dimension(datatype: Datatype, domain: (Scalar, Scalar), tile_extent: Option<Scalar>) -> Dimension {
        let filters = FilterPipeline::default();
        let cell_val_num = CellValNum::ONE;
        Dimension { name: "x".into(), datatype, cell_val_num, filters, domain: Some(domain), tile_extent }
    }

    #[test]
    fn a_dimension_is_one_tile_where_its_extent_covers_the_domain() {
        let ints = |extent: Option<i64>| {
            let domain = (Scalar::I64(-5), Scalar::I64(4));
            is_one_tile(&dimension(Datatype::Int64, domain, extent.map(Scalar::I64)))
        };
        assert_eq!([None, Some(9), Some(10), Some(11)].map(ints), [true, false, true, true]);
        let floats = |extent: f64| {
            let domain = (Scalar::F64(0.0), Scalar::F64(2.0));
            is_one_tile(&dimension(Datatype::Float64, domain, Some(Scalar::F64(extent))))
        };
        assert_eq!([1.0, 2.0, 2.5].map(floats), [false, false, true]);
        let whole = (Scalar::U64(0), Scalar::U64(u64::MAX));
        assert!(!is_one_tile(&dimension(Datatype::UInt64, whole, Some(Scalar::U64(u64::MAX)))));
    }
}
