//! Whether a disk's reads are answered from memory, as the kernel tells.
//!
//! What is in the page cache is read as fast as it is copied, and advice would be a call too many. What is not costs tens of
//! microseconds on the fastest disks and milliseconds on others, one read after the other; told early, a disk works on
//! many at once.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// After so many reads in a row that were answered from memory a disk no longer counts as one that has waited.
const FORGOTTEN_AFTER: u32 = 64;

/// Reads of fewer bytes cost little beside asking the kernel for what is in memory alone, and only one in
/// [`ASKED_ONE_OF`] of them asks while nothing has waited.
const SMALL_BYTE_LEN: usize = 4096;
const ASKED_ONE_OF: u64 = 8;

/// What reads of a disk had to wait for of late.
#[derive(Debug)]
pub(super) struct Waits {
    /// Reads since the last one that waited; [`FORGOTTEN_AFTER`] at most.
    since: AtomicU32,
    /// Whether the file system cannot tell.
    is_unknown: AtomicBool,
}

impl Default for Waits {
    fn default() -> Self {
        Waits {
            since: AtomicU32::new(FORGOTTEN_AFTER),
            is_unknown: AtomicBool::new(!cfg!(target_os = "linux")),
        }
    }
}

impl Waits {
    /// Whether one of the last reads had to wait.
    pub(super) fn has_waited(&self) -> bool {
        self.since.load(Ordering::Relaxed) < FORGOTTEN_AFTER
    }

    /// Fills the start of `dest` with what is in memory of a file from `offset` on, and returns how many bytes that are; notes
    /// whether more are to be waited for. Errors are left to the read that follows.
    #[cfg(target_os = "linux")]
    pub(super) fn read_at_once(&self, file: &File, dest: &mut [u8], offset: u64) -> usize {
        use rustix::io::{Errno, ReadWriteFlags};
        // To this call the largest number means the place where the file stands.
        let is_place = i64::try_from(offset).is_ok();
        let is_spared = dest.len() < SMALL_BYTE_LEN && !self.has_waited() && !is_asked(file, offset);
        if is_spared || self.is_unknown.load(Ordering::Relaxed) || dest.is_empty() || !is_place {
            return 0;
        }
        let wanted = dest.len();
        let mut dests = [std::io::IoSliceMut::new(dest)];
        match rustix::io::preadv2(file, &mut dests, offset, ReadWriteFlags::NOWAIT) {
            Ok(byte_len) => {
                self.note(byte_len < wanted);
                byte_len
            }
            Err(Errno::AGAIN) => {
                self.note(true);
                0
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {
                self.is_unknown.store(true, Ordering::Relaxed);
                0
            }
            Err(_) => 0,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn read_at_once(&self, _file: &File, _dest: &mut [u8], _offset: u64) -> usize {
        0
    }

    fn note(&self, has_waited: bool) {
        if has_waited {
            self.since.store(0, Ordering::Relaxed);
        } else if self.has_waited() {
            self.since.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether a small read of a file at an offset is one that asks: about one in [`ASKED_ONE_OF`] of them, however far they are apart
/// and in however many files, and without a count that threads would share.
#[cfg(target_os = "linux")]
fn is_asked(file: &File, offset: u64) -> bool {
    use std::os::fd::AsRawFd;
    let place = offset.wrapping_add(u64::from(file.as_raw_fd().unsigned_abs()));
    // The upper bits of a product with the golden ratio are spread evenly (Knuth, The Art of Computer Programming, 6.4).
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(ASKED_ONE_OF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_forgotten_after_reads_that_did_not() {
        let waits = Waits::default();
        assert!(!waits.has_waited());
        waits.note(true);
        for _ in 0..FORGOTTEN_AFTER {
            assert!(waits.has_waited());
            waits.note(false);
        }
        assert!(!waits.has_waited());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn small_reads_ask_now_and_then_whatever_is_between_them() {
        let file = tempfile::tempfile().unwrap();
        for stride in [1, 256, 512, 4096, 16_384, 65_536, 1 << 20, 1 << 30] {
            let asked = (0..4096).filter(|idx| is_asked(&file, idx * stride)).count();
            assert!((256..=1024).contains(&asked), "{asked} of 4096 reads that are {stride} bytes apart");
        }
        let files: Vec<File> = (0..64).map(|_| tempfile::tempfile().unwrap()).collect();
        let asked = files.iter().filter(|file| is_asked(file, 0)).count();
        assert!((1..32).contains(&asked), "{asked} of the starts of 64 files");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_in_memory_is_read_at_once() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), b"0123456789").unwrap();
        let file = File::open(path.path()).unwrap();
        let waits = Waits::default();
        let mut dest = [0; 4];
        // After a wait every read asks.
        waits.note(true);
        let byte_len = waits.read_at_once(&file, &mut dest, 3);
        if waits.is_unknown.load(Ordering::Relaxed) {
            return;
        }
        // A page may be thrown out of memory at any moment, so that a short answer is one too.
        assert_eq!(dest[..byte_len], b"3456"[..byte_len]);
        assert_eq!(waits.since.load(Ordering::Relaxed), u32::from(byte_len == dest.len()));
        for beyond in [100, u64::MAX] {
            assert_eq!(waits.read_at_once(&file, &mut dest, beyond), 0);
        }
    }
}
