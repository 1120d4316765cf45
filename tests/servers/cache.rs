//! A folder that keeps what was read of buckets: what programs ask for that find it filled, as a proxy in front of moto sees it.

use crate::server::{Server as _, moto, settings_of_s3};
use crate::site::{Listing, Manners, Site};
use smalti::arrow_array::cast::AsArray as _;
use smalti::arrow_array::types::{Int32Type, Int64Type};
use smalti::storage::Settings;
use smalti::{Array, Context, Dimension, EncryptionKey, Object, Options, prelude::*};
use smalti_object::ObjectStores;
use smalti_store::{CachedStore, DiskCache, LocalStore, Remote as _, Store, StoreExt as _, SyncLevel};
use smalti_tests::proxy::Proxy;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What no file of the folder may have.
const SECRET: &str = "hush-this-is-secret";

const KEY: &[u8; 32] = b"0123456789abcdeffedcba9876543210";

/// A bucket behind a proxy, and a folder.
struct Far {
    proxy: Proxy,
    bucket: String,
    folder: TempDir,
}

/// What was asked.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    listings: usize,
    /// All other requests.
    others: Vec<String>,
}

impl Far {
    /// Nothing, where moto is not there.
    fn new() -> Option<Far> {
        let moto = moto()?;
        let proxy = Proxy::to_port(moto.port()).unwrap();
        Some(Far { proxy, bucket: moto.new_bucket(), folder: tempfile::tempdir().unwrap() })
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// What another program begins with: it knows the bucket and the folder, and nothing else.
    fn program(&self, folder: &Path) -> Options {
        let mut settings = settings_of_s3(self.proxy.port());
        settings.set("s3.secret_access_key", SECRET).unwrap();
        settings.set("cache.folder", folder.to_str().unwrap()).unwrap();
        Options::new().context(&Context::new().storage(settings))
    }

    fn uri(&self, path: &str) -> String {
        format!("s3://{}/{path}", self.bucket)
    }

    /// A store over the bucket that keeps nothing.
    fn store(&self) -> Arc<dyn Store> {
        let stores = ObjectStores::new(settings_of_s3(self.proxy.port()));
        stores.open("s3", &format!("{}/any", self.bucket)).unwrap().store
    }

    fn spent<T>(&self, work: impl FnOnce() -> T) -> (T, Asked) {
        self.proxy.start_log();
        let done = work();
        let (listings, others): (Vec<_>, Vec<_>) =
            self.proxy.log().into_iter().partition(|line| line.contains("list-type="));
        (done, Asked { listings: listings.len(), others })
    }

    fn make(&self, path: &str, factor: i64, key: Option<&EncryptionKey>) {
        let options = Options::new().context(&moto().unwrap().context());
        make(&self.uri(path), factor, &with_key(options, key));
    }

    /// Another program reads all cells with the help of the folder.
    fn read(&self, path: &str) -> (BTreeMap<i32, i64>, Asked) {
        self.spent(|| cells(&Array::open_with(&self.uri(path), &self.program(&self.cache())).unwrap()))
    }

    /// The files in the folder.
    fn entries(&self) -> Vec<PathBuf> {
        let below = |path: PathBuf| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        below(self.cache()).flat_map(below).collect()
    }
}

/// An array of three fragments whose cells are `factor` times their places.
fn make(uri: &str, factor: i64, options: &Options) {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9999).tile(100))
        .attribute(Attribute::of::<i64>("a"))
        .build()
        .unwrap();
    let array = Array::create_with(uri, &schema, options).unwrap();
    for fragment in 0..3 {
        let x: Vec<i32> = (0..100).map(|idx| 3 * idx + fragment).collect();
        let a: Vec<i64> = x.iter().map(|&x| factor * i64::from(x)).collect();
        array.write().column("x", &x).column("a", &a).at(fragment as u64 + 1).commit().unwrap();
    }
}

fn with_key(options: Options, key: Option<&EncryptionKey>) -> Options {
    key.map_or(options.clone(), |key| options.key(key.clone()))
}

