//! smalti as a peer of the benchmark harness (`bench/bench_peers.py`): one JSON object a line in, one out.
//!
//! `build` makes a data set, `prep` undoes the last run, `run` is timed. A run answers with wall and processor seconds, a
//! checksum of what it read, and memory.
#![forbid(unsafe_code)]

mod dense;
mod genome;
mod limits;
mod npz;
mod process;
mod query;
mod sparse;
mod strings;
mod tiny;

use query::{Outcome, copy_folder, remove, text};
use serde_json::{Value, json};
use smalti::Context;
use std::io::{BufRead, Write};
use std::time::Instant;

/// Inputs that stay in memory between runs.
#[derive(Default)]
struct Peer {
    dense: dense::Input,
    sparse: sparse::Input,
    strings: strings::Input,
    tiny: tiny::Opened,
    filtered: limits::Filtered,
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
                    Some("ovl") => {
                        self.dense.load(query)?;
                        dense::create(query)?;
                        self.dense.write_boxes(query)?;
                    }
                    Some("pts") => {
                        self.sparse.load(query)?;
                        sparse::create(query)?;
                        self.sparse.write(query)?;
                    }
                    Some("frags") => {
                        self.sparse.load(query)?;
                        sparse::create(query)?;
                        self.sparse.write_fragments(query)?;
                    }
                    Some("nfr") => sparse::write_small_fragments(query)?,
                    Some("tiles") => sparse::write_small_tiles(query)?,
                    Some("rows") => {
                        self.sparse.load(query)?;
                        sparse::create(query)?;
                        self.sparse.write_rows(query)?;
                    }
                    Some("gen") => genome::build(query)?,
                    Some("str") => {
                        self.strings.load(query)?;
                        self.strings.create(query)?;
                        self.strings.write(query)?;
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
                    "S7" | "S9d" => {
                        remove(path)?;
                        copy_folder(text(query, "src")?.as_ref(), path.as_ref())?;
                    }
                    "S10w" => {
                        remove(path)?;
                        self.strings.load(query)?;
                        self.strings.create(query)?;
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
        if workload == "limit" {
            let cpu = process::cpu_seconds();
            let wall = limits::measure(query, &mut self.filtered)?;
            return Ok(json!({ "t": wall, "cpu": process::cpu_seconds() - cpu, "chk": 0 }));
        }
        // Each repetition begins with nothing kept, or with nothing known and no connection open; a warm one with what the one before left.
        let context = if query["fresh"] == true { Context::new() } else { Context::default() };
        if query["warm"] != true {
            context.forget_kept();
        }
        process::reset_peak();
        let before = process::memory();
        let (started, cpu) = (Instant::now(), process::cpu_seconds());
        let result: Box<dyn FnOnce() -> f64> = match workload {
            "D1" => {
                self.dense.write(query)?;
                Box::new(|| 0.0)
            }
            "D2" | "D3" | "D4" | "D5" | "D6" | "D7" | "D9" => {
                let columns = dense::read(query, workload == "D7")?;
                Box::new(move || columns.iter().map(dense::checksum).sum())
            }
            "D8" => {
                let sum = dense::aggregate(query)?;
                Box::new(move || sum)
            }
            "S1" => {
                self.sparse.write(query)?;
                Box::new(|| 0.0)
            }
            "S7" => {
                sparse::consolidate(query)?;
                Box::new(|| 0.0)
            }
            "S8a" => {
                sparse::open(query, &context)?;
                Box::new(|| 0.0)
            }
            "S2" | "S3" | "S5" | "S6" | "S8q" | "S9r" | "S12" => {
                let batches = sparse::read(query, &context)?;
                Box::new(move || batches.iter().map(sparse::checksum).sum())
            }
            "S2b" => {
                let cell_count = sparse::count_in_batches(query)?;
                Box::new(move || cell_count as f64)
            }
            "S4" => {
                let batches = genome::read(query)?;
                Box::new(move || batches.iter().map(genome::checksum).sum())
            }
            "S9d" => {
                sparse::delete(query)?;
                Box::new(|| 0.0)
            }
            "S10w" => {
                self.strings.write(query)?;
                Box::new(|| 0.0)
            }
            "S10r" => {
                let batches = strings::read(query)?;
                Box::new(move || batches.iter().map(strings::checksum).sum())
            }
            "T" => {
                let sum = self.tiny.run(query)?;
                Box::new(move || sum)
            }
            other => return Err(format!("unsupported: {other}").into()),
        };
        let (wall, cpu) = (started.elapsed().as_secs_f64(), process::cpu_seconds() - cpu);
        let after = process::memory();
        let mapped = after.mapped - before.mapped;
        Ok(
            json!({ "t": wall, "cpu": cpu, "chk": result(), "hwm_mb": after.peak, "base_mb": before.now, "mapped_mb": mapped }),
        )
    }
}
