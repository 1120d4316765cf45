//! Loading fragments, and what each of them is.

use super::{FragmentInfo, ORIGIN};
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::{In, New, Out, OutText, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::schema::SchemaHandle;
use crate::text::TextHandle;
use crate::values::{index, small_count};

const URI: &str = "Cannot get fragment URI";

entries! {
    fn tiledb_fragment_info_alloc(ctx, array_uri: Text, info: New<FragmentInfo>) {
        info.check()?;
        let uri = array_uri.get("array_uri")?.to_owned();
        info.put(FragmentInfo { uri, config: ctx.config.clone(), loaded: None })
    }

    fn tiledb_fragment_info_set_config(ctx, info: In<FragmentInfo>, config: In<Config>) {
        let config = config.read()?.clone();
        info.write()?.config = config;
        Ok(())
    }

    fn tiledb_fragment_info_get_config(ctx, info: In<FragmentInfo>, config: New<Config>) {
        config.put(info.read()?.config.clone())
    }

    fn tiledb_fragment_info_load(ctx, info: In<FragmentInfo>) {
        info.write()?.load(ctx)
    }

    fn tiledb_fragment_info_get_fragment_name_v2(
        ctx,
        info: In<FragmentInfo>,
        fid: u32,
        name: New<TextHandle>,
    ) {
        name.put(TextHandle(info.read()?.fragment(fid, "Cannot get fragment name")?.name().to_owned()))
    }

    fn tiledb_fragment_info_get_fragment_num(ctx, info: In<FragmentInfo>, num: Out<u32>) {
        num.put(small_count(info.read()?.loaded()?.fragments.len()))
    }

    fn tiledb_fragment_info_get_fragment_uri(ctx, info: In<FragmentInfo>, fid: u32, uri: OutText) {
        let slot = info.slot()?;
        let info = slot.read();
        uri.put(slot.lend_text(&info.uri_of(info.fragment(fid, URI)?.name())))
    }

    fn tiledb_fragment_info_get_fragment_size(ctx, info: In<FragmentInfo>, fid: u32, size: Out<u64>) {
        size.put(info.read()?.fragment(fid, URI)?.byte_len()?)
    }

    fn tiledb_fragment_info_get_dense(ctx, info: In<FragmentInfo>, fid: u32, dense: Out<i32>) {
        dense.put(info.read()?.fragment(fid, "Cannot check if fragment is dense")?.is_dense().into())
    }

    fn tiledb_fragment_info_get_sparse(ctx, info: In<FragmentInfo>, fid: u32, sparse: Out<i32>) {
        let info = info.read()?;
        sparse.put((!info.fragment(fid, "Cannot check if fragment is sparse")?.is_dense()).into())
    }

    fn tiledb_fragment_info_get_timestamp_range(
        ctx,
        info: In<FragmentInfo>,
        fid: u32,
        start: Out<u64>,
        end: Out<u64>,
    ) {
        let time = info.read()?.fragment(fid, "Cannot get timestamp range")?.time();
        start.put(time.start)?;
        end.put(time.end)
    }

    fn tiledb_fragment_info_get_cell_num(ctx, info: In<FragmentInfo>, fid: u32, cell_num: Out<u64>) {
        let info = info.read()?;
        cell_num.put(info.cells(info.fragment(fid, URI)?)?)
    }

    fn tiledb_fragment_info_get_total_cell_num(ctx, info: In<FragmentInfo>, cells: Out<u64>) {
        let info = info.read()?;
        let counts = info.loaded()?.fragments.iter().map(|fragment| info.cells(fragment));
        cells.put(counts.sum::<Fallible<u64>>()?)
    }

    fn tiledb_fragment_info_get_version(ctx, info: In<FragmentInfo>, fid: u32, version: Out<u32>) {
        version.put(info.read()?.fragment(fid, "Cannot get version")?.format_version())
    }

    fn tiledb_fragment_info_has_consolidated_metadata(
        ctx,
        info: In<FragmentInfo>,
        fid: u32,
        has: Out<i32>,
    ) {
        let info = info.read()?;
        let what = "Cannot check if fragment has consolidated metadata";
        has.put(info.fragment(fid, what)?.has_consolidated_metadata().into())
    }

    fn tiledb_fragment_info_get_unconsolidated_metadata_num(
        ctx,
        info: In<FragmentInfo>,
        unconsolidated: Out<u32>,
    ) {
        let info = info.read()?;
        let fragments = &info.loaded()?.fragments;
        let alone = fragments.iter().filter(|fragment| !fragment.has_consolidated_metadata());
        unconsolidated.put(small_count(alone.count()))
    }

    fn tiledb_fragment_info_get_to_vacuum_num(ctx, info: In<FragmentInfo>, num: Out<u32>) {
        num.put(small_count(info.read()?.loaded()?.to_vacuum.len()))
    }

    fn tiledb_fragment_info_get_to_vacuum_uri(ctx, info: In<FragmentInfo>, fid: u32, uri: OutText) {
        let slot = info.slot()?;
        match slot.read().loaded()?.to_vacuum.get(index(fid)) {
            Some(found) => uri.put(slot.lend_text(found)),
            None => fail(ORIGIN, "Cannot get URI of fragment to vacuum; Invalid fragment index"),
        }
    }

    fn tiledb_fragment_info_get_array_schema(
        ctx,
        info: In<FragmentInfo>,
        fid: u32,
        array_schema: New<SchemaHandle>,
    ) {
        let info = info.read()?;
        let schema = info.fragment(fid, "Cannot get array schema")?.schema().clone();
        let mut handle = info.loaded()?.schema.clone();
        handle.schema = schema;
        array_schema.put(handle)
    }

    fn tiledb_fragment_info_get_array_schema_name(
        ctx,
        info: In<FragmentInfo>,
        fid: u32,
        schema_name: OutText,
    ) {
        let slot = info.slot()?;
        let name = slot.read().fragment(fid, "Cannot get array schema name")?.schema_name().to_owned();
        schema_name.put(slot.lend_text(&name))
    }
}

free_entries! { tiledb_fragment_info_free: FragmentInfo }