fn cells(array: &Array) -> BTreeMap<i32, i64> {
    let batch = array.read().collect().unwrap();
    let x = batch.column_by_name("x").unwrap().as_primitive::<Int32Type>().values();
    let a = batch.column_by_name("a").unwrap().as_primitive::<Int64Type>().values();
    x.iter().copied().zip(a.iter().copied()).collect()
}

fn wanted(factor: i64) -> BTreeMap<i32, i64> {
    (0..300).map(|x| (x, factor * i64::from(x))).collect()
}

#[test]
fn what_one_program_has_read_no_other_one_asks_for() {
    let Some(far) = Far::new() else { return };
    far.make("array", 7, None);
    let (first, asked) = far.read("array");
    assert_eq!(first, wanted(7));
    assert!(asked.others.len() >= 6, "footers and cells of three fragments: {asked:?}");
    let listings = asked.listings;
    let (second, asked) = far.read("array");
    assert_eq!((second, asked), (first, Asked { listings, others: Vec::new() }));
    // What comes to it is asked for, and that alone.
    let options = Options::new().context(&moto().unwrap().context());
    let array = Array::open_with(&far.uri("array"), &options).unwrap();
    let name =
        array.write().column("x", &[300]).column("a", &[2100_i64]).commit().unwrap().name().to_string();
    let (third, asked) = far.read("array");
    assert_eq!(third.len(), 301);
    assert!(!asked.others.is_empty() && asked.others.iter().all(|line| line.contains(&name)), "{asked:?}");
}

#[test]
fn a_damaged_entry_is_fetched_again() {
    let Some(far) = Far::new() else { return };
    far.make("array", 7, None);
    let (_, first) = far.read("array");
    let damage = |path: &Path| {
        let mut bytes = std::fs::read(path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(path, bytes).unwrap();
    };
    damage(&far.entries()[0]);
    let (read, one) = far.read("array");
    assert_eq!((read, one.others.len()), (wanted(7), 1), "{one:?}");
    far.entries().iter().for_each(|path| damage(path));
    let (read, all) = far.read("array");
    assert_eq!((read, all.others.len()), (wanted(7), first.others.len()), "{all:?}");
    assert_eq!(far.read("array").1.others, [] as [String; 0]);
}

#[test]
fn an_object_that_was_replaced_is_fetched_again() {
    let Some(far) = Far::new() else { return };
    let writer = far.store();
    writer.put("folder/a", &[b"first"]).unwrap();
    let read = || {
        let cache = Arc::new(DiskCache::new(far.cache(), 1 << 20, "realm"));
        let store = CachedStore::new(far.store(), cache, |_| false);
        let (content, asked) = far.spent(|| {
            store.list("folder").unwrap();
            store.read_tail("folder/a", 9).unwrap().bytes
        });
        (content, asked.others.len())
    };
    assert_eq!(read(), ("first".into(), 1));
    assert_eq!(read(), ("first".into(), 0));
    // Of the same length, and in the same second.
    writer.replace("folder/a", &[b"other"]).unwrap();
    assert_eq!(read(), ("other".into(), 1));
    assert_eq!(read(), ("other".into(), 0));
}

/// Replaces the values of an array by those of another one, as repairs replace files.
fn repair(store: &dyn Store, array: &str, spare: &str) {
    let files = |array: &str| {
        let names = store.list_recursive(array).unwrap().into_iter().map(|entry| entry.name);
        let values = names.filter(|name| name.ends_with("/a0.tdb"));
        values.map(|name| format!("{array}/{name}")).collect::<Vec<_>>()
    };
    let (olds, news) = (files(array), files(spare));
    assert_eq!((olds.len(), news.len()), (3, 3));
    for (old, new) in olds.iter().zip(&news) {
        let aside = old.replacen(array, &format!("{array}/__aside/1"), 1);
        let (folder, _) = aside.rsplit_once('/').unwrap();
        store.create_folder(folder).unwrap();
        store.put(&aside, &[&store.read_all(old, 1 << 20).unwrap()]).unwrap();
        store.replace(old, &[&store.read_all(new, 1 << 20).unwrap()]).unwrap();
    }
}

#[test]
fn what_a_repair_replaced_in_a_fragment_is_fetched_again() {
    let Some(far) = Far::new() else { return };
    far.make("array", 7, None);
    far.make("spare", 8, None);
    assert_eq!(far.read("array").0, wanted(7));
    let store = far.store();
    repair(&*store, "array", "spare");
    assert_eq!(far.read("array").0, wanted(8));
    assert_eq!(far.read("array").0, wanted(8), "nor does what was kept since bring the old cells back");
}

#[test]
fn programs_share_the_folder_at_the_same_time() {
    let Some(far) = Far::new() else { return };
    let arrays = ["one", "two"];
    for (array, factor) in arrays.iter().zip([3, 5]) {
        far.make(array, factor, None);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (array, factor) in arrays.iter().zip([3, 5]) {
                    let array = Array::open_with(&far.uri(array), &far.program(&far.cache())).unwrap();
                    assert_eq!(cells(&array), wanted(factor));
                    assert_eq!(array.warnings().unwrap(), [] as [String; 0]);
                }
            });
        }
    });
    for (array, factor) in arrays.iter().zip([3, 5]) {
        let (read, asked) = far.read(array);
        assert_eq!((read, asked.others), (wanted(factor), Vec::new()));
    }
}

