"""What every room uses: values, errors, time, text, files, processes."""

from __future__ import annotations

from ddx.base.doors import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.base.clock import Clock
    from ddx.base.doors import door
    from ddx.base.errors import (
        Busy,
        ConcurrentChange,
        CorruptFile,
        DdxError,
        NeedsPerson,
        NotFound,
        Refused,
        UsageError,
    )
    from ddx.base.files import (
        WORKSPACE_MARK,
        FileIdentity,
        JsonFile,
        Lock,
        Replacement,
        add_lines,
        append,
        identity_of,
        make_folder,
        remove_leftovers,
        replace,
        settle_folder,
    )
    from ddx.base.findings import ERROR, INFO, SEVERITIES, WARNING, Finding, finding_of, row_of
    from ddx.base.instants import LAST, Instant, in_words, sort_key
    from ddx.base.json import dumps, encoded, loads, to_bytes
    from ddx.base.json_schema import find_misfit
    from ddx.base.masking import MASKED, LogFile, Masker, is_secret_name
    from ddx.base.process import (
        ATTEMPT,
        PROJECT_ROOT,
        ProcessResult,
        Programs,
        ask_ps,
        for_children,
        is_alive,
        login,
        player,
        run,
        started_at,
        variable,
    )
    from ddx.base.text import (
        Fences,
        MarkdownText,
        closes,
        counted,
        cut,
        harmless,
        heading_level,
        listed,
        opening,
        quantity,
        require_clean,
        shown,
        word_set,
    )
    from ddx.base.values import changed, value
    from ddx.base.yaml import BrokenYaml, Nodes, read_texts
else:
    __getattr__ = door(
        __name__,
        clock="Clock",
        doors="door",
        errors=(
            "Busy ConcurrentChange CorruptFile DdxError NeedsPerson NotFound Refused UsageError"
        ),
        files=(
            "FileIdentity JsonFile Lock Replacement WORKSPACE_MARK add_lines append identity_of "
            "make_folder remove_leftovers replace settle_folder"
        ),
        findings="ERROR Finding INFO SEVERITIES WARNING finding_of row_of",
        instants="Instant LAST in_words sort_key",
        json="dumps encoded loads to_bytes",
        json_schema="find_misfit",
        masking="LogFile MASKED Masker is_secret_name",
        process=(
            "ATTEMPT PROJECT_ROOT ProcessResult Programs ask_ps for_children is_alive login player "
            "run started_at variable"
        ),
        text=(
            "Fences MarkdownText closes counted cut harmless heading_level listed opening quantity "
            "require_clean shown word_set"
        ),
        values="changed value",
        yaml="BrokenYaml Nodes read_texts",
    )
