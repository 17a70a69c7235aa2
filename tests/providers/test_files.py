"""Files by their names: one table for all formats, and none of the machine's."""

from __future__ import annotations

import mimetypes
from pathlib import Path

import pytest

from ctxkit.providers import provider
from ctxkit.providers.common import type_of_file

DATA = "aGVsbG8gd29ybGQ=" * 400


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.pdf", "application/pdf"),
        ("NOTES.MD", "text/plain"),
        ("a.b.jpeg", "image/jpeg"),
        ("a.exe", ""),
        (3, ""),
    ],
)
def test_a_name_tells_the_type(name: object, kind: str) -> None:
    assert type_of_file(name) == kind


@pytest.mark.parametrize("name", ["notes.md", "a.parquet", "t.yaml", "report.pdf"])
def test_a_file_counts_the_same_whatever_types_the_machine_knows(name: str, tmp_path: Path) -> None:
    chat = {"role": "user", "content": [{"type": "file", "file": {"filename": name, "file_data": DATA}}]}
    item = {"role": "user", "content": [{"type": "input_file", "filename": name, "file_data": DATA}]}

    def told() -> list[object]:
        return [
            (wire.parts(entry)[0].text, wire.weigh(entry).fixed)
            for wire, entry in ((provider("openai-chat"), chat), (provider("openai-responses"), item))
        ]

    before = told()
    types = tmp_path / "mime.types"
    types.write_text("application/yaml yaml\nimage/parquet parquet md\n", encoding="utf-8")
    mimetypes.init(files=[str(types)])
    try:
        assert told() == before
    finally:
        mimetypes.init()
