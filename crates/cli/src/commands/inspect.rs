//! `smalti inspect`: a file of an array, field by field, to the last byte.

use crate::args::{Global, InspectArgs};
use crate::failure::{Failure, Outcome};
use smalti::format::{TraceDetail, TraceEntry};
use smalti::{Error, ErrorKind, InspectedPart, Inspector, UNEXPLAINED};
use std::io::Write;

pub(super) fn run(global: &Global, args: &InspectArgs) -> Outcome {
    let uri = args.file.to_string_lossy();
    let mut inspector = Inspector::open(&uri, global.encryption_key()?, smalti::system_env())
        .map_err(|error| error.at_uri(uri))?;
    if let Some(byte_len) = global.metadata_limit {
        inspector = inspector.with_metadata_limit(byte_len);
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let detail = if args.all || global.json { TraceDetail::Full } else { TraceDetail::Folded };
    let (all, json) = (args.all, global.json);
    let mut shown = Shown { out: &mut out, all, json, part_count: 0, is_summed_up: false, failure: None };
    shown.head(&inspector)?;
    let outcome = inspector.parts(detail, &mut |part| shown.part(&part));
    if let Some(failure) = shown.failure {
        return Err(failure);
    }
    shown.end(outcome.as_ref().err())?;
    out.flush()?;
    Ok(outcome?)
}

/// The parts of a file as they come: files may be large.
struct Shown<'a> {
    out: &'a mut dyn Write,
    all: bool,
    json: bool,
    part_count: usize,
    /// Whether the part before was the frame of a filtered tile, shown in one line: its content follows.
    is_summed_up: bool,
    /// Why nothing can be printed any more.
    failure: Option<Failure>,
}

impl Shown<'_> {
    fn head(&mut self, inspector: &Inspector) -> Outcome {
        let (uri, kind, byte_len) = (inspector.uri(), inspector.kind(), inspector.file_byte_len());
        if self.json {
            let head = serde_json::json!({ "file": uri, "kind": kind, "bytes": byte_len }).to_string();
            write!(self.out, "{},\"parts\":[", head.trim_end_matches('}'))?;
        } else {
            writeln!(self.out, "{uri}: {kind}, {byte_len} bytes")?;
        }
        Ok(())
    }

    /// Prints a part; a failure to print ends the inspection.
    fn part(&mut self, part: &InspectedPart) -> smalti::Result<()> {
        let printed = if self.json { self.part_json(part) } else { self.part_text(part) };
        self.part_count += 1;
        printed.map_err(|error| {
            self.failure = Some(error.into());
            Error::new(ErrorKind::Cancelled, "nobody reads the output")
        })
    }

    fn end(&mut self, damage: Option<&Error>) -> Outcome {
        if self.json {
            let damage = serde_json::json!(damage.map(ToString::to_string));
            writeln!(self.out, "],\"damage\":{damage}}}")?;
        }
        Ok(())
    }

    fn part_text(&mut self, part: &InspectedPart) -> std::io::Result<()> {
        let (start, end) = (part.file_range.start, part.file_range.end);
        let goes_on = std::mem::take(&mut self.is_summed_up) && part.unfiltered_len.is_some();
        match part.unfiltered_len {
            _ if goes_on => {}
            Some(len) => writeln!(self.out, "\n{}, {len} bytes unfiltered", part.title)?,
            None => writeln!(self.out, "\n{}, bytes {start} to {end} of the file", part.title)?,
        }
        if let Some(summary) = part.summary.as_ref().filter(|_| !self.all && !part.has_unexplained()) {
            self.is_summed_up = true;
            return writeln!(self.out, "{summary}");
        }
        if part.fields.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "{:>8} {:>8}  {:<44} value", "offset", "bytes", "field")?;
        for TraceEntry { depth, structure, field, byte_offset, byte_len, value, .. } in
            part.fields.iter().filter(|field| self.all || !field.is_framing)
        {
            let name = format!("{}{field}", "  ".repeat(*depth));
            let is_plain = *depth > 0 || *field == UNEXPLAINED;
            let name = if is_plain { name } else { format!("{structure}: {name}") };
            let line = format!("{byte_offset:>8} {byte_len:>8}  {name:<44} {value}");
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn part_json(&mut self, part: &InspectedPart) -> std::io::Result<()> {
        let depths = part.fields.iter().skip(1).map(|next| next.depth).chain([0]);
        let fields = part.fields.iter().zip(depths).map(|(entry, next)| {
            serde_json::json!({
                "depth": entry.depth, "structure": entry.structure, "field": entry.field, "type": entry.on_disk,
                "offset": entry.byte_offset, "bytes": entry.byte_len, "value": entry.value,
                "leaf": next <= entry.depth, "doc": entry.doc.split_whitespace().collect::<Vec<_>>().join(" "),
            })
        });
        let json = serde_json::json!({
            "title": part.title,
            "file_range": [part.file_range.start, part.file_range.end],
            "offsets_in": if part.unfiltered_len.is_some() { "unfiltered tile" } else { "file" },
            "unfiltered_bytes": part.unfiltered_len,
            "fields": fields.collect::<Vec<_>>(),
        });
        let comma = if self.part_count == 0 { "" } else { "," };
        write!(self.out, "{comma}{json}")
    }
}
