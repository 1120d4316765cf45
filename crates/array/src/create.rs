//! Creating an array: its whole folder appears at once, or not at all.

use crate::definitions::EnumerationFile;
use crate::{ArrayPlace, Definitions};
use smalti_format::fragment::FieldId;
use smalti_format::names::{
    self, COMMITS_FOLDER, ENUMERATIONS_FOLDER, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER, LABELS_FOLDER,
    METADATA_FOLDER, SCHEMA_FOLDER,
};
use smalti_format::{ArraySchema, Rule};
use smalti_store::{NewFile, NewTree, join};
use smalti_types::{Error, Result};

/// The folders and files of a new array, and of the arrays of its labels in it.
#[derive(Debug, Default)]
struct Contents {
    folders: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
}

impl ArrayPlace {
    /// Creates an array with a schema, durable on return.
    ///
    /// # Errors
    /// As [`create_with`](ArrayPlace::create_with).
    pub fn create(&self, schema: &ArraySchema) -> Result<()> {
        self.create_with(schema, &Definitions::default())
    }

    /// Creates an array with a schema and what it names, durable on return.
    ///
    /// # Errors
    /// `InvalidArgument` when the schema breaks a rule, or names an enumeration or label that is not given;
    /// `AlreadyExists` when something is at the place.
    pub fn create_with(&self, schema: &ArraySchema, definitions: &Definitions) -> Result<()> {
        self.create_at(schema, definitions, None)
    }

    /// As [`create_with`](ArrayPlace::create_with), at a time in milliseconds since 1970 instead of now: that of the schema, and of
    /// the schemas of its labels.
    ///
    /// # Errors
    /// As there.
    pub fn create_at(&self, schema: &ArraySchema, definitions: &Definitions, at: Option<u64>) -> Result<()> {
        if !schema.version.has(Rule::CommitsFolder) {
            return Err(Error::unsupported(format!(
                "arrays of format version {} cannot be created; versions 12 to 23 can",
                schema.version
            )));
        }
        let mut contents = Contents::default();
        self.lay_out("", schema, definitions, at, &mut contents)?;
        let folders: Vec<&str> = contents.folders.iter().map(String::as_str).collect();
        let parts: Vec<[&[u8]; 1]> = contents.files.iter().map(|(_, bytes)| [bytes.as_slice()]).collect();
        let files = contents.files.iter().zip(&parts);
        let files: Vec<NewFile<'_>> = files.map(|((path, _), parts)| NewFile { path, parts }).collect();
        self.store()
            .create_tree(self.path(), &NewTree { folders: &folders, files: &files })
            .map_err(|error| self.taken(error, "array"))
    }

    /// Adds what an array consists of, below a folder.
    fn lay_out(
        &self,
        below: &str,
        schema: &ArraySchema,
        definitions: &Definitions,
        at: Option<u64>,
        contents: &mut Contents,
    ) -> Result<()> {
        let mut schema = definitions.naming(schema);
        schema.check()?;
        definitions.check(&schema)?;
        self.check_codecs(&schema)?;
        for (name, file) in &mut schema.enumerations {
            let enumeration = definitions.enumerations.iter().find(|enumeration| enumeration.name == *name);
            let Some(enumeration) = enumeration else { continue };
            let EnumerationFile { name, path, bytes } = self.enumeration_file(enumeration, schema.version)?;
            *file = name;
            contents.files.push((join(below, &path), bytes));
        }
        let (name, tile) = (self.new_schema_name(at)?, self.encode_schema(&schema)?);
        contents.files.push((join(below, &format!("{SCHEMA_FOLDER}/{name}")), tile));
        let mut folders = vec![COMMITS_FOLDER, FRAGMENTS_FOLDER, FRAGMENT_META_FOLDER, METADATA_FOLDER];
        let enumerations = join(SCHEMA_FOLDER, ENUMERATIONS_FOLDER);
        if schema.version.has(Rule::DimensionLabels) {
            folders.push(LABELS_FOLDER);
        }
        if schema.version.has(Rule::Enumerations) {
            folders.push(&enumerations);
        }
        contents.folders.extend(folders.into_iter().map(|folder| join(below, folder)));
        for (label, array) in schema.dimension_labels.iter().zip(definitions.label_arrays(&schema)?) {
            let named = |error: Error| error.context(format_args!("dimension label {:?}", label.name));
            let below = join(below, label.path()?);
            self.lay_out(&below, &array, &Definitions::default(), at, contents).map_err(named)?;
        }
        Ok(())
    }

    /// Checks that the filters of every field can run in the schema's version.
    fn check_codecs(&self, schema: &ArraySchema) -> Result<()> {
        let dimensions = (0..schema.dimensions.len()).map(FieldId::Dimension);
        let fields = (0..schema.attributes.len()).map(FieldId::Attribute);
        for field in fields.chain(dimensions.filter(|_| !schema.is_dense())) {
            self.field_codec(schema, schema.version, field).map_err(|error| {
                error.context(format_args!("format version {} cannot hold this", schema.version))
            })?;
        }
        Ok(())
    }

    /// An id for a name: random, but later ones of the same surroundings are larger, so that of writes with one timestamp the
    /// last is the newest.
    ///
    /// # Errors
    /// `Io` when there is no randomness.
    pub fn new_id(&self) -> Result<[u8; 16]> {
        let mut id = [0; 16];
        self.env().entropy.fill(&mut id)?;
        let prefix = self.env().next_id_prefix(u32::from_be_bytes([id[0], id[1], id[2], id[3]]));
        id[..4].copy_from_slice(&prefix.to_be_bytes());
        Ok(id)
    }

    /// Whether an array is at the place.
    ///
    /// # Errors
    /// What the store reports.
    pub fn has_array(&self) -> Result<bool> {
        use smalti_store::StoreExt;
        if self.store().file_exists(&self.join(names::OLD_SCHEMA_FILE))? {
            return Ok(true);
        }
        Ok(self.store().list(&self.join(SCHEMA_FOLDER))?.iter().any(|entry| entry.is_file()))
    }
}
