//! What the program needs where it is installed, as docs/install.md says it.

use std::ops::Range;

/// The libraries that the program links against: the C library with its parts, and the unwinder of the compiler.
const LIBRARIES: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-"];

#[test]
fn the_program_needs_the_c_library_and_nothing_else() {
    let program = Elf::read();
    let needed = program.needed();
    assert!(needed.contains(&"libc.so.6".to_string()), "{needed:?}");
    for library in &needed {
        assert!(LIBRARIES.iter().any(|known| library.starts_with(known)), "{library} is new: {needed:?}");
        let page = include_str!("../../../../docs/install.md");
        let name = library.split("-x86").next().unwrap_or(library);
        assert!(page.contains(name), "docs/install.md says nothing of {library}");
    }
}

/// `cargo xtask dist` keeps what is handed out below 20 MB; a build for tests and development is larger, and grows first: TLS, HTTP and
/// the protocols of object stores took 10 MB of it.
#[test]
fn the_program_does_not_grow_unseen() {
    let program = Elf::read();
    let loaded: u64 = program
        .segments()
        .filter(|segment| segment.kind == LOADED)
        .map(|segment| segment.file.end - segment.file.start)
        .sum();
    assert!((10_000_000..44_000_000).contains(&loaded), "{loaded} bytes are loaded");
}

/// A file in the Executable and Linkable Format, 64 bits, little-endian: System V ABI, chapters 4 and 5.
struct Elf {
    content: Vec<u8>,
}

/// A part of the file that is loaded or tells how.
struct Segment {
    kind: u64,
    file: Range<u64>,
    address: u64,
}

const LOADED: u64 = 1;
const DYNAMIC: u64 = 2;
const NEEDED: u64 = 1;
const STRING_TABLE: u64 = 5;

impl Elf {
    fn read() -> Elf {
        let content = std::fs::read(env!("CARGO_BIN_EXE_smalti")).unwrap();
        assert!(content.starts_with(b"\x7fELF\x02\x01"), "64 bits, little-endian");
        Elf { content }
    }

    fn number(&self, offset: u64, byte_len: usize) -> u64 {
        let start = usize::try_from(offset).unwrap();
        let bytes = &self.content[start..start + byte_len];
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn segments(&self) -> impl Iterator<Item = Segment> {
        let (start, byte_len, count) = (self.number(32, 8), self.number(54, 2), self.number(56, 2));
        (0..count).map(move |idx| {
            let at = start + idx * byte_len;
            let offset = self.number(at + 8, 8);
            Segment {
                kind: self.number(at, 4),
                file: offset..offset + self.number(at + 32, 8),
                address: self.number(at + 16, 8),
            }
        })
    }

    /// The names of the libraries that the loader looks for.
    fn needed(&self) -> Vec<String> {
        let dynamic = self.segments().find(|segment| segment.kind == DYNAMIC).unwrap().file;
        let entries: Vec<(u64, u64)> =
            dynamic.step_by(16).map(|at| (self.number(at, 8), self.number(at + 8, 8))).collect();
        let (_, names) = *entries.iter().find(|(tag, _)| *tag == STRING_TABLE).unwrap();
        let is_around = |segment: &Segment| {
            segment.kind == LOADED && segment.address <= names && {
                names - segment.address < segment.file.end - segment.file.start
            }
        };
        let segment = self.segments().find(is_around).unwrap();
        let names = names - segment.address + segment.file.start;
        let name = |offset: u64| {
            let start = usize::try_from(names + offset).unwrap();
            let bytes = self.content[start..].iter().take_while(|byte| **byte != 0).copied().collect();
            String::from_utf8(bytes).unwrap()
        };
        entries.iter().filter(|(tag, _)| *tag == NEEDED).map(|(_, offset)| name(*offset)).collect()
    }
}
