//! The fuzzers with coverage: cargo-fuzz builds the targets of `fuzz/` for libFuzzer, which keeps what reaches something new.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What is kept of a target in the repository: inputs that reach what the seeds do not, the least first. The bound is for all
/// clones of the repository: 31 targets are 1 MB at most.
const MAX_KEPT_BYTE_LEN: u64 = 32 << 10;
const MAX_KEPT_COUNT: usize = 48;

/// The end of a run's log that is shown beside a finding.
const SHOWN_LINE_COUNT: usize = 30;

/// Builds all targets, runs those wanted one after the other, and keeps a small corpus of each in `fuzz/kept`.
pub(crate) fn campaign(workspace: &Workspace, options: &[&str]) -> Outcome {
    let wanted = Wanted::of(options)?;
    let folders = Folders::of(workspace);
    let known = folders.targets()?;
    let unknown = wanted.targets.iter().find(|target| !known.contains(*target));
    if let Some(target) = unknown {
        return Err(format!("no target {target}; there are {}", list(&known)));
    }
    build(workspace, &folders)?;
    let mut finding_count = 0;
    let mut total = 0;
    for target in known.iter().filter(|name| wanted.targets.is_empty() || wanted.targets.contains(*name)) {
        let report = folders.run(target, wanted.second_count)?;
        // The lines are the record of a campaign of hours: each is out when its target is done.
        println!("{target:22} {report}");
        let _ = std::io::stdout().flush();
        if let Some(shown) = &report.finding {
            println!("{shown}");
            finding_count += 1;
        }
        total += report.execution_count;
    }
    println!("{total} executions, {finding_count} findings");
    match finding_count {
        0 => Ok(()),
        count => Err(format!("{count} findings; their inputs are in fuzz/artifacts")),
    }
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    second_count: u64,
    /// All where there are none.
    targets: BTreeSet<String>,
}

impl Wanted {
    fn of(options: &[&str]) -> Result<Self, String> {
        let mut wanted = Self { second_count: 60, targets: BTreeSet::new() };
        let mut options = options.iter();
        while let Some(&option) = options.next() {
            let value = options.next().ok_or_else(|| format!("fuzz: {option} needs a value"))?;
            match option {
                "--each" => {
                    let number = value.parse().ok().filter(|count| *count > 0);
                    wanted.second_count = number
                        .ok_or_else(|| format!("fuzz: --each takes seconds, at least 1, not `{value}`"))?;
                }
                "--target" => drop(wanted.targets.insert((*value).to_owned())),
                _ => {
                    return Err(format!(
                        "fuzz --coverage: no option `{option}`; there are --each SECONDS and --target NAME"
                    ));
                }
            }
        }
        Ok(wanted)
    }
}

fn build(workspace: &Workspace, folders: &Folders) -> Outcome {
    let installed = Command::new(cargo())
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !installed {
        return Err("cargo-fuzz is not installed: `cargo install cargo-fuzz --locked`; \
                    without it there is `cargo xtask fuzz`, which knows no coverage"
            .into());
    }
    // The passes that count coverage are in stable Rust as well, but its compiler wants to be told that one knows what they
    // are worth. No sanitizer: those need nightly's standard library, and the crates here are safe Rust but for their C libraries.
    let mut build = Command::new(cargo());
    build.args(["fuzz", "build", "--sanitizer", "none", "--target-dir"]).arg(&folders.target);
    run(build.env("RUSTC_BOOTSTRAP", "1").current_dir(&workspace.root))
}

struct Folders {
    fuzz: PathBuf,
    target: PathBuf,
}

/// What a run of one target came to.
struct Report {
    seconds: f64,
    execution_count: u64,
    /// Edges of the program that were reached: by what there was at the start, and at the end.
    edges: (u64, u64),
    kept: Kept,
    /// What to show of it, and the command that runs it again.
    finding: Option<String>,
}

/// What is kept in the repository: inputs and their bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Kept {
    count: usize,
    byte_len: u64,
    /// Inputs that went beyond the bounds.
    left_out: usize,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:6.0} s {:10} executions, edges {:5} to {:5}, {:2} inputs of {:5} bytes kept",
            self.seconds,
            self.execution_count,
            self.edges.0,
            self.edges.1,
            self.kept.count,
            self.kept.byte_len
        )?;
        if self.kept.left_out > 0 {
            write!(f, " ({} more not)", self.kept.left_out)?;
        }
        write!(f, ", {} findings", u8::from(self.finding.is_some()))
    }
}

impl Folders {
    fn of(workspace: &Workspace) -> Self {
        Self { fuzz: workspace.root.join("fuzz"), target: workspace.target.join("coverage") }
    }

