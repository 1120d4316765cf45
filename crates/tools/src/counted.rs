//! Input that tells how much of it was read.

use smalti::{Phase, Progress, Unit};
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Input whose bytes are counted in a phase, and that ends in an error when the work was stopped.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    input: R,
    progress: Arc<Progress>,
    phase: Phase,
}

impl<R> Counted<R> {
    /// Begins the phase of reading, with the number of bytes if it is known.
    pub(crate) fn new(input: R, byte_len: Option<u64>, progress: &Arc<Progress>) -> Self {
        Counted::in_phase(input, byte_len, progress, Phase::Reading)
    }

    /// Begins another phase.
    pub(crate) fn in_phase(input: R, byte_len: Option<u64>, progress: &Arc<Progress>, phase: Phase) -> Self {
        progress.enter(phase, Unit::Bytes, byte_len);
        Counted { input, progress: Arc::clone(progress), phase }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.progress.check().map_err(std::io::Error::other)?;
        let byte_len = self.input.read(buf)?;
        self.progress.advance(self.phase, Unit::Bytes, byte_len as u64);
        Ok(byte_len)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.input.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_of_work_that_was_stopped_ends_in_an_error() {
        let progress = Arc::new(Progress::new());
        let _work = progress.announce(&[Phase::Reading]);
        let mut input = Counted::new(&b"abc"[..], Some(3), &progress);
        let mut two = [0; 2];
        input.read_exact(&mut two).unwrap();
        assert_eq!(progress.phase().unwrap().done, 2);
        progress.cancel();
        let error = smalti::Error::from(input.read(&mut two).unwrap_err());
        assert_eq!(error.kind(), smalti::ErrorKind::Cancelled);
    }
}
