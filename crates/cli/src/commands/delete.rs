//! `smalti delete`: cells that fulfil a condition, from now on.

use crate::args::{DeleteArgs, Global, OpenTimes};
use crate::engine;
use crate::failure::Outcome;

pub(super) fn run(global: &Global, args: &DeleteArgs) -> Outcome {
    let condition = args.condition.parse()?;
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    let mut delete = array.delete(condition);
    if let Some(at) = args.at {
        delete = delete.at(at);
    }
    let written = delete.commit()?;
    if !written.taken_with().is_empty() {
        eprintln!(
            "smalti: warning: {}: cells whose {} is null, or no number, are deleted too",
            args.array,
            written.taken_with().join(" or ")
        );
    }
    if global.json {
        println!(
            "{}",
            serde_json::json!({"delete": written.name(), "at": written.timestamp(), "taken_with": written.taken_with()})
        );
    } else {
        println!("deleted from {} on the cells where {}", written.timestamp(), args.condition);
    }
    Ok(())
}
