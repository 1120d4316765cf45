//! A network that breaks: what is read is right, or there is an error of one line; what was written is there, or was not said to be.

use crate::behind::Behind;
use crate::server::{Server, moto, s3s};
use smalti::upkeep::{FragmentOptions, UpkeepOptions, VacuumOptions};
use smalti::{Array, Attribute, Context, Dimension, Error, ErrorKind, Options, Result, Schema};
use smalti_store::{ReadInto, Store, StoreExt as _};
use smalti_tests::proxy::{Canned, Fault, Rule, Seen};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Nothing here takes as long, but what never ends.
const FOR_EVER: Duration = Duration::from_secs(300);

/// Does work that must end, whatever the network does.
fn that_ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(FOR_EVER).expect("it ends, and does not panic")
}

/// An error of one line.
fn line_of<T>(result: Result<T>, kind: ErrorKind) -> String {
    let error = result.err().expect("this cannot have been done");
    assert_eq!(error.kind(), kind, "{error}");
    told(&error)
}

fn told(error: &Error) -> String {
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 600, "{line}");
    line
}

/// The content of a file.
fn whole(store: &Arc<dyn Store>, path: &str) -> Result<Vec<u8>> {
    store.read_all(path, 1 << 20).map(|content| content.to_vec())
}

/// A part of the file that most tests have.
fn part(store: &Arc<dyn Store>, offset: u64, byte_len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; byte_len];
    store.read_into(&mut [ReadInto { path: "any/file", offset, dest: &mut bytes }])?;
    Ok(bytes)
}

fn schema() -> Schema {
    Schema::sparse()
        .dimension(Dimension::new("x", 0..=999).tile(100))
        .attribute(Attribute::of::<i32>("a"))
        .attribute(Attribute::utf8("text"))
        .build()
        .unwrap()
}

/// The cells of a fragment.
fn write_to(array: &Array, number: i32) -> Result<()> {
    let x: Vec<i32> = (0..50).map(|at| number * 50 + at).collect();
    let a: Vec<i32> = x.iter().map(|x| x * x).collect();
    let text: Vec<String> = x.iter().map(|x| format!("cell {x}")).collect();
    let text: Vec<&str> = text.iter().map(String::as_str).collect();
    let at = 1_000 + u64::try_from(number).unwrap();
    array.write().column("x", &x).column("a", &a).column("text", &text).at(at).commit().map(drop)
}

/// All cells, in words.
fn cells(array: &Array) -> Result<String> {
    Ok(format!("{:?}", array.read().collect()?))
}

fn cells_at(uri: &str, options: &Options) -> Result<String> {
    cells(&Array::open_with(uri, options)?)
}

/// What arrays of so many fragments hold.
fn expected(fragment_count: i32) -> String {
    let options = Options::new().context(&Context::new());
    let array = Array::create_with("mem://expected", &schema(), &options).unwrap();
    (0..fragment_count).try_for_each(|number| write_to(&array, number)).unwrap();
    cells(&array).unwrap()
}

fn new_array(behind: &Behind, name: &str, fragment_count: i32) -> String {
    let uri = behind.uri(name);
    let array = Array::create_with(&uri, &schema(), &behind.options()).unwrap();
    (0..fragment_count).try_for_each(|number| write_to(&array, number)).unwrap();
    uri
}

fn is_any(_: &Seen) -> bool {
    true
}

