//! smalti as a peer of the benchmark harness (`bench/bench_peers.py`): one JSON object a line in, one out.
//!
//! `build` makes a data set, `prep` undoes the last run, `run` is timed. A run answers with wall and processor seconds, a
//! checksum of what it read, and memory.
#![forbid(unsafe_code)]

mod dense;
mod npz;
mod process;
mod sparse;

use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Inputs that stay in memory between runs.
#[derive(Default)]
struct Peer {
    dense: dense::Input,
    sparse: sparse::Input,
}

fn main() -> Outcome<()> {
    let mut peer = Peer::default();
    for line in std::io::stdin().lock().lines() {
        let query: Value = serde_json::from_str(&line?)?;
        if query["op"] == "quit" {
            break;
        }
        let answer = peer.answer(&query).unwrap_or_else(|error| json!({ "err": error.to_string() }));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

impl Peer {
    fn answer(&mut self, query: &Value) -> Outcome<Value> {
        let (workload, path) = (query["w"].as_str().unwrap_or_default(), text(query, "path")?);
        match query["op"].as_str() {
            Some("build") => {
                remove(path)?;
                match query["ds"].as_str() {
                    Some("f3d" | "i3d" | "wide" | "dense") => {
                        self.dense.load(query)?;
                        dense::create(query)?;
                        self.dense.write(query)?;
                    }
                    Some("pts") => {
                        self.sparse.load(query)?;
                        sparse::create(query)?;
                        self.sparse.write(query)?;
                    }
                    other => return Err(format!("unsupported: build {other:?}").into()),
                }
                Ok(json!({}))
            }
            Some("prep") => {
                match workload {
                    "D1" => {
                        remove(path)?;
                        self.dense.load(query)?;
                        dense::create(query)?;
                    }
                    "S1" => {
                        remove(path)?;
                        self.sparse.load(query)?;
                        sparse::create(query)?;
                    }
                    _ => {}
                }
                Ok(json!({}))
            }
            Some("run") => self.run(workload, query),
            other => Err(format!("unknown op {other:?}").into()),
        }
    }

    fn run(&mut self, workload: &str, query: &Value) -> Outcome<Value> {
        process::reset_peak();
        let base = process::memory().1;
        let (started, cpu) = (Instant::now(), process::cpu_seconds());
        let result: Box<dyn FnOnce() -> f64> = match workload {
            "D1" => {
                self.dense.write(query)?;
                Box::new(|| 0.0)
            }
            "D2" | "D3" | "D4" | "D6" | "D7" => {
                let columns = dense::read(query, workload == "D7")?;
                Box::new(move || columns.iter().map(dense::checksum).sum())
            }
            "S1" => {
                self.sparse.write(query)?;
                Box::new(|| 0.0)
            }
            "S2" | "S3" => {
                let batches = sparse::read(query)?;
                Box::new(move || batches.iter().map(sparse::checksum).sum())
            }
            other => return Err(format!("unsupported: {other}").into()),
        };
        let (wall, cpu) = (started.elapsed().as_secs_f64(), process::cpu_seconds() - cpu);
        let peak = process::memory().0;
        Ok(json!({ "t": wall, "cpu": cpu, "chk": result(), "hwm_mb": peak, "base_mb": base }))
    }
}

fn text<'q>(query: &'q Value, key: &str) -> Outcome<&'q str> {
    query[key].as_str().ok_or_else(|| format!("{key} is missing").into())
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// The boxes of a query: per dimension the first cell and the one after the last.
fn boxes(query: &Value) -> Vec<Vec<(i64, i64)>> {
    let sides = |sides: &Value| {
        sides
            .as_array()
            .into_iter()
            .flatten()
            .map(numbers)
            .map(|ends| (ends[0] as i64, ends[1] as i64 - 1))
            .collect()
    };
    query["boxes"].as_array().into_iter().flatten().map(sides).collect()
}

fn remove(path: &str) -> Outcome<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
