//! A campaign of the fuzzers on stable Rust: `cargo xtask fuzz`.
#![forbid(unsafe_code)]

use smalti_tests::counting::{Counting, live_byte_len, peak_byte_len};
use smalti_tests::fuzz::{
    Fault, Guard, MAX_CASE_TIME, Target, artifacts_folder, case_input, case_number, kept, seeds, targets,
};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USAGE: &str = "\
cargo xtask fuzz [--seconds N] [--seed S] [--target NAME] [--input FILE]

  --seconds N     how long to run, over all targets together [default: 60]
  --seed S        the number that everything follows from [default: from the clock; it is printed]
  --target NAME   one target only; with --input, what reads the file
  --input FILE    run one input instead, such as one from fuzz/artifacts
";

/// Failures of one target after which the campaign goes on to the next.
const MAX_FAULTS: usize = 10;

struct Options {
    time: Duration,
    seed: u64,
    targets: Vec<Target>,
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprint!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let guard = Guard::new(MAX_CASE_TIME, |target, input, fault| {
        let _ = report(target, "stuck", input, &fault);
        std::process::exit(1);
    });
    let fault_count = match &options.input {
        Some(path) => run_file(&guard, &options.targets, path),
        None => run_campaign(&guard, &options),
    };
    match fault_count {
        Ok(0) => ExitCode::SUCCESS,
        Ok(count) => {
            println!("{count} failures");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let mut options = Options { time: Duration::from_secs(60), seed: clock, targets: targets(), input: None };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} {value}: no number"));
        match name.as_str() {
            "--seconds" => options.time = Duration::from_secs(number()?),
            "--seed" => options.seed = number()?,
            "--input" => options.input = Some(value.into()),
            "--target" => {
                let names: Vec<&str> = options.targets.iter().map(|(name, _)| *name).collect();
                let unknown = format!("no target {value}; there are {}", names.join(", "));
                options.targets.retain(|(name, _)| *name == value);
                if options.targets.is_empty() {
                    return Err(unknown);
                }
            }
            _ => return Err(format!("no option {name}")),
        }
    }
    if options.input.is_some() && options.targets.len() != 1 {
        return Err("--input needs --target".into());
    }
    Ok(options)
}

fn run_file(guard: &Guard, targets: &[Target], path: &PathBuf) -> Result<usize, String> {
    let input = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut fault_count = 0;
    for target in targets {
        let live = live_byte_len();
        match guard.run(*target, &input) {
            Ok(()) => println!("{}: passes, {} KiB", target.0, peak_byte_len().saturating_sub(live) >> 10),
            Err(fault) => {
                println!("{}: {fault}", target.0);
                fault_count += 1;
            }
        }
    }
    Ok(fault_count)
}

fn run_campaign(guard: &Guard, options: &Options) -> Result<usize, String> {
    println!("seed {}", options.seed);
    let mut fault_count = 0;
    let share = options.time / options.targets.len().max(1) as u32;
    for target in &options.targets {
        fault_count += run_target(guard, *target, options.seed, share)?;
    }
    Ok(fault_count)
}

/// Runs the seeds, then mutations of them until the time is up.
fn run_target(guard: &Guard, target: Target, campaign_seed: u64, time: Duration) -> Result<usize, String> {
    let (name, _) = target;
    let inputs = seeds(name).and_then(|seeds| Ok([seeds, kept(name)?].concat()));
    let seeds = inputs.map_err(|error| format!("seeds of {name}: {error}"))?;
    let progress = std::io::stderr().is_terminal();
    let (start, mut shown) = (Instant::now(), Instant::now());
    let mut faults = BTreeSet::new();
    let mut peak = 0;
    let mut judge = |label: &str, input: &[u8]| -> Result<bool, String> {
        let live = live_byte_len();
        let outcome = guard.run(target, input);
        peak = peak_byte_len().saturating_sub(live).max(peak);
        // One report for each place that panics.
        if let Err(fault) = outcome
            && faults.insert(kind(&fault))
        {
            report(name, label, input, &fault)?;
        }
        Ok(faults.len() < MAX_FAULTS)
    };
    for seed in &seeds {
        if !judge(&format!("seed-{}", seed.name), &seed.bytes)? {
            break;
        }
    }
    let mut case_count = 0u64;
    while start.elapsed() < time {
        let number = case_number(campaign_seed, name, case_count);
        if !judge(&format!("{number:016x}"), &case_input(&seeds, number))? {
            break;
        }
        case_count += 1;
        if progress && shown.elapsed() > Duration::from_millis(200) {
            shown = Instant::now();
            eprint!("\r{name}: {case_count} cases, {:.0} s ", start.elapsed().as_secs_f64());
            let _ = std::io::stderr().flush();
        }
    }
    if progress {
        eprint!("\r\x1b[K");
    }
    println!(
        "{name:22} {:4} seeds {case_count:9} cases {:5.1} s, at most {} KiB live, {} failures",
        seeds.len(),
        start.elapsed().as_secs_f64(),
        peak >> 10,
        faults.len()
    );
    Ok(faults.len())
}

/// What makes a fault the same as another: its place, not the values in its message.
fn kind(fault: &Fault) -> String {
    match fault {
        Fault::Panic(message) => message.lines().next().unwrap_or_default().to_owned(),
        Fault::Memory(_) => "memory".into(),
        Fault::Time(_) => "time".into(),
    }
}

fn report(target: &str, label: &str, input: &[u8], fault: &Fault) -> Result<(), String> {
    let folder = artifacts_folder(target);
    let path = folder.join(label);
    println!("{target} {label}: {fault}");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, input))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("  cargo xtask fuzz --target {target} --input fuzz/artifacts/{target}/{label}");
    Ok(())
}
