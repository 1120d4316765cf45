//! The memory that a read may hold.

use smalti_array::{CACHE_SHARE, Resources, TakenMemory};
use smalti_types::{Error, ErrorKind, Result};
use std::sync::Arc;

/// The budget of a read where the request names none: 512 MiB, or more where single tiles need it.
pub const DEFAULT_MEMORY_BYTE_LEN: usize = 512 << 20;

/// The bytes that a read may hold at once, results that were handed out not counted. What the metadata of the open array
/// takes, and a few MiB of codec contexts, come on top.
#[derive(Debug)]
pub(crate) struct Budget {
    taken: TakenMemory,
    is_asked_for: bool,
}

impl Budget {
    /// Takes what is asked for out of the account; where nothing is, the usual budget, or half of what is left if that is less.
    ///
    /// # Errors
    /// `OutOfMemory` when less is left than asked for.
    pub(crate) fn new(asked: Option<usize>, resources: &Arc<Resources>) -> Result<Self> {
        let usual = || {
            let left = resources.left_byte_len().unwrap_or(u64::MAX);
            (DEFAULT_MEMORY_BYTE_LEN as u64).min(left / 2)
        };
        let byte_len = asked.map_or_else(usual, |byte_len| byte_len as u64);
        Ok(Budget { taken: resources.take(byte_len)?, is_asked_for: asked.is_some() })
    }

    /// Whether work that holds this much at once may go on.
    pub(crate) fn holds(&self, byte_len: u64) -> bool {
        byte_len <= self.byte_len()
    }

    /// The bytes of the budget.
    pub(crate) fn byte_len(&self) -> u64 {
        self.taken.byte_len()
    }

    /// What one of the stages that hold memory side by side may take: finding cells, decoding tiles, results, and tiles on
    /// their way.
    pub(crate) fn share(&self) -> u64 {
        self.byte_len() / Budget::SHARE_COUNT
    }

    /// How many tasks that take this much each may run at once.
    pub(crate) fn task_count(&self, task_byte_len: u64) -> usize {
        usize::try_from(self.share() / task_byte_len.max(1)).unwrap_or(usize::MAX).max(1)
    }

    /// Sees to it that each stage can hold what it cannot do without: the default budget grows to it, one that was asked
    /// for does not.
    ///
    /// # Errors
    /// `OutOfMemory`, with the budget that would do.
    pub(crate) fn cover(&mut self, least_share: u64) -> Result<()> {
        let wanted = least_share.saturating_mul(Budget::SHARE_COUNT);
        if wanted <= self.byte_len() {
            return Ok(());
        }
        if !self.is_asked_for {
            return self.taken.grow(wanted);
        }
        Err(Error::new(
            ErrorKind::OutOfMemory,
            format!(
                "a memory budget of {} bytes is too small for the tiles of this array; {wanted} bytes would do",
                self.byte_len()
            ),
        ))
    }

    /// What of the tiles that the read decodes may stay in the cache: beyond the budget, so that it is little.
    pub(crate) fn kept(&self) -> u64 {
        self.byte_len() / CACHE_SHARE
    }

    const SHARE_COUNT: u64 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_cannot_work_names_one_that_would() {
        let resources = Arc::new(Resources::default());
        let budget = |asked| Budget::new(asked, &resources).unwrap();
        let error = budget(Some(1 << 20)).cover(1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.message().contains("4194304 bytes would do"), "{error}");
        budget(Some(4 << 20)).cover(1 << 20).unwrap();
        let mut default = budget(None);
        default.cover(1 << 40).unwrap();
        assert!(default.holds(1 << 42));
    }

    #[test]
    fn reads_of_one_context_share_its_memory() {
        let resources = Arc::new(Resources::of(64 << 20));
        let budget = |asked| Budget::new(asked, &resources);
        let first = budget(None).unwrap();
        assert_eq!(first.byte_len(), 28 << 20, "half of what is not for tiles that are kept");
        let mut second = budget(None).unwrap();
        assert_eq!(second.byte_len(), 14 << 20);
        assert_eq!(budget(Some(15 << 20)).unwrap_err().kind(), ErrorKind::OutOfMemory);
        second.cover(7 << 20).unwrap();
        assert_eq!(second.byte_len(), 28 << 20);
        assert!(second.cover(8 << 20).is_err());
        drop(first);
        second.cover(8 << 20).unwrap();
    }
}
