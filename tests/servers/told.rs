//! What is told of requests, bytes and rounds is what a server sees.

use crate::behind::Behind;
use crate::server::{Server, moto, s3s};
use smalti::upkeep::UpkeepOptions;
use smalti::{Array, Attribute, Dimension, Schema, Traffic};

fn grid() -> Schema {
    let x = Dimension::new("x", 0..=1_199).tile(100);
    Schema::dense().dimension(x).attribute(Attribute::of::<i64>("a")).build().unwrap()
}

/// The requests that a proxy has counted since it was asked the last time.
fn seen(behind: &Behind) -> u64 {
    let requests = behind.proxy.counts().requests;
    behind.proxy.reset();
    requests
}

fn between(array: &Array, before: &Traffic) -> Traffic {
    array.traffic().since(before)
}

#[test]
fn opening_and_reading_ask_for_what_they_tell_and_for_no_more_than_is_promised() {
    // One gives the ends of objects, the other is asked for their lengths before.
    for (server, of_an_end) in [(moto().map(|moto| moto as &dyn Server), 1), (Some(s3s() as &dyn Server), 2)]
    {
        let Some(server) = server else { continue };
        let behind = Behind::of(server);
        let uri = behind.uri("grid");
        let array = Array::create_with(&uri, &grid(), &behind.options()).unwrap();
        for part in 0..12_i64 {
            let cells: Vec<i64> = (part * 100..(part + 1) * 100).collect();
            array.write().range("x", part * 100..=part * 100 + 99).column("a", &cells).commit().unwrap();
        }
        let options = UpkeepOptions::default();
        array.consolidate_fragment_meta(&options).unwrap();
        array.consolidate_commits(&options).unwrap();
        array.vacuum_commits(&options).unwrap();
        drop(array);
        seen(&behind);

        let array = Array::open_with(&uri, &behind.options()).unwrap();
        let opening = array.traffic();
        assert!(opening.round_count <= 3, "{}: {opening:?}", server.name());
        // The schema, the list of commits and the consolidated metadata are ends of objects.
        assert!(opening.request_count() <= 6, "{}: {opening:?}", server.name());
        let most = opening.list_count + of_an_end * opening.read_count;
        let asked = seen(&behind);
        assert!(
            (opening.request_count()..=most).contains(&asked),
            "{}: {asked} of {opening:?}",
            server.name()
        );

        let read = || array.read().range("x", 150..=420).collect().unwrap();
        assert_eq!(read().num_rows(), 271);
        let reading = between(&array, &opening);
        assert!(
            reading.round_count <= 2 && reading.read_byte_len >= 271 * 8,
            "{}: {reading:?}",
            server.name()
        );
        let asked = seen(&behind);
        let most = of_an_end * reading.request_count();
        assert!(
            (reading.request_count()..=most).contains(&asked),
            "{}: {asked} of {reading:?}",
            server.name()
        );

        // Nothing is fetched twice in a context.
        let before = array.traffic();
        assert_eq!(read().num_rows(), 271);
        assert_eq!((between(&array, &before).request_count(), seen(&behind)), (0, 0), "{}", server.name());
    }
}
