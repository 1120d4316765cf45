//! Which credentials go along with requests to Google Cloud Storage.

use super::canned::Answer;
use super::*;

fn refusing() -> Server {
    Canned::new(|_| Answer::refusal(403, "AccessDenied"))
}

#[test]
fn the_first_source_of_credentials_is_used_and_named() {
    let gcs = refusing();
    let metadata = Canned::new(|asked| match asked.header("metadata-flavor") {
        "Google" => Answer::new(200, r#"{"access_token": "machine-token", "expires_in": 3600}"#),
        _ => Answer::new(403, ""),
    });
    let folder = tempfile::tempdir().unwrap();
    // An account of an emulator, which signs nothing.
    let account = r#"{"type": "service_account", "private_key": "hush", "private_key_id": "hush", "client_email": "me@there", "disable_oauth": true}"#;
    let application = file(&folder, "application", account);
    let (address, service) = (gcs.address(), metadata.address());
    let base = [("STORAGE_EMULATOR_HOST", address.as_str())];
    let token = ("CLOUDSDK_AUTH_ACCESS_TOKEN", "hush-token");
    for (variables, called, sent, who) in [
        (vec![token], vec![], "Bearer hush-token", "the token of the variable CLOUDSDK_AUTH_ACCESS_TOKEN"),
        (
            vec![token],
            vec![("gcs.service_account", account)],
            "",
            "the service account me@there of the program",
        ),
        (
            vec![("GOOGLE_APPLICATION_CREDENTIALS", application.as_str())],
            vec![],
            "",
            "the service account me@there in ",
        ),
        (
            vec![("GCE_METADATA_HOST", service.as_str())],
            vec![],
            "Bearer machine-token",
            "the service account of this machine",
        ),
        (
            vec![],
            vec![],
            "",
            "nobody, as no credentials were found: looked at GOOGLE_APPLICATION_CREDENTIALS, /nowhere/user, the metadata service (",
        ),
        (vec![token], vec![("gcs.anonymous", "true")], "", "nobody (gcs.anonymous)"),
    ] {
        let told = problem(&open(&settings(&[&base[..], &variables].concat(), &called), "gs://b/array"));
        assert!(told.contains(who), "{who}: {told}");
        let asked = gcs.asked();
        assert_eq!(asked.len(), 1, "{who}");
        assert_eq!(asked[0].header("authorization").trim(), sent, "{who}");
    }
    assert_eq!(metadata.asked().len(), 1);
}

#[test]
fn a_public_bucket_is_read_by_nobody() {
    let gcs = Canned::new(|_| Answer::new(200, NOTHING));
    let address = gcs.address();
    let host = address.strip_prefix("http://").unwrap();
    let store = open(&settings(&[("STORAGE_EMULATOR_HOST", host)], &[]), "gcs://b/array");
    assert!(store.list("array").unwrap().is_empty());
    assert_eq!(gcs.asked()[0].header("authorization"), "");
}

#[test]
fn a_users_login_is_found_where_the_tools_leave_it() {
    let gcs = refusing();
    let folder = tempfile::tempdir().unwrap();
    let external = file(&folder, "external", r#"{"type": "external_account", "token": "hush"}"#);
    let damaged = file(&folder, "damaged", r#"{"type": "authorized_user", "client_id": "hush"}"#);
    let address = gcs.address();
    for (path, what) in [
        (external.as_str(), "export SMALTI_GCS_TOKEN=$(gcloud auth application-default print-access-token)"),
        (damaged.as_str(), "there is no client_secret in it"),
    ] {
        for variable in ["SMALTI_GCS_USER_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"] {
            let told = problem(&open(
                &settings(&[("STORAGE_EMULATOR_HOST", &address), (variable, path)], &[]),
                "gs://b/array",
            ));
            assert!(told.contains(what) && told.contains(path), "{told}");
        }
    }
    let variables =
        [("STORAGE_EMULATOR_HOST", address.as_str()), ("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/file")];
    assert!(problem(&open(&settings(&variables, &[]), "gs://b/array")).contains("/nowhere/file"));
    assert_eq!(gcs.asked().len(), 0);
}

#[test]
fn a_key_that_is_none_is_not_repeated() {
    let account = r#"{"private_key": "hush", "private_key_id": "hush", "client_email": "me@there"}"#;
    let told = problem(&open(&settings(&[], &[("gcs.service_account", account)]), "gs://b/array"));
    assert!(told.contains("cannot be opened"), "{told}");
    let token = settings(&[], &[("gcs.token", "hush\u{e9}")]);
    assert!(problem(&open(&token, "gs://b/array")).contains("characters that none has"));
}
