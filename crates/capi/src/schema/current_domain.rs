//! Current domains, and the rectangles they are made of.

use super::domain::Dimensions;
use super::dump;
use crate::boundary::entry::{entries, plain_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{Data, In, New, Out, Slot, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::text::TextHandle;
use crate::values::{count, ends, extent, index, small_count};
use smalti::Extent;
use smalti::format::Dimension;
use std::ffi::c_void;

/// A rectangle over the dimensions of a domain, of which some sides may not be set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rectangle {
    pub(super) dimensions: Vec<Dimension>,
    pub(super) sides: Vec<Option<Extent>>,
}

/// A current domain: empty, or a rectangle.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CurrentDomainHandle(pub(crate) Option<Rectangle>);

kinds! { Rectangle => "tiledb_ndrectangle_t", CurrentDomainHandle => "tiledb_current_domain_t" }

/// The two ends of a side as C passes them.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct GivenRange {
    min: Data,
    min_size: u64,
    max: Data,
    max_size: u64,
}

/// The two ends of a side as C gets them.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct LentRange {
    min: *const c_void,
    min_size: u64,
    max: *const c_void,
    max_size: u64,
}

impl Rectangle {
    fn idx_of(&self, name: &str) -> Fallible<usize> {
        let found = self.dimensions.iter().position(|dimension| dimension.name == name);
        found.ok_or_else(|| {
            Failure::told("TileDB internal", "Cannot get dimension index; Invalid dimension name")
        })
    }

    fn set(&mut self, idx: usize, range: GivenRange) -> Fallible<()> {
        let (Some(dimension), Some(side)) = (self.dimensions.get(idx), self.sides.get_mut(idx)) else {
            return fail("TileDB internal", "invalid dimension index");
        };
        let width = count(dimension.datatype.byte_len());
        if !dimension.cell_val_num.is_var() && (range.min_size != width || range.max_size != width) {
            let size = range.min_size.saturating_add(range.max_size);
            let words = format!("Range size {size} does not match the expected size {}", 2 * width);
            return fail("TileDB internal", words);
        }
        let (lo, hi) = (range.min.bytes(range.min_size, "min")?, range.max.bytes(range.max_size, "max")?);
        *side = Some(extent(dimension.datatype, lo, hi)?);
        Ok(())
    }
}

fn lend_side(slot: &Slot<Rectangle>, idx: usize, range: Out<LentRange>) -> Fallible<()> {
    let rectangle = slot.read();
    let (Some(dimension), Some(side)) = (rectangle.dimensions.get(idx), rectangle.sides.get(idx)) else {
        return fail("TileDB internal", "Trying to get a range for an index out of bounds is not possible.");
    };
    let Some(side) = side else {
        return range.put(LentRange {
            min: std::ptr::null(),
            min_size: 0,
            max: std::ptr::null(),
            max_size: 0,
        });
    };
    let (lo, hi) = ends(dimension.datatype, side);
    range.put(LentRange {
        min: slot.lend(&lo),
        min_size: count(lo.len()),
        max: slot.lend(&hi),
        max_size: count(hi.len()),
    })
}

fn datatype_at(rectangle: &Rectangle, idx: usize, kind: Out<i32>) -> Fallible<()> {
    match rectangle.dimensions.get(idx) {
        Some(dimension) => kind.put(dimension.datatype.tag().into()),
        None => {
            fail("TileDB internal", "The index does not correspond to a valid dimension in the NDRectangle")
        }
    }
}

