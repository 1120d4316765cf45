//! Files that are read: opened, and no more of them in memory than the budget allows.

use crate::failure::{Failure, Outcome};
use crate::human;
use smalti::{Error, ErrorKind};
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

/// A line is in memory up to four times: as it is read, without its escapes, as a cell on its way, and in its column.
const COPIES_OF_LINE: u64 = 4;

/// Lines of this length are read with any budget.
const LEAST_LINE_BYTE_LEN: u64 = 64 << 10;

/// How far the end of a line that is too long is looked for, to tell the budget that would do.
const MAX_SCAN_BYTE_LEN: u64 = 1 << 30;

/// How much of an input may be in memory at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    byte_len: u64,
    is_asked_for: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { byte_len: smalti::DEFAULT_MEMORY_BYTE_LEN as u64, is_asked_for: false }
    }
}

impl Budget {
    /// So many bytes, if somebody asked for them.
    pub(crate) fn of(memory: Option<u64>) -> Self {
        memory.map_or_else(Budget::default, Budget::asked)
    }

    /// So many bytes, as somebody asked for.
    pub(crate) fn asked(byte_len: u64) -> Self {
        Budget { byte_len, is_asked_for: true }
    }

    /// Its bytes.
    pub(crate) fn byte_len(self) -> u64 {
        self.byte_len
    }

    /// Whether it is kept to: where nobody asked for a budget, an input of honest size may take what it needs.
    pub(crate) fn is_asked_for(self) -> bool {
        self.is_asked_for
    }

    /// What a batch of rows may take that is read at once.
    pub(crate) fn piece_byte_len(self) -> u64 {
        (self.byte_len / 8).clamp(64 << 10, 1 << 30)
    }

    /// The most bytes that content may be stretched to of which `packed_len` bytes are given: no honest compression is kept from
    /// its work by this.
    pub(crate) fn unpacked_len(self, packed_len: u64) -> u64 {
        unpacked_len(self.byte_len, packed_len)
    }

    /// Reads an input of which all is needed at once.
    ///
    /// # Errors
    /// Those of the system; `OutOfMemory` when there is more than half of the budget.
    pub(crate) fn read_whole(self, mut input: impl Read) -> Outcome<Vec<u8>> {
        let limit = self.byte_len / 2;
        let mut content = Vec::new();
        input.by_ref().take(limit.saturating_add(1)).read_to_end(&mut content)?;
        if content.len() as u64 > limit {
            let (budget, limit) = (human::bytes(self.byte_len), human::bytes(limit));
            return Err(too_much(format!(
                "standard input of this format is taken into memory, of which a budget of {budget} gives it {limit}, and there is \
                 more; give a file, or more --memory"
            )));
        }
        Ok(content)
    }

    fn line_byte_len(self, taken: u64) -> u64 {
        (self.byte_len.saturating_sub(taken) / COPIES_OF_LINE).max(LEAST_LINE_BYTE_LEN)
    }
}

/// As [`Budget::unpacked_len`], for a budget of so many bytes.
pub(super) fn unpacked_len(byte_len: u64, packed_len: u64) -> u64 {
    byte_len.max(packed_len.saturating_mul(64))
}

/// Opens a file to read.
///
/// # Errors
/// Those of the system; a directory is an error at once.
pub(crate) fn open_file(path: &Path) -> Outcome<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(Failure::invalid("this is a directory; give a file"));
    }
    Ok(file)
}

/// Reads a file of at most `limit` bytes, or standard input for `-`; devices have no end.
///
/// # Errors
/// Those of the system; `what` is too long.
pub fn read_bounded(path: &Path, limit: u64, what: &str) -> Outcome<Vec<u8>> {
    let input: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(std::io::stdin()) } else { Box::new(open_file(path)?) };
    let mut content = Vec::new();
    input.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(Failure::invalid(format!("{what} has at most {}; here is more", human::bytes(limit))));
    }
    Ok(content)
}

