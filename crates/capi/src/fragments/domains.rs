//! Non-empty domains and rectangles of fragments.

use super::{FragmentInfo, ORIGIN};
use crate::boundary::entry::entries;
use crate::boundary::{DataOut, In, Out, Text};
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::values::{count, ends, index};

/// The two ends of a side.
type Side = (Vec<u8>, Vec<u8>);

const DOMAIN: &str = "Cannot get non-empty domain";
const MBR: &str = "Cannot get MBR";

/// What of a side is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Asked {
    /// Both ends, of a dimension of fixed size.
    Numbers,
    /// The sizes of both, of one of any size.
    Sizes,
    /// Both ends, of one of any size.
    Texts,
}

impl Asked {
    /// How a message begins.
    fn words(self, what: &str) -> String {
        match self {
            Asked::Numbers => what.to_owned(),
            Asked::Sizes => format!("{what} var size"),
            Asked::Texts => format!("{what} var"),
        }
    }
}

fn check(info: &FragmentInfo, did: u32, asked: Asked, what: &str) -> Fallible<()> {
    let is_var = asked != Asked::Numbers;
    let what = asked.words(what);
    match info.loaded()?.schema.schema.dimensions.get(index(did)) {
        None => fail(ORIGIN, format!("{what}; Invalid dimension index")),
        Some(dimension) if dimension.cell_val_num.is_var() && !is_var => {
            fail(ORIGIN, format!("{what}; Dimension is variable-sized"))
        }
        Some(dimension) if !dimension.cell_val_num.is_var() && is_var => {
            let fixed = if asked == Asked::Sizes { "fixed sized" } else { "fixed-sized" };
            fail(ORIGIN, format!("{what}; Dimension is {fixed}"))
        }
        Some(_) => Ok(()),
    }
}

fn domain(info: &FragmentInfo, fid: u32, did: u32, asked: Asked) -> Fallible<Side> {
    let fragment = info.fragment(fid, &asked.words(DOMAIN))?;
    check(info, did, asked, DOMAIN)?;
    let dimension = info.loaded()?.schema.schema.dimensions.get(index(did));
    match (dimension, fragment.non_empty_extents().get(index(did))) {
        (Some(dimension), Some(extent)) => Ok(ends(dimension.datatype, extent)),
        _ => fail(ORIGIN, format!("{DOMAIN}; Invalid dimension index")),
    }
}

fn rectangle(info: &FragmentInfo, fid: u32, mid: u32, did: u32, asked: Asked) -> Fallible<Side> {
    let fragment = info.fragment(fid, &asked.words(MBR))?;
    if fragment.is_dense() {
        return fail(ORIGIN, format!("{MBR}; Fragment is not sparse"));
    }
    check(info, did, asked, MBR)?;
    let Some(list) = fragment.tile_rectangles()? else {
        return fail(ORIGIN, format!("{MBR}; Fragment is not sparse"));
    };
    if index(mid) >= list.len() {
        let what = match asked {
            Asked::Numbers => "Cannot get MBR; Invalid MBR index",
            Asked::Sizes => "Cannot get MBR; Invalid mbr index",
            Asked::Texts => "Cannot get MBR var; Invalid mbr index",
        };
        return fail(ORIGIN, what);
    }
    let extent = list.extent(index(mid), index(did)).to_owned();
    match info.loaded()?.schema.schema.dimensions.get(index(did)) {
        Some(dimension) => Ok(ends(dimension.datatype, &extent)),
        None => fail(ORIGIN, format!("{MBR}; Invalid dimension index")),
    }
}

fn put_sizes((lo, hi): &Side, start: Out<u64>, end: Out<u64>) -> Fallible<()> {
    start.put(count(lo.len()))?;
    end.put(count(hi.len()))
}

fn put_ends((lo, hi): &Side, start: DataOut, end: DataOut) -> Fallible<()> {
    start.put(lo)?;
    end.put(hi)
}

