//! Arrays behind web servers, with the manners of several: what is read is what is read of the folder itself.

use crate::site::{Asked, Leads, Listing, Manners, Site};
use smalti::storage::Settings;
use smalti::upkeep::{FragmentOptions, VacuumOptions};
use smalti::{
    Array, Attribute, Context, DigestOptions, Dimension, EncryptionKey, Error, ErrorKind, FsckOptions,
    FsckReport, Group, Object, ObjectKind, Options, Schema, WalkOrder,
};
use smalti_object::ObjectStores;
use smalti_store::{ByteRange, Place, ReadInto, Remote as _, StoreExt as _};
use smalti_tests::servers::Process;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Servers as there are, and some of the odd ones.
fn servers() -> Vec<(&'static str, Manners)> {
    let manners = Manners::default();
    vec![
        ("nginx", manners),
        ("nginx with JSON", Manners { listing: Listing::NginxJson, ..manners }),
        ("Apache", Manners { listing: Listing::Apache, ..manners }),
        ("Python", Manners { listing: Listing::Python, ranges: false, etags: false, ..manners }),
        ("without suffixes", Manners { suffixes: false, ..manners }),
        ("without HEAD", Manners { heads: false, ..manners }),
        ("without HEAD and suffixes", Manners { heads: false, suffixes: false, ..manners }),
        ("without lengths", Manners { lengths: false, ranges: false, ..manners }),
        ("behind a redirect", Manners { leads: Leads::Moved, ..manners }),
        ("with a login", Manners { login: Some("YW5uOnA6dw=="), ..manners }),
    ]
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.set("network.retries", "3").unwrap();
    settings
}

/// A context of its own for each: what was learnt of a server stays in it.
fn options() -> Options {
    Options::new().context(&Context::new().storage(settings()))
}

/// A read of more cells than this is not done as a whole.
const MAX_CELL_COUNT: u64 = 100_000;

/// All that an array says, or what kind of error there is instead.
fn told(uri: &str, options: &Options) -> Result<String, ErrorKind> {
    let read = || -> Result<String, Error> {
        let array = Array::open_with(uri, options)?;
        let names: Vec<String> =
            array.fragments()?.iter().map(|fragment| fragment.name().to_string()).collect();
        let about = format!("{:?} {names:?} {:?}", array.schema(), array.metadata()?);
        let is_long = array.read().scan().is_ok_and(|scan| scan.cell_count().most() > MAX_CELL_COUNT);
        if is_long {
            return Ok(format!("{about} {:?}", array.non_empty_domain()?));
        }
        let cells = array.read().collect().map(|batch| format!("{batch:?}")).map_err(|error| error.kind());
        Ok(format!("{about} {:?} {cells:?}", array.digest(&DigestOptions::default())?))
    };
    read().map_err(|error| error.kind())
}

/// The cases of a format version, unpacked; and those among them that are arrays, with their keys.
fn corpus(version: u32) -> (tempfile::TempDir, Vec<(String, Option<EncryptionKey>)>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/corpus/v{version}.tar.gz"));
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()))
        .unpack(folder.path())
        .unwrap();
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder.path().join(format!("v{version}"))).unwrap() {
        let entry = entry.unwrap();
        let Ok(expected) = std::fs::read_to_string(entry.path().join("expected.json")) else { continue };
        let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
        let name = entry.file_name().into_string().unwrap();
        // Too long for eleven reads of the whole.
        if expected.get("group").is_none() && !name.starts_with("big_") {
            let key = expected["encryption"]["key"].as_str();
            let key = key.map(|key| EncryptionKey::new(key.as_bytes()).unwrap());
            cases.push((format!("v{version}/{name}/array"), key));
        }
    }
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(cases.len() > 20, "{} cases", cases.len());
    (folder, cases)
}

fn with_key(options: Options, key: Option<&EncryptionKey>) -> Options {
    key.map_or(options.clone(), |key| options.key(key.clone()))
}

