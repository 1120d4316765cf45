//! The proxy that counts and the server of S3 over a folder, in this process and as programs.

use smalti_object::{ObjectStores, Settings};
use smalti_store::{Remote as _, StoreExt as _};
use smalti_tests::proxy::{Canned, Counts, Fault, Proxy, Rule};
use smalti_tests::servers::Process;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

/// Starts a program that was built with the tests.
fn start(program: &str, args: &[&str]) -> Process {
    Process::start(Command::new(program).args(args)).unwrap()
}

/// Asks, and returns the whole answer.
fn ask(port: u16, method: &str, target: &str) -> String {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).trim_end()
}

#[test]
fn requests_and_rounds_are_counted() {
    let proxy = Proxy::start("127.0.0.1:1".parse().unwrap()).unwrap();
    let with = Canned { status: 200, headers: Vec::new(), body: "12345".into() };
    proxy.set_rules([
        Rule::new(Fault::Silence { reaches: false }).of(|seen| seen.path == "/silence"),
        Rule::new(Fault::Answer { reaches: false, with }),
    ]);
    for _ in 0..4 {
        assert_eq!(body(&ask(proxy.port(), "GET", "/b/a")), "12345");
    }
    assert_eq!(proxy.counts(), Counts { requests: 4, rounds: 4, bytes_in: 0, bytes_out: 20 });
    proxy.reset();
    assert_eq!(proxy.counts(), Counts::default());
    // What comes while another is under way is of the same round.
    proxy.start_log();
    let mut connection = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    connection.write_all(b"GET /silence HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    while proxy.log().is_empty() {
        std::thread::yield_now();
    }
    for _ in 0..3 {
        ask(proxy.port(), "GET", "/b/a");
    }
    assert_eq!(proxy.counts(), Counts { requests: 4, rounds: 1, bytes_in: 0, bytes_out: 15 });
    assert_eq!(proxy.log()[0], "GET /silence? Silence { reaches: false }");
}

#[test]
fn a_proxy_in_front_of_a_server_is_asked_over_http() {
    let root = tempfile::tempdir().unwrap();
    let root_path = root.path().join("buckets");
    let root_path = root_path.to_str().unwrap();
    let server = start(env!("CARGO_BIN_EXE_s3-server"), &["--root", root_path, "--bucket", "ours"]);
    let to = format!("127.0.0.1:{}", server.port());
    let proxy = start(env!("CARGO_BIN_EXE_fault-proxy"), &["--to", &to, "--latency-ms", "1"]);
    let mut settings = Settings::default();
    for (name, value) in [
        ("s3.endpoint", format!("http://127.0.0.1:{}", proxy.port()).as_str()),
        ("s3.region", "us-east-1"),
        ("s3.access_key_id", "testing"),
        ("s3.secret_access_key", "testing"),
        ("s3.suffix_ranges", "false"),
    ] {
        settings.set(name, value).unwrap();
    }
    let counts = || {
        let answer = ask(proxy.port(), "GET", "/__proxy/counts");
        assert!(answer.contains("content-type: application/json"), "{answer}");
        serde_json::from_str::<serde_json::Value>(body(&answer)).unwrap()
    };
    let store = ObjectStores::new(settings).open("s3", "ours/any").unwrap().store;
    store.put("any/file", &[b"content"]).unwrap();
    assert_eq!(counts(), serde_json::json!({"requests": 1, "rounds": 1, "bytes_in": 7, "bytes_out": 0}));
    assert!(ask(proxy.port(), "POST", "/__proxy/reset").starts_with("HTTP/1.1 200"));
    assert!(ask(proxy.port(), "POST", "/__proxy/latency?ms=2").starts_with("HTTP/1.1 200"));
    assert!(ask(proxy.port(), "POST", "/__proxy/latency?ms=x").starts_with("HTTP/1.1 404"));
    assert_eq!(counts()["requests"], 0);
    assert_eq!(&store.read_all("any/file", 100).unwrap()[..], b"content");
    let counted = counts();
    assert_eq!(counted["requests"], counted["rounds"], "one after the other: {counted}");
    assert_eq!(counted["bytes_out"], 7);
    for program in [proxy, server] {
        assert!(program.end().unwrap().success());
    }
}

#[test]
fn programs_say_what_is_wrong_with_their_arguments() {
    for (program, args, problem) in [
        (env!("CARGO_BIN_EXE_fault-proxy"), &["--to", "10.0.0.1:80"][..], "not on the loopback"),
        (env!("CARGO_BIN_EXE_fault-proxy"), &[], "--to is missing"),
        (env!("CARGO_BIN_EXE_s3-server"), &["--root"], "--root needs a value"),
        (env!("CARGO_BIN_EXE_s3-server"), &["--root", "x", "--bucket", "../x"], "no name of a bucket"),
    ] {
        let done = Command::new(program).args(args).output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&done.stderr).contains(problem));
    }
}
