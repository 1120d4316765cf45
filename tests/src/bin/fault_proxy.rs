//! A proxy that counts requests and rounds, and takes its time: see `smalti_tests::proxy`.
#![forbid(unsafe_code)]

use smalti_tests::proxy::Proxy;
use smalti_tests::stdin::serve_until_it_ends;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
fault-proxy --to 127.0.0.1:PORT [--latency-ms N]

  --to ADDRESS      the server on the loopback that requests are passed on to
  --latency-ms N    how long each request waits before that [default: 0]

Prints its port, and ends when the standard input does.
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
    let (mut to, mut latency) = (None, Duration::ZERO);
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--to" => {
                let address: SocketAddr =
                    value.parse().map_err(|_| format!("{value:?} is no address like 127.0.0.1:9000"))?;
                if !address.ip().is_loopback() {
                    return Err(format!("{address} is not on the loopback"));
                }
                to = Some(address);
            }
            "--latency-ms" => {
                let ms = value.parse().map_err(|_| format!("{value:?} is no number of milliseconds"))?;
                latency = Duration::from_millis(ms);
            }
            _ => return Err(format!("there is no option {name}")),
        }
    }
    let to = to.ok_or("--to is missing")?;
    let proxy = Proxy::start(to).map_err(|error| error.to_string())?;
    proxy.set_latency(latency);
    serve_until_it_ends(proxy.port()).map_err(|error| error.to_string())
}
