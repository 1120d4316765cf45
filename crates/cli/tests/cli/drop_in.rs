//! `smalti drop-in`, on environments whose Python is a script that says it has loaded what stands in the library's place.

use crate::session::Session;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The library in an environment, from its folder.
const PLACE: &str = "lib/python3.11/site-packages/tiledb.libs/libtiledb-edd2b82f.so.2.30";

/// Prints lines as those of /proc/self/maps: the library, and what the file `also` beside the environment names.
const PYTHON: &str = "#!/bin/sh
here=$(dirname \"$0\")/..
cd \"$here\"
test ! -e fails || { echo ImportError: no >&2; exit 1; }
for library in lib/python3.11/site-packages/tiledb.libs/*.so.2.30 $(cat ../also 2> /dev/null); do
    echo \"7f0000000000-7f0000001000 r-xp 00000000 08:01 7  $(readlink -f \"$library\")\"
done
";

/// A session with the environment `venv` and the library `ours.so`.
fn environment() -> Session {
    let session = Session::new();
    fs::create_dir_all(session.path("venv/bin")).unwrap();
    fs::create_dir_all(session.path("venv").join(PLACE).parent().unwrap()).unwrap();
    session.file(&format!("venv/{PLACE}"), "original");
    session.file("venv/bin/python", PYTHON);
    fs::set_permissions(session.path("venv/bin/python"), fs::Permissions::from_mode(0o755)).unwrap();
    session.file("venv/pyvenv.cfg", "home = /usr/bin\n");
    session.file("ours.so", "ours");
    session
}

fn content(session: &Session, environment: &str) -> String {
    fs::read_to_string(session.path(environment).join(PLACE)).unwrap()
}

/// What stands in the folder of the library.
fn beside(session: &Session, environment: &str) -> Vec<PathBuf> {
    let folder = session.path(environment).join(PLACE);
    let listing = fs::read_dir(folder.parent().unwrap()).unwrap();
    listing.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_library_is_linked_in_and_the_original_put_back() {
    let session = environment();
    let text = session.text("drop-in venv --library ours.so");
    assert!(text.contains("loads ") && text.contains("ours.so, and no other libtiledb"), "{text}");
    assert_eq!(content(&session, "venv"), "ours");
    // Another time nothing is lost.
    session.file("newer.so", "newer");
    session.text("drop-in venv --library newer.so --json");
    assert_eq!(content(&session, "venv"), "newer");
    let json: serde_json::Value =
        serde_json::from_slice(&session.bytes("drop-in venv --undo --json")).unwrap();
    assert_eq!(json["put_back"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(content(&session, "venv"), "original");
    assert_eq!(beside(&session, "venv").len(), 1);
    assert_eq!(session.text("drop-in venv --undo"), "the original library is in its place\n");
}

#[test]
fn every_package_that_brings_the_library_gets_ours() {
    let session = environment();
    let places = [
        "tiledbsoma.libs/libtiledb-2c1e8971.so.2.30",
        "tiledb/vector_search/lib/libtiledb.so.2.30",
        "other/lib/libtiledb.so.2.30",
    ];
    let paths = places.map(|place| format!("venv/lib/python3.11/site-packages/{place}"));
    for path in &paths {
        fs::create_dir_all(session.path(path).parent().unwrap()).unwrap();
        session.file(path, "original");
    }
    let text = session.text("drop-in venv --library ours.so");
    assert_eq!(text.lines().filter(|line| line.starts_with("linked ")).count(), 3, "{text}");
    let contents = || paths.clone().map(|path| fs::read_to_string(session.path(&path)).unwrap());
    assert_eq!(contents(), ["ours", "ours", "original"]);
    session.text("drop-in venv --undo");
    assert_eq!(contents(), ["original"; 3]);
}

#[test]
fn a_copy_is_changed_alone_and_its_scripts_name_it() {
    let session = environment();
    let folder = session.path("venv");
    session.file("venv/bin/tool", format!("#!{}/bin/python\nVIRTUAL_ENV='{0}'\n", folder.display()));
    std::os::unix::fs::symlink("lib", session.path("venv/lib64")).unwrap();
    session.text("drop-in venv --copy copy --library ours.so");
    assert_eq!((content(&session, "venv"), content(&session, "copy")), ("original".into(), "ours".into()));
    assert_eq!(fs::read_link(session.path("copy/lib64")).unwrap(), PathBuf::from("lib"));
    let tool = fs::read_to_string(session.path("copy/bin/tool")).unwrap();
    assert!(!tool.contains("venv") && tool.matches("copy").count() == 2, "{tool}");
    let problem = session.problem("drop-in venv --copy copy --library ours.so", 1);
    assert!(problem.contains("exists"), "{problem}");
    assert_eq!(content(&session, "copy"), "ours");
    session.problem("drop-in venv --copy venv/inside --library ours.so", 2);
    assert!(!session.path("venv/inside").exists());
}

#[test]
fn where_another_library_is_loaded_nothing_stays_changed() {
    let session = environment();
    session.file("libtiledb.so.2.30", "another");
    session.file("also", "../libtiledb.so.2.30");
    let problem = session.problem("drop-in venv --library ours.so", 1);
    assert!(problem.contains("another libtiledb is loaded"), "{problem}");
    assert_eq!((content(&session, "venv").as_str(), beside(&session, "venv").len()), ("original", 1));
    let problem = session.problem("drop-in venv --copy copy --library ours.so", 1);
    assert!(problem.contains("another libtiledb is loaded"), "{problem}");
    assert!(!session.path("copy").exists());
    fs::remove_file(session.path("also")).unwrap();
    session.file("venv/fails", "");
    let problem = session.problem("drop-in venv --library ours.so", 1);
    assert!(problem.ends_with("ImportError: no"), "{problem}");
    assert_eq!((content(&session, "venv").as_str(), beside(&session, "venv").len()), ("original", 1));
}

#[test]
fn what_is_no_environment_for_the_library_is_refused() {
    let session = environment();
    session.problem("drop-in nothing --library ours.so", 1);
    session.problem("drop-in venv --library nothing.so", 1);
    session.problem("drop-in venv --library venv", 1);
    session.problem("drop-in venv", 2);
    let older = session.path("venv").join(PLACE).with_file_name("libtiledb-1234abcd.so.2.28");
    fs::rename(session.path("venv").join(PLACE), &older).unwrap();
    let problem = session.problem("drop-in venv --library ours.so", 1);
    assert!(problem.contains("2.30"), "{problem}");
    fs::remove_file(older).unwrap();
    let problem = session.problem("drop-in venv --undo", 1);
    assert!(problem.contains("pip install"), "{problem}");
    // A link that somebody else made has no original to go back to.
    std::os::unix::fs::symlink(session.path("ours.so"), session.path("venv").join(PLACE)).unwrap();
    let problem = session.problem("drop-in venv --library ours.so", 1);
    assert!(problem.contains("link already"), "{problem}");
}
