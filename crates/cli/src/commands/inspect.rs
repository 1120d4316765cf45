//! `smalti inspect`: a file of an array, field by field, to the last byte.

use crate::args::{Global, InspectArgs, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use smalti::format::{TraceDetail, TraceEntry};
use smalti::{Error, ErrorKind, InspectedPart, Inspector, UNEXPLAINED};
use smalti_tools::formats::Table;
use smalti_tools::human;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) fn run(global: &Global, args: &InspectArgs) -> Outcome {
    let uri = args.file.to_string_lossy();
    let path = Path::new(uri.strip_prefix("file://").unwrap_or(&uri));
    if path.is_dir() { folder(global, args, path) } else { file(global, args, &uri) }
}

/// The files of a folder and of those in it, with what each is; or each of them in turn.
fn folder(global: &Global, args: &InspectArgs, folder: &Path) -> Outcome {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    if args.all {
        for (idx, (path, byte_len)) in files.iter().enumerate() {
            if idx > 0 && !global.json {
                println!();
            }
            each(global, args, path, *byte_len)?;
        }
        return Ok(());
    }
    let options = engine::options(global, OpenTimes::default())?;
    let kind = |path: &Path| {
        let inspector = options.inspect(&path.to_string_lossy());
        inspector.map_or("no file of an array", |inspector| inspector.kind())
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let below = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    if global.json {
        let rows = files.iter().map(|(path, byte_len)| {
            serde_json::json!({"path": below(path), "bytes": byte_len, "kind": kind(path)})
        });
        let json = serde_json::json!({"folder": args.file, "files": rows.collect::<Vec<_>>()});
        writeln!(out, "{json}")?;
        return Ok(out.flush()?);
    }
    let mut table = Table::new(["file", "bytes", "kind"].map(|title| (title.to_string(), title == "bytes")));
    for (path, byte_len) in files.iter().take(MAX_LISTED_FILES) {
        table.push(vec![below(path), human::count(*byte_len), kind(path).to_string()]);
    }
    table.print(&mut out)?;
    if let Some(more) = files.len().checked_sub(MAX_LISTED_FILES).filter(|&more| more > 0) {
        writeln!(out, "... and {} more; --json lists them all", human::count(more as u64))?;
    }
    if let Some((path, _)) = files.first() {
        let example = path.display();
        writeln!(out, "`smalti inspect {example}` prints that file field by field; --all prints every file")?;
    }
    Ok(out.flush()?)
}

/// Prints a file of a folder; what is wrong with it, or what it is instead, is told in its place.
fn each(global: &Global, args: &InspectArgs, path: &Path, byte_len: u64) -> Outcome {
    let opened = inspector(global, &path.to_string_lossy());
    let problem = match opened.and_then(|inspector| print(global, args, &inspector)) {
        // The damage of a file stands behind its parts, in JSON as one of its keys.
        Ok(Err(_)) if global.json => return Ok(()),
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) | Err(Failure::Error(error)) => error,
        Err(failure) => return Err(failure),
    };
    let mut out = std::io::stdout().lock();
    if global.json {
        let json = serde_json::json!({
            "file": path.to_string_lossy(), "kind": null, "bytes": byte_len, "parts": [], "damage": problem.to_string(),
        });
        return Ok(writeln!(out, "{json}")?);
    }
    Ok(writeln!(out, "{}: {problem}", path.display())?)
}

/// The most files that people are shown.
const MAX_LISTED_FILES: usize = 1000;

/// Adds the files below a folder with their sizes; what symbolic links lead to is no part of it.
fn list(folder: &Path, files: &mut Vec<(PathBuf, u64)>) -> Outcome {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let named = |error: std::io::Error| Failure::from(error).at(folder.display().to_string());
        for entry in std::fs::read_dir(&folder).map_err(named)? {
            let entry = entry.map_err(named)?;
            let metadata = entry.metadata().map_err(named)?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.is_file() {
                files.push((entry.path(), metadata.len()));
            }
        }
    }
    Ok(())
}

fn file(global: &Global, args: &InspectArgs, uri: &str) -> Outcome {
    Ok(print(global, args, &inspector(global, uri)?)??)
}

fn inspector(global: &Global, uri: &str) -> Outcome<Inspector> {
    let options = engine::options(global, OpenTimes::default())?;
    Ok(options.inspect(uri).map_err(|error| error.at_uri(uri))?)
}

/// Prints a file up to its damage, if there is some: that is told, and given back.
fn print(global: &Global, args: &InspectArgs, inspector: &Inspector) -> Outcome<smalti::Result<()>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let detail = if args.all || global.json { TraceDetail::Full } else { TraceDetail::Folded };
    let (all, json) = (args.all, global.json);
    let mut shown = Shown { out: &mut out, all, json, part_count: 0, is_summed_up: false, failure: None };
    shown.head(inspector)?;
    let outcome = inspector.parts(detail, &mut |part| shown.part(&part));
    if let Some(failure) = shown.failure {
        return Err(failure);
    }
    shown.end(outcome.as_ref().err())?;
    out.flush()?;
    Ok(outcome)
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
