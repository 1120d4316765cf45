//! Everything that a change must pass, in order, up to the first failing step.

use crate::process::{run, run_counted};
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use crate::{Outcome, arrows, deny, dropin, interop, knots, oldreaders, servers, sources, unsafety, wheel};
use std::process::Command;
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
    ("documentation", documentation),
];

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
            steps.push(("the Python package", wheel::tests));
            steps.push(("TileDB-Py on our libtiledb", dropin::step));
            steps.push(("interop with libtiledb", interop_cases));
            steps.push(("old releases of libtiledb read old versions", oldreaders::short_run));
        }
        Interop::Skip => {}
    }
    let start = Instant::now();
    let mut tally = Tally::default();
    let outcome = run_steps(workspace, &steps, &mut tally);
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
