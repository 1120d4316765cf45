//! Settings of object stores and the network: where they come from, how they are told, and what is never told. Nothing of the environment of who runs
//! the tests is there.

use smalti::storage::{KEYS, Key, Takes};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A secret that no output may have.
const SECRET: &str = "hush";

/// The folder that is the home of the program, and the variables that it has.
struct Home {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Home {
    fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Puts a file into the home; its path.
    fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smalti"));
        command.args(words).current_dir(self.folder.path()).env_clear().env("HOME", self.folder.path());
        command.env("AWS_EC2_METADATA_DISABLED", "true").env("NO_GCE_CHECK", "true");
        command.env("SMALTI_AZURE_METADATA_DISABLED", "true").env("SMALTI_NETWORK_RETRIES", "0");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().unwrap();
        for text in [&output.stdout, &output.stderr] {
            assert!(!String::from_utf8_lossy(text).contains(SECRET), "{words:?}: {output:?}");
        }
        output
    }

    /// What a command prints that must succeed.
    fn text(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The line with which a command fails.
    fn problem(&self, words: &[&str], status: i32) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// The line of a setting in `smalti config`.
    fn setting(&self, name: &str, words: &[&str]) -> String {
        let text = self.text(&[&["config", name][..], words].concat());
        text.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
    let mut home = Home::new();
    assert_eq!(home.setting("s3.region", &[]), "s3.region -");
    assert_eq!(home.setting("network.timeout", &[]), "network.timeout 30 s");
    let own = home.file(".config/smalti/config", "# mine\ns3.region = own\nnetwork.timeout = 1 min\n");
    assert_eq!(home.setting("s3.region", &[]), format!("s3.region own, from {own}"));
    let elsewhere = home.file("elsewhere/smalti/config", "s3.region = elsewhere\n");
    home.set("XDG_CONFIG_HOME", home.folder.path().join("elsewhere").to_str().unwrap());
    assert_eq!(home.setting("s3.region", &[]), format!("s3.region elsewhere, from {elsewhere}"));
    let named = home.file("named", "s3.region = \"named\"\n");
    home.set("SMALTI_CONFIG", &named);
    assert_eq!(home.setting("s3.region", &[]), format!("s3.region named, from {named}"));
    assert_eq!(home.setting("network.timeout", &[]), "network.timeout 30 s", "one file is read");
    home.set("AWS_DEFAULT_REGION", "theirs");
    assert_eq!(home.setting("s3.region", &[]), "s3.region theirs, from the variable AWS_DEFAULT_REGION");
    home.set("SMALTI_S3_REGION", "ours");
    assert_eq!(home.setting("s3.region", &[]), "s3.region ours, from the variable SMALTI_S3_REGION");
    let called = home.setting("s3.region", &["--config", "s3.region=called"]);
    assert_eq!(called, "s3.region called, from the program");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_is_near() {
    let mut home = Home::new();
    let told = home.problem(&["config", "--config", "s3.regoin=x"], 2);
    assert!(told.contains("did you mean \"s3.region\"?"), "{told}");
    let told = home.problem(&["config", "--config", "network.timeout=30"], 2);
    assert!(told.contains("write it like 500 ms, 30 s or 2 min"), "{told}");
    let told = home.problem(&["config", "--config", "network.part_size=many"], 2);
    assert!(told.contains("8 MiB"), "{told}");
    home.problem(&["config", "--config", "s3.secret_access_key"], 2);
    home.problem(&["config", "nothing"], 2);
    let path = home.file("named", "s3.region = a\n\nnetwork.retrys = 3\n");
    home.set("SMALTI_CONFIG", &path);
    let told = home.problem(&["config"], 1);
    for part in ["line 3", "did you mean \"network.retries\"?", path.as_str()] {
        assert!(told.contains(part), "{told}");
    }
    home.set("SMALTI_CONFIG", "/nowhere/settings");
    let told = home.problem(&["config"], 1);
    assert!(told.contains("SMALTI_CONFIG") && told.contains("/nowhere/settings"), "{told}");
    home.set("SMALTI_CONFIG", &home.file("empty", ""));
    home.set("SMALTI_NETWORK_RETRIES", "many");
    let told = home.problem(&["config"], 1);
    assert!(told.contains("the variable SMALTI_NETWORK_RETRIES") && told.contains("is no number"), "{told}");
}

#[test]
fn secrets_are_not_told_wherever_they_come_from() {
    let mut home = Home::new();
    for key in KEYS {
        let variable = key.variables.first().map_or_else(|| key.own_variable(), |&name| name.to_owned());
        match key.takes {
            Takes::Secret => home.set(&variable, SECRET),
            Takes::Address => home.set(&variable, "http://user:hush@127.0.0.1:1/?sig=hush"),
            _ => {}
        }
    }
    let text = home.text(&["config"]);
    assert_eq!(
        text.matches("  (secret), from the variable ").count(),
        KEYS.iter().filter(|key| key.is_secret()).count()
    );
    let json: serde_json::Value = serde_json::from_str(&home.text(&["config", "--json"])).unwrap();
    assert_eq!(json["settings"].as_array().unwrap().len(), KEYS.len());
    home.text(&[
        "config",
        "azure",
        "--config",
        "azure.key=hush",
        "--config",
        "azure.endpoint=https://hush@host",
    ]);
    for uri in ["s3://b/a", "gs://b/a", "az://b@acc.dfs.core.windows.net/a"] {
        home.problem(&["describe", uri], 1);
    }
    // In the wrong places.
    for setting in ["hush/hush=", "hush", "s3.secret_acces_key=hush", "network.proxy=socks5://user:hush@host"]
    {
        home.problem(&["config", "--config", setting], 2);
        home.problem(&["describe", "array", "--config", setting], 2);
    }
    home.set("SMALTI_CONFIG", &home.file("named", "aws_secret_access_key hush\n"));
    home.problem(&["config"], 1);
}

/// A server that answers every request so; the requests' heads.
fn serve(answer: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heads) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && connection.read(&mut byte).is_ok_and(|len| len == 1) {
                head.push(byte[0]);
            }
            // Who asked may be gone.
            let _ = sender.send(String::from_utf8_lossy(&head).into_owned());
            let _ = connection.write_all(
                format!("HTTP/1.1 403 No\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", answer.len())
                    .as_bytes(),
            );
            if !head.starts_with(b"HEAD") {
                let _ = connection.write_all(answer.as_bytes());
            }
        }
    });
    (address, heads)
}

