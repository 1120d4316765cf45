//! The same operations on moto, a server of S3 that nobody here has written: what they leave there is what they leave in the simulated bucket, whole or cut short.

use super::line::{Fault, Plan, Sent, Server};
use super::{Answer, Client, answer};
use crate::upkeep::buckets::CLAIMS_END_MS;
use crate::upkeep::crashes::{BEFORE, arrays, changed_on};
use crate::upkeep::expectation::Expectation;
use crate::upkeep::on_one_thread;
use crate::upkeep::operation::{Operation, every_operation};
use smalti_format::Version;
use smalti_store::{BucketImage, BucketStep};
use smalti_tests::servers::{Moto, moto};
use smalti_types::Result;

/// What an operation has left in a bucket of moto.
struct Left {
    result: Result<()>,
    sent: Vec<Sent>,
    image: BucketImage,
}

/// Performs an operation on a bucket that holds what an image holds.
fn run(client: &Client, moto: &Moto, base: &BucketImage, operation: Operation, plan: Option<Plan>) -> Left {
    let name = client.new_name();
    moto.make_bucket(&name);
    for path in base.paths() {
        let (bytes, _) = base.object(path).unwrap();
        moto.ask("PUT", &format!("/{name}/{path}"), bytes);
    }
    let now_ms = base.now_ms() - BucketImage::default().now_ms() + 1;
    let server = Server::At(moto.port());
    let (result, sent) = client.over_named(&name, &server, plan, now_ms, |place| operation.run(place));
    Left { result: result.map(drop), sent, image: image(moto, &name, base) }
}

/// What a bucket holds. What it held before was put when it was, in the time of simulations, and the rest now.
fn image(moto: &Moto, name: &str, base: &BucketImage) -> BucketImage {
    let listed = String::from_utf8(moto.ask("GET", &format!("/{name}?list-type=2"), &[])).unwrap();
    assert!(listed.contains("<IsTruncated>false</IsTruncated>"), "{listed}");
    let keys = listed.split("<Key>").skip(1).map(|rest| rest.split_once("</Key>").unwrap().0);
    let keys: Vec<&str> = keys.collect();
    let mut image = base.clone();
    for path in base.paths().filter(|path| !keys.contains(path)) {
        image.apply(&BucketStep::Delete { path: path.to_owned() });
    }
    for path in keys {
        let bytes = moto.ask("GET", &format!("/{name}/{path}"), &[]);
        if base.object(path).is_none_or(|(before, _)| *before != bytes) {
            image.apply(&BucketStep::Put { path: path.to_owned(), bytes: bytes.into() });
        }
    }
    image
}

#[test]
fn operations_on_a_real_server_leave_what_they_leave_in_the_simulated_bucket() {
    let Some(moto) = moto() else { return };
    // Servers take no small parts.
    let client = Client { name: "upkeep", ..Client::new(1 << 30) };
    let (mut cut_count, mut unknown_count) = (0, 0);
    on_one_thread(|| {
        for (at, array) in arrays().iter().enumerate() {
            let is_dense = array.contains(&Operation::CreateDense);
            let is_fit = |operation: &Operation| !(is_dense && operation.is_sparse_only());
            let base = changed_on::<BucketImage>(Version::DEFAULT, array, BEFORE[5 + at % 3]).image();
            let others: Vec<Operation> =
                every_operation(60, 600, "later", 6).into_iter().filter(is_fit).collect();
            for (number, operation) in every_operation(50, 500, "late", 5).into_iter().enumerate() {
                if !is_fit(&operation) || number % 3 != at && !operation.is_sparse_only() {
                    continue;
                }
                let expectation = Expectation::new(&base, operation);
                let whole = run(&client, moto, &base, operation, None);
                let context = format!("{operation:?} of {:?}", array[0]);
                whole.result.unwrap_or_else(|error| panic!("{context}: {error}"));
                let other = others[number % others.len()];
                expectation.check(&whole.image, Answer::Success, other, &context);
                let count = whole.sent.len();
                for (request_idx, fault, is_lasting) in [
                    (number * 5 % count, Fault::ResetBefore, true),
                    (count - 1, Fault::ResetAfter, true),
                    (number % count, Fault::ResetAfter, false),
                ] {
                    let plan = Plan { fault, request_idx, is_lasting };
                    let mut cut = run(&client, moto, &base, operation, Some(plan));
                    let answer = answer(&cut.result);
                    let context = format!("{context}, {plan:?}: {:?}; {:?}", cut.result, cut.sent);
                    if !is_lasting {
                        assert_eq!(answer, Answer::Success, "{context}");
                    }
                    cut_count += usize::from(answer != Answer::Success);
                    unknown_count += usize::from(answer == Answer::Unknown);
                    cut.image.advance(CLAIMS_END_MS);
                    expectation.check(&cut.image, answer, other, &context);
                }
            }
        }
    });
    println!("{cut_count} operations cut short on moto, {unknown_count} of unknown effect");
    assert!(cut_count > 0 && unknown_count > 0);
}
