//! An encrypted array with metadata: nothing of it can be read without the key.
//!
//! `cargo run -p smalti --example encrypted`

use smalti::{Array, Dimension, prelude::*};

fn main() -> smalti::Result<()> {
    let uri = "mem://encrypted";
    let schema = Schema::dense()
        .dimension(Dimension::new("day", 0..=364).datatype(Datatype::Int32).tile(7))
        .attribute(Attribute::of::<u16>("visits").filters([Filter::bit_width_reduction(), Filter::zstd(3)]))
        .attribute(Attribute::utf8("note").nullable())
        .build()?;

    // 32 bytes; keep them out of the program in earnest.
    let options = Options::new().key(EncryptionKey::new(b"correct horse battery staple 123")?);
    let diary = Array::create_with(uri, &schema, &options)?;
    diary
        .write()
        .range("day", 0..3)
        .column("visits", &[12_u16, 40, 7])
        .column("note", &[None, Some("open house"), None])
        .commit()?;
    diary
        .write_metadata()
        .put("owner", "Ada")
        .put("year", 2024_u16)
        .put("closed", [1_u16, 359, 360])
        .commit()?;

    match Array::open(uri) {
        Err(error) => println!("without the key: {error}"),
        Ok(_) => unreachable!("an encrypted array opened without its key"),
    }

    let again = Array::open_with(uri, &options)?;
    for (key, value) in &again.metadata()? {
        println!("{key} = {value} ({})", value.datatype());
    }
    let visits = again.read().range("day", 0..3).to_ndarray::<u16>("visits")?;
    assert_eq!(visits.sum(), 59);
    Ok(())
}

#[test]
fn the_example_runs() -> smalti::Result<()> {
    main()
}
