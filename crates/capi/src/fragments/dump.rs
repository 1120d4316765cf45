//! Fragments as text, in libtiledb's form.

use super::FragmentInfo;
use crate::boundary::entry::entries;
use crate::boundary::memory::Stream;
use crate::boundary::{In, New};
use crate::context::Context;
use crate::failure::Fallible;
use crate::text::TextHandle;
use crate::values::interval;
use std::fmt::Write;

fn dump(info: &FragmentInfo) -> Fallible<String> {
    let loaded = info.loaded()?;
    let alone = loaded.fragments.iter().filter(|fragment| !fragment.has_consolidated_metadata()).count();
    let mut text = format!(
        "- Fragment num: {}\n- Unconsolidated metadata num: {alone}\n- To vacuum num: {}\n",
        loaded.fragments.len(),
        loaded.to_vacuum.len()
    );
    if !loaded.to_vacuum.is_empty() {
        text.push_str("- To vacuum URIs:\n");
        loaded.to_vacuum.iter().for_each(|uri| {
            let _ = writeln!(text, "  > {uri}");
        });
    }
    for (idx, fragment) in loaded.fragments.iter().enumerate() {
        let dimensions = &loaded.schema.schema.dimensions;
        let sides = dimensions.iter().zip(fragment.non_empty_extents());
        let sides: Vec<_> = sides.map(|(dimension, side)| interval(dimension.datatype, side)).collect();
        let time = fragment.time();
        let _ = write!(
            text,
            "- Fragment #{}:\n  > URI: {}\n  > Schema name: {}\n  > Type: {}\n  > Non-empty domain: {}\n  > Size: {}\n\
             \x20 > Cell num: {}\n  > Timestamp range: [{}, {}]\n  > Format version: {}\n\
             \x20 > Has consolidated metadata: {}\n",
            idx + 1,
            info.uri_of(fragment.name()),
            fragment.schema_name(),
            if fragment.is_dense() { "dense" } else { "sparse" },
            sides.join(" x "),
            fragment.byte_len()?,
            info.cells(fragment)?,
            time.start,
            time.end,
            fragment.format_version(),
            if fragment.has_consolidated_metadata() { "yes" } else { "no" },
        );
    }
    Ok(text)
}

entries! {
    fn tiledb_fragment_info_dump(ctx, info: In<FragmentInfo>, out: Stream) {
        out.put(&dump(&*info.read()?)?)
    }

    fn tiledb_fragment_info_dump_str(ctx, info: In<FragmentInfo>, out: New<TextHandle>) {
        out.put(TextHandle(dump(&*info.read()?)?))
    }
}