/// Reads all arrays of a version, each from another server, with a manifest and without. What was learnt of a server by one array holds for the next.
fn reads_equal(version: u32) {
    let (folder, cases) = corpus(version);
    let new = |manners| (Site::new(folder.path(), manners), options());
    let sites: Vec<_> = servers().into_iter().map(|(name, manners)| (name, new(manners))).collect();
    let silent = new(Manners { listing: Listing::Refused(403), ..Manners::default() });
    let by_manifests = options();
    let locally = Options::new();
    let mut count = 0;
    for (idx, (case, key)) in cases.iter().enumerate() {
        let key = key.as_ref();
        let local = folder.path().join(case).to_str().unwrap().to_owned();
        let expected = told(&local, &with_key(locally.clone(), key));
        count += usize::from(expected.is_ok());
        let (name, (site, by_pages)) = &sites[idx % sites.len()];
        let uri = |site: &Site| site.uri(case).replace("http://", "http://ann:p%3Aw@");
        assert_eq!(told(&uri(site), &with_key(by_pages.clone(), key)), expected, "{case}, {name}");
        if expected.is_ok() {
            Object::at(&local).unwrap().unwrap().write_manifest().unwrap();
            for (site, options) in [(site, &by_manifests), (&silent.0, &silent.1)] {
                let read = told(&uri(site), &with_key(options.clone(), key));
                assert_eq!(read, expected, "{case}, {name}, by a manifest");
            }
            let read = told(&local, &with_key(locally.clone(), key));
            assert_eq!(read, expected, "{case}: the manifest is in nobody's way");
        }
    }
    assert!(count > 20, "{count} arrays were read");
}

#[test]
fn arrays_of_version_3_read_over_http_as_they_are() {
    reads_equal(3);
}

#[test]
fn arrays_of_version_11_read_over_http_as_they_are() {
    reads_equal(11);
}

#[test]
fn arrays_of_version_22_read_over_http_as_they_are() {
    reads_equal(22);
}

/// An array of fragments with names that have to be encoded in addresses.
fn array_in(folder: &Path, name: &str) -> (PathBuf, Array) {
    let path = folder.join(name);
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9999).tile(100))
        .attribute(Attribute::of::<i32>("a b%/?#"))
        .build()
        .unwrap();
    let array = Array::create(path.to_str().unwrap(), &schema).unwrap();
    write(&array, 0);
    write(&array, 100);
    (path, array)
}

fn write(array: &Array, from: i32) {
    let x: Vec<i32> = (from..from + 100).collect();
    array.write().column("x", &x).column("a b%/?#", &x).commit().unwrap();
}

fn checked(array: &Array) -> FsckReport {
    Array::fsck(&array.uri(), &Options::new(), &FsckOptions::default()).unwrap()
}

fn cell_count(array: &Array) -> usize {
    array.read().collect().unwrap().num_rows()
}

#[test]
fn every_server_gives_new_arrays_and_their_odd_names() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = array_in(folder.path(), "an array, 100% ü+&");
    let expected = told(path.to_str().unwrap(), &options());
    assert!(expected.is_ok());
    for (name, manners) in servers() {
        let site = Site::new(folder.path(), manners);
        for encoded in ["an%20array,%20100%25%20%C3%BC+&", "an array, 100%25 ü+%26/"] {
            let uri = site.uri(encoded).replace("http://", "http://ann:p%3Aw@");
            assert_eq!(told(&uri, &options()), expected, "{name}");
        }
        let array = Array::open_with(
            &site.uri("an%20array,%20100%25%20%C3%BC+&").replace("http://", "http://ann:p%3Aw@"),
            &options(),
        )
        .unwrap();
        assert!(!array.uri().contains("ann"), "{}", array.uri());
        if manners.login.is_none() {
            assert_eq!(told(&array.uri(), &options()), expected, "{name}: the address opens it again");
        }
        let whole = FsckOptions { reads_data: true, ..FsckOptions::default() };
        let uri = site.uri("an%20array,%20100%25%20%C3%BC+&").replace("http://", "http://ann:p%3Aw@");
        let report = Array::fsck(&uri, &options(), &whole).unwrap();
        assert!(report.is_sound(), "{name}: {:?}", report.findings);
        let byte_len: u64 =
            array.fragments().unwrap().iter().map(|fragment| fragment.byte_len().unwrap()).sum();
        let local = Array::open(path.to_str().unwrap()).unwrap();
        let expected: u64 =
            local.fragments().unwrap().iter().map(|fragment| fragment.byte_len().unwrap()).sum();
        assert_eq!(byte_len, expected, "{name}");
    }
}

