//! `--where`, `smalti delete`, `smalti aggregate` and `smalti explain`.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn conditions_choose_cells() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.note("cells of dense arrays that do not fulfil it are fill values, unless they are left out");
    session.show("read grid --where 'a > 20 and f is not null' --format csv");
    session.show("read grid --where 'a > 20 and f is not null' --matching-only --format csv");
    session.show("read points --where 'n >= 7 and not (flag == true)' --select n,flag --format csv");
    session.show("read points --where 'n in (0, 42) or score is null' --select n,score --format csv");
    session.show("read points --where 'name > 5'");
    session.show("read points --where 'n > 5 and'");
    session.show("read points --matching-only");
    session.check("conditions");
}

#[test]
fn conditions_know_between_like_lists_and_booleans_alone() {
    let mut session = Session::new();
    points(&session);
    let select = "--select n,name,flag --layout row --format csv";
    session.show(&format!("read points --where 'flag and n between 1 and 42' {select}"));
    session.show(&format!("read points --where 'not flag' {select}"));
    session.show(&format!("read points --where \"name like 'Par%' or name like 'Lut%'\" {select}"));
    session.show(&format!("read points --where \"n in [0, 42] and name not like 'q%'\" {select}"));
    session.show(&format!("read points --where \"day between '2000-01-01' and '2024-02-29'\" {select}"));
    session.show("read points --where \"name like '%is'\"");
    session.show("read points --where 'n and flag'");
    session.note("deletes hold them as comparisons");
    session.show("delete points --where \"name like 'Par%' or n between 0 and 5\" --at 300");
    session.show(&format!("read points {select}"));
    session.check("conditions_of_text");
}

#[test]
fn a_label_that_an_enumeration_lacks_is_warned_about_with_the_nearest() {
    let mut session = Session::new();
    session.file(
        "kinds.json",
        r#"{"array_type": "sparse", "dims": [{"name": "i", "type": "INT32", "domain": [0, 9]}],
            "enumerations": [{"name": "kinds", "type": "STRING_UTF8", "cell_val_num": "var", "values": ["village", "town", "city"]}],
            "attrs": [{"name": "kind", "type": "UINT8", "enumeration": "kinds"}]}"#,
    );
    session.text("create kinds --schema kinds.json");
    session.file("kinds.csv", "i,kind\n1,town\n2,city\n3,village\n");
    session.text("write kinds --from kinds.csv --at 100");
    session.show("read kinds --where \"kind == 'City'\" --format csv");
    session.show("read kinds --where \"kind in ['towm', 'city', 'hamlet']\" --format csv --json");
    session.show("aggregate kinds count --where \"kind != 'vilage'\" --json");
    session.show("explain kinds --where \"kind == 'twon'\" --json");
    session.hide_opening_bytes();
    session.show("read kinds --where \"kind like 'vi%'\" --format csv");
    session.check("unknown_labels");
}

#[test]
fn deleted_cells_are_there_at_earlier_times() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.show("delete points --where 'n == 42' --at 150");
    session.show("read points --select lat,n --format csv");
    session.show("read points --select lat,n --format csv --at 149");
    session
        .note("cells whose score is null, or no number, are deleted too: what is stored is which cells stay");
    session.show("delete points --where 'score > 0' --at 300 --json");
    session.show("read points --select lat,n,score --format csv");
    session.show("delete points --where 'm == 42'");
    session.show("delete grid --where 'a == 1'");
    session.check("delete");
}

#[test]
fn aggregates_are_numbers_and_cells() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.show("aggregate grid count sum:a min:a max:a mean:a null_count:f");
    session.show("aggregate grid count sum:a --range y=2:2 --json");
    session.show("aggregate grid count min:a --where 'a > 20' --json");
    session.show("aggregate points count min:n max:day mean:n sum:score --json");
    session.show("aggregate points count min:n --where 'n > 1000' --json");
    session.show("aggregate points median:n");
    session.show("aggregate points sum:name");
    session.show("aggregate points min");
    session.check("aggregate");
}

#[test]
fn what_nobody_wrote_is_told() {
    let mut session = Session::new();
    grid(&session);
    session.show("read grid --range y=4:4 --select a --format csv");
    session.show("read grid --range y=4:4 --select a --format csv --json");
    session.show("read grid --range y=3:4 --select a --format csv");
    session.show("aggregate grid count sum:a min:a max:a mean:a null_count:f max:x --range y=4:4");
    session.show("aggregate grid count sum:a mean:a --range y=4:4 --json");
    session.show("aggregate grid mean:a --range y=1:1 --json");
    session.check("unwritten");
}

#[test]
fn a_domain_without_end_costs_nothing_and_fits_nowhere() {
    let mut session = Session::new();
    session.file(
        "endless.json",
        r#"{"array_type": "dense",
            "dims": [{"name": "y", "type": "INT64", "domain": [0, 2147483647], "tile": 1},
                     {"name": "x", "type": "INT64", "domain": [0, 2147483647], "tile": 2}],
            "attrs": [{"name": "a", "type": "INT32"}]}"#,
    );
    session.text("create endless --schema endless.json");
    session.file("cells.csv", "y,x,a\n5,1000000000,1\n5,1000000001,2\n");
    session.text("write endless --from cells.csv --range y=5:5 --range x=1000000000:1000000001 --at 1");
    session.show("explain endless");
    session.show("aggregate endless count min:a max:a --json");
    session.show("aggregate endless count --where 'a < 2' --json");
    session.show("aggregate endless count --where 'a < 2 or y < 10' --json");
    session.show("read endless --where 'a > 0' --matching-only --format csv");
    session.show("read endless --where 'a < 0' --matching-only --limit 2 --format csv");
    session.show("read endless --format csv --limit 1");
    session.show("read endless --select a --format npy");
    session.show("digest endless");
    session.show("diff endless endless");
    session.check("endless");
    let session = Session::new();
    session.file("huge.json", r#"{"array_type": "dense", "dims": [{"name": "x", "type": "INT64", "domain": [0, 4611686018427387903], "tile": 2}], "attrs": [{"name": "a", "type": "INT8"}]}"#);
    session.text("create huge --schema huge.json");
    for line in ["read huge --select a -o a.npy", "read huge -o a.arrow", "read huge -o a.csv"] {
        let problem = session.problem(line, 1);
        assert!(
            problem.contains("4611686018427387904 cells") && problem.contains("there is room for"),
            "{problem}"
        );
    }
    assert_eq!(std::fs::read_dir(session.path("")).unwrap().count(), 2);
}

#[test]
fn a_plan_says_what_is_read_and_why() {
    let mut session = Session::new();
    points(&session);
    session.show("explain points");
    session.show("explain points --range n=40:50 --layout unordered");
    session.show("explain points --range n=90:99 --at 100");
    session.show("explain points --range n=40:50 --select n --json");
    let text = session.text("explain points --analyze --json");
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(plan["analysis"]["cells"], 4, "{plan}");
    // Of the tile all of whose cells are hidden no fields are read.
    assert!(plan["analysis"]["bytes"].as_u64() < plan["bytes"].as_u64(), "{plan}");
    assert!(session.text("explain points --analyze").contains("was read: "));
    session.check("explain");
}
