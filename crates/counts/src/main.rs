//! Cases whose instructions are counted: the kernels of the engine, a query and an opening, on inputs that are always the same.
//!
//! `counts list` prints the names of the cases; `counts NAME [ROUNDS]` runs one, once unless another number is given. Under callgrind,
//! `--toggle-collect=*measured_kernel*` counts what the case does without what makes its input. `cargo xtask counts` does that for all of
//! them and compares the counts with bench/counts.tsv.
#![forbid(unsafe_code)]

mod boxes;
mod case;
mod coordinates;
mod engine;
mod filters;
mod input;
mod measured;
mod metadata;
mod tiles;

use case::{Case, Outcome};

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["list"] => cases().iter().for_each(|case| println!("{}", case.name)),
        [name] => run(name, 1)?,
        [name, rounds] => run(name, rounds.parse()?)?,
        _ => return Err("counts list, or counts NAME [ROUNDS]".into()),
    }
    Ok(())
}

/// All cases, in the order of the record.
fn cases() -> Vec<Case> {
    let parts = [
        filters::cases(),
        tiles::cases(),
        boxes::cases(),
        coordinates::cases(),
        metadata::cases(),
        engine::cases(),
    ];
    parts.into_iter().flatten().collect()
}

fn run(name: &str, rounds: u64) -> Outcome {
    let cases = cases();
    let case = cases.iter().find(|case| case.name == name).ok_or_else(|| format!("no case `{name}`"))?;
    for _ in 0..rounds {
        let mut work = (case.prepare)()?;
        measured::measured_kernel(&mut *work)?;
    }
    Ok(())
}
