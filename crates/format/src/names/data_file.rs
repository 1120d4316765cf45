//! Names of data files in a fragment's folder.

use super::{DATA_ENDING, is_plain};
use crate::fragment::FieldId;
use crate::{ArraySchema, Rule, Version};
use smalti_types::{Error, Result};

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
    let stem = match field {
        FieldId::Coordinates => "__coords".to_owned(),
        FieldId::Timestamps => "t".to_owned(),
        FieldId::DeleteTimestamps => "dt".to_owned(),
        FieldId::DeleteConditionIndex => "dci".to_owned(),
        FieldId::Attribute(idx) if version.has(Rule::IndexedFiles) => format!("a{idx}"),
        FieldId::Dimension(idx) if version.has(Rule::IndexedFiles) => format!("d{idx}"),
        FieldId::Attribute(idx) => {
            named(version, schema.attributes.get(idx).map(|field| &field.name), field)?
        }
        FieldId::Dimension(idx) => {
            named(version, schema.dimensions.get(idx).map(|field| &field.name), field)?
        }
    };
    let part = match part {
        DataPart::Main => "",
        DataPart::Var => "_var",
        DataPart::Validity => "_validity",
    };
    let file_name = format!("{stem}{part}{DATA_ENDING}");
    if is_plain(&file_name) {
        return Ok(file_name);
    }
    Err(Error::corrupt(format!("the name {stem:?} cannot be that of a file in the fragment's folder")))
}

fn named(version: Version, name: Option<&String>, field: FieldId) -> Result<String> {
    let name = name.ok_or_else(|| Error::corrupt(format!("the schema has no {field:?}")))?;
    Ok(if version.has(Rule::PercentEncodedFiles) { percent_encoded(name) } else { name.clone() })
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
