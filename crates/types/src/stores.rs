//! Writes past the caches.
//!
//! A processor that stores into memory which is in no cache reads it first, 64 bytes at a time, and waits for that: half of
//! what goes over the bus is thrown away. Non-temporal stores write whole lines of the cache without reading them (Intel 64 and IA-32
//! Architectures Software Developer's Manual, volume 1, 10.4.6.2). What they wrote is in no cache afterwards, so they pay where the
//! whole is too large to stay there anyway.
#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "non-temporal stores are instructions that no safe function gives")
)]

use std::marker::PhantomData;

/// Results from this length on are written past the caches; the second-level caches of most processors are smaller.
const LARGE_BYTE_LEN: usize = 8 << 20;

/// Lines from this length on are written past the caches.
const MIN_LINE_BYTE_LEN: usize = 256;

/// Where what is written shall be afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// In the caches, as always.
    Cached,
    /// In memory: what is written in long lines goes through [`write_past_caches`].
    PastCaches,
}

impl Stores {
    /// What suits a result of so many bytes in all.
    pub fn for_result(byte_len: usize) -> Self {
        match byte_len {
            LARGE_BYTE_LEN.. => Stores::PastCaches,
            _ => Stores::Cached,
        }
    }

    /// Whether lines of so many bytes are written past the caches: shorter ones have too few whole lines of a cache.
    #[inline]
    pub fn pass_caches(self, line_byte_len: usize) -> bool {
        self == Stores::PastCaches && line_byte_len >= MIN_LINE_BYTE_LEN
    }
}

/// Memory that [`write_past_caches`] lends.
#[derive(Debug)]
pub struct PastCaches<'a> {
    to: &'a mut [u8],
    /// Of one thread, which is the one with the fence.
    of_one_thread: PhantomData<*const ()>,
}

impl PastCaches<'_> {
    /// Copies bytes to a place. Whole lines of the cache go past it, what is left at both ends does not.
    ///
    /// # Panics
    /// When they reach beyond the end.
    #[inline]
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        put(&mut self.to[at..][..bytes.len()], bytes);
    }
}

/// Lends `to` for writes that make no stop in the caches. Where the processor has no such stores, they are as all others.
///
/// ```
/// let mut to = [0; 6];
/// smalti_types::write_past_caches(&mut to, |mut out| {
///     out.put(0, &[3, 4]);
///     out.put(3, &[1, 2]);
/// });
/// assert_eq!(to, [3, 4, 0, 1, 2, 0]);
/// ```
#[inline]
pub fn write_past_caches(to: &mut [u8], write: impl FnOnce(PastCaches<'_>)) {
    // Behind the last write, and behind a panic too.
    let _fence = Fence;
    write(PastCaches { to, of_one_thread: PhantomData });
}

/// What the caches take in and give out at once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct CacheLine([[u8; 16]; 4]);

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn put(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_stream_si128};
    let (head, lines, tail) = bytemuck::pod_align_to_mut::<u8, CacheLine>(to);
    let (head_from, from) = from.split_at(head.len());
    let (from, tail_from) = from.split_at(size_of_val(lines));
    head.copy_from_slice(head_from);
    tail.copy_from_slice(tail_from);
    for (line, from) in lines.iter_mut().zip(from.as_chunks::<64>().0) {
        for (to, from) in line.0.iter_mut().zip(from.as_chunks::<16>().0) {
            let value: __m128i = bytemuck::pod_read_unaligned(from);
            // SAFETY: `to` is 16 bytes that this function may write, a quarter of a cache line that is aligned to 64. No other
            // thread can look at them before the fence: `write_past_caches` borrows them until it has dropped that, and
            // `PastCaches` does not leave its thread.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), value) };
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
fn put(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

/// Makes what was stored past the caches visible to others in the order of the program, when it is dropped.
struct Fence;

impl Drop for Fence {
    #[inline]
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: an instruction that every processor of this architecture has, and that touches no memory.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_length_arrive_wherever_they_begin() {
        let from: Vec<u8> = (0..700_u32).map(|idx| (idx * 37 % 251) as u8).collect();
        for byte_len in [0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 256, 300] {
            for (to_at, from_at) in (0..70).map(|at| (at, at * 5 % 67)) {
                let mut to = vec![0xEE; 800];
                write_past_caches(&mut to, |mut out| {
                    out.put(to_at, &from[from_at..][..byte_len]);
                    out.put(to_at + 400, &from[from_at + 300..][..byte_len]);
                });
                let mut expected = vec![0xEE; 800];
                for (to_at, from_at) in [(to_at, from_at), (to_at + 400, from_at + 300)] {
                    expected[to_at..][..byte_len].copy_from_slice(&from[from_at..][..byte_len]);
                }
                assert_eq!(to, expected, "{byte_len} bytes from {from_at} to {to_at}");
            }
        }
    }

    #[test]
    fn other_threads_see_what_was_written() {
        let from = [7_u8; 4096];
        for _ in 0..200 {
            let mut to = vec![0_u8; 4096];
            write_past_caches(&mut to, |mut out| out.put(0, &from));
            assert!(std::thread::spawn(move || to.iter().all(|byte| *byte == 7)).join().unwrap());
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn bytes_beyond_the_end_are_a_panic() {
        write_past_caches(&mut [0; 8], |mut out| out.put(5, &[0; 4]));
    }
}
