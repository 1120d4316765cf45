//! Conditions on cells, and warnings about labels that nothing has.

use crate::failure::Outcome;
use crate::warning::{Warn, Warning};
use smalti::{Array, Condition, Literal, nearest_labels};

/// Labels that are warned about one by one.
const MAX_WARNINGS: usize = 5;

/// A condition, if there is one. Labels that no enumeration has are warned about.
///
/// # Errors
/// When the text is no condition, or does not fit the schema.
pub fn parse(array: &Array, text: Option<&str>, uri: &str, warn: &Warn<'_>) -> Outcome<Option<Condition>> {
    text.map(|text| parse_one(array, text, uri, warn)).transpose()
}

/// As [`parse`], where one is needed.
///
/// # Errors
/// As there.
pub fn parse_one(array: &Array, text: &str, uri: &str, warn: &Warn<'_>) -> Outcome<Condition> {
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
        warn(Warning::new(uri, message));
    }
    if unknown.len() > MAX_WARNINGS {
        let more = unknown.len() - MAX_WARNINGS;
        warn(Warning::new(uri, format_args!("{more} more labels of the condition are in no enumeration")));
    }
    Ok(condition)
}
