//! What happened to an array or group, change by change.

use crate::{Array, Fragment, Group};
use smalti_array::{
    Commits, Fragment as EngineFragment, History, ListedFragment, Listing, Snapshot, purged_at,
};
use smalti_format::names::{METADATA_FOLDER, TimestampedName};
use smalti_format::{ArraySchema, CurrentDomain};
use smalti_query::condition::{Condition, told};
use smalti_query::{Aggregate, AggregateRequest, AggregateValue};
use smalti_types::{Error, ErrorKind, Result, Scalar, TimeRange};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A change of an array or group; made by [`Array::history`] and [`Group::history`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// When, in milliseconds since 1970: an instant but for what was merged, which has the times of all that was. When something was
    /// merged, arrays do not note.
    pub time: TimeRange,
    /// The name of the fragment, commit or file that holds the change.
    pub name: String,
    /// What changed.
    pub event: Event,
}

/// What changed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The array was created; arrays before format version 10 do not note when, and have the time 0.
    Created {
        /// The format version.
        format_version: u32,
    },
    /// Cells were written.
    Write {
        /// The number of cells, of a dense fragment those of whole tiles; `None` beyond 64 bits.
        cell_count: Option<u64>,
        /// Bytes on disk.
        byte_len: u64,
        /// The fragment that it was merged into since, if that is told.
        merged_into: Option<String>,
    },
    /// Fragments were merged.
    Merge {
        /// The fragments that were merged; none where that is not told any more.
        inputs: Vec<String>,
        /// Whether what was merged was vacuumed, so that earlier times are not told apart any more.
        is_vacuumed: bool,
        /// Up to which time deleted cells were purged, in milliseconds since 1970.
        purged_until: Option<u64>,
        /// As in [`Write`](Event::Write).
        cell_count: Option<u64>,
        /// Bytes on disk.
        byte_len: u64,
        /// As in [`Write`](Event::Write).
        merged_into: Option<String>,
    },
    /// Cells were deleted.
    Delete {
        /// Which; `None` where the condition is too long to tell, or names fields that are no more.
        condition: Option<Condition>,
    },
    /// The schema changed.
    Evolution {
        /// What did, each in words.
        changes: Vec<String>,
    },
    /// Metadata was written.
    Metadata {
        /// Keys that were set.
        put: Vec<String>,
        /// Keys that were deleted.
        deleted: Vec<String>,
    },
    /// The array of a dimension label changed: its labels were written, or what was written of them merged.
    Label {
        /// The name of the label.
        label: String,
        /// What changed, a [`Write`](Event::Write) or [`Merge`](Event::Merge).
        event: Box<Event>,
    },
    /// Files of metadata were merged.
    MetadataMerge {
        /// The files that were merged; none where that is not told any more.
        inputs: Vec<String>,
    },
    /// The members of a group changed.
    Members {
        /// The names of members that came, or their URIs, with where they are.
        added: Vec<(String, String)>,
        /// The names of members that went, or their URIs.
        removed: Vec<String>,
    },
}

