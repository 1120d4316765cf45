//! Everything that a change must pass, in order, up to the first failing step.

use crate::process::{run, run_counted};
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use crate::{
    Outcome, arrows, counts, deny, dropin, features, interop, knots, locks, oldreaders, python, servers,
    sources, unsafety, wheel,
};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Whether the steps that need libtiledb run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interop {
    Run,
    Skip,
}

type Step = fn(&Workspace, &mut Tally) -> Outcome;

/// The steps that compile nothing.
const RULES: &[(&str, Step)] = &[("format", format), ("rules of the sources", rules)];

/// What is asked of the dependencies, where the program that asks is installed.
const DEPENDENCIES: &[(&str, Step)] = &[("licences and sources of dependencies", deny::step)];

/// The name of the step that runs all tests of the workspace.
const TESTS: &str = "tests";

/// The steps that compile. Tests and program share the release profile, so that every dependency is built
/// once; the lints share its build scripts.
const BUILDS: &[(&str, Step)] = &[
    ("lints", lints),
    ("the program", program),
    (TESTS, tests),
    ("the public interface in a context of its own", tests_in_own_context),
    ("instruction counts", counts::step),
    ("documentation", documentation),
];

/// The steps that run programs of Python on what was built: in two lanes, because each of them keeps little more than one processor busy. No step
/// builds what one of the other lane runs.
const FIRST: &[(&str, Step)] =
    &[("the Python package", wheel::tests), ("TileDB-Py on our libtiledb", dropin::step)];
const SECOND: &[(&str, Step)] = &[
    ("interop with libtiledb", interop_cases),
    ("old releases of libtiledb read old versions", oldreaders::short_run),
];

/// The command of the second lane's process.
pub(crate) const SECOND_LANE: &str = "second-lane";

/// Runs all steps. The last line printed holds the counts of tests.
pub(crate) fn run_all(workspace: &Workspace, with: Interop) -> Outcome {
    let mut steps = [RULES, DEPENDENCIES, BUILDS].concat();
    if with == Interop::Run
        && let Some(at) = steps.iter().position(|(name, _)| *name == TESTS)
        && let Some((_, step)) = steps.get_mut(at)
    {
        *step = tests_with_servers;
        steps.insert(at + 1, ("the public interface in buckets", servers::public_interface));
        steps.insert(at, ("servers of object stores", servers::step));
    }
    match with {
        Interop::Run => {
            // Before the two lanes, which both want it.
            steps.push(("the environment of libtiledb", environment));
        }
        Interop::Skip => {}
    }
    let start = Instant::now();
    let mut tally = Tally::default();
    let mut outcome = run_steps(workspace, &steps, &mut tally);
    if with == Interop::Run && outcome.is_ok() {
        outcome = run_lanes(workspace, &mut tally);
    }
    if outcome.is_err() && tally.failed == 0 {
        tally.failed = 1;
    }
    if with == Interop::Skip {
        println!(
            "\nthe steps that need libtiledb were left out (--no-interop), and the tests against {}",
            servers::NAMES
        );
    }
    println!("\ntotal: {:.0} s", start.elapsed().as_secs_f64());
    if let Err(what) = &outcome {
        println!("FAILED: {what}");
    }
    println!("{tally}");
    outcome
}

/// Runs the steps of both lanes, each lane on about one processor; the output of the second follows when it is done.
fn run_lanes(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let log = workspace.target.join("tmp").join("second-lane.log");
    let wrong = |e: std::io::Error| format!("{}: {e}", log.display());
    std::fs::create_dir_all(workspace.target.join("tmp")).map_err(wrong)?;
    let output = File::create(&log).map_err(wrong)?;
    let mut second = Command::new(own);
    second.arg(SECOND_LANE).current_dir(&workspace.root).stdin(Stdio::null());
    second.stdout(output.try_clone().map_err(wrong)?).stderr(output);
    let mut second = second.spawn().map_err(|e| format!("cannot start the second lane: {e}"))?;
    println!("\nin the second lane, told when the first is done: {}", names_of(SECOND));
    let first = run_steps(workspace, FIRST, tally);
    let status = second.wait().map_err(|e| format!("cannot wait for the second lane: {e}"))?;
    let told = std::fs::read(&log).map_err(wrong)?;
    let told = String::from_utf8_lossy(&told);
    println!("{told}");
    // Its last line is the sum of what it counted.
    *tally += told.lines().rev().find_map(Tally::of_line).unwrap_or_default();
    let second = if status.success() { Ok(()) } else { Err("a step of the second lane failed".to_owned()) };
    first.and(second)
}