#[test]
fn secrets_and_what_is_encrypted_are_not_in_the_folder() {
    let Some(far) = Far::new() else { return };
    let key = EncryptionKey::new(KEY).unwrap();
    far.make("array", 0x0123_4567, Some(&key));
    let read = |key: Option<&EncryptionKey>| {
        let options = with_key(far.program(&far.cache()), key);
        Array::open_with(&far.uri("array"), &options).map(|array| cells(&array))
    };
    assert_eq!(read(Some(&key)).unwrap(), wanted(0x0123_4567));
    let (again, asked) = far.spent(|| read(Some(&key)).unwrap());
    assert_eq!((again, asked.others), (wanted(0x0123_4567), Vec::new()));
    assert!(read(None).is_err(), "what is kept opens nothing");
    let cell = (0x0123_4567_i64 * 77).to_le_bytes();
    assert!(!far.entries().is_empty());
    for path in far.entries() {
        let bytes = std::fs::read(&path).unwrap();
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(!has(SECRET.as_bytes()) && !has(KEY) && !has(&cell), "{path:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_a_warning() {
    let Some(far) = Far::new() else { return };
    far.make("array", 7, None);
    let file = far.folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let options = far.program(&file);
    let array = Array::open_with(&far.uri("array"), &options).unwrap();
    let warnings = array.warnings().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(file.to_str().unwrap()), "{warnings:?}");
    assert_eq!(cells(&array), wanted(7));
    assert_eq!(Array::open_with(&far.uri("array"), &options).unwrap().warnings().unwrap(), [] as [String; 0]);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

#[test]
fn manifests_tell_of_repairs_where_a_server_lists_nothing() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    make(&path("array"), 7, &Options::new());
    make(&path("spare"), 8, &Options::new());
    let site = Site::new(root.path(), Manners { listing: Listing::Refused(403), ..Manners::default() });
    let cache = tempfile::tempdir().unwrap();
    let read = || {
        let mut settings = Settings::default();
        settings.set("cache.folder", cache.path().join("cache").to_str().unwrap()).unwrap();
        let options = Options::new().context(&Context::new().storage(settings));
        let cells = cells(&Array::open_with(&site.uri("array"), &options).unwrap());
        // Folders are asked for beside the manifest, in vain.
        let is_file = |path: &str| path.contains("/__fragments/") && !path.ends_with('/');
        (cells, site.asked().iter().any(|asked| is_file(&asked.path)))
    };
    let write_manifest = || Object::at(&path("array")).unwrap().unwrap().write_manifest().unwrap();
    write_manifest();
    assert_eq!(read(), (wanted(7), true));
    assert_eq!(read(), (wanted(7), false));
    repair(&LocalStore::new(root.path(), SyncLevel::None).unwrap(), "array", "spare");
    write_manifest();
    assert_eq!(read(), (wanted(8), true));
}
