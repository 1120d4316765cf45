//! Damage that gets past the first checks: small, aimed at lengths and counts, and mixed from two inputs.

/// The longest input that a mutation makes, in bytes.
const MAX_INPUT_BYTE_LEN: usize = 1 << 16;

/// A generator that replays from its seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a limit; 0 where the limit is.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }
}

/// Bytes at the edges of types, and tags that formats use.
const BYTES: &[u8] = &[0, 1, 2, 3, 4, 5, 8, 16, 22, 32, 64, 0x7f, 0x80, 0xfe, 0xff];

/// Numbers at the edges of types and of what machines can allocate.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x1_0000,
    0x00ff_ffff,
    0x1000_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fff0,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 40,
    1 << 61,
    u64::MAX / 8,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// An input made from one and pieces of another: one to five changes.
pub fn mutated(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let change_count = 1 + random.below(5);
    for _ in 0..change_count {
        change(&mut bytes, other, random);
    }
    bytes.truncate(MAX_INPUT_BYTE_LEN);
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        let len = random.below(40);
        bytes.extend((0..len).map(|_| random.number() as u8));
        return;
    }
    let at = random.below(bytes.len());
    match random.below(14) {
        0..=2 => bytes[at] ^= 1 << random.below(8),
        3 => bytes[at] = random.number() as u8,
        4 => bytes[at] = random.pick(BYTES),
        5 => bytes[at] = bytes[at].wrapping_add(random.pick(&[1, 2, 0xfe, 0xff])),
        6 => overwrite(bytes, at, &(random.pick(NUMBERS) as u32).to_le_bytes()),
        7 => overwrite(bytes, at, &random.pick(NUMBERS).to_le_bytes()),
        8 => inflate(bytes, at, random),
        9 if random.below(3) == 0 => bytes.truncate(at),
        10 => {
            let end = (at + 1 + random.below(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        11 => {
            let end = (at + 1 + random.below(32)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, piece);
        }
        12 if !other.is_empty() => splice(bytes, at, other, random),
        _ => {
            let end = (at + 1 + random.below(8)).min(bytes.len());
            let value = random.pick(BYTES);
            bytes[at..end].fill(value);
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    bytes[at..].iter_mut().zip(with).for_each(|(target, byte)| *target = *byte);
}

/// Takes what is at a place for a length, and makes it somewhat or much greater or less.
fn inflate(bytes: &mut [u8], at: usize, random: &mut Random) {
    let is_wide = random.below(2) == 0;
    let mut raw = [0; 8];
    let len = if is_wide { 8 } else { 4 };
    raw[..len].iter_mut().zip(&bytes[at..]).for_each(|(target, byte)| *target = *byte);
    let value = u64::from_le_bytes(raw);
    let value = match random.below(6) {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        2 => value.wrapping_mul(2),
        3 => value.wrapping_mul(1 << 16),
        4 => value.wrapping_add(1 << (random.below(len) * 8)),
        _ => value / 2,
    };
    overwrite(bytes, at, &value.to_le_bytes()[..len]);
}

/// Replaces the rest, or a piece, by a piece of another input.
fn splice(bytes: &mut Vec<u8>, at: usize, other: &[u8], random: &mut Random) {
    let from = random.below(other.len());
    if random.below(2) == 0 {
        bytes.truncate(at);
        bytes.extend_from_slice(&other[from..]);
    } else {
        let end = (from + 1 + random.below(64)).min(other.len());
        overwrite(bytes, at, &other[from..end]);
    }
}