impl Array {
    /// What happened to the array in the time range of the handle, oldest first, as far as the array tells: writes, merges, deletes,
    /// changes of the schema, of metadata and of dimension labels. What was merged is told as long as it was not vacuumed.
    ///
    /// # Errors
    /// What listing the array and reading its schemas, footers, deletes and metadata report.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::Event;
    /// # let schema = Schema::sparse().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://history-docs", &schema)?;
    /// array.write().column("x", &[1, 2]).column("a", &[10, 20]).at(1000).commit()?;
    /// array.delete("a > 15".parse()?).at(2000).commit()?;
    /// let history = array.reopen()?.history()?;
    /// let told: Vec<String> = history.iter().map(|entry| format!("{}: {}", entry.time.end, entry.event)).collect();
    /// assert_eq!(told[0], "1000: wrote 2 cells");
    /// assert_eq!(told[1], "2000: deleted cells where a > 15");
    /// assert!(matches!(history[2].event, Event::Created { .. }));
    /// assert_eq!(array.deleted_cell_count(&history[1])?, Some(1));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn history(&self) -> Result<Vec<HistoryEntry>> {
        self.run(|place| {
            let snapshot = Snapshot::open(place.clone(), TimeRange::ALL)?;
            let mut schemas: Vec<(String, Arc<ArraySchema>)> = snapshot
                .schema_history()?
                .into_iter()
                .map(|(name, schema)| (name, Arc::new(schema)))
                .collect();
            let newest_first: Vec<&ArraySchema> = schemas.iter().map(|(_, schema)| &**schema).collect();
            let mut entries = deletes(&snapshot, &newest_first)?;
            schemas.reverse();
            entries.extend(evolutions(&snapshot, &schemas));
            entries.extend(fragments(&snapshot, &schemas)?);
            entries.extend(labels(&snapshot)?);
            entries.extend(metadata(place)?);
            Ok(in_range(entries, self.time()))
        })
    }

    /// How many cells a [delete](Event::Delete) of the history took: those that could be seen right before it. `None` for other
    /// entries, and where the condition is not told. This reads the fields that the condition names.
    ///
    /// # Errors
    /// As aggregates.
    pub fn deleted_cell_count(&self, entry: &HistoryEntry) -> Result<Option<u64>> {
        let Event::Delete { condition: Some(condition) } = &entry.event else { return Ok(None) };
        let Some(before) = entry.time.end.checked_sub(1) else { return Ok(Some(0)) };
        self.taken_cell_count(before, condition).map(Some)
    }

    /// The number of cells at a time that a delete by a condition takes: all but those of which it is known that they stay.
    pub(crate) fn taken_cell_count(&self, until: u64, condition: &Condition) -> Result<u64> {
        self.run(|place| {
            let snapshot = Snapshot::open(place.clone(), TimeRange::until(until))?;
            let count = |condition| {
                let request = AggregateRequest {
                    aggregates: vec![Aggregate::count()],
                    condition,
                    ..AggregateRequest::default()
                };
                match smalti_query::aggregate(&snapshot, &request)?.first() {
                    Some(AggregateValue::Number(Scalar::U64(count))) => Ok(*count),
                    other => Err(Error::invalid(format!("cells cannot be counted: {other:?}"))),
                }
            };
            Ok(count(None)?.saturating_sub(count(Some(condition.clone().not()))?))
        })
    }
}

impl Group {
    /// What happened to the group in the time range of the handle, oldest first: members that came and went, changes of metadata.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    ///
    /// ```
    /// use smalti::Group;
    ///
    /// let top = Group::create("mem://group-history-docs")?;
    /// Group::create("mem://group-history-docs/sub")?;
    /// top.write_members().add("sub").at(1000).commit()?;
    /// top.write_members().remove("sub").at(2000).commit()?;
    /// let told: Vec<String> = top.history()?.iter().map(|entry| entry.event.to_string()).collect();
    /// assert_eq!(told, ["added sub", "removed sub"]);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn history(&self) -> Result<Vec<HistoryEntry>> {
        let changes = self.place().member_changes()?.into_iter().map(|change| HistoryEntry {
            time: change.name.range(),
            name: change.name.to_string(),
            event: Event::Members {
                added: change
                    .added
                    .iter()
                    .map(|member| (member.key().to_owned(), member.uri.clone()))
                    .collect(),
                removed: change.removed.iter().map(|member| member.key().to_owned()).collect(),
            },
        });
        let mut entries: Vec<HistoryEntry> = changes.collect();
        entries.extend(metadata(self.place())?);
        Ok(in_range(entries, self.time_range()))
    }
}

/// Entries in the order of their times; at one time the schema comes first, and what was merged behind what it was merged of.
fn in_range(mut entries: Vec<HistoryEntry>, time: TimeRange) -> Vec<HistoryEntry> {
    entries.retain(|entry| (time.start..=time.end).contains(&entry.time.end));
    fn rank_of(event: &Event) -> u8 {
        match event {
            Event::Created { .. } => 0,
            Event::Evolution { .. } => 1,
            Event::Write { .. } | Event::Metadata { .. } | Event::Members { .. } => 2,
            Event::Delete { .. } => 3,
            Event::Merge { .. } | Event::MetadataMerge { .. } => 4,
            Event::Label { event, .. } => rank_of(event),
        }
    }
    let rank = |entry: &HistoryEntry| rank_of(&entry.event);
    let key = |entry: &HistoryEntry| (entry.time.end, rank(entry), u64::MAX - entry.time.start);
    entries.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name)));
    entries
}

