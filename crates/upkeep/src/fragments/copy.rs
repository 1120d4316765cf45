//! Copying fragments to another array, file by file.
//!
//! Tiles are copied as they are; of the metadata the footer alone is written anew, as it names the schema. Order: data files,
//! metadata, and when everything of all fragments is durable their commits, in one file.

use crate::consolidate::commit_at_once;
use smalti_array::{ArrayPlace, Commits, Fragment, Listing, Snapshot};
use smalti_format::names::{
    CommitKind, FRAGMENT_METADATA_FILE, TimestampedName, commit_file_name, commit_path, fragment_path,
    last_part,
};
use smalti_format::{ArraySchema, CurrentDomain, Rule, Version};
use smalti_query::{Phase, Progress, Unit};
use smalti_store::{ByteRange, Store, StoreExt, join};
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;
use std::sync::Arc;

/// What of a file is in memory at once.
const PIECE_BYTE_LEN: u64 = 4 << 20;

/// Copies fragments, by name, to another array that has a schema like theirs. They keep their names and times. Returns their
/// names, oldest first.
///
/// Cells are copied as they stand in the fragments: those that a delete of the source hides are seen in the target, unless a
/// consolidation has marked them, and deletes of the target that are not older hold for them.
///
/// # Errors
/// `InvalidArgument` for names that are not those of fragments of the snapshot, when no schema of the target is like the fragment's
/// (the message names the difference), when enumerations differ, or cells lie outside of the target's current domain;
/// `Permission` when the arrays have different encryption keys; `AlreadyExists` when the target has such a fragment; `Io` when
/// upkeep of the target is running; `Cancelled`; what the stores report. Nothing is seen in the target then; before version 12,
/// and where it had some of them before, which is committed one after the other, a part may be. What a copy that was stopped left without a commit is made anew.
pub fn copy_fragments(
    from: &Snapshot,
    names: &[String],
    to: &ArrayPlace,
    progress: Option<Arc<Progress>>,
) -> Result<Vec<String>> {
    let progress = progress.unwrap_or_default();
    let _announced = progress.announce(&[Phase::Copying, Phase::Publishing]);
    let wanted = names.iter().map(|name| find(from, last_part(name)));
    let wanted = wanted.collect::<Result<Vec<&Arc<Fragment>>>>()?;
    let is_wanted = |fragment: &&Arc<Fragment>| wanted.iter().any(|one| one.name() == fragment.name());
    let fragments: Vec<&Arc<Fragment>> = from.fragments().iter().filter(is_wanted).collect();
    let key = |place: &ArrayPlace| place.cipher().map(|cipher| cipher.key.clone());
    if key(from.place()) != key(to) {
        return Err(Error::new(
            ErrorKind::Permission,
            "the arrays have different encryption keys, so fragments cannot be copied as they are; read the cells and write \
             them to the other array",
        )
        .at_uri(to.uri()));
    }
    let lock = to.upkeep_lock()?;
    let target = Snapshot::open(to.clone(), TimeRange::ALL)?;
    let schemas = target.schema_history()?;
    let listing = Listing::read(to, TimeRange::ALL, target.schema().is_dense())?;
    let replaced = listing.replaced.iter().map(|old| &old.fragment);
    let committed: HashSet<&str> =
        listing.fragments.iter().chain(replaced).map(|fragment| fragment.name.as_str()).collect();
    if let Some(fragment) = fragments.iter().find(|fragment| committed.contains(fragment.name().as_str())) {
        let message = format!("the other array has the fragment {} already", fragment.name());
        return Err(Error::new(ErrorKind::AlreadyExists, message).at_uri(to.uri()));
    }
    let copies = fragments
        .iter()
        .map(|fragment| Copied::new(from, fragment, &target, &schemas))
        .collect::<Result<Vec<_>>>()?;
    let folders: Vec<&str> = copies.iter().map(|copy| copy.folder.as_str()).collect();
    to.store().delete_folders(&folders)?;
    let byte_lens = copies.iter().map(Copied::byte_len).collect::<Result<Vec<u64>>>()?;
    progress.enter(Phase::Copying, Unit::Bytes, Some(byte_lens.iter().sum()));
    for (idx, copy) in copies.iter().enumerate() {
        if let Err(error) =
            copy.put_files(&progress).and_then(|()| progress.check()).and_then(|()| lock.confirm())
        {
            // What cannot be removed is without a commit, and nobody sees it.
            for begun in &copies[..=idx] {
                let _ = to.store().delete_folders(&[&begun.folder]);
            }
            return Err(error);
        }
    }
    progress.complete(Phase::Copying);
    progress.enter(Phase::Publishing, Unit::Fragments, Some(copies.len() as u64));
    commit(&copies, &target)?;
    progress.complete(Phase::Publishing);
    Ok(fragments.iter().map(|fragment| fragment.name().to_string()).collect())
}