entries! {
    fn tiledb_ndrectangle_alloc(ctx, domain: In<Dimensions>, ndr: New<Rectangle>) {
        let dimensions = domain.read()?.list();
        if dimensions.is_empty() {
            return fail(
                "TileDB internal",
                "The TileDB domain used to create the NDRectangle has no dimensions.",
            );
        }
        ndr.put(Rectangle { sides: vec![None; dimensions.len()], dimensions })
    }

    fn tiledb_ndrectangle_get_range_from_name(
        ctx,
        ndr: In<Rectangle>,
        name: Text,
        range: Out<LentRange>,
    ) {
        let slot = ndr.slot()?;
        let idx = slot.read().idx_of(name.get("name")?)?;
        lend_side(slot, idx, range)
    }

    fn tiledb_ndrectangle_get_range(ctx, ndr: In<Rectangle>, idx: u32, range: Out<LentRange>) {
        lend_side(ndr.slot()?, index(idx), range)
    }

    fn tiledb_ndrectangle_set_range_for_name(
        ctx,
        ndr: In<Rectangle>,
        name: Text,
        range: Out<GivenRange>,
    ) {
        let mut rectangle = ndr.write()?;
        let idx = rectangle.idx_of(name.get("name")?)?;
        rectangle.set(idx, range.get()?)
    }

    fn tiledb_ndrectangle_set_range(ctx, ndr: In<Rectangle>, idx: u32, range: Out<GivenRange>) {
        ndr.write()?.set(index(idx), range.get()?)
    }

    fn tiledb_ndrectangle_get_dtype(ctx, ndr: In<Rectangle>, idx: u32, kind: Out<i32>) {
        datatype_at(&*ndr.read()?, index(idx), kind)
    }

    fn tiledb_ndrectangle_get_dtype_from_name(ctx, ndr: In<Rectangle>, name: Text, kind: Out<i32>) {
        let rectangle = ndr.read()?;
        datatype_at(&rectangle, rectangle.idx_of(name.get("name")?)?, kind)
    }

    fn tiledb_ndrectangle_get_dim_num(ctx, ndr: In<Rectangle>, ndim: Out<u32>) {
        ndim.put(small_count(ndr.read()?.dimensions.len()))
    }

    fn tiledb_ndrectangle_dump_str(ctx, ndr: In<Rectangle>, out: New<TextHandle>) {
        let rectangle = ndr.read()?;
        let sides: Vec<_> = rectangle.sides.iter().map(Option::as_ref).collect();
        out.put(TextHandle(dump::rectangle_text(&sides, &rectangle.dimensions)))
    }

    fn tiledb_current_domain_create(ctx, current_domain: New<CurrentDomainHandle>) {
        current_domain.put(CurrentDomainHandle(None))
    }

    fn tiledb_current_domain_set_ndrectangle(
        ctx,
        current_domain: In<CurrentDomainHandle>,
        ndr: In<Rectangle>,
    ) {
        let rectangle = ndr.read()?.clone();
        let mut current = current_domain.write()?;
        if current.0.is_some() {
            return fail(
                "TileDB internal",
                "Setting a rectangle on a non-empty CurrentDomain object is not allowed.",
            );
        }
        current.0 = Some(rectangle);
        Ok(())
    }

    fn tiledb_current_domain_get_ndrectangle(
        ctx,
        current_domain: In<CurrentDomainHandle>,
        ndr: New<Rectangle>,
    ) {
        match &current_domain.read()?.0 {
            Some(rectangle) => ndr.put(rectangle.clone()),
            None => fail(
                "TileDB internal",
                "It's not possible to get the ndrectangle from this current domain if one isn't set.",
            ),
        }
    }

    fn tiledb_current_domain_get_is_empty(
        ctx,
        current_domain: In<CurrentDomainHandle>,
        is_empty: Out<u32>,
    ) {
        is_empty.put(current_domain.read()?.0.is_none().into())
    }

    fn tiledb_current_domain_get_type(ctx, current_domain: In<CurrentDomainHandle>, kind: Out<i32>) {
        match current_domain.read()?.0 {
            Some(_) => kind.put(0),
            None => fail(
                "TileDB internal",
                "It's not possible to read the type, this CurrentDomain instance is empty.",
            ),
        }
    }

    fn tiledb_current_domain_dump_str(
        ctx,
        current_domain: In<CurrentDomainHandle>,
        out: New<TextHandle>,
    ) {
        let text = match &current_domain.read()?.0 {
            None => dump::current_domain(None, &[]),
            Some(rectangle) => {
                let sides: Vec<_> = rectangle.sides.iter().map(Option::as_ref).collect();
                let sides = dump::rectangle_text(&sides, &rectangle.dimensions);
                format!("### Current domain ###\n- Version: 0\n- Empty: 0\n- Type: NDRECTANGLE\n{sides}")
            }
        };
        out.put(TextHandle(text))
    }
}

plain_entries! {
    fn tiledb_ndrectangle_free(ndr: New<Rectangle>) {
        ndr.free()
    }

    fn tiledb_current_domain_free(current_domain: New<CurrentDomainHandle>) {
        current_domain.free()
    }
}
