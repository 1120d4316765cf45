//! Servers of object stores for the tests: moto in a Python environment, Azurite for Node.

use crate::Outcome;
use crate::process::{run, run_counted};
use crate::python::environment;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The servers that are installed for the tests.
pub(crate) const NAMES: &str = "moto and Azurite";

const REQUIREMENTS: &str = "tests/servers/requirements.txt";

/// The package of npm, as it is installed.
const AZURITE: &str = "azurite@3.35.0";

/// The variable that names the Python that has moto.
const PYTHON: &str = "SMALTI_SERVERS_PYTHON";

/// The variable that names the program of Azurite.
const PROGRAM: &str = "SMALTI_SERVERS_AZURITE";

/// The variable that asks the tests for all servers.
const ALL: &str = "SMALTI_SERVERS_ALL";

/// Variables of the environment that tell the tests where servers are.
pub(crate) type Variables = Vec<(&'static str, PathBuf)>;

/// Installs the servers that can be had here, and says which they are. Where the variable `CI` is set, one that cannot be had is a failure.
pub(crate) fn step(workspace: &Workspace, _: &mut Tally) -> Outcome {
    let variables = variables(workspace);
    for (name, value) in &variables {
        println!("{name}={}", value.display());
    }
    let has = |wanted: &str| variables.iter().any(|(name, _)| *name == wanted);
    match has(ALL) && !(has(PYTHON) && has(PROGRAM)) {
        true => Err(format!("where CI is set, {NAMES} have to be there")),
        false => Ok(()),
    }
}

/// Where the servers are, as the tests are told. Those that can be had here are installed at the first call, which says which cannot.
pub(crate) fn variables(workspace: &Workspace) -> Variables {
    static VARIABLES: OnceLock<Variables> = OnceLock::new();
    VARIABLES.get_or_init(|| installed(workspace)).clone()
}

fn installed(workspace: &Workspace) -> Variables {
    let mut variables = Variables::new();
    let mut add = |name: &'static str, what: &str, server: Result<PathBuf, String>| match server {
        Ok(path) => variables.push((name, path)),
        Err(why) => println!("{what} cannot be had here, its tests are left out: {why}"),
    };
    add(PYTHON, "moto", environment(workspace, "venv-servers", REQUIREMENTS));
    add(PROGRAM, "Azurite", azurite(workspace));
    if std::env::var_os("CI").is_some() {
        variables.push((ALL, PathBuf::from("1")));
    }
    variables
}

/// The program of Azurite's blob server, installed at the first call.
fn azurite(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.target.join("azurite");
    let program = folder.join("node_modules/azurite/dist/src/blob/main.js");
    let installed = folder.join("installed.txt");
    if program.exists() && std::fs::read(&installed).is_ok_and(|content| content == AZURITE.as_bytes()) {
        return Ok(program);
    }
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    println!("installing {AZURITE} in {}", folder.display());
    let options = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
    run(Command::new("npm").arg("install").args(options).arg("--prefix").arg(&folder).arg(AZURITE))
        .map_err(|e| format!("{e}; it needs Node and npm"))?;
    std::fs::write(&installed, AZURITE).map_err(|e| format!("{}: {e}", installed.display()))?;
    Ok(program)
}

/// Runs the tests against servers alone, or those whose names have `filters` in them.
pub(crate) fn tests_alone(workspace: &Workspace, filters: &[&str]) -> Outcome {
    let mut tests = Command::new(cargo());
    tests
        .args(["test", "--release", "--locked", "--package", "smalti-tests", "--test", "servers", "--"])
        .args(filters);
    run_counted(tests.envs(variables(workspace)).current_dir(&workspace.root), &mut Tally::default())
}