/// Opens, reads, writes, consolidates and vacuums, while one request of three meets a fault that goes away: each in its turn.
fn goes_on_in_spite_of(server: &'static dyn Server, fault: fn() -> Fault, of: fn(&Seen) -> bool) {
    let of_phase = move |phase: u64| {
        move || {
            let behind = Behind::of(server);
            let uri = new_array(&behind, "array", 3);
            let broken = || [Rule::new(fault()).of(of).after(phase).every(3)];
            let failed = |what: &str, error: Error| -> String {
                panic!("{what}, {:?} in phase {phase}: {error}", fault())
            };
            behind.proxy.set_rules(broken());
            let found = cells_at(&uri, &behind.options()).unwrap_or_else(|error| failed("a read", error));
            assert_eq!(found, expected(3));
            let written = Array::open_with(&uri, &behind.options()).and_then(|array| write_to(&array, 3));
            written.unwrap_or_else(|error| drop(failed("a write", error)));
            let consolidated = Array::open_with(&uri, &behind.options()).and_then(|array| {
                array.consolidate(&FragmentOptions::default())?;
                array.consolidate_fragment_meta(&UpkeepOptions::default())?;
                array.consolidate_commits(&UpkeepOptions::default())
            });
            consolidated.map_or_else(|error| drop(failed("a consolidation", error)), drop);
            let vacuumed = Array::open_with(&uri, &behind.options()).and_then(|mut array| {
                array.vacuum(&VacuumOptions { ignores_readers: true, ..VacuumOptions::default() })
            });
            vacuumed.map_or_else(|error| drop(failed("a vacuum", error)), drop);
            behind.proxy.set_rules([]);
            let array = Array::open_with(&uri, &behind.options()).unwrap();
            assert_eq!(cells(&array).unwrap(), expected(4));
            assert_eq!(array.fragments().unwrap().len(), 1);
        }
    };
    let phases: Vec<_> = (0..3).map(|phase| std::thread::spawn(move || that_ends(of_phase(phase)))).collect();
    for phase in phases {
        phase.join().expect("each phase ends well");
    }
}

fn busy(status: u16, code: &str) -> Fault {
    Fault::Answer { reaches: false, with: Canned::error(status, code) }
}

#[test]
fn a_busy_store_is_asked_again() {
    goes_on_in_spite_of(s3s(), || busy(503, "SlowDown"), is_any);
}

#[test]
fn a_store_with_errors_of_its_own_is_asked_again() {
    goes_on_in_spite_of(s3s(), || busy(500, "InternalError"), is_any);
}

#[test]
fn who_asks_too_often_asks_again_later() {
    goes_on_in_spite_of(s3s(), || busy(429, "TooManyRequests"), is_any);
}

#[test]
fn requests_that_are_reset_are_sent_again() {
    goes_on_in_spite_of(s3s(), || Fault::Reset, is_any);
}

#[test]
fn an_acknowledgement_that_is_lost_changes_nothing() {
    goes_on_in_spite_of(s3s(), || Fault::LostAnswer, is_any);
}

#[test]
fn answers_that_are_reset_in_the_middle_are_asked_for_again() {
    goes_on_in_spite_of(s3s(), || Fault::ResetAfter(10), |seen| seen.method == "GET");
}

#[test]
fn answers_that_break_off_are_asked_for_again() {
    goes_on_in_spite_of(s3s(), || Fault::CloseAfter(3), |seen| seen.method == "GET");
}

#[test]
fn answers_that_are_shorter_than_they_say_are_asked_for_again() {
    goes_on_in_spite_of(s3s(), || Fault::TooLong(7), |seen| seen.method == "GET");
}

#[test]
fn answers_whose_head_says_too_little_are_asked_for_again() {
    goes_on_in_spite_of(s3s(), || Fault::Truncate(5), |seen| seen.lists() || seen.is_ranged);
}

#[test]
fn requests_that_arrive_twice_have_one_effect() {
    // Of the two, the second may be told that the first was there before.
    goes_on_in_spite_of(s3s(), || Fault::Twice, |seen| !seen.puts());
}

#[test]
fn the_reference_of_conditions_goes_on_too() {
    let Some(moto) = moto() else { return };
    goes_on_in_spite_of(moto, || busy(503, "SlowDown"), is_any);
    goes_on_in_spite_of(moto, || Fault::LostAnswer, is_any);
    goes_on_in_spite_of(moto, || Fault::CloseAfter(3), |seen| seen.method == "GET");
}

#[test]
fn a_put_that_arrives_twice_is_one_of_ours_where_conditions_hold() {
    let Some(moto) = moto() else { return };
    let behind = Behind::of(moto);
    let store = behind.store();
    // The answer that came back was the second: it says that something is there, and what is there bears our mark.
    behind.proxy.set_rules([Rule::new(Fault::Twice).of(Seen::puts).times(1)]);
    store.put("any/file", &[b"ours"]).unwrap();
    assert_eq!(line_of(store.put("any/file", &[b"others"]), ErrorKind::AlreadyExists).lines().count(), 1);
    assert_eq!(whole(&store, "any/file").unwrap(), b"ours");
}

