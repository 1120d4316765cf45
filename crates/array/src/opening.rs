//! What opening an array will ask of its store, asked for early: on a distant store each question alone would be a round trip.
//!
//! Three rounds open an array, however many fragments it has: the listings of its folders; the schema, the lists of commits and the newest
//! consolidated fragment metadata that these name; the footers and delete commits that are in neither. Where there are no such lists, the footers
//! come with the schema. Opening goes the same way on every store, and finds here what was asked for.

use crate::commits::MAX_LIST_BYTE_LEN;
use crate::listing::{MAX_GONE_BYTE_LEN, is_visible, newest_meta, schema_paths};
use crate::{ArrayPlace, Fragment, ListedDelete, ListedFragment};
use smalti_format::Rule;
use smalti_format::names::{
    COMMITS_FOLDER, CommitKind, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER, LABELS_FOLDER, SCHEMA_FOLDER,
    TimestampedName, parse_commit_file, parse_gone, parse_pending_vacuum,
};
use smalti_store::{AheadStore, Entry, Page, Request, Store, join};
use smalti_types::TimeRange;
use std::collections::HashSet;
use std::sync::Arc;

/// The folders of fragments from before there were commit files, among the entries of an array's folder.
fn old_names(root: &[Entry]) -> impl Iterator<Item = &str> {
    let is_old = |entry: &&Entry| {
        let listed = TimestampedName::parse(&entry.name).and_then(ListedFragment::named);
        entry.is_folder() && listed.is_ok_and(|listed| !listed.version.has(Rule::CommitFiles))
    };
    root.iter().filter(is_old).map(|entry| entry.name.as_str())
}

/// The folder in an array's root that holds what repairs set aside, and copies of what they replaced. No reader looks into it.
pub const ASIDE_FOLDER: &str = "__aside";

/// Schemas that are asked for beside the one that counts: fragments that were written before it name them.
const OLDER_SCHEMA_COUNT: usize = 4;

impl ArrayPlace {
    /// The same place for opening the array once, and what asks for its files early; `None` where that is not worth it.
    pub(crate) fn for_opening(&self) -> (ArrayPlace, Option<Arc<AheadStore>>) {
        if !self.store().is_distant() {
            return (self.clone(), None);
        }
        let ahead = Arc::new(AheadStore::new(Arc::clone(self.store())));
        (self.with_store(ahead.clone()), Some(ahead))
    }