#[test]
fn groups_are_read_with_their_members() {
    let folder = tempfile::tempdir().unwrap();
    let group = Group::create(folder.path().join("g").to_str().unwrap()).unwrap();
    array_in(&folder.path().join("g"), "rain");
    array_in(&folder.path().join("g"), "snow");
    group.add("rain").unwrap();
    group.add("snow").unwrap();
    let check = |site: &Site| {
        let uri = site.uri("g");
        let group = Group::open_with(&uri, &options()).unwrap();
        assert_eq!(group.members().unwrap().len(), 2);
        assert_eq!(cell_count(&group.array("rain").unwrap()), 200);
        let found = Object::walk_with(&uri, WalkOrder::Pre, &options()).unwrap();
        let names: Vec<&str> = found.iter().map(Object::name).collect();
        assert_eq!(names, ["rain", "snow"]);
        assert!(found.iter().all(|object| object.kind() == ObjectKind::Array));
    };
    let site = Site::new(folder.path(), Manners::default());
    check(&site);
    let silent = Site::new(folder.path(), Manners { listing: Listing::Refused(404), ..Manners::default() });
    assert!(Group::open_with(&silent.uri("g"), &options()).and_then(|group| group.members()).is_err());
    let object = Object::at(folder.path().join("g").to_str().unwrap()).unwrap().unwrap();
    let written = object.write_manifest().unwrap();
    assert!(written.file_count > 10 && written.listed_byte_len > written.file_count);
    check(&site);
    check(&silent);
    // A member that has its own is read by that.
    let rain = Object::at(folder.path().join("g/rain").to_str().unwrap()).unwrap().unwrap();
    rain.write_manifest().unwrap();
    object.write_manifest().unwrap();
    write(&Array::open(&rain.uri()).unwrap(), 500);
    rain.write_manifest().unwrap();
    let group = Group::open_with(&silent.uri("g"), &options()).unwrap();
    assert_eq!(cell_count(&group.array("rain").unwrap()), 300);
    assert_eq!(cell_count(&group.array("snow").unwrap()), 200);
}

#[test]
fn a_manifest_shows_the_array_as_it_was_and_says_when_it_is_out_of_date() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut array) = array_in(folder.path(), "a");
    // That the page shows the manifest is no news to whoever has read it already.
    let site = Site::new(folder.path(), Manners { pages_come_last: true, ..Manners::default() });
    let object = Object::at(path.to_str().unwrap()).unwrap().unwrap();
    object.write_manifest().unwrap();
    let options = options();
    let far = Array::open_with(&site.uri("a"), &options).unwrap();
    write(&array, 500);
    assert_eq!(cell_count(&far.reopen().unwrap()), 200, "what was written later is not in it");
    object.write_manifest().unwrap();
    assert_eq!(cell_count(&far.reopen().unwrap()), 300, "it is asked for again");
    array.consolidate(&FragmentOptions::default()).unwrap();
    assert_eq!(cell_count(&far.reopen().unwrap()), 300);
    array.vacuum(&VacuumOptions::default()).unwrap();
    let error = far.reopen().and_then(|far| far.read().collect()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("the manifest is out of date"), "{error}");
    assert!(error.to_string().contains("smalti manifest"), "{error}");
    let findings = checked(&array).findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].kind.name(), "manifest-stale");
    object.write_manifest().unwrap();
    assert_eq!(cell_count(&far.reopen().unwrap()), 300);
    assert!(checked(&array).findings.is_empty());
    assert!(object.remove_manifest().unwrap() && !object.remove_manifest().unwrap());
    write(&array, 900);
    assert_eq!(cell_count(&far.reopen().unwrap()), 400, "the listings of the server count again");
    object.write_manifest().unwrap();
    write(&array, 1200);
    let again = far.reopen().unwrap().reopen().unwrap();
    assert_eq!(cell_count(&again), 400, "and the manifest, when there is one again");
}

