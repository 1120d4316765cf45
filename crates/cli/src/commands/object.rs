//! `smalti ls`, `smalti mv` and `smalti rm`: arrays and groups as things in folders.

use crate::args::{Global, LsArgs, MvArgs, Order, RmArgs};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::warning::warn;
use serde_json::json;
use smalti::{Object, ObjectKind, WalkOrder};
use smalti_tools::formats::Table;
use smalti_tools::human;
use smalti_tools::when::clock_ms;
use std::io::Write;

pub(super) fn list(global: &Global, args: &LsArgs) -> Outcome {
    let order = if args.order == Order::Pre { WalkOrder::Pre } else { WalkOrder::Post };
    let found =
        if args.recursive { Object::walk(&args.folder, order) } else { Object::children(&args.folder) };
    let found = found.map_err(|error| error.at_uri(&args.folder))?;
    let mut out = std::io::stdout().lock();
    if global.json {
        let rows: Vec<_> = found
            .iter()
            .map(|object| json!({"name": object.name(), "kind": object.kind().name(), "uri": object.uri()}))
            .collect();
        return Ok(writeln!(out, "{}", serde_json::Value::from(rows))?);
    }
    let mut table = Table::new(["kind", "name"].map(|title| (title.to_string(), false)));
    // What is directly in the folder has the fewest parts in its address, and all but one are the folder's.
    let uris: Vec<String> = found.iter().map(Object::uri).collect();
    let folder_len = uris.iter().map(|uri| uri.split('/').count()).min().unwrap_or(1) - 1;
    for (object, uri) in found.iter().zip(&uris) {
        let below: Vec<&str> = uri.split('/').skip(folder_len).collect();
        table.push(vec![object.kind().to_string(), below.join("/")]);
    }
    Ok(table.print(&mut out)?)
}

pub(super) fn rename(global: &Global, args: &MvArgs) -> Outcome {
    let from = object(global, &args.from)?;
    let is_link = from.is_link()?;
    let moved = from.move_to(&args.to)?;
    if global.json {
        let json = json!({"moved": args.from, "kind": moved.kind().name(), "uri": moved.uri(), "link": is_link, "timestamp": clock_ms()});
        println!("{json}");
    } else {
        println!(
            "moved {} {} to {}{}",
            described(moved.kind(), is_link),
            args.from,
            args.to,
            human::at(clock_ms())
        );
    }
    if is_link && Object::at(&args.to)?.is_none() {
        warn(
            global,
            &args.to,
            "the link counts from its folder, and leads to neither an array nor a group from here",
        );
    }
    Ok(())
}

pub(super) fn remove(global: &Global, args: &RmArgs) -> Outcome {
    let objects = args.objects.iter().map(|uri| object(global, uri)).collect::<Outcome<Vec<_>>>()?;
    for (object, uri) in objects.iter().zip(&args.objects) {
        if object.kind() == ObjectKind::Group && !args.recursive && !object.is_link()? {
            let message = "it is a group; --recursive removes its folder with all that is in it, \
                           `smalti group delete` the group alone";
            return Err(Failure::invalid(message).at(uri));
        }
    }
    for (object, uri) in objects.into_iter().zip(&args.objects) {
        let (kind, is_link) = (object.kind(), object.is_link()?);
        object.remove()?;
        if global.json {
            println!(
                "{}",
                json!({"removed": uri, "kind": kind.name(), "link": is_link, "timestamp": clock_ms()})
            );
        } else {
            println!("removed {} {uri}{}", described(kind, is_link), human::at(clock_ms()));
        }
    }
    Ok(())
}

fn described(kind: ObjectKind, is_link: bool) -> String {
    if is_link { format!("the link to the {kind}") } else { format!("the {kind}") }
}

fn object(global: &Global, uri: &str) -> Outcome<Object> {
    let found = Object::at_with(uri, &engine::options(global, Default::default())?)?;
    found.ok_or_else(|| smalti::Error::not_found("neither an array nor a group is here").at_uri(uri).into())
}
