"""Settings of object stores and the network: by call, over the environment, and in pickles."""

import pickle

import pytest

import smalti as sm


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch, tmp_path):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "SMALTI_S3_REGION", "AWS_SECRET_ACCESS_KEY", "SMALTI_S3_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "settings"
    path.write_text("")
    monkeypatch.setenv("SMALTI_CONFIG", str(path))


def test_a_call_wins_over_the_environment_and_that_over_the_file(monkeypatch, tmp_path):
    (tmp_path / "settings").write_text("s3.region = file\nnetwork.retries = 3\n")
    assert sm.Context().settings["s3.region"] == "file"
    monkeypatch.setenv("AWS_REGION", "environment")
    context = sm.Context()
    assert (context.settings["s3.region"], context.settings["network.retries"]) == ("environment", "3")
    assert sm.Context(config={"s3.region": "called"}).settings["s3.region"] == "called"
    assert context.settings["s3.profile"] is None


def test_flags_numbers_and_paths_are_settings(tmp_path):
    context = sm.Context(config={"s3.anonymous": True, "network.requests": 7, "network.ca_file": tmp_path / "ca.pem"})
    assert context.settings["s3.anonymous"] == "true"
    assert context.settings["network.requests"] == "7"
    assert context.settings["network.ca_file"] == str(tmp_path / "ca.pem")
    with pytest.raises(TypeError, match="not of list"):
        sm.Context(config={"s3.region": ["a"]})


def test_what_is_wrong_is_refused_with_the_nearest_key():
    with pytest.raises(ValueError, match='did you mean "s3.region"'):
        sm.Context(config={"s3.regoin": "x"})
    with pytest.raises(ValueError, match="write it like"):
        sm.Context(config={"network.timeout": 30})


def test_secrets_are_not_shown():
    context = sm.Context(config={"s3.secret_access_key": "hush", "network.proxy": "http://user:hush@host:1"})
    assert context.settings["s3.secret_access_key"] == "(secret)"
    assert "hush" not in repr(context) + str(context.settings) + str(vars(context))
    assert "http://(secret)@host:1" in repr(context)


def test_pickles_carry_settings_and_never_secrets(monkeypatch, tmp_path):
    context = sm.Context(threads=1, config={"s3.region": "called", "s3.anonymous": True})
    again = pickle.loads(pickle.dumps(context))
    assert (again.settings["s3.region"], again.settings["s3.anonymous"]) == ("called", "true")
    array = sm.from_numpy(str(tmp_path / "array"), __import__("numpy").arange(4), context=context)
    assert pickle.loads(pickle.dumps(array))[:].tolist() == [0, 1, 2, 3]

    bare = sm.Context(config={"s3.region": "called", "s3.secret_access_key": "hush"})
    with pytest.raises(TypeError, match=r"secrets are not pickled \(s3.secret_access_key\)"):
        pickle.dumps(bare)
    with pytest.raises(TypeError, match="secrets are not pickled"):
        pickle.dumps(sm.open(str(tmp_path / "array"), context=bare))


def test_secrets_are_given_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_SECRET", "hush")
    (tmp_path / "token").write_text("hush-token\n")
    context = sm.Context(config={"s3.secret_access_key": "env:MY_SECRET", "s3.session_token": f"file:{tmp_path / 'token'}"})
    assert context.settings["s3.secret_access_key"] == "(secret)"
    data = pickle.dumps(context)
    assert b"hush" not in data and b"env:MY_SECRET" in data
    assert pickle.loads(data).settings["s3.session_token"] == "(secret)"
    monkeypatch.delenv("MY_SECRET")
    with pytest.raises(KeyError, match="MY_SECRET with the setting s3.secret_access_key is not set"):
        pickle.loads(data)
