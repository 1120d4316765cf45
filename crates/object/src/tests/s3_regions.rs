//! Buckets in other regions than was said.

use super::canned::{Answer, Asked};
use super::*;
use smalti_types::ErrorKind;

const HERE: &str = "eu-west-1";

/// What S3 says in its header to requests for another region.
const TOLD: &str = "x-amz-bucket-region";

/// S3 in one region, which answers those that are signed for another so.
fn s3(elsewhere: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Server {
    Canned::new(move |asked| match (asked.signed().1, asked.method.as_str()) {
        (HERE, "GET") => Answer::new(200, NOTHING),
        (HERE, "PUT") => Answer::new(200, "").with("etag", "\"e\""),
        (HERE, "POST") => {
            Answer::new(200, "<DeleteResult><Deleted><Key>array/a</Key></Deleted></DeleteResult>")
        }
        (HERE, _) => Answer::new(404, ""),
        _ => elsewhere(asked),
    })
}

fn store(s3: &Server, region: Option<&str>) -> Arc<dyn Store> {
    let address = s3.address();
    let keys =
        [("AWS_ACCESS_KEY_ID", "ID"), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_ENDPOINT_URL", &address)];
    let region = region.map(|region| ("AWS_REGION", region));
    open(&settings(&keys.into_iter().chain(region).collect::<Vec<_>>(), &[]), "s3://b/array")
}

fn regions(s3: &Server) -> Vec<String> {
    s3.asked().iter().map(|asked| asked.signed().1.to_owned()).collect()
}

#[test]
fn a_wrong_region_is_followed_once_and_remembered() {
    let malformed = |asked: &Asked| match asked.method.as_str() {
        "HEAD" => Answer::new(400, "").with(TOLD, HERE),
        _ => Answer::refusal(400, "AuthorizationHeaderMalformed").with(TOLD, HERE),
    };
    let of_body = |_: &Asked| {
        Answer::new(400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>")
    };
    let redirect = |_: &Asked| Answer::refusal(301, "PermanentRedirect").with(TOLD, HERE);
    let for_a_while = |_: &Asked| {
        Answer::refusal(307, "TemporaryRedirect").with(TOLD, HERE).with("location", "http://127.0.0.1:1/")
    };
    for s3 in [s3(malformed), s3(of_body), s3(redirect), s3(for_a_while)] {
        for (region, first) in [(None, "us-east-1"), (Some("ap-south-1"), "ap-south-1")] {
            let store = store(&s3, region);
            store.list("array").unwrap();
            assert_eq!(regions(&s3), [first, HERE]);
            store.list("array").unwrap();
            assert_eq!(regions(&s3), [HERE]);
        }
        store(&s3, Some(HERE)).list("array").unwrap();
        assert_eq!(regions(&s3), [HERE]);
    }
}

#[test]
fn every_kind_of_request_follows() {
    let s3 = s3(|_| Answer::new(301, "").with(TOLD, HERE));
    assert_eq!(store(&s3, None).byte_len("array/a").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(regions(&s3), ["us-east-1", HERE]);
    store(&s3, None).put("array/a", &[b"x"]).unwrap();
    assert_eq!(regions(&s3), ["us-east-1", HERE], "a put that must not replace was not done by the first");
    store(&s3, None).list_recursive("array").unwrap();
    assert_eq!(regions(&s3), ["us-east-1", HERE]);
    store(&s3, None).delete_files(&["array/a", "array/b"]).unwrap();
    assert_eq!(regions(&s3), ["us-east-1", HERE]);
}

#[test]
fn many_requests_at_once_learn_it_together() {
    let s3 = s3(|_| Answer::new(301, "").with(TOLD, HERE));
    let store = store(&s3, None);
    let requests = (0..40).map(|_| smalti_store::Request::List { folder: "array".to_owned() }).collect();
    for pending in store.submit(requests) {
        pending.wait().unwrap();
    }
    let regions = regions(&s3);
    assert_eq!(regions.iter().filter(|region| *region == HERE).count(), 40);
    assert!(regions.len() <= 80, "each was wrong once at most");
    store.list("array").unwrap();
}

#[test]
fn a_store_that_sends_around_in_circles_is_left() {
    let circle = Canned::new(|asked| {
        let other = if asked.signed().1 == "a-1" { "b-1" } else { "a-1" };
        Answer::refusal(301, "PermanentRedirect").with(TOLD, other)
    });
    store(&circle, None).list("array").unwrap_err();
    assert!(circle.asked().len() <= 3);
    let same = Canned::new(|asked| Answer::refusal(301, "PermanentRedirect").with(TOLD, asked.signed().1));
    store(&same, Some("a-1")).list("array").unwrap_err();
    assert_eq!(same.asked().len(), 1);
}

#[test]
fn what_is_no_region_is_not_followed() {
    let s3 = Canned::new(|_| Answer::refusal(301, "PermanentRedirect").with(TOLD, "evil.example/x"));
    store(&s3, None).list("array").unwrap_err();
    assert_eq!(regions(&s3), ["us-east-1"]);
    let s3 =
        Canned::new(|_| Answer::new(400, "<Error><Code>X</Code><Region>evil.example/x?</Region></Error>"));
    store(&s3, None).list("array").unwrap_err();
    assert_eq!(regions(&s3), ["us-east-1"]);
    // A refusal is none, whatever its region is.
    let s3 = Canned::new(|_| Answer::refusal(403, "AccessDenied").with(TOLD, HERE));
    assert!(problem(&store(&s3, None)).contains("AccessDenied"));
    assert_eq!(regions(&s3), ["us-east-1"]);
}
