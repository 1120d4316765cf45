//! Development commands of smalti: `cargo xtask COMMAND`.
//!
//! `test` is the whole judgement on a change, what `.ci/run` runs. Each command is one file below.
#![forbid(unsafe_code)]

mod arrows;
mod bench;
mod counts;
mod coverage;
mod deny;
mod dist;
mod docs;
mod dropin;
mod features;
mod fuzz;
mod interop;
mod knots;
mod library;
mod locks;
mod oldreaders;
mod outcome;
mod process;
mod python;
mod servers;
mod sources;
mod states;
mod tally;
mod test;
mod timed;
mod unsafety;
mod wheel;
mod workspace;

use outcome::Outcome;
use std::process::ExitCode;
use workspace::Workspace;

const USAGE: &str = "\
cargo xtask COMMAND

  test [--no-interop]        everything that a change must pass, in order, up to the first failing step
  check                      the first steps of `test` alone: format, arrows between crates, source rules
  interop [OPTION VALUE]...  arrays exchanged with libtiledb; options of tests/interop/differential.py,
                             by default --count 200 --seed 1 --direction both; --script NAME runs one of tests/interop alone
  oldreaders [OPTION VALUE]... [--docs]
                             old releases of libtiledb read what is written for their format versions; options of
                             tests/oldreaders/oldreaders.py: --version N, --count K, --seed S; --docs writes the page
  fuzz [OPTION VALUE]...     damaged inputs for every parser, codec and small arrays; --seconds N (60), --seed S,
                             --target NAME, --input FILE; see fuzz/README.md
  fuzz --coverage [--each N] [--target NAME]...
                             the same targets with libFuzzer, N seconds each (60), one after the other; needs cargo-fuzz
  states [PART]... [OPTION VALUE]...
                             states that power cuts, failing calls and interleavings of operations leave: cuts, faults,
                             interleavings, or all, which takes hours; --seconds N ends each part, --first UNIT goes on,
                             --share I/N does every Nth unit, --schedules N (200) of each pair, from --seed S (1000),
                             --stride N looks at every Nth state of cuts; see docs/reliability.md
  timed                      the tests that measure time, on a quiet machine: hostile arrays, reads that are stopped
  counts [--update] [NAME]...
                             instructions of each kernel under valgrind, compared with bench/counts.tsv: over 3 % more fails;
                             --update writes them there
  deny [--install]           licences, banned crates and sources of all dependencies, by deny.toml; --install installs
                             cargo-deny first
  dist                       target/dist: what is handed out. bin/smalti, under 20 MB; lib/libtiledb.so.2.30 with its headers
                             in include and its files for pkg-config and CMake
  dist --debug               the library alone, of the debug build, with the same files: target/dist-debug
  wheel                      target/wheels: the Python package as it is handed out, under 25 MB
  python                     the tests of the Python package, installed in an environment of its own
  servers [FILTER]...        the tests against servers of object stores on this machine: moto, s3s-fs, Azurite and others
  drop-in [--debug] [MODULE]...
                             the tests inside the wheel of TileDB-Py, run on our libtiledb; MODULE as test_libtiledb
  drop-in [--debug] --clients
                             tiledbsoma and tiledb-vector-search on our libtiledb and on the original: what either makes, both read
  drop-in --memory           programs in C on our libtiledb under valgrind
  drop-in --cxx FOLDER       the C++ headers of libtiledb 2.30.0 on our C headers, and a program in C++; FOLDER is
                             tiledb/sm/cpp_api of a checkout, or one that holds tiledb/tiledb
  docs                       writes docs/format anew from the tables in crates/format, and docs/commands from the command line
  bench [OPTION VALUE]...    measurements against peers; options of bench/compare.py
  shares [OPTION VALUE]...   where the time of each of these measurements goes, as perf sees it; options of bench/shares.py
  objectstores [OPTION VALUE]...
                             requests, rounds and times of arrays in a bucket, beside libtiledb; options of
                             bench/objectstores.py
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["test"] => Workspace::load().and_then(|workspace| test::run_all(&workspace, test::Interop::Run)),
        ["test", "--no-interop"] => {
            Workspace::load().and_then(|workspace| test::run_all(&workspace, test::Interop::Skip))
        }
        ["check"] => Workspace::load().and_then(|workspace| test::check(&workspace)),
        ["interop", options @ ..] => {
            Workspace::load().and_then(|workspace| interop::long_run(&workspace, options))
        }
        ["oldreaders", options @ ..] => {
            Workspace::load().and_then(|workspace| oldreaders::long_run(&workspace, options))
        }
        ["bench", options @ ..] => Workspace::load().and_then(|workspace| bench::run(&workspace, options)),
        ["shares", options @ ..] => {
            Workspace::load().and_then(|workspace| bench::shares(&workspace, options))
        }
        ["objectstores", options @ ..] => {
            Workspace::load().and_then(|workspace| bench::object_stores(&workspace, options))
        }
        ["fuzz", "--coverage", options @ ..] => {
            Workspace::load().and_then(|workspace| coverage::campaign(&workspace, options))
        }
        ["fuzz", options @ ..] => Workspace::load().and_then(|workspace| fuzz::campaign(&workspace, options)),
        ["states", options @ ..] => {
            Workspace::load().and_then(|workspace| states::long_run(&workspace, options))
        }
        ["counts", options @ ..] => {
            Workspace::load().and_then(|workspace| counts::command(&workspace, options))
        }
        ["deny", options @ ..] => Workspace::load().and_then(|workspace| deny::command(&workspace, options)),
        [test::LANE, name] => Workspace::load().and_then(|workspace| test::lane(&workspace, name)),
        ["timed"] => Workspace::load().and_then(|workspace| timed::run_all(&workspace)),
        ["python"] => Workspace::load().and_then(|workspace| wheel::tests_alone(&workspace)),
        ["servers", filters @ ..] => {
            Workspace::load().and_then(|workspace| servers::tests_alone(&workspace, filters))
        }
        ["drop-in", modules @ ..] => {
            Workspace::load().and_then(|workspace| dropin::tests(&workspace, modules))
        }
        ["wheel"] => Workspace::load().and_then(|workspace| wheel::build(&workspace)),
        ["dist"] => Workspace::load().and_then(|workspace| dist::build(&workspace)),
        ["dist", "--debug"] => Workspace::load().and_then(|workspace| dist::debug_library(&workspace)),
        ["docs"] => Workspace::load().and_then(|workspace| docs::write_pages(&workspace)),
        [] | ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("xtask: no command `{}`\n\n{USAGE}", args.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("xtask: {what}");
            ExitCode::FAILURE
        }
    }
}
