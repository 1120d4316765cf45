//! `smalti meta`.

use crate::fixtures::grid;
use crate::session::Session;

#[test]
fn metadata_is_put_listed_read_and_deleted() {
    let mut session = Session::new();
    grid(&session);
    session.show("meta grid");
    session.show("meta grid put unit STRING_UTF8 metre --at 10");
    session.show("meta grid put scale FLOAT64 0.1 --at 11");
    session.show("meta grid put bounds INT16 '[-1, 32767]' --at 12");
    session.show("meta grid put day DATETIME_DAY 2024-02-29 --at 13");
    session.show(r#"meta grid put raw BLOB '{"hex": "00ff"}' --at 14"#);
    session.show("meta grid put code INT32 -5 --at 15");
    session.show("meta grid put empty STRING_UTF8 '' --at 16");
    session.show("meta grid put flag BOOL true --at 17");
    session.show("meta grid");
    session.show("meta grid --json");
    session.show("meta grid get unit");
    session.show("meta grid get bounds");
    session.show("meta grid get bounds --json");
    session.show("meta grid get day");
    session.show("meta grid put unit STRING_UTF8 foot --at 20");
    session.show("meta grid delete scale --at 20");
    session.show("meta grid get unit");
    session.show("meta grid get unit --at 19");
    session.show("meta grid get scale");
    session.show("meta grid get scale --at 19");
    session.show("meta grid put x INT8 300");
    session.show("meta grid put x INT99 3");
    session.show("meta grid put x INT8 many");
    session.show("meta grid put x STRING_ASCII 'café'");
    session.show("meta grid put x STRING_UTF8 'café' --at 21");
    session.text("group create folder");
    session.show("meta folder put x STRING_ASCII 'café'");
    session.check("meta");
}
