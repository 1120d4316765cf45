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
    assert_eq!(plan["analysis"]["bytes"], plan["bytes"], "{plan}");
    assert!(session.text("explain points --analyze").contains("was read: "));
    session.check("explain");
}
