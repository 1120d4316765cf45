//! `smalti drop-in`: a Python environment whose packages run on our libtiledb, and the way back.

mod environment;
mod mapped;
mod swap;

use crate::args::{DropInArgs, Global};
use crate::failure::{Failure, Outcome};
use environment::Environment;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where `cargo xtask dist` leaves the library, from where it leaves the program.
const BESIDE_PROGRAM: &str = "../lib/libtiledb.so.2.30";

pub(super) fn run(global: &Global, args: &DropInArgs) -> Outcome {
    let given = Environment::at(&args.environment)?;
    if args.undo {
        return undo(global, &given);
    }
    if !cfg!(target_os = "linux") {
        return Err(Failure::invalid("what is loaded is told by Linux alone, in /proc/self/maps"));
    }
    let library = library(args.library.as_deref())?;
    // What cannot be swapped is found before anything is copied.
    swap::places(&given)?;
    let Some(copy) = &args.copy else { return put_in(global, &given, &library) };
    let copied = given.copied_to(copy)?;
    put_in(global, &copied, &library).inspect_err(|_| copied.removed_again())
}

/// The library that was asked for, or the one beside the program.
fn library(given: Option<&Path>) -> Outcome<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => {
            let program = std::env::current_exe().and_then(std::fs::canonicalize)?;
            let beside = program.parent().unwrap_or(Path::new("")).join(BESIDE_PROGRAM);
            if !beside.is_file() {
                return Err(Failure::usage(
                    "there is no libtiledb beside the program; --library FILE says where it is",
                ));
            }
            beside
        }
    };
    let found = path.canonicalize().map_err(|error| environment::told(&path, error))?;
    if found.is_file() { Ok(found) } else { Err(Failure::invalid("this is no file").at(shown(&path))) }
}

/// Swaps the library in, and out again where the environment does not load it then.
fn put_in(global: &Global, environment: &Environment, library: &Path) -> Outcome {
    let places = swap::places(environment)?;
    let done = places.iter().try_for_each(|place| place.link_to(library));
    let mut packages: Vec<&str> = places.iter().map(|place| place.package.as_str()).collect();
    packages.dedup();
    if let Err(failure) = done.and_then(|()| mapped::check(environment, library, &packages)) {
        // Of two failures the first one is told.
        for place in &places {
            let _ = place.put_back();
        }
        return Err(failure);
    }
    let mut out = std::io::stdout().lock();
    if global.json {
        let places: Vec<_> = places.iter().map(|place| shown(&place.library)).collect();
        let json = json!({ "environment": shown(environment.folder()), "library": shown(library), "linked": places });
        return Ok(writeln!(out, "{json}")?);
    }
    for place in &places {
        writeln!(out, "linked {}", shown(&place.library))?;
    }
    let python = shown(&environment.python());
    writeln!(out, "{python} loads {}, and no other libtiledb", shown(library))?;
    Ok(writeln!(out, "the way back: smalti drop-in {} --undo", shown(environment.folder()))?)
}

fn undo(global: &Global, environment: &Environment) -> Outcome {
    let places = swap::places(environment)?;
    let mut back = Vec::new();
    for place in &places {
        if place.put_back()? {
            back.push(shown(&place.library));
        }
    }
    let mut out = std::io::stdout().lock();
    if global.json {
        let json = json!({ "environment": shown(environment.folder()), "put_back": back });
        return Ok(writeln!(out, "{json}")?);
    }
    if back.is_empty() {
        return Ok(writeln!(out, "the original library is in its place")?);
    }
    for library in back {
        writeln!(out, "put back {library}")?;
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