#[test]
fn a_manifest_that_is_none_is_told_and_pages_in_its_place_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let (path, array) = array_in(folder.path(), "a");
    let site = Site::new(folder.path(), Manners::default());
    let file = path.join("__smalti_manifest.json");
    for (content, kind, part) in [
        ("{\"smalti_manifest\": 9}", ErrorKind::Unsupported, "version 9"),
        (
            "{\"smalti_manifest\": 1, \"written_ms\": 0, \"files\": [[\"../../etc\", 1]]}",
            ErrorKind::Corrupt,
            "no manifest",
        ),
        ("<html>", ErrorKind::Corrupt, "no manifest"),
    ] {
        std::fs::write(&file, content).unwrap();
        let error = Array::open_with(&site.uri("a"), &options()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(
            error.to_string().contains(part) && error.to_string().contains("__smalti_manifest.json"),
            "{error}"
        );
        let findings = checked(&array).findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}

/// What opening an array asks of a server, and how many rounds it takes.
fn opened(site: &Site, uri: &str) -> (Vec<Asked>, u64) {
    site.asked();
    let array = Array::open_with(uri, &options()).unwrap();
    (site.asked(), array.traffic().round_count)
}

#[test]
fn opening_takes_three_rounds_by_listings_and_by_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let (path, array) = array_in(folder.path(), "a");
    for from in (1000..5000).step_by(100) {
        write(&array, from);
    }
    array.consolidate_fragment_meta(&Default::default()).unwrap();
    array.consolidate_commits(&Default::default()).unwrap();
    array.vacuum_commits(&Default::default()).unwrap();
    let site = Site::new(folder.path(), Manners::default());
    let (by_pages, page_rounds) = opened(&site, &site.uri("a"));
    assert!(page_rounds <= 3, "{page_rounds}");
    let is_folder = |asked: &&Asked| asked.path.ends_with('/');
    assert_eq!(by_pages.iter().filter(is_folder).count(), 5, "{by_pages:?}");
    Object::at(path.to_str().unwrap()).unwrap().unwrap().write_manifest().unwrap();
    let (by_manifest, manifest_rounds) = opened(&site, &site.uri("a"));
    assert!(manifest_rounds <= page_rounds + 1, "{manifest_rounds}");
    let silent = Site::new(folder.path(), Manners { listing: Listing::Refused(403), ..Manners::default() });
    let (by_it_alone, alone_rounds) = opened(&silent, &silent.uri("a"));
    assert!(alone_rounds <= page_rounds + 1, "{alone_rounds}");
    for asked in [&by_pages, &by_manifest, &by_it_alone] {
        assert!(asked.iter().all(|asked| asked.method == "GET"), "{asked:?}");
        // Each file once, and the manifest with each listing.
        let mut paths: Vec<&str> = asked.iter().map(|asked| asked.path.as_str()).collect();
        paths.retain(|path| !path.ends_with('/') && !path.ends_with("manifest.json"));
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), count, "{asked:?}");
        assert!(asked.len() < 20, "however many fragments there are: {asked:?}");
    }
    // Who has it already is told that it is the same.
    let options = options();
    let far = Array::open_with(&silent.uri("a"), &options).unwrap();
    silent.asked();
    far.reopen().unwrap();
    let again = silent.asked();
    let manifests: Vec<&Asked> = again.iter().filter(|asked| asked.path.ends_with("manifest.json")).collect();
    assert!(!manifests.is_empty() && manifests.iter().all(|asked| asked.status == 304), "{again:?}");
    assert!(!again.iter().any(|asked| asked.path.ends_with('/')), "{again:?}");
}