/// The lines of a text, each no longer than the budget allows.
pub(crate) struct Lines<R> {
    input: R,
    budget: Budget,
    idx: u64,
    /// What else of the budget is taken.
    taken: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R, budget: Budget) -> Self {
        Lines { input, budget, idx: 0, taken: 0 }
    }

    /// The number of the line that was read last; the first one has number 1.
    pub(crate) fn idx(&self) -> u64 {
        self.idx
    }

    /// Lets lines have what is left of the budget beside so many bytes.
    pub(crate) fn leave(&mut self, byte_len: u64) {
        self.taken = if self.budget.is_asked_for { byte_len } else { 0 };
    }

    /// Reads the next line with its end; false at the end of the input. `held_byte_len` bytes of lines before are held still.
    ///
    /// # Errors
    /// Those of the system; `OutOfMemory` for a line that is too long, with the budget that would do.
    pub(crate) fn next_into(&mut self, line: &mut Vec<u8>, held_byte_len: usize) -> Outcome<bool> {
        line.clear();
        let most = self.budget.line_byte_len(self.taken);
        let limit = most.saturating_sub(held_byte_len as u64);
        let byte_len = self.input.by_ref().take(limit.saturating_add(1)).read_until(b'\n', line)? as u64;
        if byte_len == 0 {
            return Ok(false);
        }
        self.idx += 1;
        if byte_len <= limit || line.last() == Some(&b'\n') {
            return Ok(true);
        }
        *line = Vec::new();
        let rest = self.input.by_ref().take(MAX_SCAN_BYTE_LEN).skip_until(b'\n')? as u64;
        let (idx, budget) = (self.idx, human::bytes(self.budget.byte_len));
        if rest == MAX_SCAN_BYTE_LEN {
            let scanned = human::bytes(MAX_SCAN_BYTE_LEN);
            return Err(too_much(format!(
                "line {idx} has no end within {scanned}; a cell has a line of its own"
            )));
        }
        let found = held_byte_len as u64 + byte_len + rest;
        let wanted = found.saturating_mul(COPIES_OF_LINE).saturating_add(self.taken).div_ceil(1 << 20);
        Err(too_much(format!(
            "line {idx} makes a row of {} bytes, and a budget of {budget} is enough for {}; --memory {wanted}MiB would do",
            human::count(found),
            human::count(most)
        )))
    }
}

pub(super) fn too_much(message: String) -> Failure {
    Failure::Error(Error::new(ErrorKind::OutOfMemory, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_named_with_the_budget_that_would_do() {
        let budget = Budget::asked(1 << 20);
        let text = format!("short\n{}\nafter\n", "x".repeat(300_000));
        let mut lines = Lines::new(text.as_bytes(), budget);
        let mut line = Vec::new();
        assert!(lines.next_into(&mut line, 0).unwrap());
        let failure = lines.next_into(&mut line, 0).unwrap_err().to_string();
        assert!(
            failure.contains("line 2 makes a row of 300,001 bytes") && failure.contains("--memory 2MiB"),
            "{failure}"
        );
        let mut lines = Lines::new(text.as_bytes(), Budget::asked(2 << 20));
        while lines.next_into(&mut line, 0).unwrap() {}
        assert_eq!(lines.idx(), 3);
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        let mut lines = Lines::new(
            std::io::BufReader::with_capacity(1 << 20, std::io::repeat(b'x')),
            Budget::asked(1 << 20),
        );
        let failure = lines.next_into(&mut Vec::new(), 0).unwrap_err().to_string();
        assert!(failure.contains("line 1 has no end within 1.0 GiB"), "{failure}");
    }

    #[test]
    fn inputs_without_end_are_not_taken_into_memory() {
        let budget = Budget::asked(1 << 20);
        let failure = budget.read_whole(std::io::repeat(0)).unwrap_err().to_string();
        assert!(failure.contains("512.0 KiB"), "{failure}");
        assert_eq!(budget.read_whole(&b"abc"[..]).unwrap(), b"abc");
    }
}
