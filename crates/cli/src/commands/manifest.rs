//! `smalti manifest`: the list of an array's files beside it.

use crate::args::{Global, ManifestArgs};
use crate::engine;
use crate::failure::Outcome;
use serde_json::json;
use smalti::Object;
use smalti_tools::human;
use smalti_tools::when::clock_ms;
use std::io::Write;

pub(super) fn run(global: &Global, args: &ManifestArgs) -> Outcome {
    let found = Object::at_with(&args.array, &engine::options(global, Default::default())?)?;
    let object = found.ok_or_else(|| {
        smalti::Error::not_found("neither an array nor a group is here").at_uri(&args.array)
    })?;
    let mut out = std::io::stdout().lock();
    if args.remove {
        let was_there = object.remove_manifest()?;
        if global.json {
            return Ok(writeln!(out, "{}", json!({"removed": was_there, "timestamp": clock_ms()}))?);
        }
        let message = if was_there { "removed the manifest" } else { "there was no manifest" };
        return Ok(writeln!(out, "{message}")?);
    }
    let written = object.write_manifest()?;
    if global.json {
        let json = json!({
            "manifest": written.path, "bytes": written.byte_len, "files": written.file_count,
            "listed_bytes": written.listed_byte_len, "timestamp": written.written_ms,
        });
        return Ok(writeln!(out, "{json}")?);
    }
    writeln!(
        out,
        "wrote {}: {} files, {}{}",
        written.path,
        human::count(written.file_count),
        human::bytes(written.listed_byte_len),
        human::at(written.written_ms)
    )?;
    Ok(())
}
