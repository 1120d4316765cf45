//! What an inspection says, and the account of bytes that nothing explains.

use smalti_format::{TraceDetail, TraceEntry};
use smalti_types::{Error, Result};
use std::ops::Range;

/// The name of fields over bytes that have no known meaning.
pub const UNEXPLAINED: &str = "unexplained";

/// What a file holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// The address of the file.
    pub uri: String,
    /// What the file is, such as `array schema`.
    pub kind: &'static str,
    /// Its size in bytes.
    pub file_byte_len: u64,
    /// Its parts, in the order of the file.
    pub parts: Vec<InspectedPart>,
    /// The first damage, with field and offset.
    pub damage: Option<Error>,
}

/// A part of a file.
///
/// The [leaves](InspectedPart::leaves) of all parts whose offsets count in the file cover it without gap or overlap, and so
/// do those of a part whose offsets count in an unfiltered tile.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InspectedPart {
    /// What the part is.
    pub title: String,
    /// One line for who does not want the fields.
    pub summary: Option<String>,
    /// The bytes of the file that it takes up.
    pub file_range: Range<u64>,
    /// The length of the unfiltered tile in which the fields' offsets count; `None`: they count in the file.
    pub unfiltered_len: Option<u64>,
    /// The fields, in the order of their bytes.
    pub fields: Vec<TraceEntry>,
}

impl InspectedPart {
    /// The fields that have no parts of their own.
    pub fn leaves(&self) -> impl Iterator<Item = &TraceEntry> {
        let depths = self.fields.iter().skip(1).map(|next| next.depth).chain([0]);
        self.fields.iter().zip(depths).filter(|(field, next)| *next <= field.depth).map(|(field, _)| field)
    }

    /// Whether a field has no meaning that is known.
    pub fn has_unexplained(&self) -> bool {
        self.fields.iter().any(|field| field.field == UNEXPLAINED)
    }

    /// Puts fields over bytes that no leaf covers.
    fn account_for_all(&mut self) {
        let range = self.unfiltered_len.map_or(self.file_range.clone(), |len| 0..len);
        let mut gaps = Vec::new();
        let mut at = range.start;
        for idx in 0..self.fields.len() {
            let Some(field) = self.fields.get(idx) else { break };
            let is_leaf = self.fields.get(idx + 1).is_none_or(|next| next.depth <= field.depth);
            if !is_leaf {
                continue;
            }
            if field.byte_offset > at {
                gaps.push((idx, unexplained(field.depth, at..field.byte_offset, "")));
            }
            at = at.max(field.byte_offset + field.byte_len);
        }
        for (idx, gap) in gaps.into_iter().rev() {
            self.fields.insert(idx, gap);
        }
        if at < range.end {
            self.fields.push(unexplained(0, at..range.end, ""));
        }
    }
}

/// A field over bytes without a known meaning.
pub(super) fn unexplained(depth: usize, range: Range<u64>, why: &str) -> TraceEntry {
    let doc = "Bytes that nothing says the meaning of.";
    let mut entry = field("file", UNEXPLAINED, "bytes", doc, range, why.to_owned());
    entry.depth = depth;
    entry
}

/// A field that no table describes.
pub(super) fn field(
    structure: &'static str,
    field: &'static str,
    on_disk: &str,
    doc: &'static str,
    range: Range<u64>,
    value: String,
) -> TraceEntry {
    TraceEntry {
        depth: 0,
        structure,
        field,
        on_disk: on_disk.to_owned(),
        doc,
        byte_offset: range.start,
        byte_len: range.end.saturating_sub(range.start),
        value,
        is_framing: false,
    }
}

/// Who takes the parts of a file.
pub(super) type Visit<'a> = &'a mut dyn FnMut(InspectedPart) -> Result<()>;

/// Where parts go; keeps account of the bytes of the file.
pub(super) struct Output<'a> {
    pub(super) detail: TraceDetail,
    visit: Visit<'a>,
    damage: Option<Error>,
    end: u64,
}

impl<'a> Output<'a> {
    pub(super) fn new(detail: TraceDetail, visit: Visit<'a>) -> Self {
        Output { detail, visit, damage: None, end: 0 }
    }

    /// Where the parts so far end in the file.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Keeps the first damage; what can be explained in spite of it follows.
    pub(super) fn damaged(&mut self, error: Error) {
        self.damage.get_or_insert(error);
    }

    /// A part whose fields lie in the file. What lies between the part before and this one is unexplained.
    pub(super) fn in_file(
        &mut self,
        title: impl Into<String>,
        summary: Option<String>,
        range: Range<u64>,
        fields: Vec<TraceEntry>,
    ) -> Result<()> {
        self.up_to(range.start)?;
        if range.is_empty() {
            return Ok(());
        }
        self.end = self.end.max(range.end);
        self.part(InspectedPart {
            title: title.into(),
            summary,
            file_range: range,
            unfiltered_len: None,
            fields,
        })
    }

    /// A part whose fields lie in an unfiltered tile.
    pub(super) fn in_tile(
        &mut self,
        title: impl Into<String>,
        file_range: Range<u64>,
        unfiltered_len: u64,
        fields: Vec<TraceEntry>,
    ) -> Result<()> {
        let title = title.into();
        let unfiltered_len = Some(unfiltered_len);
        self.part(InspectedPart { title, summary: None, file_range, unfiltered_len, fields })
    }

    fn part(&mut self, mut part: InspectedPart) -> Result<()> {
        part.account_for_all();
        (self.visit)(part)
    }

    fn up_to(&mut self, start: u64) -> Result<()> {
        if start <= self.end {
            return Ok(());
        }
        let file_range = self.end..start;
        self.end = start;
        (self.visit)(InspectedPart {
            title: UNEXPLAINED.into(),
            summary: None,
            fields: vec![unexplained(0, file_range.clone(), "")],
            file_range,
            unfiltered_len: None,
        })
    }

    /// The rest of the file, and the damage.
    pub(super) fn finish(mut self, file_byte_len: u64) -> Result<()> {
        self.up_to(file_byte_len)?;
        self.damage.map_or(Ok(()), Err)
    }
}
