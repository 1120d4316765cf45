//! Names of data files in a fragment's folder.

use super::{DATA_ENDING, is_plain};
use crate::fragment::FieldId;
use crate::{ArraySchema, Rule, Version};
use smalti_types::{Error, Result};
use std::fmt::Write as _;

/// What a data file of a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataPart {
    /// Values of a fixed length, or the offsets of values of any length.
    Main,
    /// Values of any length.
    Var,
    /// Validity bytes of a nullable attribute.
    Validity,
}

/// The name of a field's data file in a fragment of a version.
///
/// Before version 8 files bear the field's name, in version 8 with some characters percent-encoded, later its index.
///
/// # Errors
/// `Corrupt` when the schema has no such field, or its name cannot be a file's: it must not lead out of the folder.
pub fn data_file_name(
    version: Version,
    schema: &ArraySchema,
    field: FieldId,
    part: DataPart,
) -> Result<String> {
    let mut name = String::new();
    push_data_file_name(&mut name, version, schema, field, part)?;
    Ok(name)
}

/// Appends a [`data_file_name`] to a path that ends behind a slash.
///
/// # Errors
/// As [`data_file_name`]; the path is useless then.
pub fn push_data_file_name(
    path: &mut String,
    version: Version,
    schema: &ArraySchema,
    field: FieldId,
    part: DataPart,
) -> Result<()> {
    let start = path.len();
    let mut push_indexed = |letter: char, idx: usize| {
        path.push(letter);
        // Writing to a string cannot fail.
        let _ = write!(path, "{idx}");
    };
    match field {
        FieldId::Coordinates => path.push_str("__coords"),
        FieldId::Timestamps => path.push('t'),
        FieldId::DeleteTimestamps => path.push_str("dt"),
        FieldId::DeleteConditionIndex => path.push_str("dci"),
        FieldId::Attribute(idx) if version.has(Rule::IndexedFiles) => push_indexed('a', idx),
        FieldId::Dimension(idx) if version.has(Rule::IndexedFiles) => push_indexed('d', idx),
        FieldId::Attribute(idx) => {
            push_name(path, version, schema.attributes.get(idx).map(|field| &field.name), field)?;
        }
        FieldId::Dimension(idx) => {
            push_name(path, version, schema.dimensions.get(idx).map(|field| &field.name), field)?;
        }
    }
    path.push_str(match part {
        DataPart::Main => "",
        DataPart::Var => "_var",
        DataPart::Validity => "_validity",
    });
    path.push_str(DATA_ENDING);
    let name = path.get(start..).unwrap_or_default();
    if is_plain(name) {
        return Ok(());
    }
    Err(Error::corrupt(format!("the name {name:?} cannot be that of a file in the fragment's folder")))
}

fn push_name(path: &mut String, version: Version, name: Option<&String>, field: FieldId) -> Result<()> {
    let name = name.ok_or_else(|| Error::corrupt(format!("the schema has no {field:?}")))?;
    match version.has(Rule::PercentEncodedFiles) {
        true => path.push_str(&percent_encoded(name)),
        false => path.push_str(name),
    }
    Ok(())
}

/// Replaces the characters that version 8 encodes.
///
/// Four of the codes are not those characters' own: the reference got them wrong, and files bear the wrong names.
fn percent_encoded(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '!' | '#' | '$' | '%' | '&' | '\'' | '(' | ')' | '*' | '+' | ',' | '/' | ':' | ';' | '='
            | '?' | '@' | '[' | ']' | '"' => encoded += &format!("%{:02X}", u32::from(character)),
            '<' => encoded += "%20",
            '>' => encoded += "%2D",
            '\\' => encoded += "%30",
            '|' => encoded += "%3C",
            other => encoded.push(other),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_8_encodes_with_the_mistakes_of_the_reference() {
        assert_eq!(percent_encoded("a/b c"), "a%2Fb c");
        assert_eq!(percent_encoded("<>\\|\""), "%20%2D%30%3C%22");
    }
}
