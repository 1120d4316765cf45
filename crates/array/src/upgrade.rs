//! Upgrading: the same schema in a newer format version.

use crate::schema_file::SchemaTime;
use crate::{ArrayPlace, Snapshot};
use smalti_format::fragment::FieldId;
use smalti_format::names::{OLD_SCHEMA_FILE, SCHEMA_FOLDER};
use smalti_format::{ArraySchema, Version};
use smalti_types::{Error, Result, TimeRange};

/// What an upgrade is to do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Upgrade {
    /// The version to reach.
    pub to: Version,
    /// The time of the new schema in milliseconds since 1970; `None`: now.
    pub at: Option<u64>,
    /// Whether to go on where libtiledb could no longer read fragments that are there.
    pub force: bool,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl ArrayPlace {
    /// Rewrites the schema in a newer format version; fragments stay as they are, and new ones are written in that version.
    /// The time of the new schema, in milliseconds since 1970; `None` where there was nothing to do.
    ///
    /// libtiledb reads all fragments by the rules of the newest schema's version, smalti each by its own. Where these rules
    /// read filters differently, libtiledb loses sight of cells that are there; such an upgrade has to be forced.
    ///
    /// # Errors
    /// `InvalidArgument` for a version older than the schema's, a time that is not after the schema's, or a loss that is
    /// not forced; `Io` when another change of the schema does not end; what opening the array and the store report.
    pub fn upgrade(&self, upgrade: &Upgrade) -> Result<Option<u64>> {
        let lock = self.schema_lock()?;
        let snapshot = Snapshot::open(self.clone(), TimeRange::ALL)?;
        let schema = snapshot.schema();
        if schema.version == upgrade.to {
            return Ok(None);
        }
        if schema.version > upgrade.to {
            return Err(Error::invalid(format!(
                "the array is of format version {} already; it cannot go back to {}",
                schema.version, upgrade.to
            ))
            .at_uri(self.uri()));
        }
        let made_from = match snapshot.schema_name() {
            OLD_SCHEMA_FILE => self.join(OLD_SCHEMA_FILE),
            name => self.join(&format!("{SCHEMA_FOLDER}/{name}")),
        };
        let newer = ArraySchema { version: upgrade.to, ..(**schema).clone() };
        if !upgrade.force {
            self.check_kept_in_sight(&snapshot, &newer).map_err(|error| error.at_uri(self.uri()))?;
        }
        let name = self
            .put_schema(&newer, SchemaTime { at: upgrade.at, may_be_past: false }, &made_from, &lock)
            .map_err(|error| error.at_uri(self.uri()))?;
        Ok(Some(name.range().end))
    }

    fn check_kept_in_sight(&self, snapshot: &Snapshot, newer: &ArraySchema) -> Result<()> {
        let dimensions = (0..newer.dimensions.len()).map(FieldId::Dimension);
        let attributes = (0..newer.attributes.len()).map(FieldId::Attribute);
        let fields: Vec<FieldId> = dimensions.filter(|_| !newer.is_dense()).chain(attributes).collect();
        for fragment in snapshot.fragments() {
            for &field in &fields {
                let name = crate::field_name(newer, field);
                let Some(own) = crate::find_field(fragment.schema(), name) else { continue };
                let written = snapshot.field_codec(fragment, own)?;
                if self.field_codec(newer, newer.version, field)?.reads_as(&written) {
                    continue;
                }
                return Err(Error::invalid(format!(
                    "after the upgrade libtiledb could not read {name:?} of the fragment {}, whose filters mean \
                     something else in version {}; smalti could. Force the upgrade, or write the cells to a new array",
                    fragment.name(),
                    newer.version
                )));
            }
        }
        Ok(())
    }
}
