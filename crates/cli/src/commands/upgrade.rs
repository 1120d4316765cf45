//! `smalti upgrade`: the schema in a newer format version.

use crate::args::{Global, OpenTimes, UpgradeArgs};
use crate::engine;
use crate::failure::Outcome;
use smalti::Upgrade;
use smalti::format::Version;
use smalti_tools::human;

pub(super) fn run(global: &Global, args: &UpgradeArgs) -> Outcome {
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    let (from, to) = (array.schema().version, Version::new(args.format_version)?);
    let upgrade = Upgrade {
        to,
        at: engine::change_time(global, &args.array, args.at),
        force: args.force,
        ..Upgrade::default()
    };
    let changed = array.upgrade(&upgrade)?;
    if global.json {
        let versions = serde_json::json!({
            "from": from.number(), "to": to.number(), "changed": changed.is_some(), "timestamp": changed,
        });
        println!("{versions}");
    } else if let Some(time) = changed {
        println!("upgraded {} from format version {from} to {to}{}", args.array, human::at(time));
    } else {
        println!("{} is of format version {to} already", args.array);
    }
    Ok(())
}
