//! `smalti draw`, and `read --format matrix`.

use crate::fixtures::{grid, points};
use crate::session::Session;

/// A dense array of 3 steps x 4 rows x 6 columns, written in two steps at 100 and 200, with units; a cell of each is null, and the
/// last was never written.
fn cube(session: &Session) {
    session.file(
        "cube.json",
        r#"{"array_type": "dense", "dims": [
            {"name": "step", "type": "INT32", "domain": [0, 2], "tile": 1},
            {"name": "row", "type": "INT32", "domain": [0, 3], "tile": 2},
            {"name": "col", "type": "INT32", "domain": [0, 5], "tile": 3}],
            "enumerations": [{"name": "kinds", "type": "STRING_UTF8", "values": ["water", "sand", "rock"]}],
            "attrs": [{"name": "height", "type": "FLOAT32", "nullable": true},
                      {"name": "kind", "type": "UINT8", "enumeration": "kinds"}]}"#,
    );
    session.text("create cube --schema cube.json");
    for (name, steps, at) in [("first", 0..=1, 100), ("second", 1..=1, 200)] {
        let mut csv = String::from("step,row,col,height,kind\n");
        for step in steps.clone() {
            for row in 0..4 {
                for col in 0..6 {
                    let height = if (row, col) == (1, 2) {
                        String::new()
                    } else {
                        (step * 100 + row * 10 + col).to_string()
                    };
                    let kind = ["water", "sand", "rock"][(row + col) % 3];
                    csv.push_str(&format!("{step},{row},{col},{height},{kind}\n"));
                }
            }
        }
        session.file(&format!("{name}.csv"), csv);
        let range = if name == "first" { "0:1" } else { "1:1" };
        session.text(&format!("write cube --from {name}.csv --range step={range} --at {at}"));
    }
    session.text("meta cube put height.units STRING_UTF8 m --at 150");
    session.text("meta cube put height.long_name STRING_UTF8 'Height above sea' --at 150");
}

fn svg(session: &Session, line: &str) -> String {
    assert!(session.output_of(&format!("{line} -o p.svg"), b"").status.success(), "{line}");
    std::fs::read_to_string(session.path("p.svg")).unwrap()
}

#[test]
fn a_slice_of_a_dense_array_is_a_heat_map() {
    let mut session = Session::new();
    cube(&session);
    session.show("draw cube -o map.svg --size 480x360");
    let map = std::fs::read_to_string(session.path("map.svg")).unwrap();
    session.note(&map);
    session.show("draw cube --range step=1 --json -o map.png");
    session.show("draw cube --field kind --dims row,col --range step=1");
    session.show("draw cube --range step=0 --where 'height > 12'");
    session.show("draw cube --range step=0 --color always --range row=0:1");
    session.check("draw_heat");
}

#[test]
fn a_png_holds_the_colours_of_the_values() {
    let session = Session::new();
    cube(&session);
    assert!(session.output_of("draw cube -o map.png --size 640x480 --colors gray", b"").status.success());
    let decoder =
        png::Decoder::new(std::io::BufReader::new(std::fs::File::open(session.path("map.png")).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (640, 480));
    let count = |color: [u8; 3]| pixels.chunks(3).filter(|pixel| *pixel == color).count();
    assert!(count([0x10; 3]) > 500, "the least value is nearly black");
    assert!(count([0xf5; 3]) > 500, "the greatest one nearly white");
    assert!(count([0xe9, 0xe9, 0xec]) > 100 && count([0xd4, 0xd4, 0xda]) > 100, "null is a pattern");
    assert_eq!(&pixels[..3], &[255; 3], "the margin is white");
}

#[test]
fn dimensions_become_lines_and_changes_panels() {
    let mut session = Session::new();
    cube(&session);
    session.show("draw cube --range step=0 --range row=2");
    let lines = svg(&session, "draw cube --dims step --range row=2 --range col=3");
    assert!(lines.contains("Height above sea (m)") && lines.contains("row 2, col 3"), "{lines}");
    session.file(
        "days.json",
        r#"{"array_type": "dense", "dims": [{"name": "day", "type": "DATETIME_DAY", "domain": [19000, 19005]}],
            "attrs": [{"name": "low", "type": "FLOAT32"}, {"name": "high", "type": "FLOAT32"}]}"#,
    );
    session.text("create days --schema days.json");
    let rows = (0..6).map(|day| format!("{},{},{}\n", 19000 + day, day * day % 7, day * day % 7 + 5));
    session.file("days.csv", format!("day,low,high\n{}", rows.collect::<String>()));
    session.text("write days --from days.csv --at 100");
    session.show("draw days");
    let days = svg(&session, "draw days --range day=2022-01-09:2022-01-11");
    assert!(days.contains(">2022-01-10<") && days.contains(">low<") && days.contains(">high<"), "{days}");
    let strip = svg(&session, "draw cube --time --range step=1");
    assert!(
        strip.contains("1970-01-01T00:00:00.100Z") && strip.contains("1970-01-01T00:00:00.200Z"),
        "{strip}"
    );
    assert_eq!(strip.matches("url(#missing)").count(), 3, "two panels, a bar");
    let last = svg(&session, "draw cube --time --panels 1");
    assert!(!last.contains("00.100Z") && last.contains("00.200Z"));
    session.check("draw_lines");
}

