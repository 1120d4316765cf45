//! The pages of `docs/format`, made from the tables.

use crate::record::{Record, Row, Structure};
use crate::{Rule, commits, condition, filters, fragment, generic_tile, group, metadata, names, schema};
use std::fmt::Write;

/// A page: its file name, title, introduction and structures.
struct Page {
    file: &'static str,
    title: &'static str,
    introduction: &'static str,
    structures: &'static [Structure],
}

const PAGES: &[Page] = &[
    Page {
        file: "schema.md",
        title: "Array schemas",
        introduction: "A schema is one generic tile. Its file is `__array_schema.tdb` before version 10, later \
                       `__schema/<timestamped name>`, one for each step of the schema's evolution.",
        structures: &[
            schema::ArraySchema::STRUCTURE,
            schema::Dimension::STRUCTURE,
            schema::Attribute::STRUCTURE,
            schema::DimensionLabel::STRUCTURE,
            schema::EnumerationFile::STRUCTURE,
            schema::CurrentDomainHead::STRUCTURE,
            schema::Enumeration::STRUCTURE,
        ],
    },
    Page {
        file: "filters.md",
        title: "Filter pipelines",
        introduction: "A pipeline stands in schemas for each kind of data, and in the header of each generic tile. \
                       The length of a filter's options says where the next filter starts.",
        structures: filters::STRUCTURES,
    },
    Page {
        file: "generic_tile.md",
        title: "Generic tiles",
        introduction: "A tile that says itself how it was filtered. Schemas, metadata, group files, delete \
                       commits, enumerations, consolidated fragment metadata and the sections of fragment metadata \
                       are generic tiles.",
        structures: &[generic_tile::GenericTileHeader::STRUCTURE],
    },
    Page {
        file: "fragment.md",
        title: "Fragment metadata",
        introduction: "From version 3 the file `__fragment_metadata.tdb` is a row of sections, each a generic tile, \
                       and the footer, which says where the sections are. Before, it is one generic tile.\n\n\
                       An MBR is, for each dimension, the low and the high value; for a dimension of strings the \
                       u64 length of both together, the u64 length of the low one, and their bytes.",
        structures: fragment::STRUCTURES,
    },
    Page {
        file: "commits.md",
        title: "Commits",
        introduction: "Files that say what happened to an array, in `__commits` from version 12.\n\n\
                       - `.wrt` (before version 12 `.ok`) is empty: the fragment of that name exists.\n\
                       - `.del` is a generic tile with a condition tree, in negated form: it says which cells stay. \
                       Each node stands before its children. A node is a [condition node], then a [combination node] \
                       or a [comparison node].\n\
                       - `.con` holds many commits: for each the path relative to the array without a leading slash, \
                       a line feed, and for deletes an [inline tile], after which the next path follows directly.\n\
                       - `.ign` lists paths, one a line, of commits that no longer count where a `.con` lists them.\n\
                       - `.vac` lists what a consolidated fragment replaces, one a line: from version 19 paths such \
                       as `/__fragments/<name>`, before absolute URIs, of which only the last part counts.",
        structures: &[
            condition::NodeHead::STRUCTURE,
            condition::CombinationNode::STRUCTURE,
            condition::ComparisonNode::STRUCTURE,
            commits::InlineTile::STRUCTURE,
        ],
    },
    Page {
        file: "metadata.md",
        title: "Metadata",
        introduction: "Each file in `__meta` of an array or group is one generic tile. Files count in the order of \
                       their timestamps; the last entry of a key wins.",
        structures: &[
            metadata::MetadataFile::STRUCTURE,
            metadata::MetadataEntry::STRUCTURE,
            metadata::MetadataValue::STRUCTURE,
        ],
    },
    Page {
        file: "group.md",
        title: "Groups",
        introduction: "A group is a folder with the empty file `__tiledb_group.tdb`. Its members are listed in \
                       `__group`, one generic tile a file. Files of version 1 list all members, so the newest counts; \
                       files of version 2 list changes, in the order of their timestamps.",
        structures: &[group::GroupFile::STRUCTURE, group::GroupMember::STRUCTURE],
    },
];

const NOTICE: &str = "<!-- Made from the tables in crates/format by `cargo run -p smalti-format --example \
                      format_pages docs/format`. -->\n";

/// Every page: file name and Markdown.
pub fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> =
        PAGES.iter().map(|page| (page.file.to_owned(), structures_page(page))).collect();
    pages.push(("rules.md".to_owned(), rules_page()));
    pages.push(("names.md".to_owned(), names_page()));
    pages.push(("README.md".to_owned(), index_page()));
    pages
}

