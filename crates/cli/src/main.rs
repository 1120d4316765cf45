//! The `smalti` command line: see `smalti --help`.
#![forbid(unsafe_code)]

mod args;
mod cells;
mod commands;
mod demo;
mod draw;
mod engine;
mod failure;
mod formats;
mod human;
mod import;
mod interrupt;
mod manual;
mod output;
mod picture;
mod progress;
mod ranges;
mod statistics;
mod warning;
mod when;

use std::process::ExitCode;

fn main() -> ExitCode {
    if args::wants_json(std::env::args_os()) {
        failure::report_as_json();
    }
    match args::parse().and_then(|cli| commands::run(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
