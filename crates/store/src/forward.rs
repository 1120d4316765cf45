//! A shared store is a store.

use crate::{
    Claim, Coalescing, Entry, FileWriter, Lease, Leftover, NewFile, NewTree, Pending, ReadInto, Request,
    Store, Tail,
};
use smalti_types::Result;
use std::sync::Arc;

impl<S: Store + ?Sized> Store for Arc<S> {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        (**self).list(folder)
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        (**self).byte_len(path)
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        (**self).read_into(reads)
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        (**self).read_tail(path, byte_len)
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        (**self).submit(requests)
    }

    fn is_distant(&self) -> bool {
        (**self).is_distant()
    }

    fn is_long(&self, folder: &str) -> bool {
        (**self).is_long(folder)
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        (**self).read_tails(folder, paths, byte_len)
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        (**self).put(path, parts)
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        (**self).replace(path, parts)
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        (**self).put_batch(files)
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        (**self).create(path)
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        (**self).sync_folder(folder)
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        (**self).create_folder(folder)
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        (**self).create_tree(root, tree)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        (**self).delete_files(paths)
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        (**self).delete_folders(folders)
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        (**self).move_folder(from, to)
    }

    fn address(&self, path: &str) -> String {
        (**self).address(path)
    }

    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        (**self).list_recursive(folder)
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        (**self).list_names(folder)
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        (**self).leftovers(folder)
    }

    fn lease(&self, path: &str, claim: Claim) -> Result<Option<Lease>> {
        (**self).lease(path, claim)
    }

    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        (**self).last_change_ms(folder)
    }

    fn coalescing(&self) -> Coalescing {
        (**self).coalescing()
    }
}

#[cfg(test)]
mod tests {
    /// The methods of an item that starts with a line and ends where its indentation does.
    fn methods<'a>(source: &'a str, start: &str) -> Vec<&'a str> {
        let (_, body) = source.split_once(start).unwrap_or_else(|| panic!("no {start}"));
        let (body, _) = body.split_once("\n}\n").unwrap();
        let named = body.lines().filter_map(|line| line.strip_prefix("    fn ")?.split_once('('));
        named.map(|(name, _)| name).collect()
    }

    /// A method with a default would be answered by that instead of the store inside, and nobody would notice.
    #[test]
    fn wrappers_forward_every_method_of_a_store() {
        let wanted = methods(include_str!("store.rs"), "pub trait Store:");
        assert!(wanted.len() > 20, "{wanted:?}");
        for (wrapper, source, start) in [
            ("Arc", include_str!("forward.rs"), "Store for Arc<S> {"),
            ("FaultStore", include_str!("fault.rs"), "Store for FaultStore<S> {"),
            ("MeteredStore", include_str!("metered.rs"), "Store for MeteredStore<S> {"),
            ("AheadStore", include_str!("ahead.rs"), "Store for AheadStore {"),
            ("DistantStore", include_str!("distant.rs"), "Store for DistantStore {"),
        ] {
            let has = methods(source, start);
            let missing: Vec<_> = wanted.iter().filter(|name| !has.contains(name)).collect();
            assert!(missing.is_empty(), "{wrapper} does not forward {missing:?}");
        }
    }
}
