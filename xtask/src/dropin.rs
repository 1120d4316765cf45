//! `cargo xtask drop-in`: the tests inside the wheel of TileDB-Py, and programs of other clients, run on our library in the place of the original.

use crate::Outcome;
use crate::process::{run, run_counted};
use crate::python;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENTS: &str = "tests/interop/drop-in-requirements.txt";
const CLIENTS_REQUIREMENTS: &str = "tests/interop/drop-in-clients-requirements.txt";
const CLIENTS: &str = "tests/interop/clients.py";

/// What the library is called where it is built; that of the tests is in `deps`.
const LIBRARY: &str = "libtiledb.so";

/// Where the plugin for pytest is that prints counts as the other tests do.
const PLUGIN_FOLDER: &str = "tests/interop";

/// A library of ours, and the program that puts it into an environment.
struct Ours {
    program: PathBuf,
    library: PathBuf,
}

impl Ours {
    /// Those of a build.
    fn built(workspace: &Workspace, is_debug: bool) -> Result<Ours, String> {
        let mut command = Command::new(cargo());
        command.current_dir(&workspace.root).args([
            "build",
            "--locked",
            "-p",
            "smalti-capi",
            "-p",
            "smalti-cli",
        ]);
        if !is_debug {
            command.arg("--release");
        }
        run(&mut command)?;
        let folder = workspace.target.join(if is_debug { "debug" } else { "release" });
        Ok(Ours { program: folder.join("smalti"), library: folder.join(LIBRARY) })
    }

    /// Puts the library into the environment of a Python, which is checked by what it maps.
    fn put_into(&self, environment: &Path) -> Outcome {
        let options = [Path::new("drop-in"), environment, Path::new("--library"), &self.library];
        run(Command::new(&self.program).args(options))
    }

    /// Puts the original back.
    fn take_out_of(&self, environment: &Path) -> Outcome {
        run(Command::new(&self.program).arg("drop-in").arg(environment).arg("--undo"))
    }
}

/// Builds the library, puts it in the place of the one of a Python environment of its own, and runs the wheel's tests; `modules` are
/// those of them to run, such as `test_libtiledb`, all where there are none. `--debug` takes the debug build; `--clients` runs the other clients' programs instead, `--memory` those in C under valgrind,
/// `--cxx` those in C++, with headers of a folder.
pub(crate) fn tests(workspace: &Workspace, options: &[&str]) -> Outcome {
    let (is_debug, options) = match options {
        ["--debug", rest @ ..] => (true, rest),
        all => (false, all),
    };
    match options {
        ["--memory"] => return memory(workspace),
        ["--cxx", folder] => return cxx(workspace, folder),
        ["--cxx"] => return Err("--cxx needs the folder of libtiledb's C++ headers".into()),
        _ => {}
    }
    let ours = Ours::built(workspace, is_debug)?;
    match options {
        ["--clients"] => clients(workspace, &ours),
        modules => run_modules(workspace, &ours, modules, &mut Tally::default()),
    }
}

/// Runs the programs in C under valgrind.
fn memory(workspace: &Workspace) -> Outcome {
    let mut command = Command::new(cargo());
    command.current_dir(&workspace.root);
    command.args(["test", "--release", "--locked", "--workspace", "--test", "programs"]);
    run(command.args(["--", "--ignored", "--test-threads", "1", "--nocapture"]))
}

/// Compiles the C++ headers in a folder, and runs the program in C++.
fn cxx(workspace: &Workspace, folder: &str) -> Outcome {
    let folder = Path::new(folder).canonicalize().map_err(|e| format!("{folder}: {e}"))?;
    let mut command = Command::new(cargo());
    command.current_dir(&workspace.root).env("SMALTI_CXX_HEADERS", folder);
    command.args(["test", "--release", "--locked", "--workspace", "--test", "cxx"]);
    run(command.args(["--", "--ignored"]))
}

/// Runs all of the wheel's tests on the library that was built with the tests of the workspace.
pub(crate) fn step(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    let release = workspace.target.join("release");
    let ours = Ours { program: release.join("smalti"), library: release.join("deps").join(LIBRARY) };
    run_modules(workspace, &ours, &[], tally)
}

fn run_modules(workspace: &Workspace, ours: &Ours, modules: &[&str], tally: &mut Tally) -> Outcome {
    let python = python::environment(workspace, "drop-in-venv", REQUIREMENTS)?;
    ours.put_into(environment_of(&python)?)?;
    let folder = workspace.target.join("drop-in");
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let mut command = Command::new(&python);
    command.current_dir(&folder).env("HOME", &folder).env("PYTHONPATH", workspace.root.join(PLUGIN_FOLDER));
    command.args(["-m", "pytest", "--pyargs", "-p", "drop_in"]);
    match modules {
        [] => command.arg("tiledb"),
        some => command.args(some.iter().map(|module| format!("tiledb.tests.{module}"))),
    };
    command.args([
        "-o",
        "python_classes=*Test*",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=short",
        "--timeout=900",
        "--durations=15",
    ]);
    let mut cases = Tally::default();
    let outcome = run_counted(&mut command, &mut cases);
    let passed = cases.passed;
    *tally += cases;
    outcome?;
    if passed == 0 {
        Err("the tests of TileDB-Py succeeded and reported no passed case".into())
    } else {
        Ok(())
    }
}

/// What other clients make on either library, and change, has to be told alike by both.
fn clients(workspace: &Workspace, ours: &Ours) -> Outcome {
    let python = python::environment(workspace, "drop-in-clients-venv", CLIENTS_REQUIREMENTS)?;
    let environment = environment_of(&python)?;
    let folder = workspace.target.join("drop-in-clients");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let told = |place: &str, steps: &[&str]| {
        let place = folder.join(place);
        fs::create_dir_all(&place).map_err(|e| format!("cannot make {}: {e}", place.display()))?;
        let mut command = Command::new(&python);
        let output = command.arg(workspace.root.join(CLIENTS)).arg(&place).args(steps).output();
        let output = output.map_err(|e| format!("cannot run {CLIENTS}: {e}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("{CLIENTS} {steps:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    };
    const ALL: &[&str] = &["make", "show", "change", "show", "index", "ask"];
    const LOOKS: &[&str] = &["show", "ask"];
    ours.take_out_of(environment)?;
    let expected = told("theirs", ALL)?;
    let seen = told("theirs", LOOKS)?;
    ours.put_into(environment)?;
    let answers = [
        ("made on ours", told("ours", ALL)?, &expected),
        ("made on theirs, read on ours", told("theirs", LOOKS)?, &seen),
    ];
    ours.take_out_of(environment)?;
    let read = told("ours", LOOKS)?;
    for (what, answer, expected) in answers.iter().chain([&("made on ours, read on theirs", read, &seen)]) {
        if answer != *expected {
            return Err(format!("{what}: the clients tell\n{answer}\nand not\n{expected}"));
        }
        println!("{what}: {} lines, the same", answer.lines().count());
    }
    Ok(())
}

/// The environment that a Python is of.
fn environment_of(python: &Path) -> Result<&Path, String> {
    python.ancestors().nth(2).ok_or_else(|| format!("{} is in no environment", python.display()))
}
