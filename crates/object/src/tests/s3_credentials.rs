//! Which credentials go along with requests to S3, and who is named where they are refused.

use super::canned::{Answer, Asked};
use super::*;
use std::sync::{Condvar, Mutex};

const ROLE: &str = "arn:aws:iam::1:role/r";

/// S3 that refuses everybody.
fn refusing() -> Server {
    Canned::new(|_| Answer::refusal(403, "AccessDenied"))
}

/// S3 where nothing is.
fn empty() -> Server {
    Canned::new(|_| Answer::new(200, NOTHING))
}

/// STS: it gives keys whose name has the action, and how often it was asked.
fn sts() -> Server {
    let count = Mutex::new(0);
    Canned::new(move |asked| {
        let mut count = count.lock().unwrap();
        *count += 1;
        Answer::new(
            200,
            format!(
                "<R><Credentials><AccessKeyId>{}{count}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>\
                 <SessionToken>{SECRET}-token</SessionToken></Credentials></R>",
                asked.field("Action")
            ),
        )
    })
}

/// Key and region of the only request.
fn signed(asked: &[Asked]) -> (String, String) {
    let [asked] = asked else { panic!("{asked:?}") };
    let (key, region) = asked.signed();
    (key.to_owned(), region.to_owned())
}

#[test]
fn the_first_source_of_credentials_is_used_and_named() {
    let (s3, sts) = (refusing(), sts());
    let (s3_address, sts_address) = (s3.address(), sts.address());
    let folder = tempfile::tempdir().unwrap();
    let token = file(&folder, "token", &format!("{SECRET}-web\n"));
    let credentials = file(
        &folder,
        "credentials",
        "[default]\naws_access_key_id = DEFAULT\naws_secret_access_key = hush\n[mine]\naws_access_key_id = MINE\n\
         aws_secret_access_key = hush\n",
    );
    let base = [
        ("AWS_ENDPOINT_URL_S3", s3_address.as_str()),
        ("AWS_ENDPOINT_URL_STS", &sts_address),
        ("AWS_SHARED_CREDENTIALS_FILE", &credentials),
    ];
    let keys = [("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    let web = [("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()), ("AWS_ROLE_ARN", ROLE)];
    let called = [("s3.access_key_id", "CALLED"), ("s3.secret_access_key", SECRET)];
    for (variables, called, key, who) in [
        ([&keys[..], &web].concat(), &called[..], "CALLED", "the key CALLED of the program"),
        ([&keys[..], &web].concat(), &[], "ENV", "the key ENV of the variable AWS_ACCESS_KEY_ID"),
        (
            web.to_vec(),
            &[],
            "AssumeRoleWithWebIdentity1",
            "the web identity of the variable AWS_WEB_IDENTITY",
        ),
        (vec![], &[], "DEFAULT", "the key DEFAULT of the profile default in "),
        (vec![("AWS_PROFILE", "mine")], &[], "MINE", "the key MINE of the profile mine in "),
        ([&keys[..], &[("AWS_PROFILE", "mine")]].concat(), &[], "ENV", "the key ENV"),
        (keys.to_vec(), &[("s3.profile", "mine")][..], "MINE", "the key MINE of the profile mine"),
    ] {
        let told = problem(&open(&settings(&[&base[..], &variables].concat(), called), "s3://b/array"));
        assert!(told.contains(who) && told.contains("AccessDenied"), "{who}: {told}");
        let asked = s3.asked();
        assert_eq!(signed(&asked), (key.to_owned(), "us-east-1".to_owned()));
        let [asked_of_sts] = &sts.asked()[..] else { continue };
        assert_eq!(asked[0].header("x-amz-security-token"), "hush-token");
        assert_eq!(asked_of_sts.method, "POST");
        assert_eq!(asked_of_sts.target, "/", "the token is no part of an address");
        assert_eq!(asked_of_sts.header("authorization"), "");
        assert_eq!(asked_of_sts.field("WebIdentityToken"), "hush-web");
        assert_eq!(
            (asked_of_sts.field("RoleArn"), asked_of_sts.field("Version")),
            (ROLE.to_owned(), "2011-06-15".to_owned())
        );
    }
}

