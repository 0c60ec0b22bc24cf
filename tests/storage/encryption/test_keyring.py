from __future__ import annotations

import base64
import os
import pickle
import traceback
from pathlib import Path

import pytest
from starskip.errors import ConfigError
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.encryption.keyring import Keyring, MissingKey, key_from_file
from starskip.storage.encryption.wrapping_key import LocalKey, WrongKey

SECRET = bytes(range(200, 232))
OTHER = bytes(range(32))


def written(folder: Path, content: bytes) -> Path:
    path = folder / "a.key"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        SECRET,
        base64.b64encode(SECRET),
        base64.b64encode(SECRET) + b"\n",
        base64.urlsafe_b64encode(SECRET).rstrip(b"=") + b"\r\n",
    ],
    ids=["raw", "base64", "a line", "of URLs, without padding"],
)
def test_a_file_holds_a_key_raw_or_as_base64(tmp_path: Path, content: bytes) -> None:
    data_key = os.urandom(32)
    assert LocalKey(SECRET).unwrap(key_from_file(written(tmp_path, content)).wrap([data_key])) == [data_key]


@pytest.mark.parametrize(
    "content",
    [b"", b"hunter2-is-no-key", SECRET[:31], SECRET + b"\n" + SECRET, base64.b64encode(SECRET[:16])],
)
def test_what_is_no_key_is_named_and_not_quoted(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ConfigError, match=r"a\.key: is no key") as raised:
        key_from_file(written(tmp_path, content))
    told = "".join(traceback.format_exception(raised.value))
    assert "hunter2" not in told and repr(SECRET[:31])[2:20] not in told


def test_a_wrong_key_is_told(tmp_path: Path) -> None:
    wrapped = LocalKey(SECRET).wrap([os.urandom(32)])
    with pytest.raises(WrongKey):
        LocalKey(OTHER).unwrap(wrapped)
    with pytest.raises(WrongKey):
        LocalKey(OTHER).unwrap(["vault:v1:abc"])


def test_keys_come_from_files_a_folder_and_objects(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "pii").write_bytes(SECRET)
    (tmp_path / "keys" / "given").write_bytes(OTHER)
    keyring = Keyring.from_environment(
        {"STARSKIP_KEYS_DIR": str(tmp_path / "keys")},
        {"given": written(tmp_path, SECRET), "own": LocalKey(OTHER)},
    )
    data_keys = [os.urandom(32), os.urandom(32)]
    for name, secret in (("pii", SECRET), ("given", SECRET), ("own", OTHER)):
        wrapped = keyring.wrap(name, data_keys)
        assert LocalKey(secret).unwrap(wrapped) == data_keys
        assert keyring.unwrap(name, wrapped[::-1]) == data_keys[::-1]
        assert Keyring({name: LocalKey(secret)}).unwrap(name, wrapped) == data_keys
    with pytest.raises(MissingKey):
        keyring.key("absent")
    with pytest.raises(MissingKey):
        Keyring().key("pii")


@pytest.mark.parametrize("name", ["", "../pii", "a/b", ".hidden", "a b", "x" * 65])
def test_a_name_never_leaves_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="no name of a key"):
        Keyring(folder=str(tmp_path)).key(name)


def test_no_text_shows_a_secret() -> None:
    data_key = DataKey(SECRET, "file:/t", "minmax:a")
    for text in (repr(data_key), str(data_key), repr(LocalKey(SECRET)), repr({"key": data_key})):
        assert repr(SECRET)[2:20] not in text and SECRET.hex() not in text
    assert pickle.loads(pickle.dumps(data_key)) == data_key
