//! Text files among the commits: consolidated commits, vacuum files, ignore files.

use super::inspector::Inspector;
use super::output::{Output, field};
use super::tile;
use smalti_format::names::{self, CommitKind, parse_commit_file};
use smalti_format::{ConditionTree, NameList, TraceDetail, TraceEntry};
use smalti_types::{Error, Result};

/// Lines that a folded trace lists.
const MAX_LISTED_LINES: usize = 100;

/// Lines of text, gathered until something else follows.
struct Lines {
    fields: Vec<TraceEntry>,
    start: u64,
    end: u64,
    detail: TraceDetail,
}

impl Lines {
    fn new(start: u64, detail: TraceDetail) -> Self {
        Lines { fields: Vec::new(), start, end: start, detail }
    }

    fn push(&mut self, name: &'static str, on_disk: &str, doc: &'static str, byte_len: usize, value: String) {
        let range = self.end..self.end + byte_len as u64;
        self.end = range.end;
        if self.detail == TraceDetail::Full || self.fields.len() < MAX_LISTED_LINES {
            self.fields.push(field("lines", name, on_disk, doc, range, value));
        } else if let Some(last) = self.fields.last_mut() {
            last.field = "lines";
            last.byte_len += byte_len as u64;
            last.value = "more lines like those above".into();
        }
    }

    fn flush(&mut self, output: &mut Output<'_>) -> Result<()> {
        if self.end > self.start {
            output.in_file("lines", None, self.start..self.end, std::mem::take(&mut self.fields))?;
            self.start = self.end;
        }
        Ok(())
    }
}

/// What a line says, without its end.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\n').to_owned()
}

pub(super) fn explain_names(inspector: &Inspector, output: &mut Output<'_>) -> Result<()> {
    let bytes = inspector.bytes()?;
    let mut lines = Lines::new(0, output.detail);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let list = NameList::decode(line);
        let (doc, value) = if let Some(name) = list.names.first() {
            let shown = shown(line);
            let counts = if shown == *name { shown } else { format!("{shown} (of which {name} counts)") };
            ("The path of a fragment, commit or metadata file.", counts)
        } else if list.bad_lines.is_empty() {
            ("An empty line, which is passed over.", "empty".into())
        } else {
            ("A line that names nothing and is passed over.", format!("{:?} (names nothing)", shown(line)))
        };
        lines.push("line", "text up to a line feed", doc, line.len(), value);
    }
    lines.flush(output)
}

#[expect(clippy::cast_possible_truncation, reason = "all of them are places in the file, which is in memory")]
pub(super) fn explain_commits(inspector: &Inspector, output: &mut Output<'_>) -> Result<()> {
    let bytes = inspector.bytes()?;
    let mut lines = Lines::new(0, output.detail);
    while let Some(rest) = bytes.get(lines.end as usize..).filter(|rest| !rest.is_empty()) {
        let line_len = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, behind) = rest.split_at(line_len);
        let text = shown(line);
        if text.is_empty() {
            lines.push(
                "line",
                "a line feed",
                "An empty line, which is passed over.",
                line_len,
                "empty".into(),
            );
            continue;
        }
        let kind = parse_commit_file(names::last_part(&text)).map(|(_, kind)| kind);
        let Some(kind @ (CommitKind::Write | CommitKind::Delete | CommitKind::Update)) = kind else {
            output.damaged(
                Error::corrupt(format!("the line {text:?} is no commit"))
                    .in_field("consolidated commits", "line")
                    .at_offset(lines.end),
            );
            return lines.flush(output);
        };
        let doc = "The path of a commit, relative to the array.";
        lines.push("commit", "text up to a line feed", doc, line_len, text.clone());
        if kind == CommitKind::Write {
            continue;
        }
        let tile_len = behind.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
        let Some(tile_len) = tile_len.filter(|len| *len <= behind.len() as u64 - 8) else {
            output.damaged(
                Error::corrupt("the commit's tile is cut short")
                    .in_field("inline tile", "tile")
                    .at_offset(lines.end),
            );
            return lines.flush(output);
        };
        let doc = "Bytes of the generic tile that follows.";
        lines.push("tile_len", "u64", doc, 8, tile_len.to_string());
        lines.flush(output)?;
        let start = lines.end;
        let end = start + tile_len;
        let tile_bytes = bytes.slice(..end as usize);
        tile::explain(
            &inspector.file,
            &format!("condition of {}", names::last_part(&text)),
            &tile_bytes,
            start,
            output,
            &mut |payload, detail| {
                tile::traced(payload, detail, |reader| ConditionTree::decode_from(reader).map(drop))
            },
        )?;
        lines = Lines::new(end, output.detail);
    }
    lines.flush(output)
}
