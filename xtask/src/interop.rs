//! Arrays and groups exchanged with libtiledb: written by one library and read by the other.

use crate::Outcome;
use crate::process::{run, run_counted};
use crate::python::environment;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::process::Command;
use std::time::Instant;

/// A test program, with the options that it knows and what they are unless others are given: the cases that every change must
/// pass.
struct Script {
    path: &'static str,
    defaults: &'static [(&'static str, &'static str)],
    /// Whether it knows the options of single cases too.
    knows_cases: bool,
}

const SCRIPTS: &[Script] = &[
    Script {
        path: "tests/interop/differential.py",
        defaults: &[("--count", "200"), ("--seed", "1"), ("--direction", "both")],
        knows_cases: true,
    },
    Script {
        path: "tests/interop/evolution.py",
        defaults: &[("--count", "150"), ("--seed", "1"), ("--direction", "both")],
        knows_cases: false,
    },
    Script {
        path: "tests/interop/groups.py",
        defaults: &[("--count", "200"), ("--seed", "1")],
        knows_cases: false,
    },
    Script {
        path: "tests/interop/histories.py",
        defaults: &[("--count", "300"), ("--seed", "1")],
        knows_cases: false,
    },
    Script {
        path: "tests/interop/upkeep.py",
        defaults: &[("--count", "60"), ("--seed", "1")],
        knows_cases: false,
    },
    Script {
        path: "tests/interop/old_arrays.py",
        defaults: &[("--versions", "3,5,8,11")],
        knows_cases: false,
    },
    Script {
        path: "tests/interop/kills.py",
        defaults: &[("--stride", "2"), ("--arrays", "some"), ("--seed", "1")],
        knows_cases: false,
    },
    Script {
        path: "tests/interop/crash_states.py",
        defaults: &[("--count", "500"), ("--seed", "1")],
        knows_cases: false,
    },
    Script {
        path: "tests/interop/imports.py",
        defaults: &[("--count", "60"), ("--seed", "1")],
        knows_cases: false,
    },
    Script { path: "tests/interop/repair.py", defaults: &[("--damage", "all")], knows_cases: false },
    Script {
        path: "tests/interop/objectstores.py",
        defaults: &[("--count", "8"), ("--seed", "1")],
        knows_cases: false,
    },
];

/// Options about single cases, or about how a program of cases runs: others than the first leave them out.
const CASE_OPTIONS: &[&str] =
    &["--case", "--direction", "--self-check", "--keep", "--jobs", "--max-failures"];

/// What the Python environment of the tests holds.
pub(crate) const REQUIREMENTS: &str = "tests/interop/requirements.txt";

/// Builds the program and runs the tests with `options`, for as long as they ask.
pub(crate) fn long_run(workspace: &Workspace, options: &[&str]) -> Outcome {
    build_program(workspace)?;
    let mut tally = Tally::default();
    run_cases(workspace, options, &mut tally)
}

/// Builds `target/release/smalti`.
pub(crate) fn build_program(workspace: &Workspace) -> Outcome {
    let mut build = Command::new(cargo());
    run(build
        .args(["build", "--release", "--locked", "--package", "smalti-cli"])
        .current_dir(&workspace.root))
}

/// Runs the tests on the built program and adds their cases to `tally`. Options of single cases are about the first alone.
pub(crate) fn run_cases(workspace: &Workspace, options: &[&str], tally: &mut Tally) -> Outcome {
    let python = environment(workspace, "venv", REQUIREMENTS)?;
    let (only, options) = split_script(options)?;
    let names_cases = options.iter().any(|option| CASE_OPTIONS.contains(option));
    let is_wanted = |script: &&Script| match only {
        Some(name) => script.path.ends_with(&format!("/{name}.py")),
        None => script.knows_cases || !names_cases,
    };
    let scripts: Vec<&Script> = SCRIPTS.iter().filter(is_wanted).collect();
    if scripts.is_empty() {
        return Err(format!("interop: no script `{}` in tests/interop", only.unwrap_or_default()));
    }
    for script in scripts {
        let path = workspace.root.join(script.path);
        if !path.exists() {
            return Err(format!("{} is missing", script.path));
        }
        let mut test = Command::new(&python);
        test.arg(path).arg("--smalti").arg(program(workspace)).args(with_defaults(script, &options));
        let mut cases = Tally::default();
        let start = Instant::now();
        let outcome = run_counted(&mut test, &mut cases);
        println!("-- {}: {:.1} s", script.path, start.elapsed().as_secs_f64());
        let passed = cases.passed;
        *tally += cases;
        outcome?;
        if passed == 0 {
            return Err(format!("{} succeeded and reported no passed case", script.path));
        }
    }
    Ok(())
}

/// The script that `--script` names, if it is there, and the other options.
fn split_script<'a>(options: &[&'a str]) -> Result<(Option<&'a str>, Vec<&'a str>), String> {
    let Some(at) = options.iter().position(|option| *option == "--script") else {
        return Ok((None, options.to_vec()));
    };
    let name = options.get(at + 1).ok_or("interop: --script needs a name, such as crash_states")?;
    Ok((Some(name), [&options[..at], &options[at + 2..]].concat()))
}

/// The path of the built command line program.
pub(crate) fn program(workspace: &Workspace) -> std::path::PathBuf {
    workspace.target.join("release").join(format!("smalti{}", std::env::consts::EXE_SUFFIX))
}

/// The script's options, those given in place of its own; others only for the script that knows all.
fn with_defaults<'a>(script: &Script, options: &[&'a str]) -> Vec<&'a str> {
    let mut all: Vec<&'a str> = Vec::new();
    for (name, value) in script.defaults {
        let given = options.iter().position(|option| option == name).and_then(|at| options.get(at + 1));
        all.extend([*name, given.copied().unwrap_or(value)]);
    }
    if script.knows_cases {
        let mut rest = options.iter();
        while let Some(option) = rest.next() {
            // Those of other scripts are not for this one.
            if SCRIPTS.iter().flat_map(|script| script.defaults).any(|(name, _)| name == option) {
                rest.next();
            } else {
                all.push(option);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_options_replace_defaults() {
        let options = ["--seed", "7", "--jobs", "1"];
        assert_eq!(
            with_defaults(&SCRIPTS[0], &options),
            ["--count", "200", "--seed", "7", "--direction", "both", "--jobs", "1"]
        );
        assert_eq!(with_defaults(&SCRIPTS[2], &options), ["--count", "200", "--seed", "7"]);
        assert_eq!(with_defaults(&SCRIPTS[5], &options), ["--versions", "3,5,8,11"]);
        let kills = with_defaults(&SCRIPTS[0], &["--stride", "1", "--arrays", "all"]);
        assert_eq!(kills, ["--count", "200", "--seed", "1", "--direction", "both"]);
    }

    #[test]
    fn a_script_can_be_named() {
        let options = ["--count", "7", "--script", "kills", "--seed", "2"];
        let (only, rest) = split_script(&options).unwrap();
        assert_eq!((only, rest), (Some("kills"), vec!["--count", "7", "--seed", "2"]));
        assert!(split_script(&["--script"]).is_err());
    }
}
