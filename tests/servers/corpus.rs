//! Arrays that releases of libtiledb wrote, copied into a bucket of the server in this process: they say there what they say on the disk.
//!
//! A third of them in each run; all of them where the variable `SMALTI_LONG` is 1.

#[path = "../integration/corpus/archive.rs"]
mod archive;

use crate::server::{Server as _, s3s};
use archive::Archive;
use rayon::prelude::*;
use smalti::arrow_array::RecordBatch;
use smalti::{Array, DigestOptions, Group, ObjectKind, Options, Schema, Value, prelude::*};
use smalti_store::{NewFile, Store};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The versions that there are archives of.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=23;

/// What is seen of an array at a time; errors by their kinds.
#[derive(Debug, PartialEq)]
struct Seen {
    schema: Schema,
    fragments: Vec<String>,
    metadata: Result<Vec<(String, Value)>, ErrorKind>,
    cells: Result<RecordBatch, ErrorKind>,
    digest: Result<u128, ErrorKind>,
}

/// Reads everything; of a dense array what was written.
fn seen(uri: &str, options: &Options) -> smalti::Result<Seen> {
    let array = Array::open_with(uri, options)?;
    let schema = array.schema();
    let mut read = array.read().order(Layout::RowMajor).limit(10_000);
    for (dimension, extent) in schema.dimensions.iter().zip(array.non_empty_extents()?.unwrap_or_default()) {
        read = read.extent(&dimension.name, extent);
    }
    Ok(Seen {
        fragments: array.fragments()?.iter().map(|fragment| fragment.name().to_owned()).collect(),
        metadata: array.metadata().map(|all| pairs(&all)).map_err(|error| error.kind()),
        cells: read.collect().map_err(|error| error.kind()),
        digest: array
            .digest(&DigestOptions::default())
            .map(|digest| digest.value)
            .map_err(|error| error.kind()),
        schema,
    })
}

fn pairs(metadata: &smalti::Metadata) -> Vec<(String, Value)> {
    metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What is seen of a group: its members and its metadata.
type SeenGroup = (Vec<(String, String, Option<ObjectKind>)>, Vec<(String, Value)>);

fn seen_group(uri: &str, options: &Options) -> smalti::Result<SeenGroup> {
    let group = Group::open_with(uri, options)?;
    let members = group.members()?;
    let members =
        members.iter().map(|member| (member.key().to_owned(), member.uri().to_owned(), member.kind()));
    Ok((members.collect(), pairs(&group.metadata()?)))
}

/// The ends of the times of all fragments, the first and the last and one between them, and the end of time.
fn times(uri: &str, options: &Options) -> Vec<u64> {
    let fragments = Array::open_with(uri, options).and_then(|array| array.fragments()).unwrap_or_default();
    let ends: BTreeSet<u64> = fragments.iter().map(|fragment| fragment.time().end).collect();
    let ends: Vec<u64> = ends.into_iter().collect();
    let few = [0, ends.len() / 2, ends.len().saturating_sub(1)];
    let mut times: Vec<u64> = few.iter().filter_map(|&idx| ends.get(idx).copied()).collect();
    times.dedup();
    times.push(u64::MAX);
    times
}

/// The files below a folder, with their paths in it.
fn files(folder: &Path, path: &str, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{path}/{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), &path, found),
            false => found.push((path, std::fs::read(entry.path()).unwrap())),
        }
    }
}

fn copy(store: &dyn Store, folder: &Path, path: &str) {
    let mut found = Vec::new();
    files(folder, path, &mut found);
    let parts: Vec<[&[u8]; 1]> = found.iter().map(|(_, content)| [content.as_slice()]).collect();
    let files = found.iter().zip(&parts).map(|((path, _), parts)| NewFile { path, parts });
    store.put_batch(&files.collect::<Vec<_>>()).unwrap();
}

/// The kind of an error, for comparison: messages have the addresses.
fn by_kind<T>(result: smalti::Result<T>) -> Result<T, ErrorKind> {
    result.map_err(|error| error.kind())
}

/// Compares a case on the disk with its copy in the bucket.
fn check(case: &Path, bucket: &str, store: &dyn Store) {
    let name = case.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(case.join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let key = expected["encryption"]["key"].as_str().map(|key| EncryptionKey::new(key.as_bytes()).unwrap());
    let with_key = |options: Options| match &key {
        Some(key) => options.key(key.clone()),
        None => options,
    };
    let near = case.join("array").display().to_string();
    let far = s3s().uri(bucket, &format!("{name}/array"));
    copy(store, &case.join("array"), &format!("{name}/array"));
    let of_near = with_key(Options::new());
    let of_far = with_key(Options::new().context(&s3s().context()));
    if expected.get("group").is_some() {
        let wanted = by_kind(seen_group(&near, &of_near));
        assert_eq!(by_kind(seen_group(&far, &of_far)), wanted, "{name}");
        assert!(wanted.is_ok(), "{name}: {wanted:?}");
        return;
    }
    for time in times(&near, &of_near) {
        let wanted = by_kind(seen(&near, &of_near.clone().at(time)));
        let found = by_kind(seen(&far, &of_far.clone().at(time)));
        assert!(found == wanted, "{name} at {time} is {found:?}, on the disk {wanted:?}");
    }
}

/// Checks cases of a version side by side, and returns how many.
fn check_version(version: u32, is_long: bool) -> usize {
    let archive = Archive::unpack(version);
    let bucket = s3s().new_bucket();
    let store = s3s().store(&bucket);
    let cases = archive.cases().into_iter().enumerate();
    let chosen = cases.filter(|(idx, _)| is_long || (idx + version as usize).is_multiple_of(3));
    let chosen: Vec<PathBuf> = chosen.map(|(_, case)| case).collect();
    chosen.par_iter().for_each(|case| check(case, &bucket, &*store));
    chosen.len()
}

#[test]
fn old_arrays_say_in_a_bucket_what_they_say_on_the_disk() {
    let is_long = std::env::var("SMALTI_LONG").is_ok_and(|long| long == "1");
    let count: usize = VERSIONS.map(|version| check_version(version, is_long)).sum();
    println!("{count} arrays and groups");
    assert!(count > 600, "{count}");
}