#[test]
fn shared_files_of_the_home_are_found() {
    let (address, heads) = serve("<Error><Code>AccessDenied</Code></Error>");
    let mut home = Home::new();
    home.file(".aws/credentials", "[mine]\naws_access_key_id = MINE\naws_secret_access_key = hush\n");
    home.file(".aws/config", &format!("[profile mine]\nregion = eu-west-1\nendpoint_url = {address}\n"));
    home.set("AWS_PROFILE", "mine");
    let told = home.problem(&["describe", "s3://b/a"], 1);
    assert!(
        told.contains("the key MINE of the profile mine in ") && told.contains(".aws/credentials"),
        "{told}"
    );
    assert!(heads.recv().unwrap().contains("Credential=MINE/"));
    home.set("AWS_PROFILE", "other");
    let told = home.problem(&["describe", "s3://b/a"], 1);
    assert!(
        told.contains("\"other\" of the variable AWS_PROFILE is not in") && told.contains("there are mine"),
        "{told}"
    );
}

#[cfg(unix)]
#[test]
fn the_command_az_is_asked_where_nothing_else_is_set() {
    use std::os::unix::fs::PermissionsExt as _;
    let (address, heads) = serve("<Error><Code>AuthorizationFailure</Code></Error>");
    let mut home = Home::new();
    let script = home.file(
        "bin/az",
        "#!/bin/sh\necho '{\"accessToken\": \"of-az\", \"expiresOn\": \"2099-01-01 00:00:00.000000\", \"tokenType\": \"Bearer\"}'\n",
    );
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let known = std::env::var("PATH").unwrap_or_default();
    home.set("PATH", &format!("{}:{known}", Path::new(&script).parent().unwrap().display()));
    home.set("AZURE_STORAGE_ENDPOINT", &address);
    let uri = "abfss://box@acc.dfs.core.windows.net/a";
    // Its tokens go to other places than Azure only where somebody says so.
    let told = home.problem(&["describe", uri], 1);
    assert!(told.contains("nobody, as no credentials were found"), "{told}");
    assert!(!heads.recv().unwrap().to_ascii_lowercase().contains("authorization"));
    while heads.try_recv().is_ok() {}
    home.set("SMALTI_AZURE_CLI", "true");
    let told = home.problem(&["describe", uri], 1);
    assert!(told.contains("the login of the command az"), "{told}");
    assert!(heads.recv().unwrap().contains("Bearer of-az"));
}

/// What docs/settings.md has of the keys.
fn tables() -> String {
    let mut text = String::new();
    let mut area = "";
    for key in KEYS {
        let (of_key, _) = key.name.split_once('.').unwrap();
        if of_key != area {
            area = of_key;
            text +=
                &format!("\n### {area}\n\n| key | takes | default | variables | |\n|---|---|---|---|---|\n");
        }
        let variables: Vec<String> = key.variables().map(|name| format!("`{name}`")).collect();
        let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
        let (name, takes) = (key.name, takes(key));
        text += &format!("| `{name}` | {takes} | {default} | {} | {} |\n", variables.join(", "), key.about);
    }
    text
}

fn takes(key: &Key) -> String {
    match key.takes {
        Takes::Text => "text".to_owned(),
        Takes::Secret => "secret".to_owned(),
        Takes::Address => "address".to_owned(),
        Takes::File => "file".to_owned(),
        Takes::Flag => "flag".to_owned(),
        Takes::Count => "number".to_owned(),
        Takes::Duration => "time".to_owned(),
        Takes::ByteLen => "bytes".to_owned(),
        Takes::OneOf(words) => words.join(" or "),
        _ => panic!("say what {} takes", key.name),
    }
}

#[test]
fn the_page_of_settings_has_every_key() {
    const START: &str = "<!-- The keys, from here on, are written by the tests. -->\n";
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (text, keys) = page.split_once(START).unwrap();
    if std::env::var_os("SMALTI_UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{text}{START}{}", tables())).unwrap();
        return;
    }
    for (line, wanted) in keys.lines().zip(tables().lines()) {
        assert_eq!(line, wanted, "docs/settings.md; SMALTI_UPDATE_SNAPSHOTS=1 writes it anew");
    }
    assert_eq!(keys, tables(), "docs/settings.md; SMALTI_UPDATE_SNAPSHOTS=1 writes it anew");
}
