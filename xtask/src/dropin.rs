//! `cargo xtask drop-in`: the tests inside the wheel of TileDB-Py, run on our library in the place of the original.

use crate::process::{run, run_counted};
use crate::python;
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENTS: &str = "tests/interop/drop-in-requirements.txt";

/// What the library is called where it is built; that of the tests is in `deps`.
const LIBRARY: &str = "libtiledb.so";

/// Where the plugin for pytest is that prints counts as the other tests do.
const PLUGIN_FOLDER: &str = "tests/interop";

/// Builds the library, puts a link to it over the one of a Python environment of its own, and runs the wheel's tests; `modules` are
/// those of them to run, such as `test_libtiledb`, all where there are none. `is_debug` takes the debug build.
pub(crate) fn tests(workspace: &Workspace, modules: &[&str]) -> Result<(), String> {
    let (is_debug, modules) = match modules {
        ["--debug", rest @ ..] => (true, rest),
        all => (false, all),
    };
    build(workspace, is_debug)?;
    let library = workspace.target.join(if is_debug { "debug" } else { "release" }).join(LIBRARY);
    run_modules(workspace, &library, modules, &mut Tally::default())
}

/// Runs all of the wheel's tests on the library that was built with the tests of the workspace.
pub(crate) fn step(workspace: &Workspace, tally: &mut Tally) -> Result<(), String> {
    let library = workspace.target.join("release").join("deps").join(LIBRARY);
    run_modules(workspace, &library, &[], tally)
}

fn run_modules(
    workspace: &Workspace,
    library: &Path,
    modules: &[&str],
    tally: &mut Tally,
) -> Result<(), String> {
    let python = python::environment(workspace, "drop-in-venv", REQUIREMENTS)?;
    let packages = packages_of(&python)?;
    put_in_place(&packages, library)?;
    check_loaded(&python, library)?;
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

fn build(workspace: &Workspace, is_debug: bool) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.current_dir(&workspace.root).args(["build", "--package", "smalti-capi"]);
    if !is_debug {
        command.arg("--release");
    }
    run(&mut command)
}

/// The folder of the environment's packages.
fn packages_of(python: &Path) -> Result<PathBuf, String> {
    let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let output =
        Command::new(python).args(["-c", code]).output().map_err(|e| format!("cannot run Python: {e}"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Moves the original aside and puts a link in its place: the wheel's modules look nowhere else.
fn put_in_place(packages: &Path, library: &Path) -> Result<(), String> {
    let folder = packages.join("tiledb.libs");
    let told = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(&folder).map_err(told)? {
        let place = entry.map_err(told)?.path();
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("libtiledb-") || name.ends_with(".original") {
            continue;
        }
        if place.is_symlink() {
            fs::remove_file(&place).map_err(told)?;
        } else {
            fs::rename(&place, folder.join(format!("{name}.original"))).map_err(told)?;
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(library, &place).map_err(told)?;
        return Ok(());
    }
    Err(format!("{}: there is no libtiledb in it", folder.display()))
}

/// That the environment maps our library, and no other that is called so.
fn check_loaded(python: &Path, library: &Path) -> Result<(), String> {
    let code = "import tiledb; print(*{line.split()[-1] for line in open('/proc/self/maps') \
                if 'libtiledb' in line and 'cpython' not in line})";
    let output =
        Command::new(python).args(["-c", code]).output().map_err(|e| format!("cannot run Python: {e}"))?;
    let mapped = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let wanted = fs::canonicalize(library).map_err(|e| format!("{}: {e}", library.display()))?;
    if Path::new(&mapped) == wanted {
        return Ok(());
    }
    Err(format!(
        "{mapped:?} is mapped, not {}: {}",
        wanted.display(),
        String::from_utf8_lossy(&output.stderr)
    ))
}
