//! A server that speaks S3 over a folder: see `smalti_tests::s3_files`.
#![forbid(unsafe_code)]

use smalti_tests::s3_files::S3Files;
use smalti_tests::stdin::serve_until_it_ends;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
s3-server --root DIR [--bucket NAME]...

  --root DIR       the folder whose folders are buckets; it is made if it is not there
  --bucket NAME    makes a bucket, unless it is there

The access key is testing, and so is its secret. Prints its port on the loopback, and ends when the standard input does.
";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprint!("{message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<(), String> {
    let (mut root, mut buckets) = (None, Vec::new());
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--root" => root = Some(PathBuf::from(value)),
            "--bucket" if value.contains('/') || value.starts_with('.') || value.is_empty() => {
                return Err(format!("{value:?} is no name of a bucket"));
            }
            "--bucket" => buckets.push(value),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    let root = root.ok_or("--root is missing")?;
    let failed = |error: std::io::Error| format!("{}: {error}", root.display());
    std::fs::create_dir_all(&root).map_err(failed)?;
    let server = S3Files::start(&root).map_err(failed)?;
    buckets.iter().try_for_each(|bucket| server.make_bucket(bucket)).map_err(failed)?;
    serve_until_it_ends(server.port()).map_err(|error| error.to_string())
}
