//! `smalti create`: an array from a schema file.

use crate::args::{CreateArgs, Global};
use crate::failure::{Failure, Outcome};
use crate::formats::read_bounded;
use crate::{engine, human, ranges};

/// Schemas are short; what can be long are the labels of enumerations, which `smalti evolve` can add to later.
const MAX_SCHEMA_BYTE_LEN: u64 = 64 << 20;

pub(super) fn run(global: &Global, args: &CreateArgs) -> Outcome {
    let name = args.schema.display().to_string();
    let text = read_bounded(&args.schema, MAX_SCHEMA_BYTE_LEN, "the file of a schema")
        .map_err(|failure| failure.at(name.clone()))?;
    let text = String::from_utf8(text)
        .map_err(|_| Failure::invalid("the file of a schema is UTF-8 text").at(name.clone()))?;
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
