"""What reports look like to people."""

from __future__ import annotations

from ctxkit.cli.render import Style, costs, plain, report_view, table
from ctxkit.explain import Explanation
from ctxkit.presets import preset
from ctxkit.report import EditReport, FailureReport, RegionReport, Report

REPORT = Report(
    format="openai-chat",
    compacted=True,
    trigger="1,000 tokens are over the limit of 800",
    tokens_before=1_000,
    tokens_after=400,
    limit=800,
    target=480,
    regions={
        "system": RegionReport(before=0, after=0, target=50),
        "recent": RegionReport(before=900, after=300),
        "tool_results": RegionReport(before=100, after=100, target=200),
    },
)


def _edit(position: int, **changes: object) -> EditReport:
    settings = {
        "kind": "Drop",
        "by": "x",
        "why": "old",
        "positions": (position,),
        "handle": f"ctx:{position}",
    }
    return EditReport.model_validate({**settings, "tokens_before": 10, **changes})


def _view(report: Report) -> list[str]:
    return report_view(report, where="in.jsonl:3 id", preset=None, style=Style())


def test_sizes_are_bars_to_one_scale() -> None:
    assert _view(REPORT) == [
        "in.jsonl:3 id",
        "  tokens 1,000 -> 400 of 800, 60% less",
        f"  system       {' ' * 24}         0 ->         0 of 50",
        f"  recent       {'█' * 8 + '░' * 16}       900 ->       300",
        f"  tool_results {'█' * 3 + ' ' * 21}       100 ->       100 of 200",
        "  why    1,000 tokens are over the limit of 800",
        "  edits  none",
    ]


BORROWED = REPORT.model_copy(
    update={
        "regions": {
            "system": RegionReport(before=300, after=300, target=50),
            "recent": RegionReport(before=600, after=60, target=140),
            "tool_results": RegionReport(before=100, after=40, target=80),
            "notes": RegionReport(before=0, after=0),
        }
    }
)


def test_what_a_region_was_lent_and_what_it_borrowed_is_told() -> None:
    system, recent, results, notes = (
        line.split(" -> ")[1].split(maxsplit=1) for line in _view(BORROWED)[2:6]
    )
    assert system == ["300", "of 50 (250 borrowed)"]
    assert recent == ["60", "of 140 (40 of it lent)"]
    assert results == ["40", "of 80"]
    assert notes == ["0"]


def test_that_regions_alone_start_nothing_is_told_where_one_is_over() -> None:
    idle = BORROWED.model_copy(update={"compacted": False, "trigger": "nothing to do"})
    lines = _view(idle)
    assert "  why    nothing to do; a region over its target starts none by itself" in lines
    assert lines[2].endswith("300 of 50")
    under = idle.model_copy(update={"regions": {"recent": RegionReport(before=6, after=6, target=6)}})
    assert "  why    nothing to do" in _view(under)


def test_an_estimate_is_called_one() -> None:
    assert "(estimated by guess)" in _view(REPORT.model_copy(update={"counter": "guess", "exact": False}))[1]


def test_each_edit_says_why_and_where_it_can_be_read() -> None:
    shortened = _edit(7, kind="Shorten", detail="part 0", tokens_after=4)
    lines = _view(REPORT.model_copy(update={"edits": (_edit(3), shortened)}))
    assert lines[-5:] == [
        "  edits  2",
        "    Drop by x: old, 10 -> 0",
        "      in.jsonl:3 messages[3] ctx:3",
        "    Shorten by x (part 0): old, 10 -> 4",
        "      in.jsonl:3 messages[7] ctx:7",
    ]


def test_many_edits_are_told_by_reason() -> None:
    edits = (*(_edit(at) for at in (*range(20), 25)), _edit(30, why="other"))
    assert _view(REPORT.model_copy(update={"edits": edits}))[-5:] == [
        "  edits  22",
        "    Drop ×21 by x: old, 210 -> 0",
        "      in.jsonl:3 messages[0..19, 25] ctx:0 ctx:1 ctx:2 and 18 more",
        "    Drop by x: other, 10 -> 0",
        "      in.jsonl:3 messages[30] ctx:30",
    ]


def test_failures_and_mending_are_told() -> None:
    failures = (FailureReport(by="y", why="it raised"),)
    lines = _view(REPORT.model_copy(update={"failures": failures, "normalised": ("moved",)}))
    assert lines[-2:] == ["  failed y: it raised", "  mended moved"]


def test_costs_come_from_the_preset() -> None:
    assert costs(REPORT, None) == []
    gpt = preset("gpt-5")
    fresh, first, cached = costs(REPORT.model_copy(update={"tokens_same": 100}), gpt)
    assert fresh.startswith(f"${1_000 * gpt.input / 1e6:.6f} without, ${400 * gpt.input / 1e6:.6f} with")
    assert cached.startswith(f"${1_000 * gpt.cache_read / 1e6:.6f} without")
    assert fresh.endswith("(gpt-5), nothing cached")
    assert cached.endswith("(gpt-5), later: all cached")
    now = 100 * gpt.cache_read + 300 * gpt.input
    assert first == (
        f"${1_000 * gpt.cache_read / 1e6:.6f} without, ${now / 1e6:.6f} with (gpt-5), "
        "at first: all cached without, 100 tokens with"
    )
    assert len(costs(REPORT, preset("gpt-4"))) == 1
    untouched = REPORT.model_copy(update={"tokens_after": 1_000})
    assert costs(untouched, gpt) == [f"${1_000 * gpt.input / 1e6:.6f} (gpt-5), nothing cached"]


def test_what_others_wrote_cannot_steer_the_terminal() -> None:
    hostile = "\x1b]0;x\x07\r\u202e\ud800"
    assert plain(hostile) == r"\x1b]0;x\x07\r\u202e\ud800"
    assert plain("x" * 300) == "x" * 199 + "…"
    lines = report_view(
        REPORT.model_copy(update={"trigger": hostile, "edits": (_edit(0, why=hostile, by=hostile),)}),
        where=f"in:1 {hostile}",
        preset=None,
        style=Style(),
    )
    assert all(character.isprintable() for line in lines for character in line)


def test_the_table_is_aligned() -> None:
    rows = [Explanation(0, "pinned", "it must"), Explanation(10, "dropped", "old", "by-x", "ctx:1")]
    assert table(rows, Style()) == [
        "  messages[0]   pinned   -     -      it must",
        "  messages[10]  dropped  by-x  ctx:1  old",
    ]


def test_messages_of_which_the_same_is_said_are_one_line() -> None:
    said = [("ctx:1", "old")] * 3 + [("ctx:2", "old"), ("ctx:2", "older"), ("ctx:1", "old")]
    rows = [Explanation(at, "dropped", why, "x", handle) for at, (handle, why) in enumerate(said)]
    assert [row.split()[0] for row in table(rows, Style())] == [
        "messages[0..2]",
        "messages[3]",
        "messages[4]",
        "messages[5]",
    ]
