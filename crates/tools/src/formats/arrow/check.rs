//! What messages of Arrow IPC ask to be made room for, checked before the reader makes it: an allocation that is too large ends
//! the program, which no boundary turns into an error.

use crate::failure::Outcome;
use crate::formats::Budget;
use crate::formats::boundary::damaged;
use arrow_ipc::{Block, Message, RecordBatch, root_as_footer, root_as_message};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// What stands in front of a message, where the writer is of version 0.15 or newer.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The footer's length and the magic at the end of a file.
const TAIL_BYTE_LEN: u64 = 10;

/// A compressed buffer begins with its length before compression.
const PREFIX_BYTE_LEN: usize = 8;

/// Bytes of the places of compressed buffers in the body of a message.
struct Wanted {
    body_byte_len: u64,
    /// Where the lengths of compressed buffers are, in ascending order.
    prefixes: Vec<u64>,
    limit: u64,
}

impl Wanted {
    fn of(message: &Message<'_>, budget: Budget) -> Result<Self, String> {
        let body_byte_len =
            u64::try_from(message.bodyLength()).map_err(|_| "a message has a negative length")?;
        let limit = budget.unpacked_len(body_byte_len);
        let batch: Option<RecordBatch<'_>> = match message.header_as_dictionary_batch() {
            Some(dictionary) => dictionary.data(),
            None => message.header_as_record_batch(),
        };
        let mut prefixes = Vec::new();
        if let Some(batch) = batch {
            let nodes = batch.nodes().into_iter().flatten().map(|node| node.length());
            for row_count in nodes.chain([batch.length()]) {
                check_len("rows", row_count, limit)?;
            }
            if batch.compression().is_some() {
                let buffers = batch.buffers().into_iter().flatten();
                let packed = buffers.filter(|buffer| buffer.length() >= PREFIX_BYTE_LEN as i64);
                prefixes = packed.filter_map(|buffer| u64::try_from(buffer.offset()).ok()).collect();
                prefixes.sort_unstable();
                prefixes.dedup();
            }
        }
        Ok(Wanted { body_byte_len, prefixes, limit })
    }
}

fn check_len(what: &str, len: i64, limit: u64) -> Result<(), String> {
    match u64::try_from(len) {
        Ok(len) if len <= limit => Ok(()),
        // Uncompressed although its batch is not.
        _ if len == -1 && what == "bytes" => Ok(()),
        _ => Err(format!("a batch of {len} {what} is beyond the {limit} that a file of this size can hold")),
    }
}

/// Checks the batches that the footer of a file names.
///
/// # Errors
/// Those of the system; `Corrupt`.
pub(super) fn check_file(file: &mut (impl Read + Seek), budget: Budget) -> Outcome {
    let wrong = |problem: &str| damaged("Arrow", problem);
    let byte_len = file.seek(SeekFrom::End(0))?;
    let tail_at = byte_len.checked_sub(TAIL_BYTE_LEN).ok_or_else(|| wrong("it is cut short"))?;
    let tail = read_at(file, tail_at, TAIL_BYTE_LEN)?;
    let footer_len = tail.first_chunk().map_or(-1, |len| i32::from_le_bytes(*len));
    let footer_len = u64::try_from(footer_len).map_err(|_| wrong("its footer has a negative length"))?;
    let footer_at =
        tail_at.checked_sub(footer_len).ok_or_else(|| wrong("its footer is longer than the file"))?;
    let footer = read_at(file, footer_at, footer_len)?;
    let footer = root_as_footer(&footer).map_err(|error| wrong(&format!("its footer: {error}")))?;
    let blocks = [footer.dictionaries(), footer.recordBatches()];
    for block in blocks.into_iter().flatten().flatten() {
        check_block(file, block, byte_len, budget)?;
    }
    file.rewind()?;
    Ok(())
}

fn check_block(file: &mut (impl Read + Seek), block: &Block, file_byte_len: u64, budget: Budget) -> Outcome {
    let wrong = |problem: &str| damaged("Arrow", problem);
    let part = |len: i64| u64::try_from(len).ok();
    let parts = (part(block.offset()), part(block.metaDataLength().into()), part(block.bodyLength()));
    let (Some(at), Some(head_len), Some(body_len)) = parts else {
        return Err(wrong("a block has a negative length"));
    };
    let end = at.checked_add(head_len).and_then(|body_at| body_at.checked_add(body_len));
    if end.is_none_or(|end| end > file_byte_len) {
        return Err(wrong("a block lies beyond the end of the file"));
    }
    let head = read_at(file, at, head_len)?;
    let message = head.strip_prefix(&CONTINUATION).unwrap_or(&head).get(4..).unwrap_or_default();
    let message = root_as_message(message).map_err(|error| wrong(&format!("a message: {error}")))?;
    let wanted = Wanted::of(&message, budget).map_err(|problem| wrong(&problem))?;
    let mut sum = 0_i64;
    for prefix in wanted.prefixes.iter().filter(|&&prefix| prefix.saturating_add(8) <= body_len) {
        let len = read_at(file, at + head_len + prefix, PREFIX_BYTE_LEN as u64)?;
        let len = len.first_chunk().map_or(0, |len| i64::from_le_bytes(*len));
        check_len("bytes", len, wanted.limit).map_err(|problem| wrong(&problem))?;
        sum = sum.saturating_add(len.max(0));
    }
    check_len("bytes", sum, wanted.limit).map_err(|problem| wrong(&problem))
}

