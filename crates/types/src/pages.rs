//! Huge pages for large memory.
//!
//! The first touch of a page is a fault, and zeros that the system writes: with pages of 4 KiB that takes as long as many a read. Linux has pages of
//! 2 MiB for memory whose owner asks for them (`madvise(2)`, `MADV_HUGEPAGE`); where they are off, or run out, it gives small ones.
#![cfg_attr(
    all(target_os = "linux", not(miri)),
    expect(
        unsafe_code,
        reason = "advice about memory can take its content away, so that no safe function gives it"
    )
)]

/// The length and alignment of a huge page where pages have 4 KiB. Where they are larger, advice about less than one changes nothing.
const HUGE_BYTE_LEN: usize = 2 << 20;

/// Less is not worth a call; so much has a whole huge page in it wherever it starts.
const LEAST_BYTE_LEN: usize = 2 * HUGE_BYTE_LEN;

/// Asks for huge pages behind memory that was just allocated, where it is large. Only pages that lie in it whole are asked for: no more memory is taken than
/// the owner touches, up to the end of a page.
pub(crate) fn ask_for_huge(bytes: &mut [u8]) {
    let start = bytes.as_ptr().align_offset(HUGE_BYTE_LEN);
    if bytes.len() >= LEAST_BYTE_LEN
        && let Some(aligned) = bytes.get_mut(start..)
    {
        let (whole, _) = aligned.as_chunks_mut::<HUGE_BYTE_LEN>();
        advise(whole.as_flattened_mut());
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn advise(bytes: &mut [u8]) {
    use rustix::mm::{Advice, madvise};
    // SAFETY: the range is memory that the caller has for itself. This advice leaves content and access as they are; it says how the
    // system is to back what is touched from now on.
    let advised = unsafe { madvise(bytes.as_mut_ptr().cast(), bytes.len(), Advice::LinuxHugepage) };
    // A kernel without huge pages refuses; small ones do.
    let _: Result<(), _> = advised;
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_: &mut [u8]) {}