fn deletes(snapshot: &Snapshot, schemas: &[&ArraySchema]) -> Result<Vec<HistoryEntry>> {
    let enumeration = |name: &str| {
        let mut with = schemas.iter().filter(|schema| schema.enumeration_file(name).is_some());
        with.find_map(|schema| snapshot.place().enumeration(schema, name).ok()).map(Arc::new)
    };
    let entry = |delete: &smalti_array::DeleteCommit| HistoryEntry {
        time: delete.name.range(),
        name: delete.name.to_string(),
        event: Event::Delete { condition: told(&delete.stays, schemas, &enumeration) },
    };
    Ok(snapshot.deletes()?.iter().map(entry).collect())
}

/// Schemas, oldest first, as changes.
fn evolutions(snapshot: &Snapshot, schemas: &[(String, Arc<ArraySchema>)]) -> Vec<HistoryEntry> {
    let mut before: Option<&ArraySchema> = None;
    let entry = |(name, schema): &(String, Arc<ArraySchema>), before: Option<&ArraySchema>| HistoryEntry {
        time: TimestampedName::parse(name).map_or(TimeRange { start: 0, end: 0 }, |name| name.range()),
        name: name.clone(),
        event: match before {
            None => Event::Created { format_version: schema.version.number() },
            Some(before) => Event::Evolution { changes: differences(snapshot, before, schema) },
        },
    };
    let mut entries = Vec::with_capacity(schemas.len());
    for named in schemas {
        entries.push(entry(named, before));
        before = Some(&named.1);
    }
    entries
}

/// What is different in a newer schema, in words.
fn differences(snapshot: &Snapshot, old: &ArraySchema, new: &ArraySchema) -> Vec<String> {
    let mut changes = Vec::new();
    if old.version != new.version {
        changes.push(format!("format version {} to {}", old.version, new.version));
    }
    for attribute in &new.attributes {
        match old.attribute(&attribute.name) {
            None => changes.push(format!("added attribute {} {}", attribute.name, attribute.datatype)),
            Some((_, before)) if before != attribute => {
                changes.push(format!("changed attribute {}", attribute.name));
            }
            Some(_) => {}
        }
    }
    for attribute in old.attributes.iter().filter(|attribute| new.attribute(&attribute.name).is_none()) {
        changes.push(format!("dropped attribute {}", attribute.name));
    }
    for (name, file) in &new.enumerations {
        let count = |schema: &ArraySchema| {
            snapshot.place().enumeration(schema, name).ok().map(|labels| labels.element_count())
        };
        match old.enumeration_file(name) {
            None => {
                let labels =
                    count(new).map_or(String::new(), |count| format!(" of {}", counted(count, "label")));
                changes.push(format!("added enumeration {name}{labels}"));
            }
            Some(before) if before != file => {
                let more = count(new).zip(count(old)).and_then(|(new, old)| new.checked_sub(old));
                let more = more.map_or(String::new(), |more| format!(" by {}", counted(more, "label")));
                changes.push(format!("extended enumeration {name}{more}"));
            }
            Some(_) => {}
        }
    }
    for (name, _) in old.enumerations.iter().filter(|(name, _)| new.enumeration_file(name).is_none()) {
        changes.push(format!("dropped enumeration {name}"));
    }
    if old.current_domain != new.current_domain {
        changes.push(domain_change(old, new));
    }
    if changes.is_empty() {
        changes.push("schema written anew".into());
    }
    changes
}