#[test]
fn retries_end_and_the_error_says_how_often_it_was_tried() {
    let behind = Behind::of(s3s()).set("network.retries", "2");
    behind.proxy.set_rules([Rule::new(busy(503, "SlowDown"))]);
    let store = behind.store();
    let line = line_of(store.list("any"), ErrorKind::Io);
    assert!(line.contains("status 503, SlowDown, asked 3 times"), "{line}");
    assert_eq!(behind.proxy.counts().requests, 3);
    behind.proxy.reset();
    let line = line_of(store.put("any/file", &[b"x"]), ErrorKind::Io);
    assert!(line.contains("status 503, SlowDown"), "{line}");
    // Whether it is there is asked in between, and asked again as any question is.
    assert!(behind.proxy.counts().requests >= 3);
    behind.proxy.set_rules([]);
    assert!(!store.file_exists("any/file").unwrap());
}

#[test]
fn silence_ends_with_the_time_that_was_allowed() {
    for reaches in [false, true] {
        // Nobody answers this one, however fast the machine is.
        let hasty = Behind::of(s3s()).set("network.retries", "1").set("network.timeout", "200 ms");
        hasty.proxy.set_rules([Rule::new(Fault::Silence { reaches })]);
        let store = hasty.store();
        let line = that_ends(move || line_of(store.list("any"), ErrorKind::Io));
        assert!(line.contains("did not answer in time"), "{line}");
        assert_eq!(hasty.proxy.counts().requests, 2);
    }
}

#[test]
fn one_silence_is_asked_again() {
    for reaches in [false, true] {
        let behind = Behind::of(s3s()).set("network.retries", "20").set("network.timeout", "3 s");
        let store = behind.store();
        store.put("any/file", &[b"content"]).unwrap();
        behind.proxy.set_rules([Rule::new(Fault::Silence { reaches }).times(1)]);
        assert_eq!(store.list("any").unwrap().len(), 1);
        behind.proxy.set_rules([Rule::new(Fault::Silence { reaches }).of(Seen::puts).times(1)]);
        store.put("any/other", &[b"other"]).unwrap();
        assert_eq!(whole(&store, "any/other").unwrap(), b"other");
    }
}

#[test]
fn listings_that_do_not_end_are_refused() {
    for same_token in [true, false] {
        let behind = Behind::of(s3s()).set("network.listing", "1 MiB");
        let uri = new_array(&behind, "array", 2);
        behind.proxy.set_rules([Rule::new(Fault::Endless { same_token }).of(Seen::lists)]);
        let options = behind.options();
        let store = behind.store();
        let line = that_ends(move || line_of(Array::open_with(&uri, &options), ErrorKind::Io));
        assert!(line.contains("does not end"), "{line}");
        // A page counts 16 KiB at least.
        let listed = behind.proxy.counts().requests;
        assert!(listed < 1_000, "{listed}");
        that_ends(move || {
            line_of(store.list_recursive("array"), ErrorKind::Io);
            line_of(store.last_change_ms("array"), ErrorKind::Io);
            line_of(store.leftovers("array"), ErrorKind::Io);
            line_of(store.delete_folders(&["array"]), ErrorKind::Io);
        });
    }
}

#[test]
fn answers_that_do_not_end_are_refused() {
    let behind = Behind::of(s3s()).set("network.listing", "1 MiB").set("network.retries", "1");
    let store = behind.store();
    store.put("any/file", &[&[7; 1000]]).unwrap();
    behind.proxy.set_rules([Rule::new(Fault::EndlessBody).of(|seen| seen.method == "GET")]);
    let line = that_ends({
        let store = Arc::clone(&store);
        move || line_of(store.list("any"), ErrorKind::Io)
    });
    assert!(line.contains("does not end"), "{line}");
    that_ends(move || {
        let read = part(&store, 10, 100);
        line_of(read, ErrorKind::Io);
    });
}

