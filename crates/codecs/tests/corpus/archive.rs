//! The corpus: one compressed tape archive a format version, read into memory.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// The files of one format version by path.
pub(crate) struct Archive {
    pub(crate) version: u64,
    files: BTreeMap<String, Vec<u8>>,
}

impl Archive {
    /// Every archive of the repository's fixtures; none where the fixtures are not checked out.
    pub(crate) fn all() -> Vec<Archive> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/corpus");
        (1..=23)
            .filter_map(|version| {
                let packed = std::fs::read(folder.join(format!("v{version}.tar.gz"))).ok()?;
                let mut bytes = Vec::new();
                flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
                Some(Archive { version, files: unpack(&bytes) })
            })
            .collect()
    }

    pub(crate) fn file(&self, path: &str) -> &[u8] {
        self.files.get(path).unwrap_or_else(|| panic!("{path} is not in the corpus"))
    }

    /// The names of the cases, such as `v22/filter_lz4_dense`.
    pub(crate) fn case_names(&self) -> Vec<String> {
        self.files.keys().filter_map(|path| path.strip_suffix("/expected.json")).map(str::to_owned).collect()
    }

    /// The first path below `prefix` that ends so.
    pub(crate) fn find(&self, prefix: &str, ending: &str) -> Vec<&str> {
        let below = self.files.keys().filter(|path| path.starts_with(prefix) && path.ends_with(ending));
        below.map(String::as_str).collect()
    }
}

fn unpack(mut bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let text = |field: &[u8]| {
        let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
        String::from_utf8(field[..end].to_vec()).unwrap()
    };
    let mut files = BTreeMap::new();
    let mut long_path = None;
    while bytes.len() >= 512 && bytes[0] != 0 {
        let (header, rest) = bytes.split_at(512);
        let byte_len = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        let content = &rest[..byte_len];
        let prefix = text(&header[345..500]);
        let name = text(&header[..100]);
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        match header[156] {
            b'x' => {
                let records = String::from_utf8_lossy(content).into_owned();
                long_path = records.lines().find_map(|line| Some(line.split_once(" path=")?.1.to_owned()));
            }
            b'0' => {
                files.insert(long_path.take().unwrap_or(path), content.to_vec());
            }
            _ => long_path = None,
        }
        bytes = &rest[byte_len.next_multiple_of(512)..];
    }
    files
}
