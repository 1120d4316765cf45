//! `smalti delete`: cells that fulfil a condition, from now on.

use crate::args::{DeleteArgs, Global, OpenTimes};
use crate::engine;
use crate::failure::Outcome;
use crate::warning::warn;
use crate::warning::warnings;
use smalti_tools::condition;
use smalti_tools::human;

pub(super) fn run(global: &Global, args: &DeleteArgs) -> Outcome {
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    let condition = condition::parse_one(&array, &args.condition, &args.array, &warnings(global))?;
    let mut delete = array.delete(condition);
    if let Some(at) = engine::change_time(global, &args.array, args.at) {
        delete = delete.at(at);
    }
    if args.dry_run {
        let count = delete.cell_count()?;
        if global.json {
            println!("{}", serde_json::json!({"dry_run": true, "cells": count}));
        } else {
            println!("would delete {} where {}", human::cells(count), args.condition);
        }
        return Ok(());
    }
    let written = delete.commit()?;
    if !written.taken_with().is_empty() {
        let fields = written.taken_with().join(" or ");
        warn(
            global,
            &args.array,
            format_args!("cells whose {fields} is null, or no number, are deleted too"),
        );
    }
    if global.json {
        println!(
            "{}",
            serde_json::json!({"delete": written.name(), "timestamp": written.timestamp(), "taken_with": written.taken_with()})
        );
    } else {
        println!(
            "deleted, from {} on, the cells where {}",
            human::timestamp(written.timestamp()),
            args.condition
        );
    }
    Ok(())
}