/// A number of things: `1 label`, `2 labels`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn domain_change(old: &ArraySchema, new: &ArraySchema) -> String {
    let CurrentDomain::Rectangle(extents) = &new.current_domain else {
        return "dropped the current domain".into();
    };
    let before = match &old.current_domain {
        CurrentDomain::Rectangle(extents) => Some(extents),
        _ => None,
    };
    let sides = new.dimensions.iter().zip(extents).enumerate().filter_map(|(idx, (dimension, extent))| {
        if before.and_then(|before| before.get(idx)) == Some(extent) {
            return None;
        }
        let json = crate::json::extent_to_json(dimension.datatype, extent, true);
        let end = |idx: usize| match json.get(idx) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(other) if !other.is_null() => other.to_string(),
            _ => String::new(),
        };
        Some(format!("{} {}..{}", dimension.name, end(0), end(1)))
    });
    let sides: Vec<String> = sides.collect();
    let verb = if before.is_some() { "expanded" } else { "set" };
    format!("{verb} the current domain to {}", sides.join(", "))
}

fn fragments(snapshot: &Snapshot, schemas: &[(String, Arc<ArraySchema>)]) -> Result<Vec<HistoryEntry>> {
    let place = snapshot.place();
    let listing = Listing::read(place, TimeRange::ALL, snapshot.schema().is_dense())?;
    let commits = Commits::read(place)?;
    let gone: HashMap<&str, &str> =
        commits.gone.iter().map(|(name, path)| (name.as_str(), path.as_str())).collect();
    let mut merged_into: HashMap<&str, &str> = HashMap::new();
    for vacuum in &listing.vacuums {
        // Lists name what was merged in steps too: the first of them is the one that did.
        vacuum.replaces.iter().for_each(|name| {
            merged_into.entry(name).or_insert(vacuum.name.as_str());
        });
    }
    let by_name: HashMap<&str, &Arc<ArraySchema>> =
        schemas.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
    let schema_of = |name: &str| match by_name.get(name) {
        Some(schema) => Ok(Arc::clone(schema)),
        None => Err(Error::corrupt(format!("the schema {name:?} is missing"))),
    };
    let shown: HashSet<&str> = snapshot.fragments().iter().map(|fragment| fragment.name().as_str()).collect();
    let replaced =
        listing.replaced.iter().filter(|replaced| replaced.is_present).map(|replaced| &replaced.fragment);
    let others =
        listing.fragments.iter().chain(replaced).filter(|listed| !shown.contains(listed.name.as_str()));
    let open = |listed: &ListedFragment| EngineFragment::open_alone(place, listed, schema_of).map(Arc::new);
    let others = others.map(open).collect::<Result<Vec<_>>>()?;
    let entry = |fragment: &Arc<EngineFragment>| {
        let (name, time) = (fragment.name(), fragment.name().range());
        let vacuum = listing.vacuums.iter().find(|vacuum| vacuum.name == *name);
        let (cell_count, byte_len) = (Fragment::new(Arc::clone(fragment)).cell_count(), fragment.byte_len()?);
        let merged_into = merged_into.get(name.as_str()).map(|&name| name.to_owned());
        let is_merge = vacuum.is_some() || gone.contains_key(name.as_str()) || time.start < time.end;
        let event = if is_merge {
            let inputs = vacuum.map_or_else(Vec::new, |vacuum| vacuum.replaces.clone());
            let is_there = |input: &String| {
                listing.replaced.iter().any(|known| known.is_present && known.fragment.name.as_str() == input)
            };
            let purged_until =
                gone.get(name.as_str()).map(|path| purged_at(place, path)).transpose()?.flatten();
            let is_vacuumed = !inputs.iter().all(is_there) || inputs.is_empty();
            Event::Merge { is_vacuumed, inputs, purged_until, cell_count, byte_len, merged_into }
        } else {
            Event::Write { cell_count, byte_len, merged_into }
        };
        Ok(HistoryEntry { time, name: name.to_string(), event })
    };
    snapshot.fragments().iter().chain(&others).map(entry).collect()
}

