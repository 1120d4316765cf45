//! The fixtures, unpacked.

use std::path::PathBuf;

/// The arrays of one format version in a temporary folder.
pub struct Archive {
    folder: tempfile::TempDir,
    version: u32,
}

impl Archive {
    pub fn unpack(version: u32) -> Archive {
        Archive::unpack_if_present(version).unwrap_or_else(|| panic!("no fixtures of version {version}"))
    }

    /// As [`unpack`](Archive::unpack); `None` when there is no such archive.
    pub fn unpack_if_present(version: u32) -> Option<Archive> {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/corpus/v{version}.tar.gz"));
        let file = std::fs::File::open(&path).ok()?;
        let folder = tempfile::tempdir().unwrap();
        tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(folder.path()).unwrap();
        Some(Archive { folder, version })
    }

    /// The folders of the cases, sorted.
    pub fn cases(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path().join(format!("v{}", self.version))).unwrap();
        let mut cases: Vec<PathBuf> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join("expected.json").exists())
            .collect();
        cases.sort();
        cases
    }
}