#[test]
fn cells_of_a_sparse_array_are_points_or_their_density() {
    let mut session = Session::new();
    points(&session);
    session.show("draw points --field score");
    session.show("draw points --range n=40:50");
    let picture = svg(&session, "draw points --field flag --dims lat,n");
    assert_eq!(picture.matches("<circle").count(), 4);
    assert!(picture.contains(">true<") && picture.contains(">false<"));
    let mut csv = String::from("lat,n,name,score,day,flag,tags,pair,blob,utf16,utf32,ucs2\n");
    for idx in 0..21_000 {
        let lat = f64::from(idx % 180) - 89.5;
        csv.push_str(&format!(
            "{lat}{idx:05},{},a,0,2000-01-01,true,,\"[1,2]\",\"{{\"\"hex\"\":\"\"02\"\"}}\",[],[],[]\n",
            idx % 100
        ));
    }
    session.file("many.csv", csv);
    session.text("write points --from many.csv --at 300");
    let density = svg(&session, "draw points --log");
    assert!(density.contains(">cells<") && !density.contains("<circle"));
    assert!(density.len() < 200_000, "many cells are pixels");
    session.check("draw_points");
}

#[test]
fn a_large_slice_is_reduced_and_says_how() {
    let session = Session::new();
    session.file(
        "wide.json",
        r#"{"array_type": "dense", "dims": [{"name": "y", "type": "INT32", "domain": [0, 999], "tile": 100},
            {"name": "x", "type": "INT32", "domain": [0, 2999], "tile": 1000}], "attrs": [{"name": "a", "type": "INT16"}]}"#,
    );
    session.text("create wide --schema wide.json");
    session.file("wide.npy", npy(1000, 3000));
    session.text("write wide --from wide.npy");
    let mean = svg(&session, "draw wide");
    assert!(mean.contains("mean of 3.125 x 1.5625 cells a pixel"), "{}", &mean[..900]);
    let stride = svg(&session, "draw wide --reduce stride --range x=0:1919");
    assert!(stride.contains("one of 2 x 1.5625 cells a pixel"), "{}", &stride[..900]);
    // What is read by strides is less than the slice.
    let little = svg(&session, "draw wide --memory 4MiB");
    assert!(little.contains("a pixel"));
}

/// An array of 16-bit numbers, row + column, as NumPy stores it.
fn npy(rows: usize, cols: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '<i2', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    header.push_str(&" ".repeat(128 - 10 - 1 - header.len()));
    header.push('\n');
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(header.as_bytes());
    npy.extend((0..rows * cols).flat_map(|cell| ((cell / cols + cell % cols) as i16).to_le_bytes()));
    npy
}

#[test]
fn what_cannot_be_drawn_is_refused_with_what_to_do() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.file(
        "empty.json",
        r#"{"array_type": "sparse", "dims": [{"name": "s", "type": "STRING_ASCII"}], "attrs": [{"name": "a", "type": "INT8"}]}"#,
    );
    session.text("create empty --schema empty.json");
    for line in [
        "draw grid --field s",
        "draw grid --field nothing",
        "draw grid --field a,f",
        "draw grid --dims x,x",
        "draw grid --dims x,z",
        "draw grid -o picture.bmp",
        "draw grid -o -",
        "draw grid --json",
        "draw grid --size 10x10",
        "draw grid --size big",
        "draw grid --min 5 --max 4",
        "draw grid --log --min -1",
        "draw grid --range y=1:99 --strict",
        "draw grid --at 50",
        "draw points --dims name,n",
        "draw points --field name",
        "draw empty",
        "draw missing",
    ] {
        session.show(line);
    }
    session.check("draw_errors");
}

#[test]
fn a_small_slice_prints_as_a_matrix() {
    let mut session = Session::new();
    grid(&session);
    cube(&session);
    points(&session);
    session.show("read grid --format matrix --select a");
    session.show("read grid --format matrix --select s --range y=2:3 --range x=2,3");
    session.show("read cube --format matrix --select height --range step=1 --range row=1:2");
    session.show("read cube --format matrix --select kind --range row=1 --range col=::2");
    session.show("read points --format matrix --select name --range lat=0:");
    session.show("read grid --format matrix");
    session.show("read cube --format matrix --select kind");
    session.show("read grid --format matrix --select a --range y=1 --range x=1");
    session.check("read_matrix");
}
