//! The memory that a read may hold.

use smalti_types::{Error, ErrorKind, Result};

/// The budget of a read where the request names none: 512 MiB, or more where single tiles need it.
pub const DEFAULT_MEMORY_BYTE_LEN: usize = 512 << 20;

/// The bytes that a read may hold at once, results that were handed out not counted. What the metadata of the open array
/// takes, and a few MiB of codec contexts, come on top.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    byte_len: u64,
    is_asked_for: bool,
}

impl Budget {
    pub(crate) fn new(asked: Option<usize>) -> Self {
        let byte_len = asked.unwrap_or(DEFAULT_MEMORY_BYTE_LEN) as u64;
        Budget { byte_len, is_asked_for: asked.is_some() }
    }

    /// Whether work that holds this much at once may go on.
    pub(crate) fn holds(self, byte_len: u64) -> bool {
        byte_len <= self.byte_len
    }

    /// The bytes of the budget.
    pub(crate) fn byte_len(self) -> u64 {
        self.byte_len
    }

    /// What one of the stages that hold memory side by side may take: finding cells, decoding tiles, results, and tiles on
    /// their way.
    pub(crate) fn share(self) -> u64 {
        self.byte_len / Budget::SHARE_COUNT
    }

    /// How many tasks that take this much each may run at once.
    pub(crate) fn task_count(self, task_byte_len: u64) -> usize {
        usize::try_from(self.share() / task_byte_len.max(1)).unwrap_or(usize::MAX).max(1)
    }

    /// Sees to it that each stage can hold what it cannot do without: the default budget grows to it, one that was asked
    /// for does not.
    ///
    /// # Errors
    /// `OutOfMemory`, with the budget that would do.
    pub(crate) fn cover(&mut self, least_share: u64) -> Result<()> {
        let wanted = least_share.saturating_mul(Budget::SHARE_COUNT);
        if wanted <= self.byte_len {
            return Ok(());
        }
        if !self.is_asked_for {
            self.byte_len = wanted;
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::OutOfMemory,
            format!(
                "a memory budget of {} bytes is too small for the tiles of this array; {wanted} bytes would do",
                self.byte_len
            ),
        ))
    }

    const SHARE_COUNT: u64 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_cannot_work_names_one_that_would() {
        let error = Budget::new(Some(1 << 20)).cover(1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.message().contains("4194304 bytes would do"), "{error}");
        Budget::new(Some(4 << 20)).cover(1 << 20).unwrap();
        let mut default = Budget::new(None);
        default.cover(1 << 40).unwrap();
        assert!(default.holds(1 << 42));
    }
}
