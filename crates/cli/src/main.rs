//! The `smalti` command line: see `smalti --help`.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod demo;
mod engine;
mod failure;
mod interrupt;
mod manual;
mod progress;
mod statistics;
mod warning;

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
