//! Evolution: an array's schema with attributes, enumerations and current domain changed, beside its older schemas.
//!
//! Fragments stay as they are, and earlier times keep their schema.

use crate::ArrayPlace;
use crate::definitions::{EnumerationFile, check_attributes};
use crate::lease::SchemaLock;
use crate::listing::schema_files;
use crate::schema_file::SchemaTime;
use crate::snapshot::read_schema;
use smalti_format::fragment::FieldId;
use smalti_format::names::TimestampedName;
use smalti_format::{ArraySchema, Attribute, CurrentDomain, Dimension, Enumeration, Rule};
use smalti_types::{Error, Extent, Result};

/// What is to change in a schema. The default changes nothing.
#[derive(Debug, Clone, Default)]
pub struct SchemaChange {
    /// Attributes to add behind the others.
    pub add_attributes: Vec<Attribute>,
    /// Attributes to drop.
    pub drop_attributes: Vec<String>,
    /// Enumerations to add.
    pub add_enumerations: Vec<Enumeration>,
    /// Names of enumerations, each with the elements to append.
    pub extend_enumerations: Vec<(String, Vec<Vec<u8>>)>,
    /// Enumerations to drop.
    pub drop_enumerations: Vec<String>,
    /// Names of dimensions, each with its new current domain. Dimensions that are not named keep theirs; in an array
    /// without a current domain they take all of their domain.
    pub current_domain: Vec<(String, Extent)>,
    /// The time of the new schema in milliseconds since 1970; `None`: now.
    pub at: Option<u64>,
    /// Whether that time may be before the newest schema's, as libtiledb has it. What is changed is the newest schema all the same, and stays it:
    /// only reads that end at an earlier time see the change.
    pub may_be_past: bool,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl SchemaChange {
    fn is_empty(&self) -> bool {
        self.add_attributes.is_empty()
            && self.drop_attributes.is_empty()
            && self.add_enumerations.is_empty()
            && self.extend_enumerations.is_empty()
            && self.drop_enumerations.is_empty()
            && self.current_domain.is_empty()
    }
}

impl ArrayPlace {
    /// Puts a schema with changes beside the array's others, durable on return, and returns its name.
    ///
    /// The format version stays; libtiledb's evolution would raise it, which here is [`upgrade`](ArrayPlace::upgrade).
    ///
    /// # Errors
    /// `InvalidArgument` when there is nothing to change, something to drop is not there or in use, a name is taken, the
    /// current domain shrinks or leaves the domain, the result breaks a rule of schemas, or the time is not after that of
    /// the newest schema and may not be past; `Io` when another change of the schema does not end. What the store reports. The array is as
    /// before then, unless the error says that its effect is unknown.
    pub fn evolve(&self, change: &SchemaChange) -> Result<TimestampedName> {
        self.evolved(change).map_err(|error| error.at_uri(self.uri()))
    }

    fn evolved(&self, change: &SchemaChange) -> Result<TimestampedName> {
        if change.is_empty() {
            return Err(Error::invalid(
                "the evolution changes nothing; say what to add, drop, extend or expand",
            ));
        }
        let lock = self.schema_lock()?;
        let files = schema_files(self)?;
        let (_, newest) = files.last().ok_or_else(|| Error::not_found("no array is here"))?;
        let mut schema = read_schema(self, newest)?;
        if !schema.version.has(Rule::SchemaFolder) {
            return Err(Error::invalid(format!(
                "arrays of format version {} have one schema for ever; upgrade the array, and then evolve it",
                schema.version
            )));
        }
        check_consistent(change)?;
        // In this order what is added may rely on what is added before, and what is dropped may no longer be used.
        let mut changed: Vec<Enumeration> = Vec::new();
        for enumeration in &change.add_enumerations {
            if schema.enumeration_file(&enumeration.name).is_some() {
                return Err(Error::invalid(format!(
                    "the schema has an enumeration {:?} already; extend it, or take another name",
                    enumeration.name
                )));
            }
            enumeration.check_new()?;
            schema.enumerations.push((enumeration.name.clone(), String::new()));
            changed.push(enumeration.clone());
        }
        for (name, elements) in &change.extend_enumerations {
            changed.push(extended(self.enumeration(&schema, name)?, elements)?);
        }
        schema.attributes.extend(change.add_attributes.iter().cloned());
        for name in &change.drop_attributes {
            drop_attribute(&mut schema, name)?;
        }
        for name in &change.drop_enumerations {
            drop_enumeration(&mut schema, name)?;
        }
        if !change.current_domain.is_empty() {
            schema.current_domain = CurrentDomain::Rectangle(expanded(&schema, &change.current_domain)?);
        }
        schema.check()?;
        self.check_added(&schema, change, &changed)?;
        let time = SchemaTime { at: change.at, may_be_past: change.may_be_past };
        self.put_changed(schema, &changed, time, newest, &lock)
    }

    /// Checks that added attributes can index their enumerations, old and new ones those that grew, and that filters of
    /// added attributes can run.
    fn check_added(
        &self,
        schema: &ArraySchema,
        change: &SchemaChange,
        changed: &[Enumeration],
    ) -> Result<()> {
        check_attributes(schema, |name| changed.iter().find(|enumeration| enumeration.name == name))?;
        for attribute in &change.add_attributes {
            let other = attribute.enumeration.as_ref();
            if let Some(name) = other.filter(|name| changed.iter().all(|changed| changed.name != **name)) {
                self.enumeration(schema, name)?.check_indexed_by(attribute)?;
            }
            let Some((idx, _)) = schema.attribute(&attribute.name) else { continue };
            self.field_codec(schema, schema.write_version(), FieldId::Attribute(idx))?;
        }
        Ok(())
    }

