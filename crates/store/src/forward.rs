//! A store inside another one.

use crate::Store;
use std::sync::Arc;

/// Methods of [`Store`] by their names, each answered by another store: `forward_store!(self => self.store; put, replace);`.
macro_rules! forward_store {
    ($this:ident => $inner:expr; $($method:ident),+ $(,)?) => {
        $($crate::forward::forward_store!(@$method $this => $inner);)+
    };
    (@list $this:ident => $inner:expr) => {
        fn list(&$this, folder: &str) -> smalti_types::Result<Vec<$crate::Entry>> {
            $inner.list(folder)
        }
    };
    (@byte_len $this:ident => $inner:expr) => {
        fn byte_len(&$this, path: &str) -> smalti_types::Result<u64> {
            $inner.byte_len(path)
        }
    };
    (@has_file $this:ident => $inner:expr) => {
        fn has_file(&$this, path: &str) -> smalti_types::Result<bool> {
            $inner.has_file(path)
        }
    };
    (@version $this:ident => $inner:expr) => {
        fn version(&$this, path: &str) -> Option<$crate::FileVersion> {
            $inner.version(path)
        }
    };
    (@read_into $this:ident => $inner:expr) => {
        fn read_into(&$this, reads: &mut [$crate::ReadInto<'_>]) -> smalti_types::Result<()> {
            $inner.read_into(reads)
        }
    };
    (@read_tail $this:ident => $inner:expr) => {
        fn read_tail(&$this, path: &str, byte_len: u64) -> smalti_types::Result<$crate::Tail> {
            $inner.read_tail(path, byte_len)
        }
    };
    (@read_tails $this:ident => $inner:expr) => {
        fn read_tails(&$this, folder: &str, paths: &[String], byte_len: u64) -> Vec<smalti_types::Result<$crate::Tail>> {
            $inner.read_tails(folder, paths, byte_len)
        }
    };
    (@submit $this:ident => $inner:expr) => {
        fn submit(&$this, requests: Vec<$crate::Request>) -> Vec<$crate::Pending> {
            $inner.submit(requests)
        }
    };
    (@has_waited $this:ident => $inner:expr) => {
        fn has_waited(&$this) -> bool {
            $inner.has_waited()
        }
    };
    (@will_need $this:ident => $inner:expr) => {
        fn will_need(&$this, path: &str, ranges: &[$crate::ByteRange]) {
            $inner.will_need(path, ranges);
        }
    };
    (@is_distant $this:ident => $inner:expr) => {
        fn is_distant(&$this) -> bool {
            $inner.is_distant()
        }
    };
    (@put $this:ident => $inner:expr) => {
        fn put(&$this, path: &str, parts: &[&[u8]]) -> smalti_types::Result<()> {
            $inner.put(path, parts)
        }
    };
    (@replace $this:ident => $inner:expr) => {
        fn replace(&$this, path: &str, parts: &[&[u8]]) -> smalti_types::Result<()> {
            $inner.replace(path, parts)
        }
    };
    (@put_batch $this:ident => $inner:expr) => {
        fn put_batch(&$this, files: &[$crate::NewFile<'_>]) -> smalti_types::Result<()> {
            $inner.put_batch(files)
        }
    };
    (@create $this:ident => $inner:expr) => {
        fn create(&$this, path: &str) -> smalti_types::Result<Box<dyn $crate::FileWriter>> {
            $inner.create(path)
        }
    };
    (@sync_folder $this:ident => $inner:expr) => {
        fn sync_folder(&$this, folder: &str) -> smalti_types::Result<()> {
            $inner.sync_folder(folder)
        }
    };
    (@create_folder $this:ident => $inner:expr) => {
        fn create_folder(&$this, folder: &str) -> smalti_types::Result<()> {
            $inner.create_folder(folder)
        }
    };
    (@create_tree $this:ident => $inner:expr) => {
        fn create_tree(&$this, root: &str, tree: &$crate::NewTree<'_>) -> smalti_types::Result<()> {
            $inner.create_tree(root, tree)
        }
    };
    (@delete_files $this:ident => $inner:expr) => {
        fn delete_files(&$this, paths: &[&str]) -> smalti_types::Result<()> {
            $inner.delete_files(paths)
        }
    };
    (@delete_folders $this:ident => $inner:expr) => {
        fn delete_folders(&$this, folders: &[&str]) -> smalti_types::Result<()> {
            $inner.delete_folders(folders)
        }
    };
    (@move_folder $this:ident => $inner:expr) => {
        fn move_folder(&$this, from: &str, to: &str) -> smalti_types::Result<()> {
            $inner.move_folder(from, to)
        }
    };
    (@address $this:ident => $inner:expr) => {
        fn address(&$this, path: &str) -> String {
            $inner.address(path)
        }
    };
    (@list_recursive $this:ident => $inner:expr) => {
        fn list_recursive(&$this, folder: &str) -> smalti_types::Result<Vec<$crate::Entry>> {
            $inner.list_recursive(folder)
        }
    };
    (@list_names $this:ident => $inner:expr) => {
        fn list_names(&$this, folder: &str) -> smalti_types::Result<Vec<String>> {
            $inner.list_names(folder)
        }
    };
    (@is_long $this:ident => $inner:expr) => {
        fn is_long(&$this, folder: &str) -> bool {
            $inner.is_long(folder)
        }
    };
    (@leftovers $this:ident => $inner:expr) => {
        fn leftovers(&$this, folder: &str) -> smalti_types::Result<Vec<$crate::Leftover>> {
            $inner.leftovers(folder)
        }
    };
    (@unfinished_uploads $this:ident => $inner:expr) => {
        fn unfinished_uploads(
            &$this,
            folder: &str,
        ) -> smalti_types::Result<Vec<$crate::UnfinishedUpload>> {
            $inner.unfinished_uploads(folder)
        }
    };
    (@abort_upload $this:ident => $inner:expr) => {
        fn abort_upload(&$this, upload: &$crate::UnfinishedUpload) -> smalti_types::Result<()> {
            $inner.abort_upload(upload)
        }
    };
    (@lease $this:ident => $inner:expr) => {
        fn lease(&$this, path: &str, claim: $crate::Claim) -> smalti_types::Result<Option<$crate::Lease>> {
            $inner.lease(path, claim)
        }
    };
    (@last_change_ms $this:ident => $inner:expr) => {
        fn last_change_ms(&$this, folder: &str) -> smalti_types::Result<Option<u64>> {
            $inner.last_change_ms(folder)
        }
    };
    (@coalescing $this:ident => $inner:expr) => {
        fn coalescing(&$this) -> $crate::Coalescing {
            $inner.coalescing()
        }
    };
}
pub(crate) use forward_store;

/// A shared store is a store.
impl<S: Store + ?Sized> Store for Arc<S> {
    forward_store!(self => (**self);
        list, byte_len, has_file, version, read_into, read_tail, read_tails, submit, has_waited, will_need, is_distant, put, replace, put_batch, create, sync_folder, create_folder, create_tree, delete_files, delete_folders, move_folder, address, list_recursive, list_names, is_long, leftovers, unfinished_uploads, abort_upload, lease, last_change_ms, coalescing);
}

#[cfg(test)]
mod tests {
    /// The methods of an item that starts with a line and ends where its indentation does.
    fn methods<'a>(source: &'a str, start: &str) -> Vec<&'a str> {
        let (_, body) = source.split_once(start).unwrap_or_else(|| panic!("no {start}"));
        let (body, _) = body.split_once("\n}\n").unwrap();
        let named = body.lines().filter_map(|line| line.strip_prefix("    fn ")?.split_once('('));
        let forwarded = body.split("forward_store!(").skip(1).filter_map(|list| {
            let (_, names) = list.split_once(';')?;
            Some(names.split_once(");")?.0.split(',').map(str::trim))
        });
        named.map(|(name, _)| name).chain(forwarded.flatten()).collect()
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
