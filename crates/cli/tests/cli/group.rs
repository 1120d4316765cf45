//! `smalti group`, and the other commands on groups.

use crate::fixtures::grid;
use crate::session::Session;

#[test]
fn a_group_is_made_changed_listed_and_deleted() {
    let mut session = Session::new();
    grid(&session);
    session.show("group create atlas");
    session.show("group create atlas");
    session.text("create atlas/height --schema grid.json");
    session.text("group create atlas/maps");
    session.text("create atlas/maps/europe --schema grid.json");
    session.show("group add atlas atlas/height --name height --at 10");
    session.show("group add atlas atlas/maps --at 20");
    session.show("group add atlas/maps europe --relative --at 30");
    session.show("group add atlas/maps atlas --name top --at 30");
    session.show("group list atlas");
    session.show("group list atlas --json");
    session.show("group list atlas --at 19");
    session.show("info atlas");
    // Tables are as wide as the address of the test's folder, trees are not.
    session.show("group add atlas grid --at 30");
    session.show("group list atlas --recursive");
    session.show("group list atlas --recursive --json");
    session.show("info atlas --json");
    session.show("group meta atlas put year INT32 1595 --at 40");
    session.show("meta atlas get year");
    session.show("meta atlas --json");
    session.show("mv atlas mercator");
    session.show("group list mercator --recursive");
    session.show("group list mercator --recursive --follow");
    session.show("group remove mercator height --at 50");
    session.show("group list mercator --recursive");
    session.show("group list mercator --recursive --at 49");
    session.show("group delete mercator --recursive");
    session.show("ls mercator");
    session.show("info grid");
    session.check("group");
}

#[test]
fn what_a_group_cannot_do_is_said() {
    let mut session = Session::new();
    grid(&session);
    session.text("group create g");
    session.text("group add g grid --name grid --at 10");
    for line in [
        "group list nothing",
        "group list grid",
        "group create grid",
        "create g --schema grid.json",
        "read g",
        "group add g nothing",
        "group add g grid --name grid",
        "group add g ../grid --relative",
        "group add g g",
        "group remove g nothing",
        "group delete grid",
    ] {
        session.problem(line, 1);
        session.show(line);
    }
    session.problem("group add g grid grid --name n", 2);
    session.show("group add g nothing --kind array --name later --at 20");
    session.show("group add g s3://bucket/array --kind array --at 20");
    session.show("group add g grid --name later --replace --at 30");
    session.show("group list g --recursive");
    session.check("group_errors");
}
