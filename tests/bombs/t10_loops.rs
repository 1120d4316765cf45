//! T10: content that a loop would go over for ever.

use crate::arrays::{array, read, tile};
use crate::blast::{answered, light, refused, turn};
use std::fs;

#[test]
fn t10_75_bytes_of_consolidated_commits_that_lead_back_are_refused() {
    let _turn = turn();
    let ground = array(false, false);
    let delete = ground.file(".del").file_name().unwrap().to_str().unwrap().to_owned();
    let line = format!("__commits/{delete}\n");
    assert!(line.len() + 8 <= 75);
    let path = ground.thing().join("__commits/__1_2_0123456789abcdef0123456789abcdef_22.con");
    // So many bytes behind the line that the next one begins at or before it.
    for back in [0, 1, 8, line.len() as u64, line.len() as u64 + 8, 1 << 33] {
        let content = [line.as_bytes(), &0_u64.wrapping_sub(back + 1).to_le_bytes()].concat();
        fs::write(&path, content).unwrap();
        refused(&format!("{back} bytes back"), || read(&ground));
    }
}

#[test]
fn t10_lists_of_empty_lines_end() {
    let _turn = turn();
    for ending in ["vac", "ign", "con", "vac.tmp", "gone"] {
        let ground = array(false, false);
        let whole = read(&ground).unwrap();
        let path =
            ground.thing().join(format!("__commits/__1_2_0123456789abcdef0123456789abcdef_22.{ending}"));
        fs::write(&path, vec![b'\n'; 100_000]).unwrap();
        if let Ok(cell_count) = light(ending, || read(&ground)) {
            assert_eq!(cell_count, whole, "{ending}");
        }
        fs::write(&path, []).unwrap();
        if let Ok(cell_count) = light(ending, || read(&ground)) {
            assert_eq!(cell_count, whole, "{ending}");
        }
    }
}

#[test]
fn t10_entries_without_bytes_end() {
    let _turn = turn();
    let ground = array(false, false);
    let path = ground.file("/__meta/");
    for entry in [&[0_u8; 4][..], &[0; 5], &[0, 0, 0, 0, 1], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        fs::write(&path, tile(&entry.repeat(100_000))).unwrap();
        let _ = light("metadata of empty entries", || read(&ground));
    }
    fs::write(&path, tile(&[])).unwrap();
    let _ = answered_or_refused(&ground);
    for part in [".del", "/__fragment_meta/", "/__schema/__enumerations/"] {
        let ground = array(false, false);
        for content in [&[][..], &[0; 100_000]] {
            fs::write(ground.file(part), tile(content)).unwrap();
            let _ = answered_or_refused(&ground);
        }
    }
    let ground = array(false, false);
    assert!(answered("the whole array", || read(&ground)) > 0);
}

fn answered_or_refused(ground: &crate::arrays::Ground) -> Option<usize> {
    light("empty content", || read(ground)).ok()
}
