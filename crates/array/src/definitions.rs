//! What an array is created with beside its schema: the contents of enumerations, and the arrays of dimension labels.

use crate::ArrayPlace;
use smalti_format::names::{ENUMERATIONS_FOLDER, SCHEMA_FOLDER, enumeration_file_name};
use smalti_format::{ArraySchema, Enumeration, Version};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, Result};

/// The enumerations and dimension labels that a schema only names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Definitions {
    /// The enumerations; their files get names when they are written.
    pub enumerations: Vec<Enumeration>,
    /// For each dimension label of the schema, in their order, the schema of the label's array; empty for those that the
    /// reference makes.
    pub labels: Vec<ArraySchema>,
}

impl Definitions {
    /// The schema with the names of all enumerations, and of files that they do not have yet.
    pub fn naming(&self, schema: &ArraySchema) -> ArraySchema {
        let mut schema = schema.clone();
        for enumeration in &self.enumerations {
            if schema.enumeration_file(&enumeration.name).is_none() {
                schema.enumerations.push((enumeration.name.clone(), enumeration.file.clone()));
            }
        }
        schema
    }

    /// Checks what a schema says of its enumerations and labels against them.
    ///
    /// # Errors
    /// `InvalidArgument` when one is missing, given twice, or does not fit.
    pub fn check(&self, schema: &ArraySchema) -> Result<()> {
        for (idx, enumeration) in self.enumerations.iter().enumerate() {
            enumeration.check_new()?;
            if self.enumerations.iter().take(idx).any(|other| other.name == enumeration.name) {
                return Err(Error::invalid(format!("the enumeration {:?} is given twice", enumeration.name)));
            }
        }
        if let Some((name, _)) = schema.enumerations.iter().find(|(name, _)| self.enumeration(name).is_none())
        {
            return Err(Error::invalid(format!(
                "the schema names the enumeration {name:?}, but its elements are not given"
            )));
        }
        check_attributes(schema, |name| self.enumeration(name))?;
        let arrays = self.label_arrays(schema)?;
        schema.dimension_labels.iter().zip(&arrays).try_for_each(|(label, array)| {
            let named = |error: Error| error.context(format_args!("dimension label {:?}", label.name));
            schema.check_label_array(label, array)?;
            array.check().map_err(named)
        })
    }

    /// The schema of the array of each label.
    ///
    /// # Errors
    /// `InvalidArgument` when there are more or fewer of them than labels.
    pub(crate) fn label_arrays(&self, schema: &ArraySchema) -> Result<Vec<ArraySchema>> {
        if self.labels.is_empty() {
            return schema.dimension_labels.iter().map(|label| schema.label_array(label)).collect();
        }
        if self.labels.len() != schema.dimension_labels.len() {
            return Err(Error::invalid(format!(
                "{} arrays are given for {} dimension labels",
                self.labels.len(),
                schema.dimension_labels.len()
            )));
        }
        Ok(self.labels.clone())
    }

    fn enumeration(&self, name: &str) -> Option<&Enumeration> {
        self.enumerations.iter().find(|enumeration| enumeration.name == name)
    }
}

/// Checks that every attribute can index the elements of its enumeration, as far as `find` has it.
///
/// # Errors
/// `InvalidArgument` when the attribute's type is too small.
pub(crate) fn check_attributes<'a>(
    schema: &ArraySchema,
    find: impl Fn(&str) -> Option<&'a Enumeration>,
) -> Result<()> {
    for attribute in &schema.attributes {
        if let Some(enumeration) = attribute.enumeration.as_deref().and_then(&find) {
            enumeration.check_indexed_by(attribute)?;
        }
    }
    Ok(())
}

/// The file of an enumeration, ready to be put.
#[derive(Debug)]
pub(crate) struct EnumerationFile {
    /// The name that schemas give.
    pub(crate) name: String,
    /// Its path in the array's folder.
    pub(crate) path: String,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

impl ArrayPlace {
    /// Names and encodes the file of an enumeration.
    pub(crate) fn enumeration_file(
        &self,
        enumeration: &Enumeration,
        version: Version,
    ) -> Result<EnumerationFile> {
        let name = enumeration_file_name(self.new_id()?);
        let stored = Enumeration { file: name.clone(), ..enumeration.clone() }.encode()?;
        let mut bytes = Vec::new();
        write_generic_tile(&stored, version, self.cipher(), &mut bytes, &mut Scratch::new())?;
        let path = format!("{SCHEMA_FOLDER}/{ENUMERATIONS_FOLDER}/{name}");
        Ok(EnumerationFile { name, path, bytes })
    }
}