fn open(uri: &str) -> Place {
    open_with(uri, settings())
}

fn open_with(uri: &str, settings: Settings) -> Place {
    let (scheme, rest) = uri.split_once("://").unwrap();
    ObjectStores::new(settings).open(scheme, rest).unwrap()
}

#[test]
fn bytes_of_files_are_those_that_were_asked_for_from_every_server() {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("a/long"), &content).unwrap();
    std::fs::write(folder.path().join("a/short"), b"0123456789").unwrap();
    std::fs::write(folder.path().join("a/empty"), b"").unwrap();
    for (name, manners) in servers() {
        let site = Site::new(folder.path(), manners);
        let Place { store, .. } = open(&site.uri("a").replace("http://", "http://ann:p%3Aw@"));
        for _ in 0..3 {
            for (path, content) in [("a/long", &content[..]), ("a/short", b"0123456789"), ("a/empty", b"")] {
                for byte_len in [0, 1, 10, 4096, 1 << 20] {
                    let tail = store.read_tail(path, byte_len).unwrap();
                    let start = content.len().saturating_sub(byte_len as usize);
                    assert_eq!(
                        (tail.file_byte_len, &tail.bytes[..]),
                        (content.len() as u64, &content[start..]),
                        "{name}: {path}, {byte_len}"
                    );
                }
                assert_eq!(store.byte_len(path).unwrap(), content.len() as u64, "{name}: {path}");
                assert!(store.file_exists(path).unwrap());
            }
        }
        let (mut one, mut two, mut none) = ([0; 7], [0; 4000], []);
        store
            .read_into(&mut [
                ReadInto { path: "a/long", offset: 399_990, dest: &mut one },
                ReadInto { path: "a/long", offset: 5, dest: &mut two },
                ReadInto { path: "a/short", offset: 10, dest: &mut none },
            ])
            .unwrap();
        assert_eq!((&one[..], &two[..]), (&content[399_990..399_997], &content[5..4005]), "{name}");
        for (path, kind) in [
            ("a/nothing", ErrorKind::NotFound),
            ("a", ErrorKind::NotFound),
            ("a/empty", ErrorKind::Corrupt),
            ("a/short", ErrorKind::Corrupt),
        ] {
            let error = store.read_at(path, ByteRange { start: 8, byte_len: 3 }).unwrap_err();
            assert_eq!(error.kind(), kind, "{name}: {error}");
        }
        assert_eq!(store.byte_len("a").unwrap_err().kind(), ErrorKind::NotFound, "{name}");
        assert!(!store.file_exists("a/nothing").unwrap());
        let listed: Vec<(String, u64)> =
            store.list("a").unwrap().into_iter().map(|entry| (entry.name, entry.byte_len)).collect();
        assert_eq!(
            listed,
            [("empty".to_owned(), 0), ("long".to_owned(), 400_000), ("short".to_owned(), 10)],
            "{name}"
        );
        assert_eq!(store.list_recursive("").unwrap().len(), 3, "{name}");
    }
}

