from __future__ import annotations

import io
import os
import tracemalloc
from typing import Any

import obstore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.exceptions import NotSupportedError
from starskip.storage.files.object_reader import ObjectReader, open_at_end
from starskip.storage.files.object_url import ObjectUrl, object_url
from starskip.storage.files.open_file import file_head, open_file

CONTENT = os.urandom(700_001)


@pytest.fixture
def put(s3: Any) -> Any:
    def put(content: bytes, url: str | None = None) -> ObjectUrl:
        url = url or f"{s3.fresh_url()}/object"
        obstore.put(s3.store(), url.removeprefix(s3.url()), content)
        found = object_url(url)
        assert found is not None
        return found

    return put


def test_any_reads_are_those_of_a_file_in_memory(put: Any) -> None:
    url = put(CONTENT)
    steps = st.lists(
        st.one_of(
            st.tuples(st.just("read"), st.integers(-1, 400_000)),
            st.tuples(st.just("seek"), st.integers(0, 800_000)),
            st.tuples(st.just("back"), st.integers(0, 700_001)),
        ),
        max_size=12,
    )

    @settings(max_examples=40)
    @given(steps, st.booleans(), st.sampled_from([0, 1, 8, 64 << 10, 1 << 20]))
    def check(steps: list[tuple[str, int]], read_ahead: bool, tail_bytes: int) -> None:
        with ObjectReader(url, read_ahead=read_ahead, tail_bytes=tail_bytes) as reader:
            file = io.BytesIO(CONTENT)
            for step, number in steps:
                if step == "read":
                    assert reader.read(number) == file.read(number)
                elif step == "seek":
                    assert reader.seek(number) == file.seek(number)
                else:
                    assert reader.seek(-number, 2) == file.seek(-number, 2)
                assert reader.tell() == file.tell()

    check()


def test_memory_is_bounded_by_a_range(put: Any) -> None:
    url = put(os.urandom(48 << 20))
    tracemalloc.start()
    with ObjectReader(url) as reader:
        assert sum(len(block) for block in iter(lambda: reader.read(1 << 20), b"")) == 48 << 20
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 16 << 20


def test_only_what_is_read_is_asked_for(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def get(store: Any, key: str, *, options: Any) -> Any:
        asked.append(options["range"])
        return obstore.get(store, key, options=options)

    monkeypatch.setattr("starskip.storage.files.object_reader.get", get)
    url = put(os.urandom(20 << 20))
    with ObjectReader(url) as reader:
        reader.seek(10 << 20)
        reader.read(100)
    with ObjectReader(url, read_ahead=False) as reader:
        reader.seek(-8, 2)
        reader.read(8)
    first = [(0, 256 << 10), (10 << 20, (10 << 20) + (256 << 10))]
    assert asked == [*first, ((20 << 20) - 8, 20 << 20)]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the requests that readers send."""
    sent: list[str] = []
    for name, function in (("get", obstore.get), ("head", obstore.head)):

        def noted(*given: Any, name: str = name, function: Any = function, **options: Any) -> Any:
            sent.append(name)
            return function(*given, **options)

        monkeypatch.setattr(f"starskip.storage.files.object_reader.{name}", noted)
    return sent


@pytest.mark.parametrize("opened", [ObjectReader, open_at_end])
def test_a_small_object_is_one_request(put: Any, requests: list[str], opened: Any) -> None:
    with opened(put(CONTENT[:60_000])) as reader:
        assert reader.read() == CONTENT[:60_000]
        assert reader.size_bytes == 60_000
    assert requests == ["get"]


def test_the_end_of_an_object_comes_with_its_size(put: Any, requests: list[str]) -> None:
    with open_at_end(put(CONTENT)) as reader:
        reader.seek(-(64 << 10), 2)
        assert reader.read() == CONTENT[-(64 << 10) :]
        assert requests == ["get"]
        reader.seek(0)
        assert reader.read() == CONTENT
    assert requests == ["get", "get"]


@pytest.mark.parametrize("content", [CONTENT, b""])
def test_a_store_without_ranges_from_the_end(
    put: Any, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    def get(store: Any, key: str, *, options: Any) -> Any:
        if "suffix" in options["range"]:
            raise NotSupportedError("suffix ranges, by Azure")
        return obstore.get(store, key, options=options)

    monkeypatch.setattr("starskip.storage.files.object_reader.get", get)
    with open_at_end(put(content)) as reader:
        assert reader.read() == content


def test_object_that_is_written_again_while_it_is_read(put: Any) -> None:
    url = put(CONTENT)
    with ObjectReader(url) as reader:
        reader.read(10)
        put(CONTENT[::-1], str(url))
        with pytest.raises(OSError, match="written again while it was read"):
            reader.read(600_000)


def test_empty_object_and_none_at_all(put: Any) -> None:
    url = put(b"")
    with open_file(str(url)) as file:
        assert file.read() == file.read(10) == b""
    assert file_head(str(url), 10) == (b"", 0)
    assert file_head(str(put(b"abcdef")), 3) == (b"abc", 6)
    with pytest.raises(FileNotFoundError, match="no such object"):
        open_file(f"{url}x")