fn read_at(file: &mut (impl Read + Seek), at: u64, byte_len: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut content = Vec::new();
    file.by_ref().take(byte_len).read_to_end(&mut content)?;
    Ok(content)
}

/// A stream whose messages are checked as they are read.
pub(super) struct CheckedStream<R> {
    input: R,
    budget: Budget,
    /// A head that was checked and is handed on, and how much of it was.
    head: Vec<u8>,
    handed_on: usize,
    body: Option<Body>,
    /// Behind the end, or behind a head that makes no sense: the reader will say so itself.
    is_over: bool,
}

/// The body of a message, as far as it was read.
struct Body {
    wanted: Wanted,
    at: u64,
    /// The prefix that is read next, and the bytes of it that were.
    prefix_idx: usize,
    prefix: Vec<u8>,
    sum: i64,
}

impl<R: Read> CheckedStream<R> {
    pub(super) fn new(input: R, budget: Budget) -> Self {
        CheckedStream { input, budget, head: Vec::new(), handed_on: 0, body: None, is_over: false }
    }

    fn read_head(&mut self) -> io::Result<()> {
        self.head.clear();
        self.handed_on = 0;
        let mut more = |head: &mut Vec<u8>, byte_len: u64| {
            self.input.by_ref().take(byte_len).read_to_end(head).map(|read| read as u64 == byte_len)
        };
        let mut is_whole = more(&mut self.head, 4)?;
        if self.head == CONTINUATION {
            is_whole = more(&mut self.head, 4)?;
        }
        let start = self.head.len();
        let byte_len = self.head.last_chunk().map_or(0, |len| i32::from_le_bytes(*len));
        let byte_len = u64::try_from(byte_len).unwrap_or(0);
        self.is_over = !is_whole || byte_len == 0 || !more(&mut self.head, byte_len)?;
        if self.is_over {
            return Ok(());
        }
        let Ok(message) = root_as_message(&self.head[start..]) else {
            self.is_over = true;
            return Ok(());
        };
        let wanted = Wanted::of(&message, self.budget).map_err(invalid)?;
        self.body = Some(Body { wanted, at: 0, prefix_idx: 0, prefix: Vec::new(), sum: 0 });
        Ok(())
    }
}

impl<R: Read> Read for CheckedStream<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.handed_on == self.head.len() && self.body.is_none() && !self.is_over {
            self.read_head()?;
        }
        if self.handed_on < self.head.len() {
            let byte_len = (&self.head[self.handed_on..]).read(out)?;
            self.handed_on += byte_len;
            return Ok(byte_len);
        }
        let Some(body) = self.body.as_mut().filter(|body| body.at < body.wanted.body_byte_len) else {
            let is_between = self.body.take().is_some() && !out.is_empty();
            return if is_between { self.read(out) } else { self.input.read(out) };
        };
        let left = usize::try_from(body.wanted.body_byte_len - body.at).unwrap_or(usize::MAX);
        let most = out.len().min(left);
        let byte_len = self.input.read(&mut out[..most])?;
        body.pass(&out[..byte_len]).map_err(invalid)?;
        Ok(byte_len)
    }
}

impl Body {
    /// Looks for prefixes in the next bytes of the body.
    fn pass(&mut self, bytes: &[u8]) -> Result<(), String> {
        let end = self.at + bytes.len() as u64;
        while let Some(&start) = self.wanted.prefixes.get(self.prefix_idx) {
            // Prefixes that overlap are nonsense: what of a later one has passed already is left out.
            let from = (start + self.prefix.len() as u64).max(self.at);
            if from >= end {
                break;
            }
            let rest = &bytes[(from - self.at) as usize..];
            let missing = PREFIX_BYTE_LEN - self.prefix.len();
            self.prefix.extend_from_slice(&rest[..missing.min(rest.len())]);
            let Some(len) = self.prefix.first_chunk() else { break };
            let len = i64::from_le_bytes(*len);
            check_len("bytes", len, self.wanted.limit)?;
            self.sum = self.sum.saturating_add(len.max(0));
            check_len("bytes", self.sum, self.wanted.limit)?;
            self.prefix.clear();
            self.prefix_idx += 1;
        }
        self.at = end;
        Ok(())
    }
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the Arrow file is damaged: {problem}"))
}