#[test]
fn a_stale_listing_shows_an_old_state() {
    let behind = Behind::of(s3s());
    let uri = new_array(&behind, "array", 2);
    behind.proxy.set_rules([Rule::new(Fault::Remember).of(Seen::lists)]);
    assert_eq!(cells_at(&uri, &behind.options()).unwrap(), expected(2));
    let array = Array::open_with(&uri, &behind.options()).unwrap();
    write_to(&array, 2).unwrap();
    behind.proxy.change_rules([Rule::new(Fault::Stale).of(Seen::lists)]);
    assert_eq!(cells_at(&uri, &behind.options()).unwrap(), expected(2));
    // A write that sees the old state adds to the new one.
    write_to(&Array::open_with(&uri, &behind.options()).unwrap(), 3).unwrap();
    behind.proxy.set_rules([]);
    assert_eq!(cells_at(&uri, &behind.options()).unwrap(), expected(4));
}

#[test]
fn an_error_inside_a_200_is_an_error() {
    let inside = |code: &str| Fault::Answer { reaches: false, with: Canned::error(200, code) };
    let behind = Behind::of(s3s()).set("network.retries", "1").set("network.part_size", "5 MiB");
    let store = behind.store();
    store.put("any/from/file", &[b"x"]).unwrap();
    let big = vec![5; 11 << 20];
    let write = |path: &str| {
        let mut file = store.create(path)?;
        file.write(&big)?;
        file.finish()
    };

    // It goes away: what is asked again is done.
    for code in ["InternalError", "SlowDown"] {
        behind.proxy.set_rules([Rule::new(inside(code)).of(Seen::completes).times(1)]);
        write(&format!("any/{code}")).unwrap();
        assert_eq!(store.byte_len(&format!("any/{code}")).unwrap(), 11 << 20);
        behind.proxy.set_rules([Rule::new(inside(code)).of(|seen| seen.copies).times(1)]);
        store.move_folder("any/from", &format!("any/to-{code}")).unwrap();
        store.move_folder(&format!("any/to-{code}"), "any/from").unwrap();
    }
    // It stays, or is none that is worth another try.
    for (code, kind) in [
        ("InternalError", ErrorKind::Io),
        ("AccessDenied", ErrorKind::Permission),
        ("NoSuchKey", ErrorKind::NotFound),
    ] {
        behind.proxy.set_rules([Rule::new(inside(code)).of(Seen::completes)]);
        line_of(write("any/refused"), kind);
        behind.proxy.set_rules([Rule::new(inside(code)).of(|seen| seen.copies)]);
        line_of(store.move_folder("any/from", "any/to"), kind);
        behind.proxy.set_rules([]);
        assert!(!store.file_exists("any/refused").unwrap());
        assert_eq!(whole(&store, "any/from/file").unwrap(), b"x", "what was not copied is not deleted");
        assert!(store.list("any/to").unwrap().is_empty());
    }
    behind.proxy.set_rules([Rule::new(inside("AccessDenied")).of(Seen::lists)]);
    line_of(store.list("any"), ErrorKind::Permission);
}

#[test]
fn a_part_that_was_not_deleted_is_told_even_if_nobody_asked_for_it() {
    let behind = Behind::of(s3s());
    let store = behind.store();
    store.put("any/file", &[b"x"]).unwrap();
    for key in ["any/file", "never/asked/for"] {
        let error = format!("<Error><Key>{key}</Key><Code>AccessDenied</Code><Message>no</Message></Error>");
        let with = Canned::xml(200, format!("<DeleteResult>{error}</DeleteResult>"));
        behind.proxy.set_rules([Rule::new(Fault::Answer { reaches: false, with }).of(Seen::deletes)]);
        let line = line_of(store.delete_files(&["any/file"]), ErrorKind::Permission);
        assert!(line.contains("AccessDenied"), "{line}");
    }
}

#[test]
fn a_completed_upload_whose_acknowledgement_was_lost_is_there() {
    for server in [Some(s3s() as &dyn Server), moto().map(|moto| moto as &dyn Server)].into_iter().flatten() {
        let behind = Behind::of(server).set("network.part_size", "5 MiB");
        let store = behind.store();
        behind.proxy.set_rules([Rule::new(Fault::LostAnswer).of(Seen::completes).times(1)]);
        let mut file = store.create("any/big").unwrap();
        file.write(&vec![9; 11 << 20]).unwrap();
        file.finish().unwrap();
        assert_eq!(store.byte_len("any/big").unwrap(), 11 << 20);
    }
}

