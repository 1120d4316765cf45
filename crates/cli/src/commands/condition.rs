//! `--where`: conditions, and warnings about labels that nothing has.

use crate::args::Global;
use crate::failure::Outcome;
use crate::warning::warn;
use smalti::{Array, Condition, Literal, nearest_labels};

/// Labels that are warned about one by one.
const MAX_WARNINGS: usize = 5;

/// The condition of a command, if it has one.
///
/// # Errors
/// When the text is no condition, or does not fit the schema.
pub(crate) fn parse(
    global: &Global,
    uri: &str,
    array: &Array,
    text: Option<&str>,
) -> Outcome<Option<Condition>> {
    text.map(|text| parse_one(global, uri, array, text)).transpose()
}

/// As [`parse`], for commands that need one.
pub(super) fn parse_one(global: &Global, uri: &str, array: &Array, text: &str) -> Outcome<Condition> {
    let condition: Condition = text.parse()?;
    let unknown = array.unknown_labels(&condition)?;
    for label in unknown.iter().take(MAX_WARNINGS) {
        let nearest = match &label.label {
            Literal::Text(text) => {
                let enumeration = array.enumeration(&label.enumeration)?;
                nearest_labels(&enumeration, text)
            }
            _ => Vec::new(),
        };
        let meant = match nearest.as_slice() {
            [] => String::new(),
            [only] => format!("; the nearest is {}", Literal::from(only)),
            several => {
                let several: Vec<String> =
                    several.iter().map(|label| Literal::from(label).to_string()).collect();
                format!("; the nearest are {}", several.join(", "))
            }
        };
        let message = format_args!(
            "no cell of {:?} is {}: enumeration {:?} has no such label{meant}",
            label.field, label.label, label.enumeration
        );
        warn(global, uri, message);
    }
    if unknown.len() > MAX_WARNINGS {
        let more = unknown.len() - MAX_WARNINGS;
        warn(global, uri, format_args!("{more} more labels of the condition are in no enumeration"));
    }
    Ok(condition)
}
