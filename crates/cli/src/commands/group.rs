//! `smalti group`: groups and their members.

use crate::args::{Global, GroupAction, GroupAddArgs, GroupArgs, GroupListArgs, Kind, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use serde_json::{Value as Json, json};
use smalti::{DeletedGroup, Group, NewMember, ObjectKind, Visit};
use smalti_tools::When;
use smalti_tools::human;
use smalti_tools::report::group::{member_json, members_text, tree_json, tree_text};
use smalti_tools::when::clock_ms;
use std::io::Write;

pub(super) fn run(global: &Global, args: &GroupArgs) -> Outcome {
    match &args.action {
        GroupAction::Create { group } => create(global, group),
        GroupAction::Add(args) => add(global, args).map_err(|failure| failure.of(&args.group)),
        GroupAction::Remove { group, members, at } => {
            remove(global, group, members, *at).map_err(|failure| failure.of(group))
        }
        GroupAction::List(args) => list(global, args).map_err(|failure| failure.of(&args.group)),
        GroupAction::Meta(args) => super::meta::run(global, args).map_err(|failure| failure.of(&args.array)),
        GroupAction::Delete { group, recursive } => delete(global, group, *recursive),
    }
}

fn create(global: &Global, uri: &str) -> Outcome {
    let options = engine::options(global, OpenTimes::default())?;
    Group::create_with(uri, &options).map_err(|error| error.at_uri(uri))?;
    if global.json {
        println!("{}", json!({"created": uri, "timestamp": clock_ms()}));
    } else {
        println!("created {uri}{}", human::at(clock_ms()));
    }
    Ok(())
}

fn add(global: &Global, args: &GroupAddArgs) -> Outcome {
    if args.name.is_some() && args.members.len() > 1 {
        return Err(Failure::usage("--name goes with one member; add the others by commands of their own"));
    }
    let group = engine::open_group(global, &args.group, OpenTimes::default())?;
    let mut change = group.write_members();
    for uri in &args.members {
        let mut member =
            if args.relative { NewMember::relative(uri.as_str()) } else { typed_member(&group, uri, args)? };
        if let Some(name) = &args.name {
            member = member.name(name);
        }
        member.replaces = args.replace;
        member.kind = args.kind.map(|kind| match kind {
            Kind::Array => ObjectKind::Array,
            Kind::Group => ObjectKind::Group,
        });
        change = change.add(member);
    }
    if let Some(at) = engine::change_time(global, &args.group, args.at) {
        change = change.at(at);
    }
    let timestamp = change.commit()?;
    let members = &args.members;
    if global.json {
        println!("{}", json!({"group": args.group, "added": members, "timestamp": timestamp}));
    } else {
        println!("added {} to {}{}", members.join(", "), args.group, human::at(timestamp));
    }
    Ok(())
}

/// A member by a URI from the command line: storage that cannot be reached is taken as it is, if the kind is stated.
fn typed_member(group: &Group, uri: &str, args: &GroupAddArgs) -> Outcome<NewMember> {
    match group.member_at(uri) {
        Err(error) if error.kind() == smalti::ErrorKind::Unsupported && args.kind.is_some() => {
            Ok(NewMember::absolute(uri))
        }
        member => Ok(member?),
    }
}

fn remove(global: &Global, uri: &str, members: &[String], at: Option<When>) -> Outcome {
    let group = engine::open_group(global, uri, OpenTimes::default())?;
    let mut change = group.write_members();
    for member in members {
        change = change.remove(member);
    }
    if let Some(at) = engine::change_time(global, uri, at) {
        change = change.at(at);
    }
    let timestamp = change.commit()?;
    if global.json {
        println!("{}", json!({"group": uri, "removed": members, "timestamp": timestamp}));
    } else {
        println!("removed {} from {uri}{}", members.join(", "), human::at(timestamp));
    }
    Ok(())
}

fn delete(global: &Global, uri: &str, recursive: bool) -> Outcome {
    let group = engine::open_group(global, uri, OpenTimes::default())?;
    let DeletedGroup { deleted, kept, .. } =
        if recursive { group.delete_with_members()? } else { group.delete()? };
    if global.json {
        let kept: Vec<Json> = kept.iter().map(|(uri, why)| json!({"uri": uri, "why": why})).collect();
        println!("{}", json!({"deleted": deleted, "kept": kept, "timestamp": clock_ms()}));
        return Ok(());
    }
    for address in deleted {
        println!("deleted {address}{}", human::at(clock_ms()));
    }
    for (member, why) in kept {
        println!("kept {member}: {why}");
    }
    Ok(())
}

fn list(global: &Global, args: &GroupListArgs) -> Outcome {
    let group = engine::open_group(global, &args.group, args.times)?;
    let mut out = std::io::stdout().lock();
    if !args.recursive {
        let members = group.members()?;
        if global.json {
            let members: Vec<Json> = members.iter().map(member_json).collect();
            return Ok(writeln!(out, "{}", json!({"group": args.group, "members": members}))?);
        }
        return Ok(members_text(&members, &mut out)?);
    }
    let visits: Vec<Visit> =
        if args.follow { group.walk_everywhere()?.collect() } else { group.walk()?.collect() };
    if global.json {
        return Ok(writeln!(out, "{}", json!({"group": args.group, "members": tree_json(&visits)}))?);
    }
    Ok(tree_text(&args.group, &visits, &mut out)?)
}