/// Changes of the arrays of labels; those outside the array are not this array's.
fn labels(snapshot: &Snapshot) -> Result<Vec<HistoryEntry>> {
    let mut entries = Vec::new();
    for label in &snapshot.schema().dimension_labels {
        let array = match snapshot.open_label(label) {
            Err(error) if error.kind() == ErrorKind::Unsupported => continue,
            array => array?,
        };
        let schemas = array.schema_history()?.into_iter().map(|(name, schema)| (name, Arc::new(schema)));
        let schemas: Vec<(String, Arc<ArraySchema>)> = schemas.collect();
        entries.extend(fragments(&array, &schemas)?.into_iter().map(|entry| HistoryEntry {
            event: Event::Label { label: label.name.clone(), event: Box::new(entry.event) },
            ..entry
        }));
    }
    Ok(entries)
}

fn metadata(place: &smalti_array::ArrayPlace) -> Result<Vec<HistoryEntry>> {
    let history = History::read(place, METADATA_FOLDER)?;
    let entry = |(name, _): &(TimestampedName, u64)| {
        let vacuum = history.vacuums.iter().find(|vacuum| vacuum.name == *name);
        let range = name.range();
        let event = if vacuum.is_some() || range.start < range.end {
            Event::MetadataMerge { inputs: vacuum.map_or_else(Vec::new, |vacuum| vacuum.list.names.clone()) }
        } else {
            let (mut put, mut deleted) = (Vec::new(), Vec::new());
            for (key, value) in place.merged_metadata(std::slice::from_ref(name))? {
                if value.is_some() { &mut put } else { &mut deleted }.push(key);
            }
            Event::Metadata { put, deleted }
        };
        Ok(HistoryEntry { time: range, name: name.to_string(), event })
    };
    history.files.iter().map(entry).collect()
}

/// In a few words, without the name.
impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cells = |count: &Option<u64>| match count {
            Some(1) => "1 cell".to_owned(),
            Some(count) => format!("{count} cells"),
            None => "cells beyond 64 bits".to_owned(),
        };
        // How many were merged is gone with the list of them, which a vacuum removes last.
        let files = |count: usize, what: &str| match count {
            0 => format!("{what}s"),
            count => counted(count, what),
        };
        match self {
            Event::Created { format_version } => write!(f, "created, format version {format_version}"),
            Event::Write { cell_count, merged_into, .. } => {
                write!(f, "wrote {}", cells(cell_count))?;
                if merged_into.is_some() { f.write_str(", merged since") } else { Ok(()) }
            }
            Event::Merge { inputs, is_vacuumed, purged_until, cell_count, merged_into, .. } => {
                write!(f, "merged {} into one of {}", files(inputs.len(), "fragment"), cells(cell_count))?;
                if *is_vacuumed {
                    f.write_str(", and vacuumed them")?;
                }
                if purged_until.is_some() {
                    f.write_str(", deleted cells purged")?;
                }
                if merged_into.is_some() { f.write_str(", merged since") } else { Ok(()) }
            }
            Event::Delete { condition: Some(condition) } => write!(f, "deleted cells where {condition}"),
            Event::Delete { condition: None } => {
                f.write_str("deleted cells by a condition that cannot be told")
            }
            Event::Evolution { changes } => f.write_str(&changes.join("; ")),
            Event::Metadata { put, deleted } => {
                let parts = [("put", put), ("deleted", deleted)];
                let parts = parts.iter().filter(|(_, keys)| !keys.is_empty());
                let parts: Vec<String> =
                    parts.map(|(verb, keys)| format!("{verb} {}", keys.join(", "))).collect();
                f.write_str(&parts.join("; "))
            }
            Event::MetadataMerge { inputs } => {
                let vacuumed = if inputs.is_empty() { ", and vacuumed them" } else { "" };
                write!(f, "merged {}{vacuumed}", files(inputs.len(), "file"))
            }
            Event::Label { label, event } => write!(f, "label {label}: {event}"),
            Event::Members { added, removed } => {
                let added: Vec<&str> = added.iter().map(|(name, _)| name.as_str()).collect();
                let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
                let parts = [("added", added), ("removed", removed)];
                let parts = parts.iter().filter(|(_, names)| !names.is_empty());
                let parts: Vec<String> =
                    parts.map(|(verb, names)| format!("{verb} {}", names.join(", "))).collect();
                f.write_str(&parts.join("; "))
            }
        }
    }
}
