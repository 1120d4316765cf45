//! T1: counts and lengths in headers that promise more than there is.

use crate::arrays::{FragmentFile, Ground, array, maintain, options, payload, read, tile};
use crate::blast::{light, turn};
use smalti::prelude::*;
use smalti_format::fragment::Section;
use std::fs;
use std::path::Path;

/// What is put over four bytes: as the low half of a count it is huge, as the high half more so. The second is below most limits.
const HUGE: [u32; 2] = [u32::MAX >> 1, 1 << 28];

/// Uses that must all end in an error soon, or in an answer, with a file whose every four bytes in turn are a huge number.
fn inflate(path: &Path, content: &[u8], build: impl Fn(&[u8]) -> Vec<u8>, uses: impl Fn(&str)) {
    for at in 0..content.len().saturating_sub(3) {
        let mut bomb = content.to_vec();
        bomb[at..at + 4].copy_from_slice(&HUGE[at % 2].to_le_bytes());
        fs::write(path, build(&bomb)).unwrap();
        uses(&format!("byte {at} of {}", path.display()));
    }
    fs::write(path, build(content)).unwrap();
}

fn read_lightly(ground: &Ground) -> impl Fn(&str) {
    |what| {
        let _ = light(what, || read(ground));
    }
}

#[test]
fn t1_a_huge_number_anywhere_in_a_generic_tile_takes_neither_time_nor_memory() {
    let _turn = turn();
    for is_dense in [false, true] {
        let ground = array(is_dense, false);
        let mut paths = ground.files("/__schema/");
        paths.extend(ground.files("/__meta/"));
        paths.extend(ground.files(".del"));
        paths.extend(ground.files("/__fragment_meta/"));
        assert!(paths.len() > 3);
        for path in paths {
            let content = fs::read(&path).unwrap();
            let (inside, _) = payload(&content);
            inflate(&path, &inside, tile, read_lightly(&ground));
            // The header of the tile itself, and of its chunks.
            inflate(
                &path,
                &content[..content.len().min(80)],
                |head| join(head, &content),
                read_lightly(&ground),
            );
            fs::write(&path, content).unwrap();
        }
    }
}

/// A file with another beginning.
fn join(head: &[u8], content: &[u8]) -> Vec<u8> {
    [head, &content[head.len()..]].concat()
}

#[test]
fn t1_a_huge_number_anywhere_in_fragment_metadata_takes_neither_time_nor_memory() {
    let _turn = turn();
    for is_dense in [false, true] {
        let ground = array(is_dense, false);
        // Fragments whose footers are consolidated are opened without their own.
        fs::remove_file(ground.file("/__fragment_meta/")).unwrap();
        let file = FragmentFile::first(&ground);
        for (section, content) in file.sections() {
            if matches!(section, Section::GlobalOrderMins(_) | Section::GlobalOrderMaxes(_)) {
                continue;
            }
            for at in 0..content.len().saturating_sub(3) {
                let mut bomb = content.clone();
                bomb[at..at + 4].copy_from_slice(&HUGE[at % 2].to_le_bytes());
                file.put_section(section, &bomb);
                read_lightly(&ground)(&format!("byte {at} of {section:?}"));
            }
        }
        file.restore();
        let path = ground.file("__fragment_metadata.tdb");
        let content = fs::read(&path).unwrap();
        let footer = content.len() - 700.min(content.len());
        let whole = |end: &[u8]| [&content[..footer], end].concat();
        inflate(&path, &content[footer..], whole, read_lightly(&ground));
    }
}

#[test]
fn t1_a_huge_number_anywhere_in_lists_and_data_files_takes_neither_time_nor_memory() {
    let _turn = turn();
    for is_dense in [false, true] {
        let ground = array(is_dense, false);
        let mut paths = ground.files(".con");
        let fragment = ground.file("__fragment_metadata.tdb").parent().unwrap().to_owned();
        let in_fragment = |path: &std::path::PathBuf| path.starts_with(&fragment);
        paths.extend(ground.files("/a").into_iter().chain(ground.files("/d")).filter(in_fragment));
        assert!(paths.len() > 4, "{paths:?}");
        for path in paths {
            let content = fs::read(&path).unwrap();
            inflate(&path, &content, <[u8]>::to_vec, read_lightly(&ground));
        }
    }
}

#[test]
fn t1_a_huge_number_anywhere_in_a_group_takes_neither_time_nor_memory() {
    let _turn = turn();
    let ground = Ground::new();
    let group = Group::create_with(&ground.uri(), &options()).unwrap();
    for name in ["a", "b"] {
        Group::create_with(&format!("{}/{name}", ground.uri()), &options()).unwrap();
        group.add(smalti::NewMember::relative(name).name(name)).unwrap();
    }
    let path = ground.file("/__group/");
    let (inside, _) = payload(&fs::read(&path).unwrap());
    inflate(&path, &inside, tile, |what| {
        let _ = light(what, || Ok(Group::open_with(&ground.uri(), &options())?.walk()?.count()));
    });
}

#[test]
fn t1_huge_numbers_do_not_hurt_upkeep() {
    let _turn = turn();
    let whole = array(false, false);
    for part in ["/__schema/__", ".con", ".del", "/__fragment_meta/", "/__meta/", "__fragment_metadata.tdb"] {
        let name = whole.file(part);
        let content = fs::read(&name).unwrap();
        for at in (0..content.len() - 3).step_by(content.len() / 12) {
            let ground = array(false, false);
            let path = ground.file(part);
            let mut bomb = fs::read(&path).unwrap();
            let at = at.min(bomb.len() - 4);
            bomb[at..at + 4].copy_from_slice(&HUGE[0].to_le_bytes());
            fs::write(path, bomb).unwrap();
            let _ = light(&format!("upkeep, byte {at} of {part}"), || maintain(&ground));
        }
    }
}
