//! A shared store is a store.

use crate::{
    Claim, Coalescing, Entry, FileVersion, FileWriter, Lease, Leftover, NewFile, NewTree, Pending, ReadInto,
    Request, Store, Tail,
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

    fn version(&self, path: &str) -> Option<FileVersion> {
        (**self).version(path)
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

    /// The wrappers of a trait in the sources of this crate: what implements it for something that has one inside.
    fn wrappers(name: &str) -> Vec<(String, String)> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let Ok(source) = std::fs::read_to_string(&path) else { continue };
            let bound = format!(": {name}");
            let has_one_inside = |line: &str| {
                let is_bound = line.split_once('>').is_some_and(|(generics, _)| generics.contains(&bound));
                let is_dyn = source.contains(&format!("    store: Arc<dyn {name}>,\n"));
                line.starts_with("impl<") && is_bound || line.starts_with("impl ") && is_dyn
            };
            for line in source.lines().filter(|line| line.ends_with('{') && has_one_inside(line)) {
                if line.contains(&format!(" {name} for ")) {
                    found.push((line.to_owned(), source.clone()));
                }
            }
        }
        found
    }

    /// A method with a default would be answered by that instead of the store inside, and nobody would notice.
    #[test]
    fn wrappers_forward_every_method_of_a_store() {
        // The others of a disk go through those that each wrapper has: every step counts there.
        let of_steps = ["remove_files", "open_each"];
        for (name, source, left_out, count) in [
            ("Store", include_str!("store.rs"), &[][..], 5),
            ("Disk", include_str!("local/disk.rs"), &of_steps[..], 1),
        ] {
            let mut wanted = methods(source, &format!("pub trait {name}:"));
            wanted.retain(|method| !left_out.contains(method));
            assert!(wanted.len() > 20, "{wanted:?}");
            let wrappers = wrappers(name);
            assert!(
                wrappers.len() >= count,
                "{:?}",
                wrappers.iter().map(|(line, _)| line).collect::<Vec<_>>()
            );
            for (line, source) in &wrappers {
                let has = methods(source, line);
                let missing: Vec<_> = wanted.iter().filter(|name| !has.contains(name)).collect();
                assert!(missing.is_empty(), "{line} does not forward {missing:?}");
            }
        }
    }
}
