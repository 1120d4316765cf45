//! Instructions of each kernel, counted by valgrind's callgrind and compared with the committed figures in bench/counts.tsv.
//!
//! Counts do not depend on what else the machine does, so that a change that makes a kernel slower is found beside other work. They do
//! depend on the compilers, the C library and valgrind: where these are others than the record names, the comparison is shown, and not
//! judged.

mod callgrind;
mod record;

use crate::Outcome;
use crate::process::run;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use record::{Comparison, Counted, Record};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const RECORD: &str = "bench/counts.tsv";

const NO_VALGRIND: &str =
    "there is no valgrind; `apt-get install valgrind`, or the package of another system, installs it";

/// The step of the tests: all cases, judged. Where there is no valgrind it says so.
pub(crate) fn step(workspace: &Workspace, _: &mut Tally) -> Outcome {
    if has_valgrind() {
        return command(workspace, &[]);
    }
    println!("not run: {NO_VALGRIND}");
    Ok(())
}

/// Counts the cases that `options` name, or all, and compares them with the record; `--update` writes the record instead.
pub(crate) fn command(workspace: &Workspace, options: &[&str]) -> Outcome {
    let updates = options.contains(&"--update");
    let wanted: Vec<&str> = options.iter().copied().filter(|option| *option != "--update").collect();
    if let Some(unknown) = wanted.iter().find(|name| name.starts_with('-')) {
        return Err(format!("counts: no option `{unknown}`; there is --update"));
    }
    if !has_valgrind() {
        return Err(NO_VALGRIND.to_owned());
    }
    if !has_wide_vectors() {
        println!(
            "not run: the processor has no AVX2, which kernels look for and use where it is; the record is of these"
        );
        return Ok(());
    }
    let program = built(workspace)?;
    let all = names(&program)?;
    if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|known| known == *name)) {
        return Err(format!("counts: no case `{unknown}`; there are {}", all.join(", ")));
    }
    let chosen: Vec<String> =
        all.iter().filter(|name| wanted.is_empty() || wanted.contains(&name.as_str())).cloned().collect();
    let counted = count_all(workspace, &program, &chosen)?;
    let (path, tools) = (workspace.root.join(RECORD), tools()?);
    let recorded = match std::fs::read_to_string(&path) {
        Ok(text) => Record::parse(&text).map_err(|why| format!("{RECORD}: {why}"))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Record::default(),
        Err(error) => return Err(format!("{RECORD}: {error}")),
    };
    let comparison = Comparison::new(&counted, &recorded, wanted.is_empty());
    print!("{comparison}");
    if updates {
        let renewed = recorded.renewed(&all, &counted, tools)?;
        std::fs::write(&path, renewed.to_string()).map_err(|e| format!("{RECORD}: {e}"))?;
        println!("{RECORD} has these counts now; the message of the commit says why they changed");
        return Ok(());
    }
    let are_alike = recorded.tools == tools;
    if !are_alike {
        println!("no count is judged: other tools made the record");
        println!("  the record: {}\n  here:       {tools}", recorded.tools);
    }
    comparison.judgement(RECORD, are_alike)
}

fn has_valgrind() -> bool {
    first_line("valgrind", &["--version"]).is_some()
}

/// Whether the processor has the widest vectors that valgrind knows.
#[cfg(target_arch = "x86_64")]
fn has_wide_vectors() -> bool {
    std::is_x86_feature_detected!("avx2")
}

/// Other processors have them always.
#[cfg(not(target_arch = "x86_64"))]
fn has_wide_vectors() -> bool {
    true
}

/// What counts depend on beside the sources.
fn tools() -> Result<String, String> {
    let rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()))
        .arg("-vV")
        .output()
        .map_err(|e| format!("cannot run rustc: {e}"))?;
    let rustc = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let said =
        |key: &str| rustc.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("unknown").to_owned();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let version = |program: &str| {
        let line = first_line(program, &["--version"]).unwrap_or_default();
        line.rsplit([' ', '-']).next().unwrap_or_default().to_owned()
    };
    let [cc, libc, valgrind] = [&compiler[..], "ldd", "valgrind"].map(version);
    let (release, host) = (said("release: "), said("host: "));
    Ok(format!("rustc {release} for {host}; C compiler {cc}, C library {libc}, valgrind {valgrind}"))
}

/// The first line that a program says; `None` where it cannot be run.
fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().filter(|_| output.status.success()).map(|line| line.trim().to_owned())
}

/// The program of the cases. It is built as the tests of the workspace build it: another choice of features would be other code.
fn built(workspace: &Workspace) -> Result<PathBuf, String> {
    let mut build = Command::new(cargo());
    build.args(["test", "--release", "--locked", "--workspace", "--test", "cases", "--no-run"]);
    run(build.current_dir(&workspace.root))?;
    Ok(workspace.target.join("release").join("counts"))
}

fn names(program: &Path) -> Result<Vec<String>, String> {
    let wrong = |why: String| format!("{} list: {why}", program.display());
    let output = Command::new(program).arg("list").output().map_err(|e| wrong(e.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()),
        false => Err(wrong(output.status.to_string())),
    }
}

/// Counts cases, each in a process of its own, as many at a time as there are processors.
fn count_all(workspace: &Workspace, program: &Path, names: &[String]) -> Result<Counted, String> {
    let folder = workspace.target.join("tmp").join("counts");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (next, counted) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let count = callgrind::count(program, name, &folder);
            counted.lock().unwrap_or_else(PoisonError::into_inner).push((name.clone(), count));
        }
    };
    std::thread::scope(|scope| {
        let thread_count = std::thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..thread_count {
            scope.spawn(take);
        }
    });
    let counted = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
    let place = |name: &String| names.iter().position(|known| known == name);
    let mut counted: Vec<_> = counted.into_iter().map(|(name, count)| (place(&name), name, count)).collect();
    counted.sort_by_key(|(place, ..)| *place);
    counted.into_iter().map(|(_, name, count)| Ok((name, count?))).collect()
}
