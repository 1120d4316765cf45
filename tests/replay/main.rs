//! A short campaign over all targets with a fixed seed: every seed as it is, and some hundred mutations of each; and as it is what
//! libFuzzer found to reach more.
//!
//! `SMALTI_FUZZ_ROUNDS` multiplies the number of mutations. `cargo xtask fuzz` is the long form.
#![forbid(unsafe_code)]

use smalti_tests::counting::Counting;
use smalti_tests::fuzz::{Guard, NEVER_ENDS, case_input, case_number, kept, seeds, targets};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Mutations for each seed.
const ROUNDS: u64 = 200;

fn rounds() -> u64 {
    let times = std::env::var("SMALTI_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    times * ROUNDS
}

// One test, not one for each target: the allocator counts the whole process.
#[test]
fn seeds_and_their_mutations_end_without_panics_in_little_memory() {
    let guard = Guard::new(NEVER_ENDS, |target, input, fault| {
        eprintln!("{target}: {fault}: {} bytes: {}", input.len(), hex(input));
        std::process::exit(1);
    });
    let mut faults = Vec::new();
    for target in targets() {
        let name = target.0;
        let seeds = seeds(name).unwrap();
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds.iter().chain(&kept(name).unwrap()) {
            if let Err(fault) = guard.run(target, &seed.bytes) {
                faults.push(format!("{name}/{}: {fault}", seed.name));
            }
        }
        for place in 0..seeds.len() as u64 * rounds() {
            let number = case_number(1, name, place);
            let input = case_input(&seeds, number);
            if let Err(fault) = guard.run(target, &input) {
                faults.push(format!("{name} {number:016x}: {fault}: {}", hex(&input)));
            }
        }
    }
    let _ = std::panic::take_hook();
    assert!(
        faults.is_empty(),
        "{} faults, of them\n{}",
        faults.len(),
        faults[..faults.len().min(5)].join("\n")
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(2000).map(|byte| format!("{byte:02x}")).collect()
}
