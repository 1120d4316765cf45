//! How an item stands in the record: its outside, without words, bodies and private parts.

use super::sources::{is_hidden, is_public};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Attribute, Block, Fields, ImplItem, Item, ItemImpl, ItemMacro, TraitItem, parse_quote};

/// An item as Rust text.
pub(super) fn item(item: &Item) -> String {
    let mut item = item.clone();
    match &mut item {
        Item::Const(item) => keep(&mut item.attrs),
        Item::Static(item) => keep(&mut item.attrs),
        Item::Type(item) => keep(&mut item.attrs),
        Item::Fn(item) => {
            keep(&mut item.attrs);
            *item.block = nothing();
        }
        Item::Struct(item) => {
            keep(&mut item.attrs);
            outside(&mut item.fields);
        }
        Item::Enum(item) => {
            keep(&mut item.attrs);
            for variant in &mut item.variants {
                keep(&mut variant.attrs);
                for field in &mut variant.fields {
                    keep(&mut field.attrs);
                }
            }
        }
        Item::Trait(item) => {
            keep(&mut item.attrs);
            for inner in &mut item.items {
                match inner {
                    TraitItem::Fn(inner) => {
                        keep(&mut inner.attrs);
                        // Whether there is a default decides whether others must write it.
                        inner.default = inner.default.as_ref().map(|_| nothing());
                    }
                    TraitItem::Const(inner) => keep(&mut inner.attrs),
                    TraitItem::Type(inner) => keep(&mut inner.attrs),
                    _ => {}
                }
            }
        }
        Item::Macro(item) => return format!("macro {}!\n", item.ident.as_ref().unwrap()),
        _ => {}
    }
    unparsed(item)
}

/// The public part of a type's own methods; nothing where there is none.
pub(super) fn own_impl(block: &ItemImpl) -> Option<String> {
    let mut block = block.clone();
    keep(&mut block.attrs);
    block.items.retain_mut(|item| match item {
        ImplItem::Fn(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
            keep(&mut item.attrs);
            item.block = nothing();
            true
        }
        ImplItem::Const(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
            keep(&mut item.attrs);
            item.expr = parse_quote!(_);
            true
        }
        _ => false,
    });
    (!block.items.is_empty()).then(|| unparsed(Item::Impl(block)))
}

/// That a type has a trait.
pub(super) fn trait_impl(block: &ItemImpl) -> String {
    let mut block = block.clone();
    block.attrs.clear();
    block.items.retain(|item| matches!(item, ImplItem::Type(_)));
    unparsed(Item::Impl(block)).replace(" {}\n", ";\n")
}

/// The call of a macro that makes types: a row a line, without words.
pub(super) fn call(call: &ItemMacro) -> String {
    let name = call.mac.path.segments.last().unwrap().ident.to_string();
    let mut text = format!("{name}! {{\n    ");
    rows(call.mac.tokens.clone(), 0, &mut text);
    format!("{}\n}}\n", text.trim_end())
}

fn rows(tokens: TokenStream, depth: usize, text: &mut String) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_words = |next: &TokenTree| matches!(next, TokenTree::Group(group) if group.stream().to_string().starts_with("doc"));
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' && tokens.peek().is_some_and(is_words) => {
                tokens.next();
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && depth < 2 => {
                text.push_str("{\n        ");
                rows(group.stream(), depth + 1, text);
                text.truncate(text.trim_end().len());
                text.push_str("\n    }\n    ");
            }
            TokenTree::Group(group) => {
                text.push_str(&TokenTree::Group(group).to_string());
                text.push(' ');
            }
            TokenTree::Punct(punct) if [',', ';'].contains(&punct.as_char()) => {
                text.truncate(text.trim_end().len());
                text.push(punct.as_char());
                text.push('\n');
                text.push_str(if depth == 0 { "    " } else { "        " });
            }
            other => {
                text.push_str(&other.to_string());
                text.push(' ');
            }
        }
    }
}

/// What users meet of an item's attributes.
fn keep(attributes: &mut Vec<Attribute>) {
    let met = ["derive", "non_exhaustive", "deprecated", "must_use", "repr"];
    attributes.retain(|attribute| met.iter().any(|name| attribute.path().is_ident(name)));
}

/// Private fields become one without a type: their number and kind are nobody's business, that there are some is.
fn outside(fields: &mut Fields) {
    match fields {
        Fields::Named(fields) => {
            let all = fields.named.len();
            let public =
                fields.named.iter().filter(|field| is_public(&field.vis) && !is_hidden(&field.attrs));
            let mut public: Vec<syn::Field> = public.cloned().collect();
            let has_private = public.len() < all;
            for field in &mut public {
                keep(&mut field.attrs);
            }
            fields.named = public.into_iter().collect();
            if has_private {
                fields.named.push(syn::Field {
                    attrs: Vec::new(),
                    vis: syn::Visibility::Inherited,
                    mutability: syn::FieldMutability::None,
                    ident: Some(parse_quote!(private)),
                    colon_token: Some(Default::default()),
                    ty: parse_quote!(_),
                });
            }
        }
        Fields::Unnamed(fields) => {
            for field in &mut fields.unnamed {
                keep(&mut field.attrs);
                if !is_public(&field.vis) {
                    field.ty = parse_quote!(_);
                }
            }
        }
        Fields::Unit => {}
    }
}

fn nothing() -> Block {
    parse_quote!({})
}

fn unparsed(item: Item) -> String {
    prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items: vec![item] })
}
