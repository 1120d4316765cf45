//! Variants of genomes: a string dimension beside a numeric one, nulls, lists of numbers, ranges on both dimensions.
//!
//! `cargo run -p smalti --example sparse_points`

use smalti::arrow::arrow_field;
use smalti::{Array, Dimension, prelude::*};

fn main() -> smalti::Result<()> {
    let schema = Schema::sparse()
        .dimension(Dimension::string("chrom"))
        .dimension(
            Dimension::new("pos", 1..=250_000_000_u32).filters([Filter::double_delta(), Filter::zstd(3)]),
        )
        .attribute(Attribute::ascii("alleles").filters(Filter::dictionary()))
        .attribute(Attribute::of::<f32>("quality").nullable())
        .attribute(Attribute::var::<u16>("depths"))
        .allow_duplicates(true)
        .build()?;
    let variants = Array::create("mem://sparse-points", &schema)?;

    // Cells come in any order; several may have the same coordinates here.
    variants
        .write()
        .column("chrom", &["chr2", "chr1", "chr1", "chr17"])
        .column("pos", &[25_234_373_u32, 1_014_143, 925_952, 43_093_464])
        .column("alleles", &["A/G", "C/T", "G/A", "T/TC"])
        .column("quality", &[Some(87.5_f32), None, Some(12.0), Some(99.0)])
        .column("depths", &[vec![30_u16, 28], vec![12], vec![], vec![44, 41, 39]])
        .commit()?;

    // Every variant of the first million bases of chromosome 1, in order.
    let found = variants
        .read()
        .range("chrom", "chr1"..="chr1")
        .range("pos", ..1_000_000)
        .order(Layout::RowMajor)
        .collect()?;
    println!("{found:?}");
    assert_eq!(found.num_rows(), 1);

    if let Some(domain) = variants.non_empty_domain()? {
        println!("variants lie in {} x {}", domain[0], domain[1]);
    }
    for column in variants.read().columns()?.fields() {
        println!("{}", arrow_field(&column.name, column.shape, Default::default()));
    }
    Ok(())
}

#[test]
fn the_example_runs() -> smalti::Result<()> {
    main()
}
