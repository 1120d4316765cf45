//! The decoders of metadata that are kept from one piece to the next.
//!
//! A fragment has a dozen sections of some hundred bytes, and a decoder of the metadata's codec takes 40 KiB, which have to be found,
//! cleared and given back.

use smalti_tile::Scratch;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many are kept at most: one for each thread that decodes metadata at the same time.
const MAX_COUNT: usize = 64;

/// What a kept decoder's buffers take at most, each.
const MAX_BUFFER_BYTE_LEN: usize = 64 << 10;

/// Decoders that nobody uses now.
#[derive(Debug, Default)]
pub(crate) struct Decoders {
    idle: Mutex<Vec<Scratch>>,
}

impl Decoders {
    /// Works with a decoder.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut decoder = self.idle().pop().unwrap_or_default();
        let result = work(&mut decoder);
        decoder.shed(MAX_BUFFER_BYTE_LEN);
        let mut idle = self.idle();
        if idle.len() < MAX_COUNT {
            idle.push(decoder);
        }
        result
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_is_used_again_and_never_by_two() {
        let decoders = Decoders::default();
        decoders.with(|_| decoders.with(|_| assert!(decoders.idle().is_empty())));
        assert_eq!(decoders.idle().len(), 2);
        decoders.with(|_| assert_eq!(decoders.idle().len(), 1));
        assert_eq!(decoders.idle().len(), 2);
    }
}
