//! The `smalti` command line: see `smalti --help`.
#![forbid(unsafe_code)]

mod args;
mod cells;
mod failure;
mod formats;
mod ranges;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let _cli = args::Cli::parse();
    std::process::ExitCode::SUCCESS
}
