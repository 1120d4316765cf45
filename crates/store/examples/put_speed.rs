//! Times the local store against plain system calls: `cargo run --release -p smalti-store --example put_speed FOLDER`.

use smalti_store::{LocalStore, NewFile, ReadInto, Store, SyncLevel};
use std::io::Write;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args().nth(1).ok_or("name a folder to write in")?;
    let root = std::path::Path::new(&root).join(format!("put-speed-{}", std::process::id()));
    let store = LocalStore::new(&root, SyncLevel::Full)?;
    let large = vec![0x5a; 64 << 20];
    store.create_folder("x")?;
    for turn in 0..4 {
        let start = Instant::now();
        let mut file = std::fs::File::create_new(root.join(format!("raw{turn}")))?;
        file.write_all(&large)?;
        file.sync_all()?;
        println!("64 MiB raw write and fsync    {:?}", start.elapsed());
        let start = Instant::now();
        store.put(&format!("x/put{turn}"), &[&large])?;
        println!("64 MiB put                    {:?}", start.elapsed());

        let small = vec![0x5a; 8 << 10];
        let paths: Vec<String> = (0..60).map(|i| format!("frag{turn}/a{i}.tdb")).collect();
        let parts: [&[u8]; 1] = [&small];
        let files: Vec<_> = paths.iter().map(|path| NewFile { path, parts: &parts }).collect();
        let start = Instant::now();
        std::fs::create_dir(root.join(format!("rawfrag{turn}")))?;
        for i in 0..60 {
            let mut file = std::fs::File::create_new(root.join(format!("rawfrag{turn}/a{i}.tdb")))?;
            file.write_all(&small)?;
            file.sync_all()?;
        }
        println!("60 x 8 KiB one after another  {:?}", start.elapsed());
        let start = Instant::now();
        store.put_batch(&files)?;
        println!("60 x 8 KiB put_batch          {:?}", start.elapsed());
        let start = Instant::now();
        store.put(&format!("x/commit{turn}"), &[])?;
        println!("a commit                      {:?}", start.elapsed());

        let mut dest = vec![0; 64 << 20];
        let path = format!("x/put{turn}");
        for _ in 0..2 {
            let start = Instant::now();
            store.read_into(&mut [ReadInto { path: &path, offset: 0, dest: &mut dest }])?;
            println!("64 MiB read                   {:?}", start.elapsed());
        }
        let start = Instant::now();
        for i in 0..100_000_u64 {
            let dest = &mut dest[..4096];
            store.read_into(&mut [ReadInto { path: &path, offset: (i * 7919) % 16_000 * 4096, dest }])?;
        }
        println!("4 KiB read                    {:?}", start.elapsed() / 100_000);
    }
    let none = LocalStore::new(&root, SyncLevel::None)?;
    let start = Instant::now();
    let paths: Vec<String> = (0..100_000).map(|i| format!("many/{i}.wrt")).collect();
    let files: Vec<_> = paths.iter().map(|path| NewFile { path, parts: &[] }).collect();
    none.put_batch(&files)?;
    println!("100,000 empty files, no sync  {:?}", start.elapsed());
    let start = Instant::now();
    println!("{} entries listed in      {:?}", none.list("many")?.len(), start.elapsed());
    std::fs::remove_dir_all(&root)?;
    Ok(())
}