entries! {
    fn tiledb_fragment_info_get_non_empty_domain_from_index(
        ctx, info: In<FragmentInfo>, fid: u32, did: u32, place: DataOut,
    ) {
        let (lo, hi) = domain(&*info.read()?, fid, did, Asked::Numbers)?;
        place.put(&[lo, hi].concat())
    }

    fn tiledb_fragment_info_get_non_empty_domain_from_name(
        ctx, info: In<FragmentInfo>, fid: u32, dim_name: Text, place: DataOut,
    ) {
        let info = info.read()?;
        let did = info.dimension_idx(dim_name.get("dim_name")?, DOMAIN)?;
        let (lo, hi) = domain(&info, fid, did, Asked::Numbers)?;
        place.put(&[lo, hi].concat())
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_size_from_index(
        ctx, info: In<FragmentInfo>, fid: u32, did: u32, start_size: Out<u64>, end_size: Out<u64>,
    ) {
        put_sizes(&domain(&*info.read()?, fid, did, Asked::Sizes)?, start_size, end_size)
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_size_from_name(
        ctx, info: In<FragmentInfo>, fid: u32, dim_name: Text, start_size: Out<u64>, end_size: Out<u64>,
    ) {
        let info = info.read()?;
        let did = info.dimension_idx(dim_name.get("dim_name")?, DOMAIN)?;
        put_sizes(&domain(&info, fid, did, Asked::Sizes)?, start_size, end_size)
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_from_index(
        ctx, info: In<FragmentInfo>, fid: u32, did: u32, start: DataOut, end: DataOut,
    ) {
        put_ends(&domain(&*info.read()?, fid, did, Asked::Texts)?, start, end)
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_from_name(
        ctx, info: In<FragmentInfo>, fid: u32, dim_name: Text, start: DataOut, end: DataOut,
    ) {
        let info = info.read()?;
        let did = info.dimension_idx(dim_name.get("dim_name")?, DOMAIN)?;
        put_ends(&domain(&info, fid, did, Asked::Texts)?, start, end)
    }

    fn tiledb_fragment_info_get_mbr_num(ctx, info: In<FragmentInfo>, fid: u32, mbr_num: Out<u64>) {
        let info = info.read()?;
        let fragment = info.fragment(fid, "Cannot get fragment URI")?;
        let rectangles = if fragment.is_dense() { None } else { fragment.tile_rectangles()? };
        mbr_num.put(rectangles.map_or(0, |list| count(list.len())))
    }

    fn tiledb_fragment_info_get_mbr_from_index(
        ctx, info: In<FragmentInfo>, fid: u32, mid: u32, did: u32, mbr: DataOut,
    ) {
        let (lo, hi) = rectangle(&*info.read()?, fid, mid, did, Asked::Numbers)?;
        mbr.put(&[lo, hi].concat())
    }

    fn tiledb_fragment_info_get_mbr_from_name(
        ctx, info: In<FragmentInfo>, fid: u32, mid: u32, dim_name: Text, mbr: DataOut,
    ) {
        let info = info.read()?;
        let did = info.dimension_idx(dim_name.get("dim_name")?, MBR)?;
        let (lo, hi) = rectangle(&info, fid, mid, did, Asked::Numbers)?;
        mbr.put(&[lo, hi].concat())
    }

    fn tiledb_fragment_info_get_mbr_var_size_from_index(
        ctx, info: In<FragmentInfo>, fid: u32, mid: u32, did: u32, start_size: Out<u64>, end_size: Out<u64>,
    ) {
        put_sizes(&rectangle(&*info.read()?, fid, mid, did, Asked::Sizes)?, start_size, end_size)
    }

    fn tiledb_fragment_info_get_mbr_var_size_from_name(
        ctx,
        info: In<FragmentInfo>,
        fid: u32,
        mid: u32,
        dim_name: Text,
        start_size: Out<u64>,
        end_size: Out<u64>,
    ) {
        let info = info.read()?;
        let did = info.dimension_idx(dim_name.get("dim_name")?, MBR)?;
        put_sizes(&rectangle(&info, fid, mid, did, Asked::Sizes)?, start_size, end_size)
    }

    fn tiledb_fragment_info_get_mbr_var_from_index(
        ctx, info: In<FragmentInfo>, fid: u32, mid: u32, did: u32, start: DataOut, end: DataOut,
    ) {
        put_ends(&rectangle(&*info.read()?, fid, mid, did, Asked::Texts)?, start, end)
    }

    fn tiledb_fragment_info_get_mbr_var_from_name(
        ctx, info: In<FragmentInfo>, fid: u32, mid: u32, dim_name: Text, start: DataOut, end: DataOut,
    ) {
        let info = info.read()?;
        let did = info.dimension_idx(dim_name.get("dim_name")?, MBR)?;
        put_ends(&rectangle(&info, fid, mid, did, Asked::Texts)?, start, end)
    }
}
