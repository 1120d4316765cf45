//! The target of manifests, and seeds of theirs and of pages that list folders.

use smalti_store::FileList;
use smalti_types::Result;

/// Reads a manifest, walks over its folders, and reads what is written of it.
pub fn fuzz_manifest(input: &[u8]) {
    let Ok(list) = FileList::decode(input) else { return };
    let again = list.encode().and_then(|bytes| FileList::decode(&bytes));
    assert_eq!(again.expect("what was written is read"), list);
    let (mut pending, mut found) = (vec![String::new()], 0);
    while let Some(folder) = pending.pop() {
        for entry in list.entries(&folder) {
            let path = smalti_store::join(&folder, &entry.name);
            smalti_store::check_path(&path).expect("entries have names");
            if entry.is_folder() {
                pending.push(path);
            } else {
                assert_eq!(list.byte_len(&path), Some(entry.byte_len));
                found += 1;
            }
        }
        // Damage makes folders in folders, all of which name their parents.
        if pending.len() + found > 10_000 {
            return;
        }
    }
    assert_eq!(found, list.files().len(), "a walk finds every file once");
}

/// Reads the listing of a folder as a web server gives it.
pub fn fuzz_listing_page(input: &[u8]) {
    smalti_object::fuzzing::listing_page(input);
}

/// Some manifests.
///
/// # Errors
/// None but those of bugs.
pub fn seeds() -> Result<Vec<(String, Vec<u8>)>> {
    let named = |paths: &[&str]| {
        let files = paths.iter().zip(1..).map(|(path, byte_len)| ((*path).to_owned(), byte_len * 100));
        FileList::new(1_700_000_000_000, files.collect())?.encode()
    };
    let array = [
        "__commits/__1_1_0123456789abcdef0123456789abcdef_22.wrt",
        "__fragments/__1_1_0123456789abcdef0123456789abcdef_22/__fragment_metadata.tdb",
        "__fragments/__1_1_0123456789abcdef0123456789abcdef_22/a0.tdb",
        "__fragments/__1_1_0123456789abcdef0123456789abcdef_22/d0%25.tdb",
        "__schema/__1_1_fedcba9876543210fedcba9876543210",
    ];
    let mut odd = named(&["a.b", "a/b", "a/b c/\u{fc}\"\\", "a-"])?;
    odd.extend_from_slice(b" \n");
    Ok(vec![
        ("empty".to_owned(), named(&[])?),
        ("array".to_owned(), named(&array)?),
        ("odd".to_owned(), odd),
        ("later".to_owned(), br#"{"smalti_manifest": 2, "files": {"a": [1]}}"#.to_vec()),
        (
            "more".to_owned(),
            br#"{"more":[{"x":[]}],"smalti_manifest":1,"files":[["a",0]],"written_ms":1}"#.to_vec(),
        ),
    ])
}

/// Some pages as servers make them of folders.
pub fn pages() -> Vec<(String, Vec<u8>)> {
    let pages = [
        (
            "nginx",
            "<html>\r\n<head><title>Index of /data/array/</title></head>\r\n<body>\r\n<h1>Index of /data/array/</h1><hr><pre><a href=\"../\">../</a>\r\n<a href=\"__commits/\">__commits/</a>   24-Nov-2026 10:01    -\r\n<a href=\"a%20b.tdb\">a b.tdb</a>   24-Nov-2026 10:01   312\r\n</pre><hr></body>\r\n</html>\r\n",
        ),
        (
            "apache",
            "<html><head><title>Index of /data/array</title></head><body><table><tr><th><a href=\"?C=N;O=D\">Name</a></th></tr><tr><td><a href=\"/data/\">Parent Directory</a></td></tr><tr><td><a href=\"/data/array/__schema/\">__schema/</a></td></tr><tr><td><a href='a&amp;b&#x41;'>a</a></td></tr></table></body></html>",
        ),
        (
            "caddy",
            "<style>a{}</style><script>\"<a href=x>\"</script><!-- <a href=y> --><A\n HREF = ./f.tdb ><a class=\"up\" href=\"..\">",
        ),
        (
            "nginx.json",
            "[{ \"name\":\"__fragments\", \"type\":\"directory\", \"mtime\":\"x\" },{ \"name\":\"f\", \"type\":\"file\", \"size\":312 }]",
        ),
        (
            "caddy.json",
            "[{\"name\":\"d/\",\"size\":4096,\"url\":\"./d/\",\"is_dir\":true},{\"name\":\"f\",\"size\":7,\"is_dir\":false}]",
        ),
    ];
    pages.into_iter().map(|(name, page)| (name.to_owned(), page.as_bytes().to_vec())).collect()
}