#[test]
fn a_token_goes_along_only_with_the_keys_that_it_was_set_with() {
    let s3 = empty();
    let address = s3.address();
    let base = [("AWS_ENDPOINT_URL", address.as_str()), ("AWS_SESSION_TOKEN", "theirs")];
    let called = [("s3.access_key_id", "CALLED"), ("s3.secret_access_key", SECRET)];
    let token_of = |variables: &[(&str, &str)], called: &[(&str, &str)]| {
        open(&settings(variables, called), "s3://b/array").list("array").unwrap();
        s3.asked()[0].header("x-amz-security-token").to_owned()
    };
    assert_eq!(token_of(&base, &called), "");
    assert_eq!(token_of(&base, &[&called[..], &[("s3.session_token", "mine")]].concat()), "mine");
    let keys = [("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    assert_eq!(token_of(&[&base[..], &keys].concat(), &[]), "theirs");
}

#[test]
fn what_is_set_in_part_is_refused_before_any_request() {
    let s3 = empty();
    let address = s3.address();
    for (variables, what) in [
        (vec![("AWS_ACCESS_KEY_ID", "ENV")], "s3.secret_access_key is not"),
        (vec![("AWS_SECRET_ACCESS_KEY", SECRET)], "s3.access_key_id is not"),
        (vec![("AWS_ACCESS_KEY_ID", "E N V"), ("AWS_SECRET_ACCESS_KEY", SECRET)], "characters in the key"),
        (
            vec![("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", "hush\u{7}")],
            "characters in the secret",
        ),
        (vec![("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token")], "s3.role_arn is not"),
        (vec![("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token"), ("AWS_ROLE_ARN", ROLE)], "/nowhere/token"),
        (vec![("AWS_REGION", "eu west")], "is no region"),
        (vec![("AWS_ENDPOINT_URL_STS", "http://999.1.1.1.1"), ("AWS_REGION", "x")], "s3.sts_endpoint"),
    ] {
        let variables = [&[("AWS_ENDPOINT_URL", address.as_str())][..], &variables].concat();
        let told = problem(&open(&settings(&variables, &[]), "s3://b/array"));
        assert!(told.contains(what), "{what}: {told}");
        assert_eq!(s3.asked().len(), 0);
    }
}

#[test]
fn a_container_asks_its_service_with_its_token() {
    let s3 = empty();
    let service = Canned::new(|asked| {
        let key = format!("OF{}", asked.header("authorization").len());
        let json = serde_json::json!({"AccessKeyId": key, "SecretAccessKey": SECRET, "Token": "t", "Expiration": "2099-01-01T00:00:00Z"});
        Answer::new(200, json.to_string())
    });
    let folder = tempfile::tempdir().unwrap();
    let token = file(&folder, "token", "hush-token\n");
    let (s3_address, uri) = (s3.address(), format!("{}/creds", service.address()));
    let base = [("AWS_ENDPOINT_URL", s3_address.as_str()), ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &uri)];
    for (variables, key) in [
        (vec![], "OF0"),
        (vec![("AWS_CONTAINER_AUTHORIZATION_TOKEN", SECRET)], "OF4"),
        (vec![("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.as_str())], "OF10"),
    ] {
        let store = open(&settings(&[&base[..], &variables].concat(), &[]), "s3://b/array");
        store.list("array").unwrap();
        store.list("array").unwrap();
        assert_eq!(s3.asked().iter().map(|asked| asked.signed().0).collect::<Vec<_>>(), [key, key]);
        let asked = service.asked();
        assert_eq!(asked.len(), 1, "what holds is kept");
        assert_eq!(asked[0].target, "/creds");
    }
    let elsewhere = [base[0], ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/x")];
    let told = problem(&open(&settings(&elsewhere, &[]), "s3://b/array"));
    assert!(told.contains("asked for with TLS"), "{told}");
    let silent = [base[0], ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/x")];
    let told = problem(&open(&settings(&silent, &[]), "s3://b/array"));
    assert!(told.contains("the container service http://127.0.0.1:1/x: could not be reached"), "{told}");
}

/// The metadata service of a machine that has a role.
fn metadata() -> Server {
    Canned::new(|asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PUT", "/latest/api/token") => Answer::new(200, "session"),
        ("GET", path) if asked.header("x-aws-ec2-metadata-token") == "session" => {
            match path.strip_prefix("/latest/meta-data/iam/security-credentials/") {
                Some("") => Answer::new(200, "role"),
                Some("role") => Answer::new(
                    200,
                    serde_json::json!({"AccessKeyId": "MACHINE", "SecretAccessKey": SECRET, "Token": "t", "Expiration": "2099-01-01T00:00:00Z"})
                        .to_string(),
                ),
                _ => Answer::new(404, ""),
            }
        }
        _ => Answer::new(401, ""),
    })
}

#[test]
fn a_machine_asks_its_metadata_service() {
    let (s3, metadata) = (refusing(), metadata());
    let (s3_address, metadata_address) = (s3.address(), metadata.address());
    let base =
        [("AWS_ENDPOINT_URL", s3_address.as_str()), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &metadata_address)];
    let told = problem(&open(&settings(&base, &[]), "s3://b/array"));
    assert!(told.contains("the role of this machine"), "{told}");
    assert_eq!(signed(&s3.asked()).0, "MACHINE");
    assert_eq!(metadata.asked().len(), 3);
    let disabled = [&base[..], &[("AWS_EC2_METADATA_DISABLED", "TRUE")]].concat();
    let told = problem(&open(&settings(&disabled, &[]), "s3://b/array"));
    assert!(told.contains("nobody, as no credentials were found") && told.contains("forbids"), "{told}");
    assert_eq!(signed(&s3.asked()).0, "");
    assert_eq!(metadata.asked().len(), 0);
}

#[test]
fn where_nobody_has_credentials_requests_go_unsigned_and_refusals_say_where_was_looked() {
    let public = empty();
    let address = public.address();
    let store = open(&settings(&[("AWS_ENDPOINT_URL", &address)], &[]), "s3://b/array");
    assert!(store.list("array").unwrap().is_empty());
    assert_eq!(public.asked()[0].header("authorization"), "");

    let private = refusing();
    let address = private.address();
    let told = problem(&open(&settings(&[("AWS_ENDPOINT_URL", &address)], &[]), "s3://b/array"));
    for part in [
        "AccessDenied",
        "nobody, as no credentials were found",
        "AWS_ACCESS_KEY_ID",
        "the profile default of /nowhere/credentials and /nowhere/config",
        "the metadata service (",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let asked_for = settings(
        &[("AWS_ENDPOINT_URL", &address), ("AWS_ACCESS_KEY_ID", "half")],
        &[("s3.anonymous", "true")],
    );
    assert!(problem(&open(&asked_for, "s3://b/array")).contains("nobody (s3.anonymous)"));
}

#[test]
fn credentials_of_a_file_that_changed_are_read_again_when_a_store_refuses_the_old() {
    let folder = tempfile::tempdir().unwrap();
    let keys = |id: &str| format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = hush\n");
    let path = file(&folder, "credentials", &keys("OLD"));
    let log_in = Mutex::new(Some((path.clone(), keys("NEW"))));
    let s3 = Canned::new(move |asked| match asked.signed().0 {
        "NEW" => Answer::new(200, NOTHING),
        _ => {
            // Somebody logs in just now.
            if let Some((path, content)) = log_in.lock().unwrap().take() {
                std::fs::write(path, content).unwrap();
            }
            match asked.method.as_str() {
                // Answers to HEAD have no reason.
                "HEAD" => Answer::new(400, ""),
                _ => Answer::refusal(400, "ExpiredToken"),
            }
        }
    });
    let address = s3.address();
    let variables = [("AWS_ENDPOINT_URL", address.as_str()), ("AWS_SHARED_CREDENTIALS_FILE", &path)];
    let store = open(&settings(&variables, &[]), "s3://b/array");
    store.list("array").unwrap();
    store.list("array").unwrap();
    let keys_of =
        |asked: Vec<Asked>| asked.iter().map(|asked| asked.signed().0.to_owned()).collect::<Vec<_>>();
    assert_eq!(keys_of(s3.asked()), ["OLD", "NEW", "NEW"]);

    // Where the file is as it was, a refusal is one.
    std::fs::write(&path, keys("OLD")).unwrap();
    let store = open(&settings(&variables, &[]), "s3://b/array");
    let told = problem(&store);
    assert!(told.contains("ExpiredToken") && told.contains("the credentials have ended"), "{told}");
    assert_eq!(keys_of(s3.asked()), ["OLD"]);
    let told = store.byte_len("array/a").unwrap_err().to_string();
    assert!(told.contains("ExpiredToken"), "{told}");
    // The reason, which answers to HEAD do not have, is asked for once more.
    assert_eq!(keys_of(s3.asked()), ["OLD", "OLD"]);

    // A file that is there only now is found by who was nobody.
    std::fs::remove_file(&path).unwrap();
    let store = open(&settings(&variables, &[]), "s3://b/array");
    assert!(problem(&store).contains("ExpiredToken"));
    std::fs::write(&path, keys("NEW")).unwrap();
    store.list("array").unwrap();
    assert_eq!(keys_of(s3.asked()), ["", "", "NEW"]);
}

#[test]
fn an_upload_goes_on_with_new_credentials_where_the_old_end_in_its_middle() {
    const BEGUN: &str =
        "<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>";
    const DONE: &str =
        "<CompleteMultipartUploadResult><ETag>&quot;all&quot;</ETag></CompleteMultipartUploadResult>";
    let folder = tempfile::tempdir().unwrap();
    let keys = |id: &str| format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = hush\n");
    let path = file(&folder, "credentials", &keys("OLD"));
    let new = file(&folder, "new", &keys("NEW"));
    let (log_in, first_was_taken) = (path.clone(), (Mutex::new(false), Condvar::new()));
    let s3 = Canned::new(move |asked| match (asked.method.as_str(), asked.signed().0) {
        ("PUT", "OLD") if asked.target.contains("partNumber=1&") => {
            *first_was_taken.0.lock().unwrap() = true;
            first_was_taken.1.notify_all();
            Answer::new(200, "").with("ETag", "\"part\"")
        }
        ("PUT", "OLD") => {
            // Whichever part comes first, the old ones end once the first was taken.
            let was_taken = first_was_taken.0.lock().unwrap();
            let _was_taken = first_was_taken.1.wait_while(was_taken, |was_taken| !*was_taken).unwrap();
            // At once, so that nobody reads half a file; those that come later find that it was done.
            let _ = std::fs::rename(&new, &log_in);
            Answer::refusal(400, "ExpiredToken")
        }
        ("PUT", _) => Answer::new(200, "").with("ETag", "\"part\""),
        ("POST", _) if asked.target.contains("uploads") => Answer::new(200, BEGUN),
        ("POST", _) => Answer::new(200, DONE),
        _ => Answer::new(404, ""),
    });
    let address = s3.address();
    let variables = [("AWS_ENDPOINT_URL", address.as_str()), ("AWS_SHARED_CREDENTIALS_FILE", &path)];
    let called = [("network.part_size", "5 MiB")];
    let store = open(&settings(&variables, &called), "s3://b/array");
    let mut writer = store.create("array/file").unwrap();
    (0..11).for_each(|_| writer.write(&vec![1; 1 << 20]).unwrap());
    writer.finish().unwrap();
    let mut sent: Vec<(String, String)> = s3
        .asked()
        .iter()
        .filter(|asked| asked.method == "PUT")
        .map(|asked| {
            let number = asked.target.split_once("partNumber=").unwrap().1;
            (number.split('&').next().unwrap().to_owned(), asked.signed().0.to_owned())
        })
        .collect();
    sent.sort();
    sent.dedup();
    let with_new = |number: &str| sent.contains(&(number.to_owned(), "NEW".to_owned()));
    assert!(!with_new("1") && with_new("2") && with_new("3"), "{sent:?}");
}

#[test]
fn a_role_that_ended_is_taken_again() {
    let sts = sts();
    let s3 = Canned::new(|asked| match asked.signed().0 {
        "AssumeRole2" => Answer::new(200, NOTHING),
        _ => Answer::refusal(403, "ExpiredToken"),
    });
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        &folder,
        "config",
        &format!(
            "[default]\nrole_arn = {ROLE}\nsource_profile = default\naws_access_key_id = ID\naws_secret_access_key = hush\n"
        ),
    );
    let (s3_address, sts_address) = (s3.address(), sts.address());
    let variables = [
        ("AWS_ENDPOINT_URL", s3_address.as_str()),
        ("AWS_ENDPOINT_URL_STS", &sts_address),
        ("AWS_CONFIG_FILE", &config),
    ];
    let store = open(&settings(&variables, &[]), "s3://b/array");
    store.list("array").unwrap();
    assert_eq!(s3.asked().len(), 2);
    assert_eq!(sts.asked().len(), 2, "what was taken again is kept");
}
