//! Dimensions.

use super::dump;
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{Data, In, New, Out, OutText, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::names;
use crate::text::TextHandle;
use crate::values::count;
use smalti::format::Dimension;
use smalti::{CellValNum, Datatype, FilterPipeline, Scalar};
use std::ffi::c_void;

kinds! { Dimension => "dimension" }

const ORIGIN: &str = "Dimension";

/// Whether dimensions are of such a type.
pub(super) fn check_datatype(datatype: Datatype) -> Fallible<()> {
    let is_number =
        datatype.is_integer() || datatype.is_float() || datatype.is_datetime() || datatype.is_time();
    if is_number || datatype == Datatype::StringAscii {
        return Ok(());
    }
    let name = datatype.name();
    fail("TileDB internal", format!("Datatype::{name} is not a valid Dimension Datatype"))
}

/// The domain, after a check.
fn domain(datatype: Datatype, given: Data) -> Fallible<Option<(Scalar, Scalar)>> {
    let width = datatype.byte_len();
    let Some(bytes) = given.optional(count(2 * width))? else {
        return match datatype {
            Datatype::StringAscii => Ok(None),
            _ => fail(ORIGIN, "Domain check failed; Invalid dimension domain type"),
        };
    };
    if datatype == Datatype::StringAscii {
        return fail(ORIGIN, "Setting the domain to a dimension with type 'STRING_ASCII' is not supported");
    }
    let (lo, hi) = bytes.split_at(width);
    let (lo, hi) = (Scalar::read(datatype, lo)?, Scalar::read(datatype, hi)?);
    if datatype.is_float() {
        // libtiledb says so of infinities, too.
        if !lo.as_f64().is_finite() || !hi.as_f64().is_finite() {
            return fail(ORIGIN, "Domain check failed; domain contains NaN");
        }
    }
    if lo.ordinal() > hi.ordinal() {
        return fail(
            ORIGIN,
            "Domain check failed; Upper domain bound should not be smaller than the lower one",
        );
    }
    if !datatype.is_float() {
        let (lo, hi) = (lo.as_i128().unwrap_or(0), hi.as_i128().unwrap_or(0));
        if hi - lo >= i128::from(u64::MAX >> (64 - 8 * width)) {
            return fail(
                ORIGIN,
                "Domain check failed; Domain range (upper + lower + 1) is larger than the maximum unsigned number",
            );
        }
    }
    Ok(Some((lo, hi)))
}

/// The tile extent, after a check.
fn tile_extent(
    name: &str,
    datatype: Datatype,
    domain: Option<(Scalar, Scalar)>,
    given: Data,
) -> Fallible<Option<Scalar>> {
    let Some(bytes) = given.optional(count(datatype.byte_len()))? else { return Ok(None) };
    let Some((lo, hi)) = domain else {
        return fail(
            ORIGIN,
            format!(
                "Setting the tile extent to a dimension with type '{}' is not supported",
                datatype.name()
            ),
        );
    };
    let extent = Scalar::read(datatype, bytes)?;
    let bad = |what: String| fail(ORIGIN, format!("Tile extent check failed on dimension '{name}'; {what}"));
    let exceeds = || {
        let told = |value: Scalar| {
            if datatype.is_float() { format!("{:.6}", value.as_f64()) } else { value.to_string() }
        };
        bad(format!(
            "Tile extent {} exceeds range on dimension domain [{}, {}]",
            told(extent),
            told(lo),
            told(hi)
        ))
    };
    if datatype.is_float() {
        let (length, range) = (extent.as_f64(), hi.as_f64() - lo.as_f64());
        if length.is_nan() || length <= 0.0 {
            return bad("Tile extent must be greater than 0".into());
        }
        if length > range + 1.0 {
            return exceeds();
        }
        return Ok(Some(extent));
    }
    let (lo, hi) = (lo.as_i128().unwrap_or(0), hi.as_i128().unwrap_or(0));
    let wide = extent.as_i128().unwrap_or(0);
    if wide == 0 {
        return bad("Tile extent must not be 0".into());
    }
    if wide < 0 {
        return bad("Tile extent must be greater than 0".into());
    }
    let range = hi - lo + 1;
    if wide > range {
        return exceeds();
    }
    let end = lo + (range - 1) / wide * wide + wide - 1;
    // Ends of tiles are computed in 64 bits, whatever the type.
    let is_unsigned =
        matches!(datatype, Datatype::UInt8 | Datatype::UInt16 | Datatype::UInt32 | Datatype::UInt64);
    let greatest = if is_unsigned { i128::from(u64::MAX) } else { i128::from(i64::MAX) };
    if end > greatest {
        return fail(
            ORIGIN,
            "Tile extent check failed; domain max expanded to multiple of tile extent exceeds max value representable \
             by domain type. Reduce domain max by 1 tile extent to allow for expansion.",
        );
    }
    Ok(Some(extent))
}

fn new(name: &str, datatype: Datatype, given: Data, extent: Data) -> Fallible<Dimension> {
    check_datatype(datatype)?;
    let domain = domain(datatype, given)?;
    Ok(Dimension {
        name: name.to_owned(),
        datatype,
        cell_val_num: if datatype == Datatype::StringAscii { CellValNum::Var } else { CellValNum::ONE },
        filters: FilterPipeline::default(),
        domain,
        tile_extent: tile_extent(name, datatype, domain, extent)?,
    })
}

entries! {
    fn tiledb_dimension_alloc(
        ctx,
        name: Text,
        kind: i32,
        dim_domain: Data,
        tile_extent: Data,
        dim: New<Dimension>,
    ) {
        let Some(name) = name.optional()? else { return fail("C API", "Dimension name must not be NULL") };
        dim.check()?;
        dim.put(new(name, names::datatype(kind)?, dim_domain, tile_extent)?)
    }

    fn tiledb_dimension_set_filter_list(ctx, dim: In<Dimension>, filter_list: In<FilterPipeline>) {
        let filters = filter_list.read()?.clone();
        let mut dim = dim.write()?;
        super::filters_fit::check(&filters, dim.datatype, dim.cell_val_num)?;
        dim.filters = filters;
        Ok(())
    }

    fn tiledb_dimension_set_cell_val_num(ctx, dim: In<Dimension>, cell_val_num: u32) {
        let dim = dim.write()?;
        let given = CellValNum::from_raw(cell_val_num);
        if dim.datatype == Datatype::StringAscii && given != Some(CellValNum::Var) {
            return fail(ORIGIN, "Cannot set non-variable number of values per coordinate for a string dimension");
        }
        if dim.datatype != Datatype::StringAscii && given != Some(CellValNum::ONE) {
            return fail(
                ORIGIN,
                "Cannot set number of values per coordinate; Currently only one value per coordinate is supported",
            );
        }
        Ok(())
    }

    fn tiledb_dimension_get_filter_list(ctx, dim: In<Dimension>, filter_list: New<FilterPipeline>) {
        filter_list.put(dim.read()?.filters.clone())
    }

    fn tiledb_dimension_get_cell_val_num(ctx, dim: In<Dimension>, cell_val_num: Out<u32>) {
        cell_val_num.put(dim.read()?.cell_val_num.raw())
    }

    fn tiledb_dimension_get_name(ctx, dim: In<Dimension>, name: OutText) {
        let slot = dim.slot()?;
        name.put(slot.lend_text(&slot.read().name))
    }

    fn tiledb_dimension_get_type(ctx, dim: In<Dimension>, kind: Out<i32>) {
        kind.put(dim.read()?.datatype.tag().into())
    }

    fn tiledb_dimension_get_domain(ctx, dim: In<Dimension>, domain: Out<*const c_void>) {
        let slot = dim.slot()?;
        let bounds = slot.read().domain;
        domain.put(match bounds {
            Some((lo, hi)) => slot.lend(&[lo.to_le_bytes(), hi.to_le_bytes()].concat()),
            None => std::ptr::null(),
        })
    }

    fn tiledb_dimension_get_tile_extent(ctx, dim: In<Dimension>, tile_extent: Out<*const c_void>) {
        let slot = dim.slot()?;
        let extent = slot.read().tile_extent;
        tile_extent.put(extent.map_or(std::ptr::null(), |extent| slot.lend(&extent.to_le_bytes())))
    }

    fn tiledb_dimension_dump_str(ctx, dim: In<Dimension>, out: New<TextHandle>) {
        out.put(TextHandle(dump::dimension(&*dim.read()?)))
    }
}

free_entries! { tiledb_dimension_free: Dimension }

/// That a dimension is missing.
pub(super) fn missing(name: &str) -> Failure {
    Failure::told("C API", format!("Dimension '{name}' does not exist"))
}
