//! Damaged and invented tiles: errors, never a panic, and never more memory than the tile's length justifies.
#![allow(unsafe_code, reason = "a counting allocator")]

use smalti_codecs::{Scratch, fuzz};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The buffers that a tile of 64 KiB may need, four times over, and the decompressors' own tables.
const MAX_LIVE_BYTES: usize = 24 << 20;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound.max(1)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 32) as u8).collect()
    }
}

fn iterations() -> usize {
    std::env::var("SMALTI_FUZZ_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(30_000)
}

#[test]
fn any_bytes_are_an_error_or_a_tile() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..iterations() {
        let mut scratch = Scratch::new();
        // A frame of one chunk around invented metadata and data gets past the first checks.
        let configuration = random.bytes(14);
        let (metadata_len, data_len) = (random.below(60), random.below(200));
        let mut metadata = random.bytes(metadata_len);
        if round % 2 == 0 {
            // Small numbers where the counts and lengths are.
            metadata.iter_mut().enumerate().filter(|(at, _)| at % 4 != 0).for_each(|(_, byte)| *byte = 0);
        }
        let mut input = configuration;
        input.extend(1u64.to_le_bytes());
        for len in [random.below(300), data_len, metadata_len] {
            input.extend((len as u32).to_le_bytes());
        }
        input.extend(metadata);
        input.extend(random.bytes(data_len));
        fuzz::decode(&input, &mut scratch);
    }
    assert!(PEAK.load(Relaxed) < MAX_LIVE_BYTES, "{} bytes were live", PEAK.load(Relaxed));
}

#[test]
fn damaged_tiles_are_errors_or_tiles() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut encoded = 0;
    for _ in 0..iterations() / 10 {
        let mut scratch = Scratch::new();
        let configuration = random.bytes(14);
        let Some((codec, _)) = fuzz::codec(&configuration) else { continue };
        let (_, field, ..) = fuzz::configuration(&configuration);
        let step = random.below(4) as u64;
        let cell_count = random.below(400);
        let width = field.cell_byte_len();
        let mut value = 0u64;
        let mut tile = Vec::new();
        for _ in 0..cell_count {
            value += if step == 0 { 0 } else { random.next() % step };
            tile.extend(value.to_le_bytes().iter().cycle().take(width));
        }
        let offsets: Vec<u64> = (0..cell_count as u64).map(|cell| cell * width as u64).collect();
        let mut filtered = Vec::new();
        if codec.encode_var(&tile, &offsets, &mut filtered, &mut scratch).is_err() {
            continue;
        }
        encoded += 1;
        for _ in 0..10 {
            let mut damaged = filtered.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(damaged.len());
                match random.below(5) {
                    0 => damaged[at] ^= 1 << random.below(8),
                    1 => damaged[at] = 0xff,
                    2 => damaged[at] = 0,
                    3 => damaged.truncate(at.max(1)),
                    _ => {
                        let from = random.below(damaged.len());
                        damaged[at] = damaged[from];
                    }
                }
            }
            fuzz::decode_with(&codec, &damaged, &mut scratch);
        }
    }
    assert!(encoded > iterations() / 100, "only {encoded} configurations could encode");
    assert!(PEAK.load(Relaxed) < MAX_LIVE_BYTES, "{} bytes were live", PEAK.load(Relaxed));
}
