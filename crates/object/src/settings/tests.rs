//! Settings from texts, environments and calls.

use super::*;

#[test]
fn keys_are_sorted_and_their_defaults_are_values_of_theirs() {
    assert!(KEYS.is_sorted_by_key(|key| key.name));
    for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
        values::check(key.takes, key.default).unwrap();
    }
}

#[test]
fn a_call_wins_over_the_environment_and_that_over_the_file() {
    let file = Settings::from_text("# mine\ns3.region = \"file\"\n\nnetwork.timeout=10 s", "f").unwrap();
    let variables = |name: &str| {
        Ok(match name {
            "AWS_REGION" => Some("theirs".to_owned()),
            "SMALTI_S3_ENDPOINT" => Some("http://own".to_owned()),
            "AWS_ENDPOINT_URL" => Some("http://theirs".to_owned()),
            _ => None,
        })
    };
    let mut settings = file.over_variables(&variables).unwrap();
    assert_eq!(settings.get("s3.region"), Some("theirs"));
    assert_eq!(settings.source("s3.region").unwrap(), "the variable AWS_REGION");
    assert_eq!(settings.get("s3.endpoint"), Some("http://own"));
    assert_eq!(settings.get("network.timeout"), Some("10 s"));
    assert_eq!(settings.get("network.part_size"), Some("8 MiB"));
    settings.set("s3.region", "called").unwrap();
    assert_eq!(settings.get("s3.region"), Some("called"));
    assert_eq!(settings.get("s3.profile"), None);
}

#[test]
fn what_is_wrong_is_named_with_the_nearest_key() {
    let mut settings = Settings::default();
    let told = |result: Result<()>| result.unwrap_err().to_string();
    assert!(told(settings.set("s3.regoin", "x")).contains("did you mean \"s3.region\"?"));
    assert!(told(settings.set("network.timeout", "30")).contains("write it like"));
    assert!(told(settings.set("network.timeout", "99999999999999999999 s")).contains("is no time"));
    assert!(told(settings.set("s3.conditional_put", "x")).contains("none of etag, none"));
    assert!(told(settings.set("s3.anonymous", "yes")).contains("neither true nor false"));
    let error = Settings::from_text("s3.region = a\nwhat\n", "settings").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("settings"), "{error}");
}

#[test]
fn what_may_be_a_secret_in_the_wrong_place_is_not_repeated() {
    let mut settings = Settings::default();
    for name in ["wJalrXUtnFEMI/K7MDENG", "hush hush", "", "hush\n", &"hush".repeat(20)] {
        let told = settings.set(name, "hush").unwrap_err().to_string();
        assert!(!told.contains("hush") && !told.contains("K7MDENG"), "{told}");
    }
    for text in
        ["hush", "s3.secret_access_key hush", "[hush]", "hush/hush = 1", "s3.endpoint = http://hush:hush@"]
    {
        let told = Settings::from_text(text, "f").unwrap_err().to_string();
        assert!(!told.contains("hush"), "{told}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let mut settings = Settings::default();
    for key in KEYS {
        let value = match key.takes {
            Takes::Secret => "hush",
            Takes::Address => "http://hush:hush@host:1/path?hush",
            _ => continue,
        };
        settings.set(key.name, value).unwrap();
    }
    settings.set("s3.region", "here").unwrap();
    let shown = format!("{settings:?} {:#?} {:?}", settings.clone(), settings.shown());
    assert!(!shown.contains("hush") && shown.contains("here") && shown.contains("host:1/path"), "{shown}");
    for key in KEYS.iter().filter(|key| key.is_secret()) {
        assert_eq!(settings.get(key.name), Some("hush"), "{}", key.name);
    }
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
#[test]
fn of_several_keys_the_strongest_word_counts_and_the_first_of_equals() {
    let file = Settings::from_text("s3.access_key_id = file", "f").unwrap();
    let variables =
        |name: &str| Ok((name == "AWS_PROFILE" || name == "AWS_ROLE_ARN").then(|| "set".to_owned()));
    let mut settings = file.over_variables(&variables).unwrap();
    let names = ["s3.access_key_id", "s3.role_arn", "s3.profile", "s3.region"];
    assert_eq!(settings.strongest(&names), Some("s3.role_arn"));
    settings.set("s3.profile", "called").unwrap();
    assert_eq!(settings.strongest(&names), Some("s3.profile"));
    settings.set("s3.access_key_id", "called").unwrap();
    assert_eq!(settings.strongest(&names), Some("s3.access_key_id"));
    assert_eq!(settings.strongest(&["s3.region"]), None);
}

#[test]
fn texts_of_any_bytes_are_settings_or_errors() {
    let mut random = 1_u64;
    for _ in 0..2000 {
        let text: String = (0..40)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let pieces =
                    ["s3.region", "network.timeout", "=", "\n", " ", "#", "\"", "9", "é", "\0", "s", "ms"];
                pieces[usize::try_from(random >> 33).unwrap() % pieces.len()]
            })
            .collect();
        let _ = Settings::from_text(&text, "f");
    }
}