/// The steps of the second lane, for the process that [`run_lanes`] starts.
pub(crate) fn second_lane(workspace: &Workspace) -> Outcome {
    let mut tally = Tally::default();
    let outcome = run_steps(workspace, SECOND, &mut tally);
    if let Err(what) = &outcome {
        println!("FAILED: {what}");
        tally.failed = tally.failed.max(1);
    }
    println!("{tally}");
    outcome
}

fn names_of(steps: &[(&str, Step)]) -> String {
    steps.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Runs the steps that compile nothing.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    run_steps(workspace, RULES, &mut Tally::default())
}

fn run_steps(workspace: &Workspace, steps: &[(&str, Step)], tally: &mut Tally) -> Outcome {
    for (at, (name, step)) in steps.iter().enumerate() {
        println!("\n==== {}/{}: {name} ====", at + 1, steps.len());
        let start = Instant::now();
        step(workspace, tally).map_err(|what| format!("step {}, {name}: {what}", at + 1))?;
        println!("---- {name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn format(workspace: &Workspace, _: &mut Tally) -> Outcome {
    run(cargo_in(workspace).args(["fmt", "--all", "--check"]))
        .map_err(|e| format!("{e}; `cargo fmt --all` mends it"))
}

fn rules(workspace: &Workspace, _: &mut Tally) -> Outcome {
    let files = sources::files(workspace)?;
    let mut violations = arrows::violations(workspace);
    violations.extend(features::violations(workspace)?);
    violations.extend(locks::violations(workspace)?);
    violations.extend(unsafety::violations(workspace, &files));
    violations.extend(sources::violations(&files));
    violations.extend(knots::violations(&files));
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!("{} crates, {} files", workspace.packages.len(), files.len());
            Ok(())
        }
        count => Err(format!("{count} violations")),
    }
}

fn lints(workspace: &Workspace, _: &mut Tally) -> Outcome {
    let clippy = ["clippy", "--release", "--locked", "--workspace", "--all-targets"];
    run(cargo_in(workspace).args(clippy).args(["--", "-D", "warnings"]))
}

fn environment(workspace: &Workspace, _: &mut Tally) -> Outcome {
    python::environment(workspace, "venv", interop::REQUIREMENTS).map(drop)
}

fn program(workspace: &Workspace, _: &mut Tally) -> Outcome {
    interop::build_program(workspace)
}

fn tests(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    run_counted(&mut tests_of_workspace(workspace), tally)
}

/// The same, with the servers of object stores that are Python's and Node's.
fn tests_with_servers(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    run_counted(tests_of_workspace(workspace).envs(servers::variables(workspace)), tally)
}

fn tests_of_workspace(workspace: &Workspace) -> Command {
    let mut command = cargo_in(workspace);
    command.args(["test", "--release", "--locked", "--workspace", "--no-fail-fast"]);
    command
}

fn tests_in_own_context(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    let api = ["test", "--release", "--locked", "--workspace", "--test", "api"];
    run_counted(cargo_in(workspace).args(api).env("SMALTI_TESTS_CONTEXT", "own"), tally)
}

fn documentation(workspace: &Workspace, _: &mut Tally) -> Outcome {
    let doc = ["doc", "--release", "--locked", "--workspace", "--no-deps", "--lib"];
    run(cargo_in(workspace).args(doc).env("RUSTDOCFLAGS", "-D warnings"))
}

fn interop_cases(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    interop::run_cases(workspace, &[], tally)
}

fn cargo_in(workspace: &Workspace) -> Command {
    let mut command = Command::new(cargo());
    command.current_dir(&workspace.root);
    command
}
