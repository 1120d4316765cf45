//! Consolidation plans: which fragments to merge so that results are about as large as wanted.
//!
//! Fragments whose non-empty domains overlap belong together; small ones are put together where their hull meets no other;
//! large ones stand for themselves. libtiledb's rules, so that plans are the same.

use super::{ArrayHandle, ORIGIN};
use crate::boundary::entry::{entries, free_entries, plain_entries};
use crate::boundary::handle::kinds;
use crate::boundary::memory::{free_text, give_text};
use crate::boundary::{In, New, Out, OutText};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::values::{count, index};
use smalti::{Array, Extent};
use std::ffi::c_char;
use std::fmt::Write;

/// A plan: the names of the fragments of each node.
#[derive(Debug)]
pub(crate) struct Plan(Vec<Vec<String>>);

kinds! { Plan => "consolidation plan" }

/// Fragments that are merged together.
#[derive(Debug)]
struct Node {
    names: Vec<String>,
    sides: Vec<Extent>,
    byte_len: u64,
}

impl Node {
    fn overlaps(&self, sides: &[Extent]) -> bool {
        self.sides.iter().zip(sides).all(|(own, other)| own.as_ref().overlaps(other.as_ref()))
    }

    fn hull(&self, other: &Node) -> Vec<Extent> {
        let pairs = self.sides.iter().zip(&other.sides);
        pairs.map(|(own, other)| own.as_ref().hull(other.as_ref())).collect()
    }

    fn take(&mut self, other: Node) {
        self.sides = self.hull(&other);
        self.names.extend(other.names);
        self.byte_len = self.byte_len.saturating_add(other.byte_len);
    }
}

/// Merges pairs, each node with later ones, until none belongs together.
fn merge(nodes: &mut Vec<Node>, belong: impl Fn(&[Node], usize, usize) -> bool) {
    loop {
        let mut changed = false;
        let mut at = 0;
        while at < nodes.len() {
            let mut other = at + 1;
            while other < nodes.len() {
                if belong(nodes, at, other) {
                    let taken = nodes.remove(other);
                    if let Some(node) = nodes.get_mut(at) {
                        node.take(taken);
                    }
                    changed = true;
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
        if !changed {
            return;
        }
    }
}

fn plan(array: &Array, wanted_byte_len: u64) -> Fallible<Plan> {
    let fragments = array.fragments().map_err(Failure::of(ORIGIN))?;
    let node = |fragment: &smalti::Fragment| {
        Ok(Node {
            names: vec![fragment.name().to_owned()],
            sides: fragment.non_empty_extents().to_vec(),
            byte_len: fragment.byte_len()?,
        })
    };
    let mut nodes = fragments.iter().map(node).collect::<Fallible<Vec<Node>>>()?;
    merge(&mut nodes, |nodes, one, other| match (nodes.get(one), nodes.get(other)) {
        (Some(one), Some(other)) => one.overlaps(&other.sides),
        _ => false,
    });
    let small = wanted_byte_len / 2;
    merge(&mut nodes, |nodes, one, other| {
        let (Some(first), Some(second)) = (nodes.get(one), nodes.get(other)) else { return false };
        if first.byte_len > small || second.byte_len > small {
            return false;
        }
        let hull = first.hull(second);
        let others = nodes.iter().enumerate().filter(|(idx, _)| *idx != one && *idx != other);
        others.into_iter().all(|(_, node)| !node.overlaps(&hull))
    });
    let (merged, alone): (Vec<Node>, Vec<Node>) = nodes.into_iter().partition(|node| node.names.len() > 1);
    let is_large = |node: &Node| u128::from(node.byte_len) * 2 >= u128::from(wanted_byte_len) * 3;
    let large = alone.into_iter().filter(is_large);
    Ok(Plan(merged.into_iter().chain(large).map(|node| node.names).collect()))
}

impl Plan {
    fn node(&self, idx: u64) -> Fallible<&Vec<String>> {
        let found = self.0.get(index(idx));
        found.ok_or_else(|| {
            Failure::told("Error: ConsolidationPlan", "Trying to access a node that doesn't exist.")
        })
    }

    fn json(&self) -> String {
        let mut text = "{\n  \"nodes\": [\n".to_owned();
        for (number, names) in self.0.iter().enumerate() {
            text.push_str("    {\n      \"uris\" : [\n");
            for (place, name) in names.iter().enumerate() {
                let comma = if place + 1 < names.len() { "," } else { "" };
                let _ = write!(text, "        {{\n           \"uri\" : \"{name}\"\n        }}{comma}\n");
            }
            let comma = if number + 1 < self.0.len() { "," } else { "" };
            let _ = write!(text, "      ]\n    }}{comma}\n");
        }
        text.push_str("  ]\n}\n");
        text
    }
}

entries! {
    fn tiledb_consolidation_plan_create_with_mbr(
        ctx,
        array: In<ArrayHandle>,
        fragment_size: u64,
        consolidation_plan: New<Plan>,
    ) {
        consolidation_plan.check()?;
        let array = array.read()?;
        let made = plan(&array.opened("Cannot create a consolidation plan;")?.array, fragment_size)?;
        consolidation_plan.put(made)
    }

    fn tiledb_consolidation_plan_get_num_nodes(ctx, consolidation_plan: In<Plan>, nodes: Out<u64>) {
        nodes.put(count(consolidation_plan.read()?.0.len()))
    }

    fn tiledb_consolidation_plan_get_num_fragments(
        ctx,
        consolidation_plan: In<Plan>,
        node_index: u64,
        num_fragments: Out<u64>,
    ) {
        num_fragments.put(count(consolidation_plan.read()?.node(node_index)?.len()))
    }

    fn tiledb_consolidation_plan_get_fragment_uri(
        ctx,
        consolidation_plan: In<Plan>,
        node_index: u64,
        fragment_index: u64,
        uri: OutText,
    ) {
        let slot = consolidation_plan.slot()?;
        let found = slot.read().node(node_index)?.get(index(fragment_index)).cloned();
        match found {
            Some(found) => uri.put(slot.lend_text(&found)),
            None => fail("Error: ConsolidationPlan", "Trying to access a fragment that doesn't exist."),
        }
    }

    fn tiledb_consolidation_plan_dump_json_str(
        ctx,
        consolidation_plan: In<Plan>,
        out: Out<*mut c_char>,
    ) {
        give_text(out, &consolidation_plan.read()?.json())
    }
}

plain_entries! {
    fn tiledb_consolidation_plan_free_json_str(out: Out<*mut c_char>) {
        free_text(out)
    }
}

free_entries! { tiledb_consolidation_plan_free: Plan }
