//! Profiles of the shared files: regions, addresses, keys and roles.

use super::canned::Answer;
use super::*;

#[test]
fn a_profile_says_region_and_address_and_settings_say_better() {
    let s3 = Canned::new(|_| Answer::new(200, NOTHING));
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        &folder,
        "config",
        &format!(
            "[profile dev]\nregion = eu-west-3\nservices = local\nendpoint_url = {CLOSED}\n[services local]\ns3 =\n  endpoint_url = {}\n\
             [profile plain]\nregion = eu-north-1\nendpoint_url = {}\n",
            s3.address(),
            s3.address()
        ),
    );
    let credentials = file(
        &folder,
        "credentials",
        "[dev]\naws_access_key_id = DEV\naws_secret_access_key = hush\naws_session_token = t\n",
    );
    let base = [("AWS_CONFIG_FILE", config.as_str()), ("AWS_SHARED_CREDENTIALS_FILE", &credentials)];
    let signed = |variables: &[(&str, &str)]| {
        open(&settings(&[&base[..], variables].concat(), &[]), "s3://b/array").list("array").unwrap();
        let asked = s3.asked();
        let (key, region) = asked[0].signed();
        (key.to_owned(), region.to_owned(), asked[0].header("x-amz-security-token").to_owned())
    };
    let of = |key: &str, region: &str, token: &str| (key.to_owned(), region.to_owned(), token.to_owned());
    assert_eq!(signed(&[("AWS_PROFILE", "dev")]), of("DEV", "eu-west-3", "t"));
    assert_eq!(signed(&[("AWS_PROFILE", "dev"), ("AWS_REGION", "us-west-2")]), of("DEV", "us-west-2", "t"));
    // Without keys it has nobody's.
    assert_eq!(signed(&[("AWS_DEFAULT_PROFILE", "plain")]), of("", "", ""));
}

#[test]
fn roles_are_taken_one_after_the_other() {
    let s3 = Canned::new(|_| Answer::refusal(403, "AccessDenied"));
    let sts = Canned::new(|asked| {
        let key = format!("FOR-{}", asked.field("RoleArn"));
        let answer = format!(
            "<A><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>hush</SecretAccessKey><SessionToken>token-of-{key}</SessionToken></A>"
        );
        Answer::new(200, answer)
    });
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        &folder,
        "config",
        "[profile base]\naws_access_key_id = BASE\naws_secret_access_key = hush\nregion = eu-west-1\n\
         [profile one]\nrole_arn = ONE\nsource_profile = base\nexternal_id = ext\nduration_seconds = 900\nregion = eu-west-1\n\
         [profile two]\nrole_arn = TWO\nsource_profile = one\nrole_session_name = me\n\
         [profile env]\nrole_arn = ENV\ncredential_source = Environment\n",
    );
    let (s3_address, sts_address) = (s3.address(), sts.address());
    let base = [
        ("AWS_ENDPOINT_URL_S3", s3_address.as_str()),
        ("AWS_ENDPOINT_URL_STS", &sts_address),
        ("AWS_CONFIG_FILE", &config),
    ];
    let told = problem(&open(&settings(&base, &[("s3.profile", "one")]), "s3://b/array"));
    assert!(told.contains("the role ONE of the profile one"), "{told}");
    let asked = sts.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].signed(), ("BASE", "eu-west-1"));
    assert_eq!(
        (asked[0].field("ExternalId"), asked[0].field("DurationSeconds")),
        ("ext".to_owned(), "900".to_owned())
    );
    assert_eq!(s3.asked()[0].signed(), ("FOR-ONE", "eu-west-1"));

    problem(&open(&settings(&base, &[("s3.profile", "two")]), "s3://b/array"));
    let asked = sts.asked();
    assert_eq!(asked.iter().map(|asked| asked.signed().0).collect::<Vec<_>>(), ["BASE", "FOR-ONE"]);
    assert_eq!(asked[1].header("x-amz-security-token"), "token-of-FOR-ONE");
    assert_eq!(
        (asked[1].field("RoleSessionName"), asked[1].field("RoleArn")),
        ("me".to_owned(), "TWO".to_owned())
    );
    assert_eq!(s3.asked()[0].signed().0, "FOR-TWO");

    let keys = [("AWS_ACCESS_KEY_ID", "KEY"), ("AWS_SECRET_ACCESS_KEY", "hush")];
    problem(&open(&settings(&[&base[..], &keys].concat(), &[("s3.profile", "env")]), "s3://b/array"));
    assert_eq!(sts.asked()[0].signed().0, "KEY");
}

