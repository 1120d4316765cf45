//! An allocator that counts: how many bytes are live, how many ever were at once, and how much was asked of it.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static ASKED: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ASKED_HERE: Cell<usize> = const { Cell::new(0) };
}

static CEILING: AtomicUsize = AtomicUsize::new(usize::MAX);
static BLOCKED: AtomicBool = AtomicBool::new(false);

/// The system's allocator with counts of the whole process. A binary installs it with `#[global_allocator]`.
pub struct Counting;

/// Bytes that are live now.
pub fn live_byte_len() -> usize {
    LIVE.load(Relaxed)
}

/// The most bytes that were live at once since the last call of [`forget_peak`].
pub fn peak_byte_len() -> usize {
    PEAK.load(Relaxed)
}

/// Starts a new peak from what is live.
pub fn forget_peak() {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
}

/// All bytes that were ever asked for, and the number of calls: a measure of work that is the same on every machine.
pub fn asked() -> (usize, usize) {
    (ASKED.load(Relaxed), CALLS.load(Relaxed))
}

/// All bytes that this thread ever asked for.
pub fn asked_here() -> usize {
    ASKED_HERE.get()
}

/// Sets how many bytes may be live. A thread that asks for more never gets an answer: an allocator must not panic, and a
/// refusal would end the process before anybody could say which input asked. See [`is_blocked`].
pub fn set_ceiling(byte_len: usize) {
    CEILING.store(byte_len, Relaxed);
}

/// Whether a thread has asked for more than the ceiling.
pub fn is_blocked() -> bool {
    BLOCKED.load(Relaxed)
}

fn take(byte_len: usize) {
    let live = LIVE.fetch_add(byte_len, Relaxed).saturating_add(byte_len);
    if live > PEAK.load(Relaxed) {
        PEAK.fetch_max(live, Relaxed);
    }
    ASKED.fetch_add(byte_len, Relaxed);
    CALLS.fetch_add(1, Relaxed);
    // A thread that ends gives memory back when its own variables are gone.
    let _ = ASKED_HERE.try_with(|asked| asked.set(asked.get().wrapping_add(byte_len)));
    if live > CEILING.load(Relaxed) {
        // Others, who report it, go on.
        LIVE.fetch_sub(byte_len, Relaxed);
        BLOCKED.store(true, Relaxed);
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

fn give_back(byte_len: usize) {
    LIVE.fetch_sub(byte_len, Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_byte_len: usize) -> *mut u8 {
        take(new_byte_len);
        give_back(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, new_byte_len) }
    }
}
