"""The sandbox's OBS against a dictionary: whatever is asked in whatever order, both know the same."""

import http.client
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.contract import obs_signer
from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served, emptied, md5, serving

KEYS = st.one_of(
    st.sampled_from(
        ["a", "a/", "a/b", "a//b", "A", "..", "../up", ".", "%", "a%2Fb", "文/é", "\0", "n" * 250, "/", "+ &"]
    ),
    st.text(alphabet="ab/.%", min_size=1, max_size=6),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
)
BODIES = st.one_of(st.binary(max_size=40), st.integers(0, 9).map(lambda digit: bytes([48 + digit]) * 70_000))
NAMES = st.text(alphabet="abcdefghij-0123456789", min_size=1, max_size=12).map(lambda name: f"x-obs-meta-{name}")
VALUES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=30)
METADATA = st.dictionaries(NAMES, VALUES, max_size=3)
NONE: Mapping[str, str] = {}
ENDS = st.one_of(st.none(), st.integers(0, 60), st.integers(60_000, 80_000))


class Store(RuleBasedStateMachine):
    """Objects on one side over HTTP, on the other as (bytes, metadata, was it made by appending)."""

    served: ClassVar[Served]

    @initialize()
    def begin(self) -> None:
        self.model: dict[str, tuple[bytes, dict[str, str], bool]] = {}
        self.stack = ExitStack()
        self.stack.enter_context(emptied(self.served))
        self.connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=60)
        self.stack.callback(self.connection.close)

    def teardown(self) -> None:
        self.stack.close()

    def ask(
        self,
        method: str,
        key: str,
        body: bytes | None = None,
        signed: str = "",
        more: str = "",
        headers: Mapping[str, str] = NONE,
    ) -> tuple[int, dict[str, str], bytes]:
        """`signed` is a part of the query that the signature covers, `more` is the rest of it."""
        path = f"/{BUCKET}/{quote(key, safe='/')}" if key else f"/{BUCKET}"
        path = f"{path}?{signed}" if signed else path
        sent = obs_signer.v2("OBS", ACCESS, SECRET, method, path, datetime.now(UTC), headers)
        raw = {name: value.encode().decode("latin-1") for name, value in sent.items()}
        self.connection.request(method, f"{path}?{more}" if more else path, body, raw)
        answer = self.connection.getresponse()
        told = {name.lower(): value.encode("latin-1").decode() for name, value in answer.getheaders()}
        return answer.status, told, answer.read()

    def known(self, data: st.DataObject, label: str) -> str:
        """A key that is there, or any."""
        return data.draw(st.sampled_from(sorted(self.model)) if self.model else KEYS, label)

    @rule(key=KEYS, body=BODIES, metadata=METADATA)
    def put(self, key: str, body: bytes, metadata: dict[str, str]) -> None:
        status, headers, _ = self.ask("PUT", key, body, headers=metadata)

        assert (status, headers["etag"]) == (200, f'"{md5(body)}"')
        self.model[key] = body, metadata, False

    @rule(data=st.data(), first=ENDS, last=ENDS)
    def get(self, data: st.DataObject, first: int | None, last: int | None) -> None:
        key = data.draw(KEYS, "any key") if data.draw(st.booleans()) else self.known(data, "known key")
        text = f"bytes={'' if first is None else first}-{'' if last is None else last}"
        status, headers, got = self.ask("GET", key, headers={"Range": text})

        if key not in self.model:
            assert status == 404
            return
        body, metadata, _ = self.model[key]
        assert status == 416 or {n: v for n, v in headers.items() if n.startswith("x-obs-meta-")} == metadata
        assert (status, got if status != 416 else b"") == expected_range(body, first, last)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        key = self.known(data, "key")
        assert self.ask("DELETE", key)[0] == 204
        self.model.pop(key, None)

    @rule(data=st.data(), to=KEYS, metadata=METADATA, replace=st.booleans())
    def copy(self, data: st.DataObject, to: str, metadata: dict[str, str], replace: bool) -> None:
        source = self.known(data, "source")
        directive = {"x-obs-metadata-directive": "REPLACE"} if replace else {}
        place = {"x-obs-copy-source": f"/{BUCKET}/{quote(source, safe='/')}"}
        status, _, _ = self.ask("PUT", to, headers={**place, **directive, **metadata})

        assert status == (200 if source in self.model else 404)
        if source in self.model:
            body, old, _ = self.model[source]
            self.model[to] = body, metadata if replace else old, False

    @rule(data=st.data(), key=KEYS, added=BODIES, metadata=METADATA, off=st.sampled_from([0, 0, 0, 1]))
    def append(self, data: st.DataObject, key: str, added: bytes, metadata: dict[str, str], off: int) -> None:
        key = self.known(data, "known key") if data.draw(st.booleans()) else key
        body, old, appendable = self.model.get(key, (b"", metadata, True))
        position = len(body) + off
        status, headers, _ = self.ask("POST", key, added, f"append&position={position}", headers=metadata)

        if off or not appendable:
            assert status == 409
            return
        assert (status, headers["x-obs-next-append-position"]) == (200, str(len(body + added)))
        assert headers["etag"] == f'"{md5(body + added)}"'
        self.model[key] = body + added, old, True

    @rule(prefix=st.one_of(st.just(""), KEYS), delimiter=st.sampled_from(["", "/", "a", "//"]), size=st.integers(1, 4))
    def list(self, prefix: str, delimiter: str, size: int) -> None:
        expected = set()
        for key in self.model:
            if key.startswith(prefix):
                head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
                expected.add(prefix + head + found if found else key)

        listed: list[str] = []
        query = f"prefix={quote(prefix)}&delimiter={quote(delimiter)}&max-keys={size}&encoding-type=url"
        marker, more = "", True
        while more:
            status, _, page = self.ask("GET", "", more=f"{query}&marker={quote(marker)}")
            assert status == 200
            root = ElementTree.fromstring(page)  # noqa: S314 - our own
            names = [item.text or "" for item in root.findall("Contents/Key") + root.findall("CommonPrefixes/Prefix")]
            listed += sorted((unquote(name) for name in names), key=str.encode)
            assert len(names) <= size
            more = root.findtext("IsTruncated") == "true"
            marker = unquote(root.findtext("NextMarker", ""))

        assert listed == sorted(expected, key=str.encode)

    @invariant()
    def nothing_is_left_on_its_way(self) -> None:
        assert list((self.served.objects.root / ".drafts").iterdir()) == []


def expected_range(body: bytes, first: int | None, last: int | None) -> tuple[int, bytes]:
    """What HTTP says of `bytes=<first>-<last>`."""
    if first is None and last is None:
        return 200, body
    if first is None:
        part = body[-last:] if last else b""
    elif last is None:
        part = body[first:]
    elif last < first:
        return 200, body
    else:
        part = body[first : last + 1]
    return (206, part) if part else (416, b"")


def test_a_store_and_a_dictionary_agree_after_every_step(tmp_path: Path) -> None:
    with serving(tmp_path) as Store.served:
        run_state_machine_as_test(
            Store, settings=settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)
        )
