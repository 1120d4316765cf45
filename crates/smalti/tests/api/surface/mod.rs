//! The public interface is on record: `tests/surface.txt` holds all that users of the crate `smalti` can name, as it stands in the
//! sources of this crate and of those whose items it hands on. A change of the interface is a change of that file, seen in its review:
//! `SMALTI_UPDATE_SNAPSHOTS=1 cargo test --release --workspace --test api surface` writes it anew.
//!
//! It is read from the sources, so that every version of Rust gives the same record. What macros make is shown as the macro's call.

mod shown;
mod sources;

use sources::{
    Found, Place, Sources, attributes, flattened, ident, is_hidden, is_public, joined, visibility,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::{Item, ItemImpl, Type};

#[test]
fn the_public_interface_is_the_one_on_record() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = Sources::load(&here.join(".."));
    let record = Record::of(&sources);
    let path = here.join("tests/surface.txt");
    if std::env::var_os("SMALTI_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &record).unwrap();
        return;
    }
    let on_record = std::fs::read_to_string(&path).unwrap_or_default();
    let (new, old): (BTreeSet<&str>, BTreeSet<&str>) =
        (record.lines().collect(), on_record.lines().collect());
    let changes: Vec<String> = (old.difference(&new).map(|line| format!("- {line}")))
        .chain(new.difference(&old).map(|line| format!("+ {line}")))
        .collect();
    assert!(
        record == on_record,
        "the public interface is another than in tests/surface.txt:\n{}\nif that is meant: SMALTI_UPDATE_SNAPSHOTS=1 cargo test \
         --release --workspace --test api surface, and say it in CHANGELOG.md",
        changes.join("\n")
    );
}

/// An item by its place in memory: one of two names for it is the first.
type Key = usize;

struct Record<'a> {
    sources: &'a Sources,
    /// The implementations of each type, in the order of the sources.
    impls: BTreeMap<Key, Vec<&'a ItemImpl>>,
    /// By path: what the record says of it.
    entries: BTreeMap<String, Entry<'a>>,
    /// The first name of each item.
    names: BTreeMap<Key, String>,
}

enum Entry<'a> {
    Item(&'a Item),
    Text(String),
}

impl<'a> Record<'a> {
    fn of(sources: &'a Sources) -> String {
        let mut record =
            Record { sources, impls: impls(sources), entries: BTreeMap::new(), names: BTreeMap::new() };
        record.visit("smalti", &["smalti".to_owned()]);
        record.text()
    }

    fn visit(&mut self, prefix: &str, place: &[String]) {
        let module = self.sources.module(place).unwrap();
        // What a module defines goes before what it hands on, so that an item is shown where it has its own name; and its
        // children last, the prelude among them.
        for item in &module.items {
            match item {
                Item::Macro(call) if call.ident.is_none() => self.add_made(prefix, call),
                Item::Mod(_) | Item::Use(_) => {}
                _ if visibility(item).is_some_and(is_public) && !is_hidden(attributes(item)) => {
                    self.add(format!("{prefix}::{}", ident(item).unwrap()), item);
                }
                _ => {}
            }
        }
        for item in &module.items {
            if let Item::Use(used) = item
                && is_public(&used.vis)
                && !is_hidden(&used.attrs)
            {
                for (path, alias) in flattened(&used.tree) {
                    self.hand_on(prefix, place, &path, &alias);
                }
            }
        }
        for item in &module.items {
            if let Item::Mod(child) = item
                && is_public(&child.vis)
                && !is_hidden(&child.attrs)
            {
                let name = child.ident.to_string();
                self.visit(&format!("{prefix}::{name}"), &joined(place, &name));
            }
        }
    }

    fn hand_on(&mut self, prefix: &str, place: &[String], path: &[String], alias: &str) {
        let name = format!("{prefix}::{alias}");
        match self.sources.resolve(place, path) {
            Some(Found::Item(item)) => self.add(name, item),
            Some(Found::Module(inner)) if alias == "*" => self.visit(prefix, &inner),
            Some(Found::Module(inner)) => self.visit(&name, &inner),
            Some(Found::Made(call)) => {
                self.entries.insert(name, Entry::Text(shown::call(call)));
            }
            Some(Found::Foreign(path)) => {
                self.entries.insert(name, Entry::Text(format!("use {path};\n")));
            }
            None => panic!("{}: {} leads nowhere", place.join("::"), path.join("::")),
        }
    }

    fn add(&mut self, name: String, item: &'a Item) {
        match self.names.get(&key(item)) {
            Some(first) => {
                let text = format!("use {first};\n");
                self.entries.entry(name).or_insert(Entry::Text(text));
            }
            None => {
                self.names.insert(key(item), name.clone());
                self.entries.insert(name, Entry::Item(item));
            }
        }
    }

    /// The call of a macro in a public module: what it makes there is public.
    fn add_made(&mut self, prefix: &str, call: &syn::ItemMacro) {
        let text = shown::call(call);
        if text.contains("pub ") {
            self.entries.insert(format!("{prefix}::{}", text.lines().next().unwrap()), Entry::Text(text));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, entry) in &self.entries {
            text.push_str(&format!("// {name}\n"));
            match entry {
                Entry::Text(shown) => text.push_str(shown),
                Entry::Item(item) => {
                    text.push_str(&shown::item(item));
                    let blocks = self.impls.get(&key(item)).map(Vec::as_slice).unwrap_or_default();
                    let own = blocks.iter().filter(|block| block.trait_.is_none());
                    own.filter_map(|block| shown::own_impl(block)).for_each(|block| text.push_str(&block));
                    let of_traits = blocks.iter().filter(|block| block.trait_.is_some());
                    let mut of_traits: Vec<String> =
                        of_traits.map(|block| shown::trait_impl(block)).collect();
                    of_traits.sort();
                    of_traits.iter().for_each(|block| text.push_str(block));
                }
            }
            text.push('\n');
        }
        text
    }
}

fn key(item: &Item) -> Key {
    std::ptr::from_ref(item).addr()
}

/// All implementations by the item that they are for; those of traits that nobody outside can name are left out.
fn impls(sources: &Sources) -> BTreeMap<Key, Vec<&ItemImpl>> {
    let mut found: BTreeMap<Key, Vec<&ItemImpl>> = BTreeMap::new();
    let mut modules = sources.modules();
    modules.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (place, module) in modules {
        for item in &module.items {
            let Item::Impl(block) = item else { continue };
            if let Some((_, path, _)) = &block.trait_
                && let Some(Found::Item(item)) = sources.resolve(&place, &words(path))
                && !visibility(item).is_some_and(is_public)
            {
                continue;
            }
            let Type::Path(path) = &*block.self_ty else { continue };
            if let Some(Found::Item(item)) = sources.resolve(&place, &words(&path.path)) {
                found.entry(key(item)).or_default().push(block);
            }
        }
    }
    found
}

fn words(path: &syn::Path) -> Place {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
