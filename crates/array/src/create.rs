//! Creating an array: its whole folder appears at once, or not at all.

use crate::ArrayPlace;
use smalti_format::fragment::FieldId;
use smalti_format::names::{
    self, COMMITS_FOLDER, ENUMERATIONS_FOLDER, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER, LABELS_FOLDER,
    METADATA_FOLDER, SCHEMA_FOLDER,
};
use smalti_format::{ArraySchema, Rule};
use smalti_store::{NewFile, NewTree};
use smalti_types::{Error, Result};

impl ArrayPlace {
    /// Creates an array with a schema, durable on return.
    ///
    /// # Errors
    /// `InvalidArgument` when the schema breaks a rule; `AlreadyExists` when something is at the place.
    pub fn create(&self, schema: &ArraySchema) -> Result<()> {
        schema.check()?;
        if !schema.version.has(Rule::CommitsFolder) {
            return Err(Error::unsupported(format!(
                "arrays of format version {} cannot be created; versions 12 to 23 can",
                schema.version
            )));
        }
        if !schema.enumerations.is_empty() || !schema.dimension_labels.is_empty() {
            return Err(Error::unsupported("creating arrays with enumerations or dimension labels"));
        }
        let dimensions = (0..schema.dimensions.len()).map(FieldId::Dimension);
        let fields = (0..schema.attributes.len()).map(FieldId::Attribute);
        for field in fields.chain(dimensions.filter(|_| !schema.is_dense())) {
            self.field_codec(schema, schema.version, field).map_err(|error| {
                error.context(format_args!("format version {} cannot hold this", schema.version))
            })?;
        }
        let (name, tile) = (self.new_schema_name(None)?, self.encode_schema(schema)?);
        let schema_path = format!("{SCHEMA_FOLDER}/{name}");
        let enumerations = format!("{SCHEMA_FOLDER}/{ENUMERATIONS_FOLDER}");
        let mut folders = vec![COMMITS_FOLDER, FRAGMENTS_FOLDER, FRAGMENT_META_FOLDER, METADATA_FOLDER];
        if schema.version.has(Rule::DimensionLabels) {
            folders.push(LABELS_FOLDER);
        }
        if schema.version.has(Rule::Enumerations) {
            folders.push(&enumerations);
        }
        let parts: [&[u8]; 1] = [&tile];
        let files = [NewFile { path: &schema_path, parts: &parts }];
        self.store()
            .create_tree(self.path(), &NewTree { folders: &folders, files: &files })
            .map_err(|error| self.taken(error, "array"))
    }

    /// A random id for a name.
    pub(crate) fn new_id(&self) -> Result<[u8; 16]> {
        let mut id = [0; 16];
        self.env().entropy.fill(&mut id)?;
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
