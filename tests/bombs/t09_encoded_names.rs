//! T9: names of fields that become names of files, in old versions with percent signs.

use crate::arrays::{Ground, options, payload, read_cells};
use crate::blast::{light, turn};
use smalti::Array;
use smalti_format::{ArraySchema, Version};
use smalti_tile::{Scratch, write_generic_tile};
use std::fs;
use std::path::Path;

/// The array of a fixture in version 7 or 8, whose data files bear the names of their fields.
fn old_array(version: u32) -> Option<Ground> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/corpus/v{version}.tar.gz"));
    let folder = tempfile::tempdir().unwrap();
    let file = fs::File::open(path).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(folder.path()).unwrap();
    let cases = fs::read_dir(folder.path().join(format!("v{version}"))).unwrap();
    let mut arrays: Vec<_> = cases.map(|case| case.unwrap().path().join("array")).collect();
    arrays.sort();
    let is_whole = |array: &&std::path::PathBuf| {
        let opened = Array::open_with(array.to_str().unwrap(), &options());
        opened.is_ok_and(|array| {
            !array.schema().attributes.is_empty()
                && array.fragments().is_ok_and(|fragments| !fragments.is_empty())
                && read_cells(&array).is_ok_and(|count| count > 0)
        })
    };
    let array = arrays.iter().find(is_whole)?;
    let ground = Ground::new();
    fs::rename(array, ground.thing()).ok()?;
    Some(ground)
}

#[test]
fn t9_names_of_fields_never_lead_out_of_the_fragment() {
    let _turn = turn();
    for version in [7, 8] {
        let ground = old_array(version).unwrap();
        let path = ground.file("__array_schema.tdb");
        let original = ArraySchema::decode(&payload(&fs::read(&path).unwrap()).0).unwrap();
        let secret = ground.path().join("secret.tdb");
        fs::write(&secret, [0; 64]).unwrap();
        for name in [
            "../../secret",
            "..",
            ".",
            "a/b",
            "/etc/passwd",
            "%2E%2E%2Fsecret",
            "%2e%2e/secret",
            "%00",
            "nul\0",
            "..\\secret",
            "%",
            "%2",
            "%zz",
            "\u{2024}\u{2024}/secret",
        ] {
            let mut schema = original.clone();
            schema.attributes[0].name = name.into();
            let mut tile = Vec::new();
            let version = Version::new(version).unwrap();
            write_generic_tile(&schema.encode().unwrap(), version, None, &mut tile, &mut Scratch::new())
                .unwrap();
            fs::write(&path, tile).unwrap();
            // There is no file of that name, wherever the name might lead.
            let outcome = light(&format!("the name {name:?}"), || read_cells(&ground.open()?));
            assert!(outcome.is_err(), "{name:?} was read, version {version}");
        }
        assert_eq!(fs::read(secret).unwrap(), [0; 64]);
    }
}
