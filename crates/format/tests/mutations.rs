//! Damaged files: real structures with flipped, cut, repeated and random bytes never panic, and never take more
//! memory than their bytes warrant.

mod common;

use common::{cases, file_name, folder, structure_files, unfilter};
use smalti_format::fragment::{Footer, LegacyFragmentMetadata, RTree, Section};
use smalti_format::names::{OLD_SCHEMA_FILE, TimestampedName};
use smalti_format::{ArraySchema, Reader, Shape, TraceDetail, Version, fuzzing};
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

type Target = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Structures of the corpus with what reads them.
static SEEDS: LazyLock<Vec<(Target, Vec<u8>)>> = LazyLock::new(seeds);

fn seeds() -> Vec<(Target, Vec<u8>)> {
    let mut seeds: Vec<(Target, Vec<u8>)> = Vec::new();
    let mut seen = HashSet::new();
    for case in cases() {
        let mut schemas: BTreeMap<(String, String), ArraySchema> = BTreeMap::new();
        for (kind, path, bytes) in structure_files(&case) {
            if case.expected["schema"]["error"].is_string() {
                continue;
            }
            let target = |name: &str| -> Target {
                let (_, fuzz) = fuzzing::TARGETS.iter().find(|(target, _)| *target == name).unwrap();
                Box::new(fuzz)
            };
            let mut add = |target: Target, bytes: Vec<u8>| {
                if seen.insert(bytes.clone()) {
                    seeds.push((target, bytes));
                }
            };
            match kind {
                "commits" => add(target("consolidated_commits"), bytes.to_vec()),
                "names" => add(target("name_list"), bytes.to_vec()),
                "fragment" => {
                    let root = folder(folder(path).trim_end_matches('/')).trim_end_matches("__fragments/");
                    for (target, bytes) in fragment_seeds(path, root, bytes, &schemas) {
                        add(target, bytes);
                    }
                }
                _ => {
                    add(target("generic_tile"), bytes[..bytes.len().min(300)].to_vec());
                    let Some((tile, ..)) = unfilter(bytes) else { continue };
                    if kind == "schema" {
                        let root = folder(path).trim_end_matches("__schema/").to_owned();
                        schemas
                            .insert((root, file_name(path).to_owned()), ArraySchema::decode(&tile).unwrap());
                    }
                    let name = if kind == "consolidated" { "consolidated_footers" } else { kind };
                    add(target(name), tile);
                }
            }
        }
    }
    seeds
}

fn fragment_seeds(
    path: &str,
    root: &str,
    bytes: &[u8],
    schemas: &BTreeMap<(String, String), ArraySchema>,
) -> Vec<(Target, Vec<u8>)> {
    let name = TimestampedName::parse(file_name(folder(path).trim_end_matches('/'))).unwrap();
    let version = name.fragment_version().unwrap();
    let shape_of = |schema: &str| schemas.get(&(root.to_owned(), schema.to_owned())).map(ArraySchema::shape);
    let old_shape = shape_of(OLD_SCHEMA_FILE).unwrap_or_default();
    let mut seeds: Vec<(Target, Vec<u8>)> = Vec::new();
    if version.number() < 3 {
        if let Some((tile, ..)) = unfilter(bytes) {
            let shape = old_shape;
            seeds.push((Box::new(move |bytes| drop(LegacyFragmentMetadata::decode(bytes, &shape))), tile));
        }
        return seeds;
    }
    let Ok(range) = Footer::range(version, &old_shape, bytes.len() as u64, &bytes[bytes.len() - 8..]) else {
        return seeds;
    };
    let footer_bytes = &bytes[range.start as usize..range.end as usize];
    let Some(shape) = Footer::schema_name_of(footer_bytes).ok().and_then(|name| shape_of(&name)) else {
        return seeds;
    };
    let footer = Footer::decode(footer_bytes, &shape).unwrap();
    let (tree_shape, tree_version) = (shape.clone(), footer.version);
    if let Some((tile, ..)) = unfilter(&bytes[footer.rtree as usize..]) {
        let read = move |bytes: &[u8]| drop(RTree::decode(bytes, tree_version, &tree_shape));
        seeds.push((Box::new(read), tile));
    }
    let sections = [
        Section::TileMins(0),
        Section::TileOffsets(0),
        Section::FragmentStatistics,
        Section::ProcessedConditions,
    ];
    for section in sections {
        let offset = footer.section_offset(section, &shape).unwrap();
        if let Some((tile, ..)) = offset.and_then(|offset| unfilter(&bytes[offset as usize..])) {
            seeds.push((Box::new(fuzzing::fuzz_sections), tile));
        }
    }
    seeds.push((Box::new(move |bytes| read_footer(bytes, &shape)), footer_bytes.to_vec()));
    seeds
}

fn read_footer(bytes: &[u8], shape: &Shape) {
    if let Ok(footer) = Footer::decode_from(&mut Reader::traced(bytes, TraceDetail::Folded), shape) {
        footer.sections(shape).unwrap();
        for version in Version::all() {
            let _ = Footer::range(version, shape, bytes.len() as u64, bytes);
        }
    }
}

/// A small generator whose sequence never changes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let value = random.next();
        match random.below(7) {
            _ if bytes.is_empty() => bytes.push(value as u8),
            0 => bytes[at] ^= 1 << (value % 8),
            1 => bytes[at] = value as u8,
            2 => bytes.truncate(at),
            3 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0xff),
            4 => bytes[at..].iter_mut().take(4).for_each(|byte| *byte = (value >> 8) as u8),
            5 => {
                let piece = bytes[at..(at + 1 + value as usize % 16).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => drop(bytes.drain(at..(at + 1 + value as usize % 8).min(bytes.len()))),
        }
    }
    bytes
}

/// The most memory this process ever held, in KiB; 0 where the system does not tell.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[test]
fn damaged_structures_neither_panic_nor_take_memory() {
    assert!(SEEDS.len() > 3000, "{}", SEEDS.len());
    let before = peak_kib();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (target, seed) in SEEDS.iter() {
        target(seed);
        for _ in 0..100 {
            target(&mutated(seed, &mut random));
        }
    }
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB");
}

#[test]
fn every_prefix_of_a_structure_is_refused_or_read() {
    for (target, seed) in SEEDS.iter().step_by(37) {
        for len in (0..seed.len()).take(2000) {
            target(&seed[..len]);
        }
    }
}

#[test]
fn random_bytes_are_refused_or_read() {
    let mut random = Random(88172645463325252);
    for (_, target) in fuzzing::TARGETS {
        for _ in 0..20_000 {
            let len = random.below(120);
            let small = random.below(2) == 0;
            let byte = |random: &mut Random| if small { random.below(6) as u8 } else { random.next() as u8 };
            let bytes: Vec<u8> = (0..len).map(|_| byte(&mut random)).collect();
            target(&bytes);
        }
    }
}

#[test]
fn counts_and_lengths_that_lie_cost_nothing() {
    LazyLock::force(&SEEDS);
    let before = peak_kib();
    for value in [u64::MAX, u64::MAX / 8, 1 << 61, 1 << 40, 1 << 32] {
        for tail in [0usize, 100, 100_000] {
            for lead in 0..24 {
                let mut bytes = vec![0; lead];
                bytes.extend(value.to_le_bytes());
                bytes.resize(bytes.len() + tail, 1);
                for (_, target) in fuzzing::TARGETS {
                    target(&bytes);
                }
            }
        }
    }
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB");
}
