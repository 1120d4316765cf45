//! Members of groups.

use super::{Change, GroupHandle, ORIGIN, Opened};
use crate::boundary::entry::entries;
use crate::boundary::{In, New, Out, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::text::TextHandle;
use crate::uris;
use crate::values::{count, index};
use smalti::{Group, Member, NewMember, ObjectKind};

/// The number that C has for a kind of object.
pub(crate) fn kind_number(kind: Option<ObjectKind>) -> i32 {
    match kind {
        Some(ObjectKind::Group) => 1,
        Some(ObjectKind::Array) => 2,
        _ => 0,
    }
}

fn add(
    group: &mut GroupHandle,
    uri: &str,
    relative: u8,
    name: Option<&str>,
    kind: Option<ObjectKind>,
) -> Fallible<()> {
    let open = group.written("Cannot add member")?;
    let member = if relative != 0 { NewMember::relative(uri) } else { NewMember::absolute(uris::shown(uri)) };
    let member = match name {
        Some(name) => member.name(name),
        None => member.unnamed(),
    };
    let member = match kind {
        Some(kind) => member.kind(kind),
        None => member,
    };
    let key = |member: &NewMember| member.name.clone().unwrap_or_else(|| member.uri.clone());
    let is_added =
        open.changes.iter().any(|change| matches!(change, Change::Add(other) if key(other) == key(&member)));
    if is_added {
        let words = "a member with the same name or URI has already been added.";
        return fail("Group Details", format!("Cannot add group member {}, {words}", key(&member)));
    }
    open.changes.push(Change::Add(member));
    Ok(())
}

/// The key of the stored member that a name or URI is of, where it is the only one and still there.
fn removable(open: &Opened, name: &str) -> Fallible<String> {
    let refuse = |why: &str| fail("Group Details", format!("Cannot remove group member {name}, {why}"));
    let by_name = open.members.iter().find(|member| member.key() == name);
    let is_at = |member: &&Member| member.uri() == name || address(member) == uris::shown(name);
    let mut by_uri = open.members.iter().filter(is_at);
    let member = match by_name.or_else(|| by_uri.next()) {
        Some(member) if by_name.is_some() || by_uri.next().is_none() => member,
        Some(_) => return refuse("there are multiple members with the same URI, please remove by name."),
        None => return refuse("member does not exist in group."),
    };
    let is_gone = |change: &Change| matches!(change, Change::Remove(key) if key == member.key());
    if open.changes.iter().any(is_gone) {
        return refuse("a member with the same name or URI has already been removed.");
    }
    Ok(member.key().to_owned())
}

fn address(member: &Member) -> String {
    member.address().map_or_else(|_| member.uri().to_owned(), |address| uris::shown(&address))
}

/// The lines of a group: members, and with `recursive` those of groups among them.
fn dump(group: &Group, indents: usize, recursive: bool, seen: &mut Vec<String>, out: &mut String) {
    let Ok(members) = group.members() else { return };
    for member in &members {
        let name = member.name().unwrap_or_else(|| last_part(member.uri()));
        let kind = match member.kind() {
            Some(ObjectKind::Group) => "GROUP",
            Some(ObjectKind::Array) => "ARRAY",
            _ => "INVALID",
        };
        out.push_str(&format!("|{} {name} {kind}", "-".repeat(2 + 2 * indents)));
        let is_group = member.kind() == Some(ObjectKind::Group) && recursive;
        let at = address(member);
        if !is_group || seen.contains(&at) {
            out.push('\n');
            continue;
        }
        match group.group(member.key()) {
            Ok(inner) => {
                out.push('\n');
                seen.push(at);
                dump(&inner, indents + 2, recursive, seen, out);
                seen.pop();
            }
            Err(_) => out.push_str(" (does not exist)\n"),
        }
    }
}

fn last_part(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri)
}

entries! {
    fn tiledb_group_add_member(ctx, group: In<GroupHandle>, uri: Text, relative: u8, name: Text) {
        add(&mut *group.write()?, uri.get("uri")?, relative, name.optional()?, None)
    }

    fn tiledb_group_add_member_with_type(
        ctx,
        group: In<GroupHandle>,
        uri: Text,
        relative: u8,
        name: Text,
        kind: i32,
    ) {
        let kind = match kind {
            1 => ObjectKind::Group,
            2 => ObjectKind::Array,
            _ => return fail("C API", "Invalid object `type`"),
        };
        add(&mut *group.write()?, uri.get("uri")?, relative, name.optional()?, Some(kind))
    }

    fn tiledb_group_remove_member(ctx, group: In<GroupHandle>, name_or_uri: Text) {
        let mut group = group.write()?;
        let open = group.written("Cannot mark member for removal")?;
        let name = name_or_uri.get("name_or_uri")?;
        let key = removable(open, name)?;
        open.changes.push(Change::Remove(key));
        Ok(())
    }

    fn tiledb_group_get_member_count(ctx, group: In<GroupHandle>, members: Out<u64>) {
        members.put(count(group.read()?.read("Cannot get member count")?.members.len()))
    }

    fn tiledb_group_get_member_by_index_v2(
        ctx,
        group: In<GroupHandle>,
        number: u64,
        uri: New<TextHandle>,
        kind: Out<i32>,
        name: New<TextHandle>,
    ) {
        let group = group.read()?;
        let open = group.read("Cannot get member by index")?;
        let members = open.members.len();
        let Some(member) = open.members.get(index(number)) else {
            return fail("Group Details", format!("index {number} is larger than member count {members}"));
        };
        uri.put(TextHandle(address(member)))?;
        kind.put(kind_number(member.kind()))?;
        match member.name() {
            Some(found) => name.put(TextHandle(found.to_owned())),
            None => name.put_null(),
        }
    }

    fn tiledb_group_get_member_by_name_v2(
        ctx,
        group: In<GroupHandle>,
        name: Text,
        uri: New<TextHandle>,
        kind: Out<i32>,
    ) {
        let group = group.read()?;
        let name = name.get("name")?;
        let open = group.read("Cannot get member by name")?;
        let Some(member) = open.members.iter().find(|member| member.key() == name) else {
            return fail("Group Details", format!("{name} does not exist in group"));
        };
        uri.put(TextHandle(address(member)))?;
        kind.put(kind_number(member.kind()))
    }

    fn tiledb_group_get_is_relative_uri_by_name(
        ctx,
        group: In<GroupHandle>,
        name: Text,
        relative: Out<u8>,
    ) {
        let group = group.read()?;
        let name = name.get("name")?;
        let open = group.read("Cannot get member by name")?;
        match open.members.iter().find(|member| member.key() == name) {
            Some(member) => relative.put(member.is_relative().into()),
            None => fail("Group Details", format!("{name} does not exist in group")),
        }
    }

    fn tiledb_group_dump_str_v2(ctx, group: In<GroupHandle>, out: New<TextHandle>, recursive: u8) {
        let group = group.read()?;
        let Some(open) = &group.open else { return Err(Failure::told(ORIGIN, "Group is not open")) };
        let mut text = format!("{} GROUP\n", last_part(&group.uri));
        dump(&open.group, 0, recursive != 0, &mut vec![uris::shown(&group.uri)], &mut text);
        out.put(TextHandle(text))
    }
}
