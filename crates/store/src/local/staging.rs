//! Where unfinished files and folders live, and under which names.

use std::path::{Path, PathBuf};

/// How the name of everything unfinished begins. No listing shows such names.
pub const LEFTOVER_PREFIX: &str = ".smalti-tmp-";

/// Folders in which libtiledb reads, or trips over, every file whatever its name. What is bound for them is written
/// in the folder above, where it ignores unknown names: the array's or the group's root.
const FOLDERS_READ_WHOLE: [&str; 5] = ["__meta", "__schema", "__fragment_meta", "__group", "__commits"];

/// The folder in which what will be named `target` is prepared. It is always on the same file system, unless a folder of an
/// array is a mount point itself.
pub(super) fn staging_folder(target: &Path) -> &Path {
    let root = Path::new("");
    let folder = target.parent().unwrap_or(root);
    let is_read_whole =
        folder.file_name().is_some_and(|name| FOLDERS_READ_WHOLE.iter().any(|&reserved| name == reserved));
    if is_read_whole { folder.parent().unwrap_or(root) } else { folder }
}

/// The path under which `target` is prepared.
pub(super) fn staged_path(target: &Path, unique: u64) -> PathBuf {
    staging_folder(target).join(format!("{LEFTOVER_PREFIX}{unique:016x}"))
}

/// Whether a name in a folder is that of something unfinished.
pub(super) fn is_leftover(name: &str) -> bool {
    name.starts_with(LEFTOVER_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_staged_where_libtiledb_reads_every_file() {
        for (target, folder) in [
            ("a/__meta/__1_1_x", "a"),
            ("a/__schema/__1_1_x", "a"),
            ("a/__schema/__enumerations/__x_0", "a/__schema/__enumerations"),
            ("a/__commits/__1_1_x_22.wrt", "a"),
            ("a/__fragments/__1_1_x_22/a0.tdb", "a/__fragments/__1_1_x_22"),
            ("a/__labels/l0/__meta/__1_1_x", "a/__labels/l0"),
            ("g/__group/__1_1_x", "g"),
            ("__meta/x", ""),
            ("a", ""),
        ] {
            assert_eq!(staging_folder(Path::new(target)), Path::new(folder), "{target}");
        }
    }
}
