//! `smalti create`: an array from a schema file.

use crate::args::{CreateArgs, Global};
use crate::failure::{Failure, Outcome};
use crate::{engine, human, ranges};
use std::io::Read;

pub(super) fn run(global: &Global, args: &CreateArgs) -> Outcome {
    let name = args.schema.display().to_string();
    let mut text = String::new();
    let read = if name == "-" {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(&args.schema).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.map_err(|error| Failure::from(error).at(name.clone()))?;
    let mut file = smalti::json::schema_from_json(&text).map_err(|error| error.at_uri(name))?;
    if let Some(version) = args.format_version {
        file.schema.version = smalti::format::Version::new(version)?;
    }
    if !args.current_domain.is_empty() {
        file.schema.current_domain = ranges::current_domain(&file.schema, &args.current_domain)?;
    }
    let array = engine::create(global, &args.array, file)?;
    let timestamp = array.schema_timestamp();
    if global.json {
        println!("{}", serde_json::json!({"created": args.array, "timestamp": timestamp}));
    } else {
        println!("created {}{}", args.array, timestamp.map(human::at).unwrap_or_default());
    }
    Ok(())
}