    /// Asks for what listings name: those of the first round, and the files of the second. Errors are found again by who opens.
    ///
    /// Returns some of the folders of fragments, where they are more than a page of a listing, and nobody needs to know all of them: that is so where all
    /// that the commits say fits into a page, and no fragment is merged whose inputs are still there.
    pub(crate) fn announce_listed(&self, ahead: &AheadStore, time: TimeRange) -> Option<Page> {
        let list = |folder: &str| Request::List { folder: self.join(folder) };
        let page = |folder: &str| Request::Page { folder: self.join(folder) };
        let small = Request::Lists {
            folder: self.path().to_owned(),
            below: [SCHEMA_FOLDER, FRAGMENT_META_FOLDER].map(str::to_owned).to_vec(),
            without: [COMMITS_FOLDER, FRAGMENTS_FOLDER, LABELS_FOLDER].map(str::to_owned).to_vec(),
        };
        ahead.announce(vec![small, page(COMMITS_FOLDER), page(FRAGMENTS_FOLDER)]);
        let some = |folder: &str| ahead.announced_page(&self.join(folder)).filter(|page| !page.is_whole);
        let some_folders = some(FRAGMENTS_FOLDER);
        let has_all_commits = some(COMMITS_FOLDER).is_none();
        if !has_all_commits {
            ahead.announce(vec![list(COMMITS_FOLDER), list(FRAGMENTS_FOLDER)]);
        }
        let listed = |folder: String| ahead.announced_list(&folder).unwrap_or_default();
        let root = listed(self.path().to_owned());
        let [schemas, commits, meta] =
            [SCHEMA_FOLDER, COMMITS_FOLDER, FRAGMENT_META_FOLDER].map(|folder| listed(self.join(folder)));
        if root.iter().any(|entry| entry.name == ASIDE_FOLDER) {
            self.distrust_names();
        }
        let is_merge = |entry: &Entry| {
            parse_pending_vacuum(&entry.name).is_some()
                || parse_commit_file(&entry.name).is_some_and(|(_, kind)| kind == CommitKind::Vacuum)
        };
        let are_some_enough = has_all_commits && !root.iter().chain(&commits).any(is_merge);
        let some_folders = some_folders.filter(|_| are_some_enough);
        let tail = |path: String, byte_len: u64| Request::Tail { path, byte_len };
        let tile_byte_len = self.tile_file_byte_len();
        let mut wanted: Vec<Request> = schema_paths(self, &root, &schemas, time)
            .into_iter()
            .take(1 + OLDER_SCHEMA_COUNT)
            .map(|path| tail(path, tile_byte_len))
            .collect();
        let schema_count = wanted.len();
        for (folder, entries) in [("", &root), (COMMITS_FOLDER, &commits)] {
            for entry in entries.iter().filter(|entry| entry.is_file()) {
                let path = self.join(&join(folder, &entry.name));
                let is_list = match parse_commit_file(&entry.name) {
                    Some((_, CommitKind::Vacuum)) => true,
                    Some((_, CommitKind::Consolidated | CommitKind::Ignore)) => !folder.is_empty(),
                    Some(_) => false,
                    None => parse_pending_vacuum(&entry.name).is_some(),
                };
                if is_list {
                    wanted.push(tail(path, MAX_LIST_BYTE_LEN));
                } else if time.end != u64::MAX && parse_gone(&entry.name).is_some() {
                    wanted.push(tail(path, MAX_GONE_BYTE_LEN));
                }
            }
        }
        let has_lists = wanted.len() > schema_count;
        // Fragments of these versions are there if their metadata is; its bytes follow in the third round.
        wanted.extend(old_names(&root).map(|name| Request::List { folder: self.join(name) }));
        let folders = match &some_folders {
            Some(_) => Vec::new(),
            None => {
                ahead.announce(vec![list(FRAGMENTS_FOLDER)]);
                listed(self.join(FRAGMENTS_FOLDER))
            }
        };
        let folder_count = some_folders.as_ref().map_or(folders.len(), |page| page.entries.len());
        let meta = newest_meta(&root, &meta)
            .filter(|_| folder_count + root.iter().filter(|entry| entry.is_folder()).count() >= 2);
        if let Some(path) = meta {
            wanted.push(tail(self.join(&path), tile_byte_len));
        } else if !has_lists && some_folders.is_none() {
            // The commits say all about what is there, and nothing else has the footers: they need not wait for the lists.
            let shown = commits.iter().filter_map(|entry| parse_commit_file(&entry.name));
            let shown = shown.filter(|(_, kind)| *kind == CommitKind::Write).map(|(name, _)| name);
            let there: HashSet<&str> = folders.iter().map(|folder| folder.name.as_str()).collect();
            // Of those that are partly within the time only a sparse array shows any.
            let shown = shown.filter(|name| is_visible(name, time, true) && there.contains(name.as_str()));
            let shown = shown.filter_map(|name| ListedFragment::named(name).ok());
            wanted.extend(
                shown
                    .filter(|listed| listed.version.has(Rule::FragmentFooter))
                    .map(|listed| tail(self.join(&listed.metadata_path()), Fragment::TAIL_BYTE_LEN)),
            );
        }
        ahead.announce(wanted);
        some_folders
    }

    /// Asks for the ends of fragments' metadata files, with their paths relative to the array and as much as is wanted of them, and for
    /// delete commits.
    pub(crate) fn announce_last(
        &self,
        ahead: &AheadStore,
        metadata_paths: impl Iterator<Item = (String, u64)>,
        deletes: &[ListedDelete],
    ) {
        let tails = metadata_paths.map(|(path, byte_len)| Request::Tail { path: self.join(&path), byte_len });
        let deletes = deletes
            .iter()
            .filter(|delete| delete.tile.is_none())
            .map(|delete| Request::Tail { path: delete.path.clone(), byte_len: self.metadata_limit() });
        ahead.announce(tails.chain(deletes).collect());
    }
}