fn find<'a>(from: &'a Snapshot, name: &str) -> Result<&'a Arc<Fragment>> {
    from.fragments().iter().find(|fragment| fragment.name().as_str() == name).ok_or_else(|| {
        Error::invalid(format!("there is no fragment {name:?}; `smalti fragments` lists those that are"))
    })
}

/// A fragment and where it goes.
struct Copied<'a> {
    fragment: &'a Fragment,
    from: &'a ArrayPlace,
    to: &'a ArrayPlace,
    /// The folder in the target's store.
    folder: String,
    /// The target's name of the schema.
    schema_name: String,
}

impl<'a> Copied<'a> {
    fn new(
        from: &'a Snapshot,
        fragment: &'a Fragment,
        target: &'a Snapshot,
        schemas: &[(String, ArraySchema)],
    ) -> Result<Self> {
        let (to, name) = (target.place(), fragment.name());
        let refused =
            |error: Error| error.context(format_args!("fragment {name} cannot be copied")).at_uri(to.uri());
        let alike = schemas.iter().find(|(_, schema)| difference(fragment.schema(), schema).is_none());
        let Some((schema_name, schema)) = alike else {
            let what = difference(fragment.schema(), target.schema()).unwrap_or_else(|| "the schema".into());
            return Err(refused(Error::invalid(format!("{what} differs in the other array"))));
        };
        check_labels(from, target, schema).map_err(refused)?;
        if let CurrentDomain::Rectangle(sides) = &target.schema().current_domain {
            let mut pairs = sides.iter().zip(fragment.non_empty_domain());
            if !pairs.all(|(side, extent)| side.as_ref().covers(extent.as_ref())) {
                return Err(refused(Error::invalid(
                    "it has cells outside of the other array's current domain; `smalti evolve` makes that larger",
                )));
            }
        }
        let version = name.fragment_version()?;
        let folder = to.join(&fragment_path(name, version));
        Ok(Copied { fragment, from: from.place(), to, folder, schema_name: schema_name.clone() })
    }

    /// The folder in the source's store.
    fn source(&self) -> Result<String> {
        let name = self.fragment.name();
        Ok(self.from.join(&fragment_path(name, name.fragment_version()?)))
    }

    /// The bytes of its files.
    fn byte_len(&self) -> Result<u64> {
        let entries = self.from.store().list(&self.source()?)?;
        Ok(entries.iter().filter(|entry| entry.is_file()).map(|entry| entry.byte_len).sum())
    }

    fn put_files(&self, progress: &Progress) -> Result<()> {
        let source = self.source()?;
        let store = self.from.store();
        for entry in store.list(&source)?.iter().filter(|entry| entry.is_file()) {
            if entry.name != FRAGMENT_METADATA_FILE {
                let path = join(&source, &entry.name);
                self.copy(&path, &entry.name, store.byte_len(&path)?, &[], progress)?;
            }
        }
        let path = join(&source, FRAGMENT_METADATA_FILE);
        let byte_len = store.byte_len(&path)?;
        let (kept_byte_len, end) = self.metadata_end(byte_len)?;
        self.copy(&path, FRAGMENT_METADATA_FILE, kept_byte_len, &end, progress)?;
        self.to.store().sync_folder(&self.folder)?;
        let (above, _) = self.folder.rsplit_once('/').unwrap_or_default();
        self.to.store().sync_folder(above)
    }

    /// How much of the metadata file is kept, and what follows.
    fn metadata_end(&self, byte_len: u64) -> Result<(u64, Vec<u8>)> {
        if !self.fragment.version().has(Rule::FooterLength) {
            return Ok((byte_len, Vec::new()));
        }
        let own = self.fragment.own_footer()?;
        let old_end = own.len() as u64 + size_of::<u64>() as u64;
        let kept = byte_len
            .checked_sub(old_end)
            .ok_or_else(|| Error::corrupt("the metadata file has become shorter").at_uri(self.from.uri()))?;
        let mut footer = self.fragment.footer().clone();
        footer.schema_name.clone_from(&self.schema_name);
        Ok((kept, footer.encode_file_end(&self.fragment.schema().shape())?))
    }