#[test]
fn a_role_that_is_refused_says_by_whom_and_not_what_was_sent() {
    let sts = Canned::new(|asked| {
        Answer::refusal(403, "AccessDenied").with("x-echo", asked.header("authorization"))
    });
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        &folder,
        "config",
        "[default]\naws_access_key_id = BASE\naws_secret_access_key = hush\nrole_arn = ONE\nsource_profile = default\n",
    );
    let address = sts.address();
    let variables = [
        ("AWS_ENDPOINT_URL_STS", address.as_str()),
        ("AWS_CONFIG_FILE", &config),
        ("AWS_ENDPOINT_URL", CLOSED),
    ];
    let told = problem(&open(&settings(&variables, &[]), "s3://b/array"));
    assert!(told.contains("refused the key BASE the role ONE (AccessDenied)"), "{told}");
    let broken = Canned::new(|_| Answer::new(200, "<html>hush</html>"));
    let address = broken.address();
    let variables = [("AWS_ENDPOINT_URL_STS", address.as_str()), variables[1], variables[2]];
    let told = problem(&open(&settings(&variables, &[]), "s3://b/array"));
    assert!(told.contains("answered without credentials"), "{told}");
}

#[test]
fn what_is_left_to_the_aws_tools_is_named_with_the_command_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        &folder,
        "config",
        "[profile sso]\nsso_session = s\n[profile process]\ncredential_process = hush\n\
         [profile mfa]\nrole_arn = A\nsource_profile = sso\nmfa_serial = hush\n\
         [profile login]\nlogin_session = hush\n[profile through]\nrole_arn = A\nsource_profile = sso\n",
    );
    for (profile, what) in [
        ("sso", "logs in by SSO, which is left to the AWS tools: aws sso login --profile sso; eval"),
        ("process", "credential_process"),
        ("mfa", "a second factor"),
        ("login", "aws login --profile login"),
        ("through", "aws sso login --profile sso"),
    ] {
        let variables =
            [("AWS_CONFIG_FILE", config.as_str()), ("AWS_PROFILE", profile), ("AWS_ENDPOINT_URL", CLOSED)];
        let told = problem(&open(&settings(&variables, &[]), "s3://b/array"));
        assert!(told.contains(what), "{what}: {told}");
        assert!(
            told.contains("aws configure export-credentials --profile") && told.contains("--format env"),
            "{told}"
        );
    }
}

#[test]
fn profiles_that_contradict_themselves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        &folder,
        "config",
        "[default]\n[profile half]\naws_access_key_id = ID\n[profile a]\nrole_arn = A\nsource_profile = b\n\
         [profile b]\nrole_arn = B\nsource_profile = a\n[profile lost]\nrole_arn = A\nsource_profile = nowhere\n\
         [profile alone]\nrole_arn = A\n[profile both]\nrole_arn = A\nsource_profile = a\ncredential_source = Environment\n\
         [profile odd]\nrole_arn = A\ncredential_source = Moon\n[profile long]\nrole_arn = A\nsource_profile = half\nduration_seconds = 1\n\
         [profile empty]\nrole_arn = A\nsource_profile = default\n",
    );
    for (profile, what) in [
        ("half", "has no aws_secret_access_key"),
        ("a", "its role is taken by itself"),
        ("lost", "\"nowhere\" of the profile lost is not in"),
        ("alone", "neither source_profile nor credential_source"),
        ("both", "both source_profile and credential_source"),
        ("odd", "credential_source is none"),
        ("long", "duration_seconds"),
        ("empty", "has no credentials"),
        ("absent", "the profile \"absent\" of the variable AWS_PROFILE is not in"),
        ("absent", "there are a, alone, b, both, default, empty, half"),
    ] {
        let variables =
            [("AWS_CONFIG_FILE", config.as_str()), ("AWS_PROFILE", profile), ("AWS_ENDPOINT_URL", CLOSED)];
        let told = problem(&open(&settings(&variables, &[]), "s3://b/array"));
        assert!(told.contains(what), "{what}: {told}");
    }
    let damaged = file(&folder, "damaged", "[default]\nhush\n");
    let variables = [("AWS_CONFIG_FILE", damaged.as_str()), ("AWS_ENDPOINT_URL", CLOSED)];
    let told = problem(&open(&settings(&variables, &[]), "s3://b/array"));
    assert!(told.contains("line 2") && told.contains("damaged"), "{told}");
}
