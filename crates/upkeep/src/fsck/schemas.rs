//! Schemas and enumerations.

use super::Check;
use super::finding::{Class, Finding, FindingKind};
use super::tile_file::Flaw;
use smalti_format::fragment::Footer;
use smalti_format::names::{
    ENUMERATIONS_FOLDER, FRAGMENT_METADATA_FILE, OLD_SCHEMA_FILE, SCHEMA_FOLDER, TimestampedName,
};
use smalti_format::{ArraySchema, Enumeration, Rule};
use smalti_store::join;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The schemas that can be read, by the names that fragments give them.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    by_name: BTreeMap<String, Arc<ArraySchema>>,
    newest: Option<Arc<ArraySchema>>,
}

impl Schemas {
    /// The schema of a name.
    pub(super) fn find(&self, name: &str) -> Result<Arc<ArraySchema>> {
        self.by_name.get(name).cloned().ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("the schema {name:?} is not there, or cannot be read"))
                .in_field("footer", "schema_name")
        })
    }
}

impl Check<'_> {
    /// Reads all schemas and enumerations.
    ///
    /// # Errors
    /// `Permission` when no schema opens with the key that was given, or without one.
    pub(super) fn schemas(&mut self) -> Result<Schemas> {
        let survey = self.survey;
        let mut files: Vec<(String, String)> = Vec::new();
        if survey.root.iter().any(|entry| entry.is_file() && entry.name == OLD_SCHEMA_FILE) {
            files.push((OLD_SCHEMA_FILE.to_owned(), OLD_SCHEMA_FILE.to_owned()));
        }
        let mut named: Vec<TimestampedName> = survey
            .schemas
            .iter()
            .filter(|entry| entry.is_file())
            .filter_map(|entry| TimestampedName::parse(&entry.name).ok())
            .collect();
        named.sort();
        files.extend(named.iter().map(|name| (name.to_string(), join(SCHEMA_FOLDER, name.as_str()))));
        let mut schemas = Schemas::default();
        let mut flaws = Vec::new();
        for (name, path) in files {
            match self.tile_file(&path, ArraySchema::decode) {
                Ok((schema, trailing)) => {
                    self.note_trailing(&path, trailing);
                    let schema = Arc::new(schema);
                    schemas.newest = Some(Arc::clone(&schema));
                    schemas.by_name.insert(name, schema);
                }
                Err(flaw) => flaws.push((name, path, flaw)),
            }
        }
        if schemas.newest.is_none()
            && let Some((_, path, Flaw::Locked(error))) =
                flaws.iter().find(|(_, _, flaw)| matches!(flaw, Flaw::Locked(_)))
        {
            let store = self.place.store();
            return Err(error.clone().at_uri(store.address(&self.place.join(path))));
        }
        if schemas.newest.is_none() {
            let message = "no schema can be read, and without one no cell";
            let finding = Finding::new(FindingKind::NoSchema, Class::Lost, SCHEMA_FOLDER, message);
            self.add(finding.not_mended("a schema cannot be told from data; bring one back from a copy"));
        }
        let named = if flaws.is_empty() { BTreeSet::new() } else { self.schemas_of_fragments() };
        for (name, path, flaw) in flaws {
            let is_needed = named.contains(&name) || name == OLD_SCHEMA_FILE;
            let class = match flaw {
                Flaw::Torn(_) if !is_needed => Class::Hidden,
                _ => Class::Lost,
            };
            let finding = self.flawed(&flaw, class, &path);
            self.add(if is_needed {
                finding.not_mended("fragments were written with this schema; bring it back from a copy")
            } else if flaw.is_provable() && schemas.newest.is_some() {
                finding.set_aside()
            } else {
                finding
            });
        }
        self.enumerations(&schemas);
        Ok(schemas)
    }

    /// The names that fragments give their schemas, as far as they can be read.
    fn schemas_of_fragments(&self) -> BTreeSet<String> {
        let name_of = |(name, path): &(TimestampedName, String)| {
            let version = name.fragment_version().ok()?;
            if !version.has(Rule::FooterLength) {
                return Some(OLD_SCHEMA_FILE.to_owned());
            }
            let bytes = self.bytes(&join(path, FRAGMENT_METADATA_FILE)).ok()?;
            let range = Footer::range(version, &Default::default(), bytes.len() as u64, &bytes).ok()?;
            let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
            Footer::schema_name_of(bytes.get(range)?).ok()
        };
        self.survey.fragments.values().filter_map(name_of).collect()
    }

    fn enumerations(&mut self, schemas: &Schemas) {
        let folder = join(SCHEMA_FOLDER, ENUMERATIONS_FOLDER);
        let mut wanted: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        for (schema_name, schema) in &schemas.by_name {
            for (name, file) in &schema.enumerations {
                wanted.insert(file, (name, schema_name));
            }
        }
        for entry in self.survey.enumerations.iter().filter(|entry| entry.is_file()) {
            let path = join(&folder, &entry.name);
            let is_wanted = wanted.remove(entry.name.as_str());
            match (self.tile_file(&path, Enumeration::decode), is_wanted) {
                (Ok((_, trailing)), Some(_)) => self.note_trailing(&path, trailing),
                (Ok(_), None) => self.unused_enumeration(path),
                (Err(flaw), Some((name, schema))) => {
                    let mut finding = self.flawed(&flaw, Class::Lost, &path);
                    finding.message += &format!("; it holds the labels of {name:?} of the schema {schema}");
                    self.add(finding);
                }
                (Err(flaw), None) => {
                    let finding = self.flawed(&flaw, Class::Harmless, &path);
                    self.add(if flaw.is_provable() { finding.set_aside() } else { finding });
                }
            }
        }
        for (file, (name, schema)) in wanted {
            let message = format!("the schema {schema} names it for {name:?}; codes keep, labels are gone");
            let finding =
                Finding::new(FindingKind::EnumerationMissing, Class::Lost, join(&folder, file), message);
            self.add(finding.at("array schema", "enumerations", None));
        }
    }

    fn unused_enumeration(&mut self, path: String) {
        let message = "no schema names it: an evolution was interrupted, or the schema is gone";
        self.add(Finding::new(FindingKind::EnumerationUnused, Class::Harmless, path, message));
    }
}