    /// Copies the beginning of a file, and puts something behind it.
    fn copy(&self, path: &str, name: &str, byte_len: u64, end: &[u8], progress: &Progress) -> Result<()> {
        let mut writer = self.to.store().create(&join(&self.folder, name))?;
        let mut start = 0;
        while start < byte_len {
            progress.check()?;
            let piece = ByteRange { start, byte_len: PIECE_BYTE_LEN.min(byte_len - start) };
            writer.write(&self.from.store().read_at(path, piece)?)?;
            start += piece.byte_len;
            progress.advance(Phase::Copying, Unit::Bytes, piece.byte_len);
        }
        writer.write(end)?;
        writer.finish()
    }
}

/// Commits all copies at one moment, where the target's version has consolidated commits, and never had one of them.
fn commit(copies: &[Copied<'_>], target: &Snapshot) -> Result<()> {
    let mut names = Vec::with_capacity(copies.len());
    for copy in copies {
        let (name, version) = (copy.fragment.name(), copy.fragment.name().fragment_version()?);
        // Before that the metadata file is the commit.
        if version.has(Rule::CommitFiles) {
            names.push((name, version));
        }
    }
    let (to, version) = (target.place(), target.schema().write_version());
    // Of fragments that the target had before and lost, an ignore file takes back what consolidated commits say.
    let ignored = Commits::read(to)?.ignored;
    let is_ignored = |(name, version): &(&TimestampedName, Version)| {
        ignored.contains(&commit_file_name(name, CommitKind::Write, *version))
    };
    if names.len() > 1 && version.has(Rule::CommitsFolder) && !names.iter().any(is_ignored) {
        let names: Vec<&TimestampedName> = names.into_iter().map(|(name, _)| name).collect();
        return commit_at_once(to, version, &names);
    }
    names.into_iter().try_for_each(|(name, version)| {
        to.store().put(&to.join(&commit_path(name, CommitKind::Write, version)), &[])
    })
}

/// What decides the meaning of a fragment's bytes and differs between two schemas, if anything does.
fn difference(own: &ArraySchema, other: &ArraySchema) -> Option<String> {
    let general = [
        ("the format version", own.version == other.version),
        ("the array type", own.array_type == other.array_type),
        ("the number of dimensions", own.dimensions.len() == other.dimensions.len()),
        ("the order of tiles", own.tile_order == other.tile_order),
        ("the order of cells", own.cell_order == other.cell_order),
        ("the capacity", own.capacity == other.capacity),
        ("whether duplicates are allowed", own.allows_dups == other.allows_dups),
        ("the filters of coordinates", own.coords_filters == other.coords_filters),
        ("the filters of offsets", own.offsets_filters == other.offsets_filters),
        ("the filters of validity", own.validity_filters == other.validity_filters),
    ];
    if let Some((what, _)) = general.iter().find(|(_, is_alike)| !is_alike) {
        return Some((*what).to_owned());
    }
    let mut dimensions = own.dimensions.iter().zip(&other.dimensions);
    if let Some((dimension, _)) = dimensions.find(|(own, other)| own != other) {
        return Some(format!("the dimension {:?}", dimension.name));
    }
    let mut attributes = own.attributes.iter().zip(&other.attributes);
    if let Some((attribute, _)) = attributes.find(|(own, other)| own != other) {
        return Some(format!("the attribute {:?}", attribute.name));
    }
    let longer = if own.attributes.len() > other.attributes.len() { own } else { other };
    let surplus = longer.attributes.get(own.attributes.len().min(other.attributes.len()));
    surplus.map(|attribute| format!("the attribute {:?}, which one of them lacks,", attribute.name))
}

/// Checks that codes mean the same labels in both arrays.
fn check_labels(from: &Snapshot, target: &Snapshot, schema: &ArraySchema) -> Result<()> {
    for name in schema.attributes.iter().filter_map(|attribute| attribute.enumeration.as_deref()) {
        // An enumeration that was dropped since has no labels to compare.
        if from.schema().enumeration_file(name).is_none() || target.schema().enumeration_file(name).is_none()
        {
            continue;
        }
        let (own, other) = (from.enumeration(name)?, target.enumeration(name)?);
        let is_alike = (own.datatype, own.cell_val_num) == (other.datatype, other.cell_val_num)
            && other.data.starts_with(&own.data)
            && other.offsets.starts_with(&own.offsets)
            && (own.offsets.len() == other.offsets.len()
                || other.offsets.get(own.offsets.len()) == Some(&(own.data.len() as u64))
                || own.offsets.is_empty());
        if !is_alike {
            return Err(Error::invalid(format!(
                "the labels of the enumeration {name:?} are not the first ones of the other array's"
            )));
        }
    }
    Ok(())
}
