//! `smalti create`: an array from a schema file.

use crate::args::{CreateArgs, Global};
use crate::engine;
use crate::failure::{Failure, Outcome};
use smalti_tools::formats::read_bounded;
use smalti_tools::{human, ranges};
use std::path::Path;

/// Schemas are short; what can be long are the labels of enumerations, which `smalti evolve` can add to later.
const MAX_SCHEMA_BYTE_LEN: u64 = 64 << 20;

pub(super) fn run(global: &Global, args: &CreateArgs) -> Outcome {
    let (name, text) = match (&args.schema, &args.from) {
        (Some(schema), _) => (schema.display().to_string(), read(schema)?),
        (None, Some(from)) => {
            (from.display().to_string(), super::import::schema_from(global, &args.table, from)?)
        }
        (None, None) => return Err(Failure::usage("give --schema or --from")),
    };
    let mut file = smalti::json::schema_from_json(&text).map_err(|error| error.at_uri(name))?;
    if let Some(version) = args.format_version {
        file.schema.version = smalti::format::Version::new(version)?;
    }
    if !args.current_domain.is_empty() {
        file.schema.current_domain = ranges::current_domain(&file.schema, &args.current_domain)?;
    }
    let at = engine::change_time(global, &args.array, args.at);
    let array = engine::create(global, &args.array, file, at)?;
    let timestamp = array.schema_timestamp();
    if global.json {
        println!("{}", serde_json::json!({"created": args.array, "timestamp": timestamp}));
    } else {
        println!("created {}{}", args.array, timestamp.map(human::at).unwrap_or_default());
    }
    Ok(())
}

fn read(path: &Path) -> Outcome<String> {
    let in_file = |failure: Failure| failure.at(path.display().to_string());
    let text = read_bounded(path, MAX_SCHEMA_BYTE_LEN, "the file of a schema");
    let text = text.map_err(|failure| in_file(failure.into()))?;
    String::from_utf8(text).map_err(|_| in_file(Failure::invalid("the file of a schema is UTF-8 text")))
}