    /// Puts the files of enumerations, then the schema that names them: a crash leaves files that nothing names.
    fn put_changed(
        &self,
        mut schema: ArraySchema,
        changed: &[Enumeration],
        time: SchemaTime,
        made_from: &str,
        lock: &SchemaLock,
    ) -> Result<TimestampedName> {
        let mut files = Vec::new();
        for enumeration in changed {
            let EnumerationFile { name, path, bytes } = self.enumeration_file(enumeration, schema.version)?;
            for (_, file) in schema.enumerations.iter_mut().filter(|(name, _)| *name == enumeration.name) {
                file.clone_from(&name);
            }
            files.push((path, bytes));
        }
        // A time that is wrong leaves nothing.
        self.newest_schema_name(time)?;
        for (path, bytes) in &files {
            self.store().put(&self.join(path), &[bytes])?;
        }
        self.put_schema(&schema, time, made_from, lock)
    }
}

/// Checks that no name is asked for twice, or both for one thing and its contrary.
fn check_consistent(change: &SchemaChange) -> Result<()> {
    let added = change.add_attributes.iter().map(|attribute| &attribute.name);
    let dropped = &change.drop_attributes;
    unique("attribute", "added and dropped", added.chain(dropped))?;
    let added = change.add_enumerations.iter().map(|enumeration| &enumeration.name);
    let extended = change.extend_enumerations.iter().map(|(name, _)| name);
    unique(
        "enumeration",
        "added, extended and dropped",
        added.chain(extended).chain(&change.drop_enumerations),
    )?;
    unique("dimension", "expanded", change.current_domain.iter().map(|(name, _)| name))
}

fn unique<'a>(what: &str, how: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match names.into_iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(Error::invalid(format!(
            "the {what} {twice:?} is named twice among what is {how}; make two evolutions of it"
        ))),
        None => Ok(()),
    }
}

fn extended(mut enumeration: Enumeration, elements: &[Vec<u8>]) -> Result<Enumeration> {
    if elements.is_empty() {
        return Err(Error::invalid(format!(
            "the enumeration {:?} is extended by nothing; give at least one element",
            enumeration.name
        )));
    }
    elements.iter().try_for_each(|element| enumeration.push(element))?;
    enumeration.check_new()?;
    Ok(enumeration)
}

fn drop_attribute(schema: &mut ArraySchema, name: &str) -> Result<()> {
    if schema.dimension(name).is_some() {
        return Err(Error::invalid(format!("{name:?} is a dimension, which cannot be dropped")));
    }
    let Some((idx, _)) = schema.attribute(name) else {
        let names: Vec<&str> = schema.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
        return Err(Error::invalid(format!(
            "there is no attribute {name:?} to drop; the attributes are {}",
            names.join(", ")
        )));
    };
    schema.attributes.remove(idx);
    Ok(())
}

fn drop_enumeration(schema: &mut ArraySchema, name: &str) -> Result<()> {
    if schema.enumeration_file(name).is_none() {
        let names: Vec<&str> = schema.enumerations.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::invalid(format!(
            "there is no enumeration {name:?} to drop; the enumerations are {}",
            names.join(", ")
        )));
    }
    if let Some(user) = schema.attributes.iter().find(|user| user.enumeration.as_deref() == Some(name)) {
        return Err(Error::invalid(format!(
            "the enumeration {name:?} is in use by attribute {:?}; drop that too",
            user.name
        )));
    }
    schema.enumerations.retain(|(other, _)| other != name);
    Ok(())
}

/// The current domain with some sides made longer.
fn expanded(schema: &ArraySchema, sides: &[(String, Extent)]) -> Result<Vec<Extent>> {
    let current = schema.current_domain.rectangle();
    let mut rectangle = Vec::with_capacity(schema.dimensions.len());
    for (dim, dimension) in schema.dimensions.iter().enumerate() {
        let old = current.and_then(|current| current.get(dim));
        let asked = sides.iter().find(|(name, _)| *name == dimension.name);
        let asked = asked.map(|(_, side)| dimension.within_zeros(side.clone()));
        let side = match (asked, old) {
            (Some(asked), Some(old)) if !asked.as_ref().covers(old.as_ref()) => {
                return Err(Error::invalid(format!(
                    "the current domain of dimension {:?} is {}, and can only grow; {} does not contain it",
                    dimension.name,
                    dimension.shown(old.as_ref()),
                    dimension.shown(asked.as_ref())
                )));
            }
            (Some(asked), _) => asked,
            (None, Some(old)) => old.clone(),
            (None, None) => whole(dimension)?,
        };
        rectangle.push(side);
    }
    match sides.iter().find(|(name, _)| schema.dimension(name).is_none()) {
        Some((name, _)) => {
            let names: Vec<&str> =
                schema.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
            Err(Error::invalid(format!(
                "there is no dimension {name:?}; the dimensions are {}",
                names.join(", ")
            )))
        }
        None => Ok(rectangle),
    }
}

/// All of a dimension, as a side of a current domain.
fn whole(dimension: &Dimension) -> Result<Extent> {
    match dimension.domain {
        Some((lo, hi)) => Ok(Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }),
        None => Err(Error::invalid(format!(
            "dimension {:?} is of strings and has no bounds to start from; give its current domain too",
            dimension.name
        ))),
    }
}
