//! `smalti inspect`: a file of an array, field by field.

use crate::args::{Global, InspectArgs};
use crate::failure::Outcome;
use smalti::format::TraceEntry;
use smalti::{InspectedPart, Inspection};
use std::io::Write;

pub(super) fn run(global: &Global, args: &InspectArgs) -> Outcome {
    let uri = args.file.to_string_lossy();
    let inspection = smalti::inspect(&uri, global.encryption_key()?, smalti::system_env())
        .map_err(|error| error.at_uri(uri))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if global.json {
        let parts: Vec<serde_json::Value> = inspection.parts.iter().map(part_json).collect();
        let json = serde_json::json!({
            "file": inspection.uri, "kind": inspection.kind, "bytes": inspection.file_byte_len, "parts": parts,
        });
        writeln!(out, "{json}")?;
    } else {
        print(&mut out, &inspection)?;
    }
    Ok(out.flush()?)
}

fn print(out: &mut dyn Write, inspection: &Inspection) -> std::io::Result<()> {
    writeln!(out, "{}: {}, {} bytes", inspection.uri, inspection.kind, inspection.file_byte_len)?;
    for part in &inspection.parts {
        let (start, end) = (part.file_range.start, part.file_range.end);
        writeln!(out, "\n{}, bytes {start} to {end} of the file", part.title)?;
        if part.in_unfiltered_tile && !part.fields.is_empty() {
            writeln!(out, "offsets count in the unfiltered tile")?;
        }
        if part.fields.is_empty() {
            continue;
        }
        writeln!(out, "{:>8} {:>8}  {:<44} value", "offset", "bytes", "field")?;
        for TraceEntry { depth, structure, field, byte_offset, byte_len, value } in &part.fields {
            let name = format!("{:indent$}{field}", "", indent = 2 * depth);
            let name = if *depth == 0 { format!("{structure}: {name}") } else { name };
            writeln!(out, "{}", format!("{byte_offset:>8} {byte_len:>8}  {name:<44} {value}").trim_end())?;
        }
    }
    Ok(())
}

fn part_json(part: &InspectedPart) -> serde_json::Value {
    let field = |entry: &TraceEntry| {
        serde_json::json!({
            "depth": entry.depth, "structure": entry.structure, "field": entry.field,
            "offset": entry.byte_offset, "bytes": entry.byte_len, "value": entry.value,
        })
    };
    serde_json::json!({
        "title": part.title,
        "file_range": [part.file_range.start, part.file_range.end],
        "in_unfiltered_tile": part.in_unfiltered_tile,
        "fields": part.fields.iter().map(field).collect::<Vec<_>>(),
    })
}