    fn targets(&self) -> Result<BTreeSet<String>, String> {
        let files = files(&self.fuzz.join("fuzz_targets"))?;
        Ok(files.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
    }

    /// The program of a target. cargo-fuzz builds below a folder with the name of the machine's kind.
    fn program(&self, target: &str) -> Result<PathBuf, String> {
        let kinds = fs::read_dir(&self.target).map_err(|e| format!("{}: {e}", self.target.display()))?;
        let mut programs = kinds.flatten().map(|kind| kind.path().join("release").join(target));
        programs.find(|path| path.is_file()).ok_or_else(|| format!("cargo-fuzz built no {target}"))
    }

    /// Runs a target for some seconds from its seeds, what is kept of it, and what earlier runs on this machine found.
    fn run(&self, target: &str, second_count: u64) -> Result<Report, String> {
        let (seeds, kept) = (self.fuzz.join("seeds").join(target), self.fuzz.join("kept").join(target));
        let (corpus, artifacts) =
            (self.target.join("corpus").join(target), self.fuzz.join("artifacts").join(target));
        for folder in [&kept, &corpus, &artifacts] {
            make(folder)?;
        }
        let log_path = self.target.join(format!("{target}.log"));
        let before: BTreeSet<PathBuf> = files(&artifacts)?.into_iter().collect();
        let mut command = Command::new(self.program(target)?);
        command.args([&corpus, &seeds, &kept]).arg(format!("-max_total_time={second_count}"));
        // The limits are of the process, wider than those that the replay has for a case: they are for what never ends.
        command.args(["-rss_limit_mb=2048", "-timeout=30", "-print_final_stats=1", "-verbosity=1"]);
        command.arg(format!("-artifact_prefix={}/", artifacts.display()));
        let start = Instant::now();
        let (passed, log) = logged(&mut command, &log_path)?;
        let seconds = start.elapsed().as_secs_f64();
        // An input that takes ten seconds is put there too, and ends nothing.
        let after = files(&artifacts)?;
        let new = after.iter().find(|path| !before.contains(*path));
        let finding =
            (!passed || new.is_some()).then(|| shown_finding(target, new.map(PathBuf::as_path), &log));
        let kept = self.keep(target, [&seeds, &corpus, &kept])?;
        Ok(Report { seconds, execution_count: executions(&log), edges: edges(&log), kept, finding })
    }

    /// Puts the fewest inputs beside the seeds that reach all edges that the corpus reaches and the seeds do not.
    fn keep(&self, target: &str, [seeds, corpus, kept]: [&Path; 3]) -> Result<Kept, String> {
        let merged = self.target.join(format!("{target}.merged"));
        if merged.exists() {
            fs::remove_dir_all(&merged).map_err(|e| format!("{}: {e}", merged.display()))?;
        }
        make(&merged)?;
        let mut seed_names = BTreeSet::new();
        for seed in files(seeds)? {
            let name = seed.file_name().unwrap_or_default().to_owned();
            copy(&seed, &merged.join(&name))?;
            seed_names.insert(name);
        }
        let mut command = Command::new(self.program(target)?);
        // By edges alone, not by how often each is passed: that would be some hundred files for each target.
        command.args(["-set_cover_merge=1", "-use_counters=0", "-rss_limit_mb=2048", "-timeout=30"]);
        command.args([merged.as_path(), kept, corpus]);
        let (passed, log) = logged(&mut command, &self.target.join(format!("{target}.merge.log")))?;
        if !passed {
            return Err(format!("the corpus of {target} cannot be merged:\n{}", tail(&log)));
        }
        let mut inputs = Vec::new();
        for path in files(&merged)? {
            let name = path.file_name().unwrap_or_default();
            if !seed_names.contains(name) {
                let byte_len = fs::metadata(&path).map_err(|e| format!("{}: {e}", path.display()))?.len();
                inputs.push((byte_len, name.to_owned()));
            }
        }
        let (inputs, outcome) = bounded(inputs);
        // What once failed stays, whatever it reaches.
        let is_found = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("found_"))
        };
        for old in files(kept)?.into_iter().filter(|path| !is_found(path)) {
            fs::remove_file(&old).map_err(|e| format!("{}: {e}", old.display()))?;
        }
        for (_, name) in &inputs {
            copy(&merged.join(name), &kept.join(name))?;
        }
        Ok(outcome)
    }
}

/// The smallest inputs, as many as the bounds allow.
fn bounded<Name: Ord>(mut inputs: Vec<(u64, Name)>) -> (Vec<(u64, Name)>, Kept) {
    inputs.sort();
    let all = inputs.len();
    let mut kept = Kept::default();
    for (byte_len, _) in &inputs {
        if kept.count == MAX_KEPT_COUNT || kept.byte_len + byte_len > MAX_KEPT_BYTE_LEN {
            break;
        }
        kept.count += 1;
        kept.byte_len += byte_len;
    }
    inputs.truncate(kept.count);
    kept.left_out = all - kept.count;
    (inputs, kept)
}

