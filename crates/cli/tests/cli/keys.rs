//! Encrypted arrays.

use crate::fixtures::GRID;
use crate::session::Session;

const KEY: &str = "0123456789abcdef0123456789ABCDEF";

#[test]
fn keys_come_from_the_option_a_file_or_the_environment() {
    let mut session = Session::new();
    session.file("grid.json", GRID);
    session.file("first.csv", "y,x,a,f,s\n1,1,11,1.5,one\n");
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    session.file("key", KEY);
    session.file("key.line", format!("{hex}\n"));
    session.show(&format!("create grid --schema grid.json --key {KEY}"));
    session.show("write grid --from first.csv --range y=1 --range x=1 --at 1 --key-file key");
    session.show("meta grid put k STRING_UTF8 secret --at 1 --key-file key.line");
    session.show(&format!("read grid --range y=1 --range x=1 --format csv --key {hex}"));
    session.note("SMALTI_KEY is set");
    session.set_key(Some(KEY));
    session.show("read grid --range y=1 --range x=1 --format csv");
    session.show("meta grid");
    session.show("fragments grid --json");
    let fragment = session.fragment("grid");
    let name = fragment.file_name().unwrap().to_str().unwrap().to_string();
    let metadata = session.text(&format!("inspect grid/__fragments/{name}/__fragment_metadata.tdb"));
    assert!(metadata.contains("Aes256Gcm") && metadata.contains("footer"), "{metadata}");
    session.note("SMALTI_KEY is another key");
    session.set_key(Some("another key, of the same length!"));
    session.show("read grid");
    session.show("read grid --range y=1 --range x=1 --format csv --key-file key");
    session.note("SMALTI_KEY is empty");
    session.set_key(Some(""));
    session.show("read grid");
    session.set_key(None);
    session.show("read grid");
    session.show("read grid --key short");
    session.show("read grid --key-file missing");
    session.show(&format!("read grid --key {KEY} --key-file key"));
    session.check("keys");
}
