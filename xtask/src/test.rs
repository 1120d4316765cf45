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

/// The steps that compile. Tests and program share the release profile, so that every dependency is built
/// once; the lints share its build scripts.
const BUILDS: &[(&str, Step)] =
    &[("lints", lints), ("the program", program), ("programs of the tests", test_programs)];

/// The steps that run what was built.
const TESTS: &[(&str, Step)] = &[
    ("tests", tests),
    ("the public interface in a context of its own", tests_in_own_context),
    ("instruction counts", counts::step),
    ("documentation", documentation),
];

/// The tests that need no server, of those that know some.
const WITHOUT_SERVERS: &[(&str, Step)] =
    &[("object stores in the process of the tests", servers::without_any)];

/// The steps that mostly wait for servers and for what is installed, beside [`TESTS`].
const SERVERS: Lane = Lane {
    name: "servers",
    steps: &[
        ("servers of object stores", servers::step),
        ("tests against them", servers::tests),
        ("the public interface in buckets", servers::public_interface),
        // Before the two lanes that follow, which both want it.
        ("the environment of libtiledb", environment),
    ],
};

/// The steps that run programs of Python on what was built: in two lanes, because each of them keeps little more than one processor busy. No step
/// builds what one of the other lane runs.
const PYTHON: &[(&str, Step)] =
    &[("the Python package", wheel::tests), ("TileDB-Py on our libtiledb", dropin::step)];
const LIBTILEDB: Lane = Lane {
    name: "libtiledb",
    steps: &[
        ("interop with libtiledb", interop_cases),
        ("old releases of libtiledb read old versions", oldreaders::short_run),
    ],
};

/// Steps that run in a process of their own beside others; what they say is shown when those are done.
#[derive(Clone, Copy)]
struct Lane {
    name: &'static str,
    steps: &'static [(&'static str, Step)],
}

/// The command of a lane's process, in front of the lane's name.
pub(crate) const LANE: &str = "lane";

/// Runs all steps. The last line printed holds the counts of tests.
pub(crate) fn run_all(workspace: &Workspace, with: Interop) -> Outcome {
    let start = Instant::now();
    let mut tally = Tally::default();
    let builds = [RULES, DEPENDENCIES, BUILDS].concat();
    let outcome = run_steps(workspace, &builds, &mut tally).and_then(|()| match with {
        Interop::Run => run_beside(workspace, TESTS, SERVERS, &mut tally)
            .and_then(|()| run_beside(workspace, PYTHON, LIBTILEDB, &mut tally)),
        Interop::Skip => run_steps(workspace, &[TESTS, WITHOUT_SERVERS].concat(), &mut tally),
    });
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

/// Runs steps, and a lane beside them; the output of the lane follows when both are done.
fn run_beside(workspace: &Workspace, steps: &[(&str, Step)], lane: Lane, tally: &mut Tally) -> Outcome {
    let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let log = workspace.target.join("tmp").join(format!("lane-{}.log", lane.name));
    let wrong = |e: std::io::Error| format!("{}: {e}", log.display());
    std::fs::create_dir_all(workspace.target.join("tmp")).map_err(wrong)?;
    let output = File::create(&log).map_err(wrong)?;
    let mut beside = Command::new(own);
    beside.args([LANE, lane.name]).current_dir(&workspace.root).stdin(Stdio::null());
    beside.stdout(output.try_clone().map_err(wrong)?).stderr(output);
    let mut beside = beside.spawn().map_err(|e| format!("cannot start the lane {}: {e}", lane.name))?;
    let names = lane.steps.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    println!("\nin a lane beside the next {} steps, told when they are done: {names}", steps.len());
    let outcome = run_steps(workspace, steps, tally);
    let status = beside.wait().map_err(|e| format!("cannot wait for the lane {}: {e}", lane.name))?;
    let told = std::fs::read(&log).map_err(wrong)?;
    let told = String::from_utf8_lossy(&told);
    println!("\n==== the lane {} ====\n{told}", lane.name);
    // Its last line is the sum of what it counted.
    *tally += told.lines().rev().find_map(Tally::of_line).unwrap_or_default();
    let beside =
        if status.success() { Ok(()) } else { Err(format!("a step of the lane {} failed", lane.name)) };
    outcome.and(beside)
}

/// The steps of a lane, for the process that [`run_beside`] starts.
pub(crate) fn lane(workspace: &Workspace, name: &str) -> Outcome {
    let lane = [SERVERS, LIBTILEDB].into_iter().find(|lane| lane.name == name);
    let lane = lane.ok_or_else(|| format!("no lane `{name}`"))?;
    let start = Instant::now();
    let mut tally = Tally::default();
    let outcome = run_steps(workspace, lane.steps, &mut tally);
    if let Err(what) = &outcome {
        println!("FAILED: {what}");
        tally.failed = tally.failed.max(1);
    }
    println!("---- the lane {name}: {:.1} s", start.elapsed().as_secs_f64());
    println!("{tally}");
    outcome
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
    let clippy =
        ["clippy", "--release", "--locked", "--workspace", "--all-targets", "--test", servers::TESTS];
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

/// Builds all programs of tests, those of servers too, which `cargo test` runs only when it is asked for them.
fn test_programs(workspace: &Workspace, _: &mut Tally) -> Outcome {
    let targets = ["--lib", "--bins", "--examples", "--tests", "--test", servers::TESTS];
    run(tests_of_workspace(workspace).arg("--no-run").args(targets))
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