fn structures_page(page: &Page) -> String {
    let mut text = format!("{NOTICE}\n# {}\n\n{}\n", page.title, linked(page.introduction, page.file));
    for structure in page.structures {
        let doc: Vec<&str> = structure.doc.lines().map(str::trim).collect();
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\nSpecification: `{}`.\n\n",
            structure.name,
            linked(doc.join("\n").trim(), page.file),
            structure.spec
        );
        text += "| versions | field | on disk | where absent | meaning |\n|---|---|---|---|---|\n";
        for row in structure.rows {
            text += &table_row(row, page.file);
        }
    }
    text
}

fn table_row(row: &Row, file: &str) -> String {
    let absent = match row.absent {
        "" => String::new(),
        expression => format!("`{}`", expression.replace('|', "\\|")),
    };
    let versions = if row.versions.from <= 1 && row.versions.until.is_none() {
        "all".to_owned()
    } else {
        row.versions.to_string()
    };
    format!(
        "| {versions} | `{}` | {} | {absent} | {} |\n",
        row.field,
        linked(&(row.on_disk)(), file),
        linked(&row.doc.split_whitespace().collect::<Vec<_>>().join(" "), file)
    )
}

/// Turns `[attribute]` into a link to the structure of that name, wherever it is.
fn linked(text: &str, file: &str) -> String {
    let mut text = text.to_owned();
    for page in PAGES {
        for structure in page.structures {
            let anchor = structure.name.to_lowercase().replace(' ', "-");
            let place = if page.file == file { String::new() } else { page.file.to_owned() };
            text = text.replace(
                &format!("[{}]", structure.name),
                &format!("[{}]({place}#{anchor})", structure.name),
            );
        }
    }
    text
}

fn rules_page() -> String {
    let mut text = format!(
        "{NOTICE}\n# Rules that changed without a field\n\nCode asks for them by name: \
         `version.has(Rule::CommitsFolder)`.\n\n| versions | rule | meaning |\n|---|---|---|\n"
    );
    for rule in Rule::ALL {
        let _ = writeln!(text, "| {} | `{rule:?}` | {} |", rule.span(), rule.doc());
    }
    text
}

fn names_page() -> String {
    let mut text = format!(
        "{NOTICE}\n# Names\n\n\
         ## Timestamped names\n\n\
         `t1` and `t2` are the first and last millisecond since 1970 that the file speaks of; `id` is 32 random \
         hexadecimal digits.\n\n\
         | versions | form |\n|---|---|\n\
         | 1 to 2 | `__id_t`; consolidated fragments `__id_u_t`, where `u` is the time of consolidation |\n\
         | 3 to 4 | `__t1_t2_id` |\n\
         | 5 on | `__t1_t2_id_version`; schemas, metadata and group files still `__t1_t2_id` |\n\n\
         ## Data files\n\n\
         | versions | field | file |\n|---|---|---|\n\
         | 1 to 7 | any | `<name>.tdb` |\n\
         | 8 only | any | `<name>.tdb`, some characters percent-encoded |\n\
         | 9 on | attributes | `a<index>.tdb` |\n\
         | 9 on | dimensions | `d<index>.tdb` |\n\
         | 1 to 4 | all dimensions together | `__coords.tdb` |\n\
         | 14 on | time of each cell | `t.tdb` |\n\
         | 15 on | time of deletion, index of the condition | `dt.tdb`, `dci.tdb` |\n\n\
         Values of any length stand in `<stem>_var.tdb`, their offsets in `<stem>.tdb`, validity bytes in \
         `<stem>_validity.tdb`.\n\n\
         In version 8 `<`, `>`, `\\` and `|` are written `%20`, `%2D`, `%30` and `%3C`: the codes of other \
         characters, a mistake that files on disk bear.\n\n\
         ## Fixed names and endings\n\n\
         | name | meaning |\n|---|---|\n"
    );
    for (name, meaning) in names::ALL {
        let _ = writeln!(text, "| `{name}` | {} |", meaning.trim());
    }
    text
}

fn index_page() -> String {
    let mut text = format!(
        "{NOTICE}\n# The format on disk\n\nEvery structure, field by field, for versions 1 to 23. These pages are \
         made from the same tables as the code that reads and writes. Numbers are little-endian. `where absent` \
         says what a reader sees in versions without the field.\n\n"
    );
    for page in PAGES {
        let _ = writeln!(text, "- [{}]({})", page.title, page.file);
    }
    text += "- [Rules that changed without a field](rules.md)\n- [Names of files and folders](names.md)\n";
    text
}
