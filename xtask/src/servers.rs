//! Servers of object stores for the tests: moto in a Python environment, Azurite for Node.

use crate::Outcome;
use crate::process::{run, run_counted};
use crate::python::environment;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The servers that are installed for the tests.
pub(crate) const NAMES: &str = "moto and Azurite";

/// The test program of object stores.
pub(crate) const TESTS: &str = "servers";

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

/// A server that is running; it ends when its standard input does.
struct Running {
    process: Child,
    port: u16,
}

impl Running {
    /// Starts a server that says its port first.
    fn start(command: &mut Command) -> Result<Running, String> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        let stdout = process.stdout.take().ok_or("it has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(|e| e.to_string())?;
        let port = line.trim().parse().map_err(|_| format!("{line:?} instead of a port"))?;
        Ok(Running { process, port })
    }

    /// Makes a bucket of moto's.
    fn make_bucket(&self, name: &str) -> Outcome {
        let ask = || -> std::io::Result<String> {
            let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            let head = "HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            write!(connection, "PUT /{name} {head}")?;
            let mut answer = String::new();
            connection.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = ask().map_err(|e| e.to_string())?;
        if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(format!("making a bucket: {answer}")) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The bucket of tests of the public interface.
const BUCKET: &str = "tests";

/// Runs the tests of the public interface with their arrays in buckets: of s3s-fs, and of moto, where it is.
pub(crate) fn public_interface(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    let root = workspace.target.join("buckets");
    match std::fs::remove_dir_all(&root) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("{}: {error}", root.display()));
        }
        _ => {}
    }
    let mut of_files = Command::new(workspace.target.join("release/s3-server"));
    let of_files = Running::start(of_files.arg("--root").arg(&root).args(["--bucket", BUCKET]))?;
    println!("in a bucket of s3s-fs");
    // It breaks down where more of the end of an object is asked for than there is.
    tests_in(workspace, &of_files, &[("SMALTI_S3_SUFFIX_RANGES", "false")], &[], tally)?;
    let Some((_, python)) = variables(workspace).into_iter().find(|(name, _)| *name == PYTHON) else {
        return Ok(());
    };
    let moto = Running::start(Command::new(python).arg(workspace.root.join("tests/servers/moto_server.py")))?;
    moto.make_bucket(BUCKET)?;
    println!("in a bucket of moto");
    // What asks for the most, for minutes.
    let long =
        ["cells_of_every_datatype", "merged_fragments_show_at_every_time", "consolidation_and_vacuum_change"];
    tests_in(workspace, &moto, &[], &long, tally)
}

fn tests_in(
    workspace: &Workspace,
    server: &Running,
    settings: &[(&str, &str)],
    without: &[&str],
    tally: &mut Tally,
) -> Outcome {
    let mut tests = Command::new(cargo());
    tests
        .args(["test", "--release", "--locked", "--workspace", "--test", "api", "--"])
        .args(without.iter().flat_map(|name| ["--skip", name]))
        .current_dir(&workspace.root)
        .env("SMALTI_TESTS_PLACE", format!("s3://{BUCKET}/api"))
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", server.port))
        .envs([("AWS_ACCESS_KEY_ID", "testing"), ("AWS_SECRET_ACCESS_KEY", "testing")])
        .envs([("AWS_REGION", "us-east-1"), ("NO_PROXY", "127.0.0.1")])
        .envs(settings.iter().copied())
        .env_remove("AWS_PROFILE");
    run_counted(&mut tests, tally)
}

/// Runs the tests against servers, with those that can be had here.
pub(crate) fn tests(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    run_counted(tests_against(workspace, &[]).envs(variables(workspace)), tally)
}

/// Runs of them what needs no server beside the process of the tests.
pub(crate) fn without_any(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    run_counted(&mut tests_against(workspace, &[]), tally)
}

/// Runs the tests against servers alone, or those whose names have `filters` in them.
pub(crate) fn tests_alone(workspace: &Workspace, filters: &[&str]) -> Outcome {
    run_counted(tests_against(workspace, filters).envs(variables(workspace)), &mut Tally::default())
}

fn tests_against(workspace: &Workspace, filters: &[&str]) -> Command {
    let mut command = Command::new(cargo());
    command.args(["test", "--release", "--locked", "--workspace", "--test", TESTS, "--"]).args(filters);
    command.current_dir(&workspace.root);
    command
}
