//! How much room there is.

use std::path::Path;

/// The bytes that the file system of a path has room for; `None` where that cannot be told, as of pipes and devices. Of a path that
/// is not there yet that of its folder.
pub fn free_byte_len(path: &Path) -> Option<u64> {
    let asked = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() || metadata.is_dir() => path,
        Ok(_) => return None,
        Err(_) => path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    };
    let found = rustix::fs::statvfs(asked).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_has_the_room_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_byte_len(&dir.path().join("new")).is_some());
        assert_eq!(free_byte_len(Path::new("/dev/null")), None);
        assert_eq!(free_byte_len(&dir.path().join("no/folder")), None);
    }
}