#[test]
fn what_a_server_does_is_learnt_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), [7; 100_000]).unwrap();
    let asked = |manners: Manners| {
        let site = Site::new(folder.path(), manners);
        let Place { store, .. } = open(&site.uri("f"));
        store.read_tail("f", 10).unwrap();
        store.read_tail("f", 10).unwrap();
        site.asked();
        store.read_tail("f", 10).unwrap();
        store.read_at("f", ByteRange { start: 50, byte_len: 10 }).unwrap();
        site.asked()
            .iter()
            .map(|asked| format!("{} {}", asked.method, asked.range.as_deref().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(Manners::default()), ["GET bytes=-10", "GET bytes=50-59"]);
    let without = Manners { suffixes: false, ..Manners::default() };
    assert_eq!(asked(without), ["HEAD ", "GET bytes=99990-99999", "GET bytes=50-59"]);
    let without = Manners { heads: false, ..without };
    assert_eq!(asked(without), ["GET bytes=0-0", "GET bytes=99990-99999", "GET bytes=50-59"]);
    let without = Manners { ranges: false, ..Manners::default() };
    assert_eq!(
        asked(without),
        ["GET bytes=-10", "GET bytes=50-59"],
        "it sends all of it however it is asked"
    );
}

#[test]
fn a_server_without_ranges_is_not_asked_for_parts_of_what_is_far_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(folder.path().join("f")).unwrap();
    // A hole: it takes no room on the disk.
    file.set_len(200 << 20).unwrap();
    let site = Site::new(folder.path(), Manners { ranges: false, ..Manners::default() });
    let Place { store, .. } = open(&site.uri("f"));
    let error = store.read_tail("f", 100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = store.read_at("f", ByteRange { start: 150 << 20, byte_len: 1 }).unwrap_err();
    assert!(error.to_string().contains("as a whole only"), "{error}");
    assert_eq!(store.read_at("f", ByteRange { start: 100, byte_len: 2 }).unwrap(), [0, 0][..]);
}

#[test]
fn requests_that_fail_for_a_while_are_sent_again_and_not_forever() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), b"0123456789").unwrap();
    let site = Site::new(folder.path(), Manners::default());
    let Place { store, .. } = open(&site.uri("f"));
    site.be_busy(2);
    assert_eq!(store.read_tail("f", 5).unwrap().bytes, b"56789"[..]);
    assert_eq!(site.asked().iter().map(|asked| asked.status).collect::<Vec<_>>(), [503, 503, 206]);
    site.tear(1);
    assert_eq!(store.read_at("f", ByteRange { start: 2, byte_len: 4 }).unwrap(), b"2345"[..]);
    site.tear(1);
    assert_eq!(store.read_tail("f", 5).unwrap().bytes, b"56789"[..]);
    site.be_busy(100);
    let error = store.byte_len("f").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("after 4 tries: the server answered with status 503"), "{error}");
}

#[test]
fn where_a_server_leads_is_followed_but_not_in_circles_nor_with_passwords() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), b"0123456789").unwrap();
    let lengths = |leads| {
        let site = Site::new(folder.path(), Manners { leads, ..Manners::default() });
        let Place { store, path } = open(&site.uri("f"));
        (store.byte_len(&path), site.asked().len())
    };
    assert_eq!(lengths(Leads::Moved).0.unwrap(), 10);
    let (error, count) = lengths(Leads::Circle);
    assert!(error.as_ref().unwrap_err().to_string().contains("in a circle"), "{error:?}");
    assert_eq!(count, 2);
    let (error, count) = lengths(Leads::On);
    assert!(error.as_ref().unwrap_err().to_string().contains("more than 10 redirects"), "{error:?}");
    assert_eq!(count, 11);
    let other = Site::new(folder.path(), Manners::default());
    let site = Site::new(folder.path(), Manners { leads: Leads::To(other.port()), ..Manners::default() });
    let Place { store, path } = open(&site.uri("f").replace("http://", "http://ann:secret@"));
    assert_eq!(store.byte_len(&path).unwrap(), 10);
    assert!(site.asked().iter().all(|asked| asked.login.is_some()));
    assert!(other.asked().iter().all(|asked| asked.login.is_none()));
}

