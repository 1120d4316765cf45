//! `--cache`: what one run of the program read of an array far away, the next one does not ask for.

use crate::fixtures::grid;
use crate::session::Session;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A server of the files below a folder, whole and in parts; it lists nothing.
struct Site {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new(root: PathBuf) -> Site {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let of_thread = Arc::clone(&asked);
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (root, asked) = (root.clone(), Arc::clone(&of_thread));
                // Who breaks off is no failure of the server's.
                std::thread::spawn(move || answer(&root, &asked, connection).ok());
            }
        });
        Site { address, asked }
    }

    /// The files that were asked for since this was asked last, but for the manifest.
    fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.retain(|path| !path.ends_with("manifest.json"));
        asked
    }
}

fn answer(root: &Path, asked: &Mutex<Vec<String>>, connection: TcpStream) -> std::io::Result<()> {
    let mut out = connection.try_clone()?;
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok).peekable();
    while lines.peek().is_some() {
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let mut words = head[0].split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let range = head.iter().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let range = value.strip_prefix("bytes=")?.split_once('-')?;
            name.eq_ignore_ascii_case("range").then_some(range)
        });
        let Ok(content) = std::fs::read(root.join(path.trim_start_matches('/'))) else {
            write!(out, "HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        };
        asked.lock().unwrap().push(path.to_owned());
        let all = content.len();
        let number = |text: &str| text.parse::<usize>().unwrap();
        let part = range.map(|(first, last)| match first {
            "" => all.saturating_sub(number(last))..all,
            first => number(first)..all.min(number(last) + 1),
        });
        let (status, part, said) = match part {
            Some(part) => {
                let said = format!("Content-Range: bytes {}-{}/{all}\r\n", part.start, part.end - 1);
                ("206 Part", part, said)
            }
            None => ("200 OK", 0..all, String::new()),
        };
        write!(out, "HTTP/1.1 {status}\r\n{said}Content-Length: {}\r\n\r\n", part.len())?;
        if method == "GET" {
            out.write_all(&content[part])?;
        }
    }
    Ok(())
}

#[test]
fn a_later_run_with_the_same_folder_reads_what_is_there() {
    let session = Session::new();
    grid(&session);
    session.text("manifest grid");
    let cells = session.text("read grid --format csv");
    let site = Site::new(session.path(""));
    let uri = format!("{}/grid", site.address);
    let read = format!("read {uri} --format csv");
    assert_eq!(session.text(&read), cells);
    let without = site.asked();
    assert!(without.iter().any(|path| path.contains("/__fragments/")), "{without:?}");

    for _ in 0..2 {
        assert_eq!(session.text(&read), cells);
        assert_eq!(site.asked().len(), without.len(), "nothing stays where nobody asks for it");
    }
    assert!(!session.path("kept").exists());
    assert_eq!(session.text(&format!("{read} --cache kept")), cells);
    assert!(site.asked().iter().any(|path| path.contains("/__fragments/")));
    assert_eq!(session.text(&format!("{read} --cache kept")), cells);
    let asked = site.asked();
    assert!(!asked.iter().any(|path| path.contains("/__fragments/")), "{asked:?}");
    // The key is the same as the option, which wins.
    assert_eq!(session.text(&format!("{read} --config cache.folder=kept")), cells);
    assert_eq!(site.asked(), asked);
    assert_eq!(session.text(&format!("{read} --config cache.folder=other --cache kept")), cells);
    assert_eq!(site.asked(), asked);
    assert!(!session.path("other").exists());

    session.file("file", "mine");
    let output = session.output_of(&format!("{read} --cache file"), b"");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("the cache in file is not used"), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), cells);
}