#[test]
fn parts_that_fail_are_sent_again_and_what_fails_for_good_leaves_nothing() {
    let behind = Behind::of(s3s()).set("network.part_size", "5 MiB");
    let store = behind.store();
    let write = |path: &str| {
        let mut file = store.create(path)?;
        file.write(&vec![1; 11 << 20])?;
        file.finish()
    };
    behind.proxy.set_rules([Rule::new(Fault::Reset).of(Seen::puts_part).every(2)]);
    write("any/again").unwrap();
    behind.proxy.set_rules([Rule::new(busy(503, "SlowDown")).of(Seen::puts_part).after(1)]);
    behind.proxy.start_log();
    line_of(write("any/never"), ErrorKind::Io);
    assert!(behind.proxy.log().iter().any(|line| line.starts_with("DELETE") && line.contains("uploadId=")));
    behind.proxy.set_rules([]);
    assert!(!store.file_exists("any/never").unwrap());
}

#[test]
fn redirects_in_circles_are_followed_nowhere() {
    for status in [301, 302, 307, 308] {
        let behind = Behind::of(s3s());
        let store = behind.store();
        behind.proxy.set_rules([Rule::new(Fault::Redirect(status))]);
        let line = that_ends(move || line_of(store.list("any"), ErrorKind::InvalidArgument));
        assert!(line.contains("round in circles"), "{line}");
        assert_eq!(behind.proxy.counts().requests, 1);
    }
}

#[test]
fn answers_of_somebody_else_are_not_believed() {
    let behind = Behind::of(s3s()).set("network.retries", "1");
    let store = behind.store();
    store.put("any/file", &[b"content"]).unwrap();
    for (status, text) in [
        (200, ""),
        (200, "<html><body>Welcome</body></html>"),
        (200, "\u{0}\u{1}\u{2}"),
        (404, "<html><body>404</body></html>"),
        (405, ""),
    ] {
        let with = Canned { status, headers: Vec::new(), body: text.to_owned().into() };
        behind.proxy.set_rules([Rule::new(Fault::Answer { reaches: false, with })]);
        let line = line_of(store.list("any"), ErrorKind::InvalidArgument);
        assert!(line.contains("does not speak S3's protocol") && line.contains("s3.endpoint"), "{line}");
        let read = part(&store, 0, 7);
        told(&read.unwrap_err());
    }
}

#[test]
fn ranges_that_lie_are_never_cells() {
    let behind = Behind::of(s3s()).set("network.retries", "0");
    let store = behind.store();
    store.put("any/file", &[b"0123456789"]).unwrap();
    let of = |range: &str, body: &'static str| Canned {
        status: 206,
        headers: vec![
            ("content-range".to_owned(), range.to_owned()),
            ("etag".to_owned(), "\"a\"".to_owned()),
            ("last-modified".to_owned(), "Tue, 15 Nov 1994 12:45:26 GMT".to_owned()),
        ],
        body: body.into(),
    };
    for (range, body) in [
        ("bytes 2-4/10", "23"),
        ("bytes 2-4/10", "23456789"),
        ("bytes 3-5/10", "345"),
        ("bytes 2-9/10", "23456789"),
        ("bytes 2-18446744073709551615/18446744073709551615", "234"),
        ("bytes 4-2/10", "234"),
        ("bytes 2-4/*", "234"),
        ("lines 2-4/10", "234"),
    ] {
        let with = of(range, body);
        behind
            .proxy
            .set_rules([Rule::new(Fault::Answer { reaches: false, with }).of(|seen| seen.method == "GET")]);
        let read = part(&store, 2, 3);
        told(&read.expect_err(range));
    }
    let with = of("bytes 2-4/10", "234");
    behind
        .proxy
        .set_rules([Rule::new(Fault::Answer { reaches: false, with }).of(|seen| seen.method == "GET")]);
    assert_eq!(part(&store, 2, 3).unwrap(), b"234");
}