#[test]
fn what_goes_wrong_is_said_in_a_line_without_passwords() {
    let folder = tempfile::tempdir().unwrap();
    array_in(folder.path(), "a");
    let error = |uri: &str| {
        let error = Array::open_with(uri, &options()).unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
        (error.kind(), error.to_string())
    };
    let login = Site::new(folder.path(), Manners { login: Some("YW5uOnA6dw=="), ..Manners::default() });
    let (kind, said) = error(&login.uri("a"));
    assert_eq!(kind, ErrorKind::Permission);
    assert!(said.contains("asks for a name and a password"), "{said}");
    let (kind, said) = error(&login.uri("a").replace("http://", "http://ann:hush@"));
    assert_eq!(kind, ErrorKind::Permission);
    assert!(said.contains("does not take the name and the password"), "{said}");
    let silent = Site::new(folder.path(), Manners { listing: Listing::Refused(403), ..Manners::default() });
    let (kind, said) = error(&silent.uri("a"));
    assert_eq!(kind, ErrorKind::Permission);
    assert!(said.contains("smalti manifest ARRAY"), "{said}");
    let silent = Site::new(folder.path(), Manners { listing: Listing::Refused(404), ..Manners::default() });
    let (kind, said) = error(&silent.uri("a"));
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(said.contains("smalti manifest ARRAY"), "{said}");
    let site = Site::new(folder.path(), Manners::default());
    assert_eq!(error(&site.uri("b")).0, ErrorKind::NotFound);
    for uri in [
        site.uri("a?x=hush"),
        site.uri("a").replace("http://", "http://ann:hu/sh@"),
        "http://ann:hush@127.0.0.1".to_owned(),
    ] {
        assert_eq!(error(&uri).0, ErrorKind::InvalidArgument, "{uri}");
    }
    // Nobody is there.
    let port = Site::new(folder.path(), Manners::default()).port();
    let gone = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    assert_ne!(port, gone);
    let (kind, said) = error(&format!("http://ann:hush@127.0.0.1:{gone}/a"));
    assert_eq!(kind, ErrorKind::Io);
    assert!(said.contains("could not be reached"), "{said}");
}

#[test]
fn nothing_is_written_over_http() {
    let folder = tempfile::tempdir().unwrap();
    array_in(folder.path(), "a");
    let site = Site::new(folder.path(), Manners::default());
    let array = Array::open_with(&site.uri("a"), &options()).unwrap();
    let x = [1];
    let writes = [
        array.write().column("x", &x).column("a b%/?#", &x).commit().map(drop),
        array.write_metadata().put("k", 1).commit().map(drop),
        Object::at_with(&site.uri("a"), &options()).unwrap().unwrap().write_manifest().map(drop),
        Group::create_with(&site.uri("g"), &options()).map(drop),
    ];
    for written in writes {
        let error = written.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("http:// is for reading"), "{error}");
    }
    assert!(site.asked().iter().all(|asked| matches!(asked.method.as_str(), "GET" | "HEAD")));
}

/// Python's own server, which lists folders and does no ranges.
fn python_serves(folder: &Path) -> Result<Process, String> {
    let mut command = Command::new("python3");
    command.args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "0"]);
    // "Serving HTTP on 127.0.0.1 port 43211 (http://127.0.0.1:43211/) ..."
    let port = |line: &str| line.split(" port ").nth(1)?.split(' ').next()?.parse().ok();
    Process::start_saying(command.current_dir(folder).stderr(Stdio::null()), port)
}

#[test]
fn pythons_own_server_gives_arrays() {
    let (folder, mut cases) = corpus(22);
    array_in(folder.path(), "new array");
    cases.truncate(25);
    cases.push(("new array".to_owned(), None));
    let python = match python_serves(folder.path()) {
        Ok(python) => python,
        Err(why) => {
            assert!(
                std::env::var("SMALTI_SERVERS_ALL").is_err(),
                "Python's http.server cannot be started: {why}"
            );
            println!("Python's http.server is not there: {why}");
            return;
        }
    };
    let far = options();
    for (case, key) in &cases {
        let expected =
            told(folder.path().join(case).to_str().unwrap(), &with_key(Options::new(), key.as_ref()));
        let uri = format!("http://127.0.0.1:{}/{case}", python.port());
        assert_eq!(told(&uri, &with_key(far.clone(), key.as_ref())), expected, "{case}");
    }
}
