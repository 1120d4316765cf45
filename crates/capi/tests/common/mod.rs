//! What the tests in C share: where headers and the library are, and how programs are compiled and run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const SYMBOLS: &str = include_str!("../symbols.txt");

/// Every header, in the order of its name.
pub(crate) const HEADERS: [&str; 8] = [
    "tiledb.h",
    "tiledb_dimension_label_experimental.h",
    "tiledb_enum.h",
    "tiledb_experimental.h",
    "tiledb_export.h",
    "tiledb_serialization.h",
    "tiledb_types.h",
    "tiledb_version.h",
];

pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn include() -> PathBuf {
    package().join("include")
}

pub(crate) fn programs() -> PathBuf {
    package().join("tests").join("programs")
}

fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let places = [folder.join("libtiledb.so"), folder.with_file_name("libtiledb.so")];
    places.into_iter().find(|place| place.exists()).expect("cargo builds the library with its tests")
}

/// The text of a header without its comments and the lines of the preprocessor.
pub(crate) fn declarations(header: &str) -> String {
    let text = fs::read_to_string(include().join("tiledb").join(header)).unwrap();
    let mut kept = String::new();
    for (idx, piece) in text.split("/*").enumerate() {
        kept.push_str(if idx == 0 { piece } else { piece.split_once("*/").expect("a comment ends").1 });
    }
    kept.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// What a statement declares for export, without the words that export it.
pub(crate) fn exported(statement: &str) -> Option<&str> {
    let start = ["TILEDB_EXPORT ", "TILEDB_DEPRECATED_EXPORT "];
    Some(start.iter().find_map(|word| statement.split_once(word))?.1)
}

/// Whether a compiler for C++ is there; for C one is needed anyway.
pub(crate) fn has_cxx() -> bool {
    Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[track_caller]
pub(crate) fn assert_went_well(output: &Output, what: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {told}{}", String::from_utf8_lossy(&output.stdout));
}

/// A compiler, its language and the standard of it.
pub(crate) type Compiler = (&'static str, &'static str, &'static str);

pub(crate) const C: Compiler = ("cc", "c", "-std=c99");
pub(crate) const CXX: Compiler = ("c++", "c++", "-std=c++17");

/// A folder in which the library has the names that programs look for.
pub(crate) struct Workshop {
    folder: tempfile::TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Workshop {
        let workshop = Workshop { folder: tempfile::tempdir().unwrap() };
        let libraries = workshop.libraries();
        fs::create_dir(&libraries).unwrap();
        for name in ["libtiledb.so", "libtiledb.so.2.30"] {
            fs::hard_link(library(), libraries.join(name))
                .or_else(|_| fs::copy(library(), libraries.join(name)).map(|_| ()))
                .unwrap();
        }
        workshop
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn libraries(&self) -> PathBuf {
        self.folder().join("lib")
    }

    /// Compiles a program with our headers, and links it with our library.
    pub(crate) fn compiled(&self, source: &Path, compiler: Compiler) -> PathBuf {
        self.compiled_with(source, compiler, &[])
    }

    /// As [`compiled`](Workshop::compiled), with more flags.
    pub(crate) fn compiled_with(
        &self,
        source: &Path,
        (compiler, language, standard): Compiler,
        flags: &[&str],
    ) -> PathBuf {
        let name = source.file_stem().unwrap().to_str().unwrap();
        let program = self.folder().join(format!("{name}-{language}"));
        let output = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", standard])
            .args(flags)
            .args(["-x", language, "-I"])
            .arg(include())
            .arg("-I")
            .arg(programs())
            .arg(source)
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(self.libraries())
            .arg("-ltiledb")
            .output()
            .unwrap();
        assert_went_well(&output, compiler);
        program
    }

    /// Runs a program on an empty folder, which it is given and in which it runs.
    pub(crate) fn run(&self, program: &Path) -> Output {
        self.run_under(&[], program)
    }

    /// As [`run`](Workshop::run), under another program with its options.
    pub(crate) fn run_under(&self, watcher: &[&str], program: &Path) -> Output {
        let arrays = program.with_extension("arrays");
        fs::create_dir(&arrays).unwrap();
        let mut command = match watcher {
            [] => Command::new(program),
            [watcher, options @ ..] => {
                let mut command = Command::new(watcher);
                command.args(options).arg(program);
                command
            }
        };
        command.arg(&arrays).current_dir(&arrays).env("LD_LIBRARY_PATH", self.libraries()).output().unwrap()
    }
}