fn make(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to)
        .map(drop)
        .map_err(|e| format!("cannot copy {} to {}: {e}", from.display(), to.display()))
}

/// The files of a folder in the order of their names; none where there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let listing = fs::read_dir(folder).map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
    let entries = listing.collect::<Result<Vec<_>, _>>().map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// Runs libFuzzer with its words in a file: whether it ended well, and the words.
fn logged(command: &mut Command, path: &Path) -> Result<(bool, String), String> {
    let log = fs::File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let status = command
        .stdout(Stdio::null())
        .stderr(log)
        .status()
        .map_err(|e| format!("cannot run {}: {e}", command.get_program().to_string_lossy()))?;
    let words = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok((status.success(), String::from_utf8_lossy(&words).into_owned()))
}

fn shown_finding(target: &str, input: Option<&Path>, log: &str) -> String {
    let rerun = match input.and_then(Path::file_name) {
        Some(name) => format!(
            "  cargo xtask fuzz --target {target} --input fuzz/artifacts/{target}/{}",
            name.to_string_lossy()
        ),
        None => "  it left no input".to_owned(),
    };
    format!("{}\n{rerun}", tail(log))
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINE_COUNT);
    lines.iter().skip(from).map(|line| format!("  | {line}\n")).collect()
}

/// The executions that the last lines of a log tell of; where it died before, those that its last event told of.
fn executions(log: &str) -> u64 {
    let told = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let last = || events(log).last().map_or(0, |(count, _)| count);
    told.and_then(|count| count.trim().parse().ok()).unwrap_or_else(last)
}

/// The edges reached when the first inputs had run, and at the end.
fn edges(log: &str) -> (u64, u64) {
    let first = log.lines().find(|line| line.contains("\tINITED ")).and_then(event);
    let last = events(log).last();
    (first.map_or(0, |(_, edges)| edges), last.map_or(0, |(_, edges)| edges))
}

fn events(log: &str) -> impl Iterator<Item = (u64, u64)> {
    log.lines().filter_map(event)
}

/// Executions and edges of a line such as `#4096 NEW cov: 301 ft: 900 corp: 40/2Kb ...`; behind the number is a tab.
fn event(line: &str) -> Option<(u64, u64)> {
    let (count, rest) = line.strip_prefix('#')?.split_once('\t')?;
    let (_, edges) = rest.split_once("cov: ")?;
    Some((count.parse().ok()?, edges.split_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "INFO: seed corpus: files: 3\n\
        #4\tINITED cov: 120 ft: 140 corp: 3/12b exec/s: 0 rss: 30Mb\n\
        #4096\tNEW    cov: 301 ft: 900 corp: 40/2Kb lim: 4096 exec/s: 4096 rss: 31Mb L: 9/9 MS: 1 ChangeBit-\n\
        #8192\tDONE   cov: 305 ft: 910 corp: 41/2Kb lim: 4096 exec/s: 4096 rss: 31Mb\n";

    #[test]
    fn options_are_understood() {
        let wanted = Wanted::of(&["--each", "300", "--target", "array", "--target", "rtree"]).unwrap();
        assert_eq!(wanted.second_count, 300);
        assert_eq!(list(&wanted.targets), "array, rtree");
        assert_eq!(Wanted::of(&[]).unwrap(), Wanted { second_count: 60, targets: BTreeSet::new() });
        for wrong in [&["--each"][..], &["--each", "0"], &["--each", "x"], &["--seed", "1"]] {
            assert!(Wanted::of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_words_of_libfuzzer_are_understood() {
        assert_eq!(edges(LOG), (120, 305));
        assert_eq!(executions(LOG), 8192, "the last event tells where there are no statistics");
        assert_eq!(executions(&format!("{LOG}stat::number_of_executed_units: 9000\n")), 9000);
        assert_eq!((edges(""), executions("")), ((0, 0), 0));
    }

    #[test]
    fn the_smallest_inputs_are_kept_within_the_bounds() {
        let (inputs, kept) = bounded(vec![(MAX_KEPT_BYTE_LEN, "c"), (7, "b"), (5, "a")]);
        assert_eq!(inputs, [(5, "a"), (7, "b")]);
        assert_eq!(kept, Kept { count: 2, byte_len: 12, left_out: 1 });
        let many: Vec<(u64, usize)> = (0..100).map(|name| (1, name)).collect();
        assert_eq!(bounded(many).1, Kept { count: MAX_KEPT_COUNT, byte_len: 48, left_out: 52 });
    }
}
