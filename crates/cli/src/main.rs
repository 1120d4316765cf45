//! The `smalti` command line: see `smalti --help`.
#![forbid(unsafe_code)]

mod args;
mod cells;
mod commands;
mod demo;
mod engine;
mod failure;
mod formats;
mod human;
mod interrupt;
mod output;
mod picture;
mod progress;
mod ranges;
mod statistics;
mod warning;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::run(&args::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
