//! Fuzzing without instrumentation: targets, seeds, mutations, and a guard that judges one case.

pub mod array;
pub mod condition;
mod guard;
pub mod manifest;
mod mutation;
mod seeds;
pub mod settings;
pub mod split;
pub mod tile;

pub use guard::{Fault, Guard, MAX_CASE_TIME, NEVER_ENDS, memory_bound};
pub use mutation::{Random, mutated};
pub use seeds::{Seed, artifacts_folder, kept, seeds, seeds_folder};
pub use smalti_store::{fuzz_cache_entry, fuzz_cache_entry_seeds};

/// What a fuzzer runs: the name of a structure, a family of codecs or the array as a whole, and what reads it.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub fn targets() -> Vec<Target> {
    let structures = smalti_format::fuzzing::TARGETS.iter().copied();
    let codecs = smalti_codecs::fuzz::TARGETS.iter().copied();
    let cells: [Target; 9] = [
        ("array", array::fuzz_array),
        ("condition_text", condition::fuzz_condition_text),
        ("stored_condition", condition::fuzz_stored_condition),
        ("split", split::fuzz_split),
        ("chunked_tile", tile::fuzz_chunked_tile),
        ("cache_entry", fuzz_cache_entry),
        ("manifest", manifest::fuzz_manifest),
        ("listing_page", manifest::fuzz_listing_page),
        ("settings", settings::fuzz_settings),
    ];
    structures.chain(codecs).chain(cells).collect()
}

/// The input of a case: everything about it follows from the seeds and one number.
pub fn case_input(seeds: &[Seed], number: u64) -> Vec<u8> {
    let mut random = Random(number);
    match seeds.get(random.below(seeds.len())) {
        Some(seed) => {
            let other = &seeds[random.below(seeds.len())].bytes;
            mutated(&seed.bytes, other, &mut random)
        }
        None => mutated(&[], &[], &mut random),
    }
}

/// The number of a case out of a campaign's seed, its target and its place.
pub fn case_number(campaign_seed: u64, target: &str, place: u64) -> u64 {
    let mut random = Random(campaign_seed);
    for byte in target.bytes() {
        random.0 = random.number() ^ u64::from(byte);
    }
    random.0 = random.number() ^ place;
    random.number()
}
