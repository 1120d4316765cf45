//! Two examples or more for each command. The tests run them, command by command, each command's in a fresh folder made with
//! `smalti demo --dir .` and `smalti demo --data .`; docs/commands shows them.

/// What a command is good for, in lines for a shell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    /// What it shows, without a stop.
    pub(crate) purpose: &'static str,
    /// Lines for a shell.
    pub(crate) script: &'static str,
}

const fn example(purpose: &'static str, script: &'static str) -> Example {
    Example { purpose, script }
}

/// The examples of a command: `path` is the words after `smalti`.
pub(super) fn of(path: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == path).map_or(&[], |(_, examples)| *examples)
}

/// The commands that have examples.
#[cfg(test)]
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|(path, _)| *path)
}

const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "demo",
        &[
            example("The tour, in the folder demo-output", "smalti demo"),
            example("The data of the tour and of the guides as CSV and NPY files", "smalti demo --data ."),
        ],
    ),
    (
        "create",
        &[
            example(
                "An array like another one",
                "smalti schema cities --json > cities.json\nsmalti create towns --schema cities.json",
            ),
            example(
                "An array that older readers open, from a schema on standard input",
                "smalti schema elevation --json | smalti create old --schema - --format-version 18",
            ),
        ],
    ),
    (
        "import",
        &[
            example(
                "A sparse array from a table: two columns are the dimensions, one becomes an enumeration",
                "smalti import cities.csv places --dims lat,lon --enum country --allow-dups",
            ),
            example("A dense array from a NumPy file", "smalti import heights.npy heights --dims row,col"),
            example(
                "The schema that an import would make, with the reason for each choice",
                "smalti import cities.csv towns --dims lat,lon --allow-dups --dry-run",
            ),
        ],
    ),
    (
        "schema",
        &[
            example("The schema, to read", "smalti schema cities"),
            example("The schema, to edit and to create an array from", "smalti schema elevation --json"),
        ],
    ),
    (
        "info",
        &[
            example("What an array is", "smalti info elevation"),
            example("The same for programs", "smalti info cities --json"),
        ],
    ),
    (
        "describe",
        &[
            example("An array on one page", "smalti describe cities"),
            example("The same for programs", "smalti describe elevation --json"),
        ],
    ),
    (
        "history",
        &[
            example("What happened, the latest first", "smalti history cities"),
            example(
                "What a delete took, and the last change alone",
                "smalti delete cities --where \"country == 'FR'\"\nsmalti history cities --limit 1 --count",
            ),
        ],
    ),
    (
        "fragments",
        &[
            example("What each write left", "smalti fragments cities"),
            example(
                "What consolidation replaced and a vacuum would remove",
                "smalti fragments cities --to-vacuum",
            ),
        ],
    ),
    (
        "fragments delete",
        &[
            example(
                "What deleting all that was written in a range of times would delete",
                "smalti fragments cities delete --since 2021-01-01 --at 2024-12-31 --dry-run",
            ),
            example(
                "What deleting a fragment by its name would delete",
                "smalti fragments elevation delete $(ls elevation/__fragments) --dry-run",
            ),
        ],
    ),
    (
        "fragments copy",
        &[
            example(
                "A fragment to an array of the same schema",
                "smalti schema cities --json | smalti create copy --schema -\n\
                 smalti fragments cities copy $(ls cities/__fragments) --to copy",
            ),
            example(
                "The same for a dense array",
                "smalti schema elevation --json | smalti create heights --schema -\n\
                 smalti fragments elevation copy $(ls elevation/__fragments) --to heights",
            ),
        ],
    ),
    (
        "write",
        &[
            example(
                "All cells of a dense array to a NumPy file, and back",
                "smalti read elevation --select elevation -o elevation.npy
smalti write elevation --from elevation.npy",
            ),
            example(
                "A part of it",
                "smalti read elevation --select elevation --range row=0:9 --range col=0:99 -o part.npy\n\
                 smalti write elevation --from part.npy --range row=10:19 --range col=0:99",
            ),
            example(
                "A cell from standard input",
                "echo '{\"lat\": 52.1, \"lon\": 4.3, \"name\": \"Newtown\", \"country\": \"NL\", \"admin1\": \"\"}' |\n    \
                 smalti write cities --from - --format jsonl",
            ),
        ],
    ),
    (
        "read",
        &[
            example(
                "Paris and around, as a table",
                "smalti read cities --range lat=48.8:48.9 --range lon=2.2:2.5",
            ),
            example(
                "Some fields of the cells that fulfil a condition, as CSV",
                "smalti read cities --where \"country == 'IS' and lat > 65\" --select name,lat,lon --format csv",
            ),
            example(
                "Every fifth row and column of a part, as rows and columns",
                "smalti read elevation --range row=700:740:5 --range col=3100:3130:5 --format matrix",
            ),
            example(
                "The Himalaya for NumPy, and Europe for pandas, Polars and DuckDB",
                "smalti read elevation --range row=660:780 --range col=3000:3300 --select elevation -o himalaya.npy\n\
                 smalti read cities --range lat=34:61 --range lon=-12:34 -o europe.parquet",
            ),
            example("The array as it was", "smalti read cities --at 2021-12-31 --limit 3"),
        ],
    ),
    (
        "draw",
        &[
            example(
                "The Himalaya as a heat map, with colours from 0 to 250",
                "smalti draw elevation --range row=660:780 --range col=3000:3300 --min 0 --max 250 -o himalaya.png",
            ),
            example(
                "How many places there are where, as SVG, and a part in the terminal",
                "smalti draw cities --log -o places.svg\n\
                 smalti draw cities --range lat=46:48 --range lon=6:9",
            ),
        ],
    ),
    (
        "aggregate",
        &[
            example(
                "How many places there are in Japan",
                "smalti aggregate cities count --where \"country == 'JP'\"",
            ),
            example(
                "Highest and mean value of a part",
                "smalti aggregate elevation max:elevation mean:elevation --range row=660:780 --range col=3000:3300",
            ),
        ],
    ),
    (
        "meta",
        &[
            example("All metadata", "smalti meta elevation"),
            example(
                "Set a key, and print it",
                "smalti meta elevation put units STRING_UTF8 m\nsmalti meta elevation get units",
            ),
        ],
    ),
    (
        "meta get",
        &[
            example("A value", "smalti meta elevation get source"),
            example("A value with its type, for programs", "smalti meta elevation get source --json"),
        ],
    ),
    (
        "meta put",
        &[
            example("A text", "smalti meta cities put title STRING_UTF8 'Places of the world'"),
            example("Numbers", "smalti meta cities put bounds FLOAT64 '[-90, 90, -180, 180]'"),
        ],
    ),
    (
        "meta delete",
        &[
            example("Remove a key", "smalti meta elevation delete source"),
            example(
                "Remove it as of a time: before, it is still there",
                "smalti meta elevation delete place --at 2100-01-01",
            ),
        ],
    ),
    (
        "evolve",
        &[
            example(
                "Add an attribute, and drop another",
                "smalti evolve cities --add '{\"name\": \"area\", \"type\": \"FLOAT32\"}' --drop admin1",
            ),
            example(
                "Add an enumeration, an attribute that uses it, and later more labels",
                "smalti evolve cities --add-enumeration kinds=town,city \\\n    \
                 --add '{\"name\": \"kind\", \"type\": \"UINT8\", \"enumeration\": \"kinds\"}'\n\
                 smalti evolve cities --extend-enumeration kinds=village,hamlet",
            ),
            example(
                "Make the current domain larger",
                "smalti schema elevation --json |\n    \
                 smalti create growing --schema - --current-domain row=0:99 --current-domain col=0:99\n\
                 smalti evolve growing --current-domain row=:199",
            ),
        ],
    ),
    (
        "upgrade",
        &[
            example(
                "To the format version that smalti writes by default",
                "smalti schema cities --json | smalti create old --schema - --format-version 20\nsmalti upgrade old",
            ),
            example("To a certain version", "smalti upgrade cities --format-version 23"),
        ],
    ),
    (
        "inspect",
        &[
            example(
                "The footer and the lists of a fragment",
                "smalti inspect cities/__fragments/*/__fragment_metadata.tdb",
            ),
            example("A schema file, every value of it", "smalti inspect elevation/__schema/__[0-9]* --all"),
        ],
    ),
    (
        "delete",
        &[
            example("The cells that fulfil a condition", "smalti delete cities --where \"country == 'FR'\""),
            example(
                "As of a time: earlier reads still find them",
                "smalti delete cities --where \"lat > 60 and lon < 0\" --at 2030-01-01T00:00:00Z",
            ),
        ],
    ),
    (
        "consolidate",
        &[
            example(
                "See what would be merged, and merge it",
                "smalti consolidate cities --dry-run\nsmalti consolidate cities",
            ),
            example(
                "One fragment without deleted cells; earlier times cannot be read any more",
                "smalti delete cities --where \"country == 'FR'\"\nsmalti consolidate cities --purge",
            ),
            example(
                "Faster opening of an array of many fragments",
                "smalti consolidate cities --mode fragment_meta",
            ),
        ],
    ),
    (
        "vacuum",
        &[
            example(
                "See what would be removed, and remove it",
                "smalti vacuum cities --dry-run\nsmalti vacuum cities",
            ),
            example(
                "Metadata that was consolidated",
                "smalti consolidate elevation --mode array_meta\nsmalti vacuum elevation --mode array_meta",
            ),
        ],
    ),
    (
        "manifest",
        &[
            example(
                "For readers over HTTP from servers that list no folders; again after each change that they are to see",
                "smalti manifest cities",
            ),
            example("Without it listings of the server count again", "smalti manifest cities --remove"),
        ],
    ),
    (
        "group",
        &[
            example(
                "Two arrays as one thing",
                "smalti group create world\nsmalti group add world cities --name cities\n\
                 smalti group add world elevation --name elevation\nsmalti group list world",
            ),
            example(
                "Metadata of the group",
                "smalti group meta world put title STRING_UTF8 'The world'\nsmalti group meta world",
            ),
        ],
    ),
    (
        "group create",
        &[
            example("A group", "smalti group create atlas"),
            example(
                "A group in a group",
                "smalti group create atlas/maps\nsmalti group add atlas atlas/maps --name maps",
            ),
        ],
    ),
    (
        "group add",
        &[
            example(
                "An array of the working directory",
                "smalti group create all\nsmalti group add all cities --name places",
            ),
            example(
                "An array in the group's folder: group and array can be moved together",
                "smalti mv elevation all/elevation\nsmalti group add all elevation --relative --name heights",
            ),
        ],
    ),
    (
        "group remove",
        &[
            example("By name", "smalti group remove all heights"),
            example("By URI, as the list has it", "smalti group remove all file://$(pwd)/cities"),
        ],
    ),
    (
        "group list",
        &[
            example("The members", "smalti group list atlas"),
            example("Members of members, as a tree", "smalti group list atlas --recursive"),
        ],
    ),
    (
        "group delete",
        &[
            example("The group alone", "smalti group delete world"),
            example("The group with the members in its folder", "smalti group delete atlas --recursive"),
        ],
    ),
    (
        "ls",
        &[
            example("The arrays and groups of the working directory", "smalti ls"),
            example("Members of groups too, for programs", "smalti ls . --recursive --json"),
        ],
    ),
    (
        "mv",
        &[
            example("Rename", "smalti mv cities places"),
            example("Move", "mkdir archive\nsmalti mv places archive/places"),
        ],
    ),
    (
        "rm",
        &[
            example("Arrays", "smalti rm cities elevation"),
            example(
                "A group with all that is in its folder",
                "smalti group create atlas\nsmalti rm --recursive atlas",
            ),
        ],
    ),
    (
        "scan",
        &[
            example("What a read will give, without reading", "smalti scan cities --range lat=40:50"),
            example(
                "A read that several processes share",
                "smalti scan cities --splits 4 --into parts\n\
                 for part in parts/*.split; do smalti read cities --split $part --format csv; done",
            ),
        ],
    ),
    (
        "explain",
        &[
            example(
                "Which tiles a read would visit",
                "smalti explain cities --range lat=48.8:48.9 --range lon=2.2:2.5",
            ),
            example("What it did", "smalti explain cities --where \"country == 'FR'\" --analyze"),
        ],
    ),
    (
        "fsck",
        &[
            example("Is anything wrong?", "smalti fsck cities"),
            example("With all data read back", "smalti fsck cities --data"),
        ],
    ),
    (
        "repair",
        &[
            example("What would be done", "smalti repair cities --dry-run"),
            example("Mend what can be mended", "smalti repair cities"),
        ],
    ),
    (
        "salvage",
        &[
            example("Into a new array", "smalti salvage cities -o saved"),
            example("Into a file", "smalti salvage cities -o saved.parquet"),
        ],
    ),
    (
        "digest",
        &[
            example("Of all cells", "smalti digest cities"),
            example("As of a time", "smalti digest cities --at 2022-12-31"),
        ],
    ),
    (
        "diff",
        &[
            example("Two arrays", "smalti salvage cities -o saved\nsmalti diff cities saved"),
            example(
                "Two times of one array",
                "smalti diff cities --at-a 2022-12-31 --at-b 2024-12-31 --limit 3 || test $? = 1",
            ),
        ],
    ),
    (
        "config",
        &[
            example("What is set about S3, and by whom", "AWS_REGION=eu-west-1 smalti config s3"),
            example("All settings, for programs", "smalti config --config 'network.timeout=10 s' --json"),
        ],
    ),
    (
        "drop-in",
        &[
            example(
                "A copy of the environment in the folder venv, where there is one, that runs on the library beside the program",
                "test ! -d venv || smalti drop-in venv --copy venv-smalti",
            ),
            example(
                "The original library again",
                "test ! -d venv-smalti || smalti drop-in venv-smalti --undo",
            ),
        ],
    ),
    (
        "completions",
        &[
            example("For bash: a file to read in ~/.bashrc", "smalti completions bash > smalti.bash"),
            example("For fish", "mkdir -p completions\nsmalti completions fish > completions/smalti.fish"),
        ],
    ),
    (
        "man",
        &[
            example("Man pages, for a folder of the path that man searches", "smalti man share/man/man1"),
            example("Pages to read in a browser or an editor", "smalti man manual --format markdown"),
        ],
    ),
];
