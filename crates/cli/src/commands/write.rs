//! `smalti write`: cells in, from one of several formats.

use crate::args::{Global, OpenTimes, WriteArgs};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use smalti::{Progress, WrittenFragment};
use smalti_tools::write::{Format, Input, WriteOptions, Written, subarray};
use smalti_tools::{When, human};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn run(global: &Global, args: &WriteArgs) -> Outcome {
    let start = Instant::now();
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    engine::warn_of_seconds(global, &args.array, args.at);
    let options = WriteOptions {
        subarray: subarray(&array, &args.range, args.ranges_json.as_deref())?,
        global_order: args.global_order,
        at: args.at.map(When::moment),
        memory: global.memory,
        share: None,
        notation: args.notation,
        name: Some(args.array.clone()),
    };
    let input = input(args)?;
    let work = Arc::new(Progress::new());
    let watch = Watch::over_writes(&work)?;
    let bar = Bar::of(&work);
    let written = smalti_tools::write::write(&array, input, &options, &work).map_err(Failure::from);
    drop(bar);
    let Written { fragments, cell_count } = watch.end(written)?;
    let Some(fragment) = fragments.first() else { return Ok(()) };
    if global.json {
        let mut line = serde_json::json!({"fragment": fragment.name(), "timestamp": fragment.timestamp(), "cells": cell_count});
        if fragments.len() > 1 {
            line["fragments"] = fragments.iter().map(WrittenFragment::name).collect();
        }
        println!("{line}");
    } else {
        let cells = human::cells(cell_count);
        let what = match fragments.len() {
            1 => fragment.name().to_owned(),
            count => format!("{} fragments", human::count(count as u64)),
        };
        println!(
            "wrote {cells} as {what}{} in {}",
            human::at(fragment.timestamp()),
            human::duration(start.elapsed())
        );
    }
    Ok(())
}

fn input(args: &WriteArgs) -> Outcome<Input> {
    let path = Some(args.from.as_path()).filter(|path| path.as_os_str() != "-");
    let format = args.format.or_else(|| Format::of_path(&args.from)).ok_or_else(|| {
        let name = match path {
            Some(path) => format!("the ending of {}", path.display()),
            None => "standard input".to_string(),
        };
        Failure::usage(format!("{name} tells no format; give --format csv, jsonl, arrow, parquet or npy"))
    })?;
    Ok(path.map(Path::to_path_buf).map_or(Input::Stdin(format), |path| Input::File(path, format)))
}
