//! `smalti ls`, `smalti mv` and `smalti rm`.

use crate::fixtures::grid;
use crate::session::Session;

#[test]
fn arrays_and_groups_are_listed_moved_and_removed() {
    let mut session = Session::new();
    grid(&session);
    session.text("group create g");
    session.text("create g/a --schema grid.json");
    std::fs::create_dir_all(session.path("plain/folder")).unwrap();
    session.show("ls");
    session.show("ls --json");
    session.show("ls --recursive");
    session.show("ls --recursive --order post");
    session.show("ls plain");
    session.show("ls nothing");
    session.show("mv grid plain/moved");
    session.show("mv grid elsewhere");
    session.show("mv plain other");
    session.show("mv plain/moved g");
    session.show("mv g g/inside");
    session.show("read plain/moved --limit 1");
    session.show("rm plain");
    session.show("rm g");
    session.show("rm plain/moved g --recursive");
    session.show("ls --json");
    session.check("object");
}

#[test]
fn of_a_symbolic_link_the_link_is_moved_and_removed_and_never_its_target() {
    let mut session = Session::new();
    grid(&session);
    session.text("group create g");
    session.text("create g/a --schema grid.json");
    std::fs::create_dir(session.path("links")).unwrap();
    for (target, link) in [("grid", "array"), ("g", "group"), ("../g", "links/other")] {
        std::os::unix::fs::symlink(target, session.path(link)).unwrap();
    }
    session.show("mv array moved");
    session.show("mv moved grid");
    session.show("mv moved back --json");
    session.show("rm back/");
    session.show("mv group links/away");
    session.show("rm links/away");
    session.show("rm links/other --json");
    session.show("ls --recursive");
    std::os::unix::fs::symlink("g", session.path("group")).unwrap();
    session.show("group delete group --recursive");
    std::os::unix::fs::symlink("g", session.path("group")).unwrap();
    session.show("group delete group --json");
    session.show("ls --recursive");
    session.show("read grid --limit 1");
    session.check("links");
}
