//! A folder in which the program runs, and the record of what it printed.

use smalti::Datatype;
use smalti::text::format_date_time;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Runs the program in a folder of its own.
pub struct Session {
    dir: TempDir,
    record: String,
    key: Option<String>,
}

impl Session {
    pub fn new() -> Self {
        Session { dir: tempfile::tempdir().unwrap(), record: String::new(), key: None }
    }

    /// From now on the variable SMALTI_KEY has this value.
    pub fn set_key(&mut self, key: Option<&str>) {
        self.key = key.map(String::from);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Puts a file into the folder.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The only fragment of an array.
    pub fn fragment(&self, array: &str) -> PathBuf {
        let folder = self.path(array).join("__fragments");
        let entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let [fragment] = entries.as_slice() else { panic!("{entries:?}") };
        fragment.clone()
    }

    /// The only schema file of an array.
    pub fn schema_file(&self, array: &str) -> PathBuf {
        let entries = std::fs::read_dir(self.path(array).join("__schema")).unwrap();
        entries.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap()
    }

    /// Runs the program with the words of a line, as a shell splits it, and this standard input.
    pub fn output_of(&self, line: &str, input: &[u8]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smalti"));
        command.args(words(line)).current_dir(self.dir.path()).env_remove("SMALTI_KEY");
        if let Some(key) = &self.key {
            command.env("SMALTI_KEY", key);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that ends without reading its input closes the pipe.
        let feeder = std::thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, &input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output
    }

    /// Runs a command that must succeed without a word on standard error; what it printed.
    pub fn bytes(&self, line: &str) -> Vec<u8> {
        let output = self.output_of(line, b"");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && problem.is_empty(), "{line}: {problem}");
        output.stdout
    }

    /// As [`bytes`](Session::bytes), as text.
    pub fn text(&self, line: &str) -> String {
        String::from_utf8(self.bytes(line)).unwrap()
    }

    /// Runs a command that must end with an exit status and one line on standard error, and gives that line.
    pub fn problem(&self, line: &str, status: i32) -> String {
        let output = self.output_of(line, b"");
        let problem = self.masked(&String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(status), "{line}: {problem}");
        assert_eq!(problem.lines().count(), 1, "{line}: {problem}");
        assert!(problem.starts_with("smalti: "), "{line}: {problem}");
        problem.trim_end().to_string()
    }

    /// Runs a command and records it with all that it printed.
    pub fn show(&mut self, line: &str) {
        self.show_with(line, "");
    }

    /// As [`show`](Session::show), with standard input.
    pub fn show_with(&mut self, line: &str, input: &str) {
        let output = self.output_of(line, input.as_bytes());
        let text = |bytes: Vec<u8>| self.masked(&String::from_utf8(bytes).unwrap());
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        self.record.push_str(&format!("$ smalti {}\n{stdout}", masked_names(line)));
        for problem in stderr.lines() {
            self.record.push_str(&format!("stderr: {problem}\n"));
        }
        if !output.status.success() {
            self.record.push_str(&format!("exit status {}\n", output.status.code().unwrap()));
        }
        self.record.push('\n');
    }

    /// Records a line that explains what follows.
    pub fn note(&mut self, text: &str) {
        self.record.push_str(&format!("# {text}\n"));
    }

    /// Hides in the record how many bytes opening took: a schema with enumerations compresses their names, which
    /// are random, and not always to the same length.
    pub fn hide_opening_bytes(&mut self) {
        const KEY: &str = "\"opening\":{\"bytes\":";
        let mut parts = self.record.split(KEY);
        let mut hidden = parts.next().unwrap_or_default().to_string();
        for part in parts {
            hidden.push_str(KEY);
            hidden.push_str("BYTES");
            hidden.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        self.record = hidden;
    }

    /// Compares the record with a file of `tests/snapshots`.
    pub fn check(self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
        if std::env::var_os("SMALTI_UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
            std::fs::write(&path, &self.record).unwrap();
            return;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        for (idx, (line, wanted)) in self.record.lines().zip(expected.lines()).enumerate() {
            assert_eq!(line, wanted, "{name}.txt, line {}", idx + 1);
        }
        assert_eq!(self.record, expected, "{name}.txt");
    }

    /// A text without what differs from run to run: the folder, random parts of names, durations; with visible zero bytes.
    fn masked(&self, text: &str) -> String {
        let real = self.dir.path().canonicalize().unwrap();
        let text = text.replace('\0', "␀").replace(&*real.to_string_lossy(), "DIR");
        let text = text.replace(&*self.dir.path().to_string_lossy(), "DIR");
        mask_durations(&mask_clock(&masked_names(&text)))
    }
}

/// A text without the random and recent parts of names.
pub fn masked_names(text: &str) -> String {
    mask_now(&mask_random(text))
}

/// Hides the 32 hexadecimal digits in names.
fn mask_random(text: &str) -> String {
    let mut out = String::new();
    let mut digits = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_hexdigit() && !c.is_ascii_uppercase() {
            digits.push(c);
            continue;
        }
        // A timestamp in front is parted from the random digits by a line.
        out.push_str(if digits.len() == 32 { "RANDOM" } else { &digits });
        digits.clear();
        out.push(c);
    }
    out.pop();
    out
}

/// Hides the time in the names of what was created now: `__1700000000000_1700000000000_RANDOM`.
fn mask_now(text: &str) -> String {
    let mut parts = text.split("__");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        out.push_str("__");
        let times = part.split_once("_RANDOM").and_then(|(times, rest)| {
            let (from, to) = times.split_once('_')?;
            let is_now = |time: &str| time.len() >= 13 && time.bytes().all(|byte| byte.is_ascii_digit());
            (is_now(from) && is_now(to)).then_some(rest)
        });
        match times {
            Some(rest) => out.push_str(&format!("NOW_NOW_RANDOM{rest}")),
            None => out.push_str(part),
        }
    }
    out
}

/// Hides times of today and yesterday, which are no part of a test: `2024-05-01T12:00:00.000Z`, and milliseconds in JSON.
fn mask_clock(text: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let days = |ms: u128| ms / 86_400_000;
    let is_now = |ms: u128| days(ms) == days(now) || days(ms) + 1 == days(now);
    let dates = [now - 86_400_000, now].map(|ms| {
        let text = format_date_time(Datatype::DateTimeDay, days(ms) as i64);
        format!("{text}T")
    });
    let mut out = text.to_string();
    for date in dates {
        while let Some(start) = out.find(&date) {
            let len = out[start..].find('Z').expect("times end with their zone") + 1;
            out.replace_range(start..start + len, "NOW");
        }
    }
    let mut masked = String::new();
    for part in out.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let number = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        match number.len() == 13 && number.parse().is_ok_and(is_now) {
            true => masked.push_str(&part.replace(number, "NOW")),
            false => masked.push_str(part),
        }
    }
    masked
}

/// Hides the duration at the end of `wrote 4 cells as NAME in 1.2 ms`.
fn mask_durations(text: &str) -> String {
    let masked = |line: &str| match line.rsplit_once(" in ") {
        Some((what, _)) if line.starts_with("wrote ") || line.starts_with("imported ") => {
            format!("{what} in TIME\n")
        }
        _ => line.to_string(),
    };
    text.split_inclusive('\n').map(masked).collect()
}

/// The words of a line; single quotes keep a word together.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match c {
            '\'' | '"' if quote.is_none_or(|open| open == c) => {
                quote = quote.xor(Some(c));
                word.get_or_insert_default();
            }
            ' ' if quote.is_none() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
