//! The fixtures, unpacked.

use std::path::PathBuf;

/// The arrays of one format version in a temporary folder.
pub struct Archive {
    folder: tempfile::TempDir,
    version: u32,
}

impl Archive {
    pub fn unpack(version: u32) -> Archive {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/corpus/v{version}.tar.gz"));
        let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let folder = tempfile::tempdir().unwrap();
        tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(folder.path()).unwrap();
        Archive { folder, version }
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
