//! T7: names in lists that lead out of the array.

use crate::arrays::{Ground, maintain, one_fragment, put, read, schema};
use crate::blast::{light, turn};
use smalti::upkeep::{FragmentOptions, VacuumOptions};
use std::fs;
use std::path::PathBuf;

/// A folder beside the array that looks like a fragment, with a commit beside it, and lines of lists that lead there.
fn victims(ground: &Ground) -> (Vec<PathBuf>, Vec<String>) {
    let name = "__10_10_0123456789abcdef0123456789abcdef_22";
    let folder = ground.path().join(name);
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("__fragment_metadata.tdb");
    fs::write(&file, "kept").unwrap();
    let commit = ground.path().join(format!("{name}.wrt"));
    fs::write(&commit, "").unwrap();
    let uri = ground.path().display();
    let mut lines = Vec::new();
    for target in [name.to_owned(), format!("{name}.wrt"), "..".into(), ".".into(), String::new()] {
        lines.extend([
            format!("../{target}"),
            format!("/../{target}"),
            format!("/__fragments/../../{target}"),
            format!("/__commits/../../{target}"),
            format!("__fragments//../../../{target}"),
            format!("{uri}/{target}"),
            format!("file://{uri}/{target}"),
            format!("..\\{target}"),
            format!("%2e%2e/{target}"),
            format!("../{target}\0"),
        ]);
    }
    (vec![file, commit], lines)
}

#[test]
fn t7_names_in_lists_never_lead_out_of_the_array() {
    let _turn = turn();
    for ending in ["vac", "con", "ign", "vac.tmp", "gone", "wrt"] {
        let ground = one_fragment(&schema(false, false));
        put(&ground.open().unwrap(), 7, 20);
        // A merged fragment gives the list a commit to count by.
        let mut array = ground.open().unwrap();
        array.consolidate(&FragmentOptions::default()).unwrap();
        let merged = array.reopen().unwrap().fragments().unwrap()[0].name().to_owned();
        let cells = read(&ground).unwrap();
        let (kept, lines) = victims(&ground);
        let commits = ground.thing().join("__commits");
        let old = fs::read(commits.join(format!("{merged}.vac"))).unwrap();
        let content = [&old, lines.join("\n").as_bytes(), b"\n"].concat();
        for name in [merged.as_str(), "__20_30_fedcba9876543210fedcba9876543210_22"] {
            fs::write(commits.join(format!("{name}.{ending}")), &content).unwrap();
        }
        let opened = light(ending, || read(&ground));
        if let Ok(found) = opened {
            assert!(found >= cells, "{ending}");
        }
        let _ = light(&format!("vacuum, {ending}"), || array.vacuum(&VacuumOptions::default()));
        let _ = light(&format!("upkeep, {ending}"), || maintain(&ground));
        for path in kept {
            assert!(path.exists(), "{ending} took {}", path.display());
        }
    }
}

#[test]
fn t7_names_in_lists_of_metadata_never_lead_out_of_the_array() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, false));
    let array = ground.open().unwrap();
    for at in [11, 12] {
        array.write_metadata().put("k", at as i32).at(at).commit().unwrap();
    }
    array.consolidate_metadata(&Default::default()).unwrap();
    let (kept, lines) = victims(&ground);
    let list = ground.file("__meta/__11_12");
    let list = if list.to_str().unwrap().ends_with(".vac") { list } else { list.with_extension("vac") };
    let old = fs::read(&list).unwrap();
    fs::write(&list, [&old, lines.join("\n").as_bytes()].concat()).unwrap();
    let _ = light("reading", || read(&ground));
    let _ = light("upkeep", || maintain(&ground));
    assert!(kept.iter().all(|path| path.exists()));
    assert!(ground.open().unwrap().metadata().unwrap().get("k").is_some());
}
