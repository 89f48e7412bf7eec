"""Documents with an order of authority, and what follows from a change."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.documents.cache import load_graph
    from ddx.documents.catalog import ExecutionLog, read_definitions
    from ddx.documents.committed import (
        NOTHING,
        CommitDocuments,
        DocumentRank,
        find_new_errors,
        read_documents,
    )
    from ddx.documents.creation import create_document
    from ddx.documents.definitions import (
        DEFAULT_TIMEOUT_MS,
        EXECUTION,
        METRIC,
        CommandLine,
        Definitions,
        Execution,
        define,
    )
    from ddx.documents.full_text import LIMIT, MOST_TERMS, SearchResult, search
    from ddx.documents.graph import MAX_DEPTH, Graph, ReachedNode
    from ddx.documents.graph_json import (
        DocumentRows,
        as_json,
        hit_row,
        impact_as_json,
        linked_as_json,
        pairs,
        reached_as_json,
        successors,
    )
    from ddx.documents.impact_start import ImpactStart, find_impact_start
    from ddx.documents.metrics import (
        BETTER,
        HIGHER,
        LOWER,
        SAME,
        WORSE,
        Metric,
        Tolerance,
        UnreadableNumber,
        best,
        judge,
        read_value,
    )
    from ddx.documents.model import (
        LAST,
        TIERS,
        UNKNOWN,
        WITHOUT_AUTHORITY,
        DocumentEdge,
        identity,
        numbered_id,
        resolve,
        type_of,
    )
    from ddx.documents.page import Page
    from ddx.documents.parser import parse
    from ddx.documents.picture import picture
    from ddx.documents.reviews import (
        ReviewStamp,
        StaleDocument,
        StalenessReport,
        read_staleness,
        read_stamps,
        record,
        staleness,
        stamp_for,
    )
    from ddx.documents.run_records import (
        ERRORED,
        FAILED,
        STDERR,
        STDOUT,
        SUCCESS,
        TIMED_OUT,
        OpenRun,
        RunHistory,
        RunRecord,
        as_row,
        folder_of,
        read_history,
        read_log,
        record_run,
    )
    from ddx.documents.scan import SourceFile
    from ddx.documents.scene import Scene, dot, mermaid, scene_of
    from ddx.documents.svg import Drawing, inert
    from ddx.documents.templates import TEMPLATES, slug
    from ddx.documents.terms import Excerpt, shortened, terms_of, words_of
else:
    __getattr__ = door(
        __name__,
        cache="load_graph",
        catalog="ExecutionLog read_definitions",
        committed="CommitDocuments DocumentRank NOTHING find_new_errors read_documents",
        creation="create_document",
        definitions=(
            "CommandLine DEFAULT_TIMEOUT_MS Definitions EXECUTION Execution METRIC define"
        ),
        full_text="LIMIT MOST_TERMS SearchResult search",
        graph="Graph MAX_DEPTH ReachedNode",
        graph_json=(
            "DocumentRows as_json hit_row impact_as_json linked_as_json pairs reached_as_json "
            "successors"
        ),
        impact_start="ImpactStart find_impact_start",
        metrics=(
            "BETTER HIGHER LOWER Metric SAME Tolerance UnreadableNumber WORSE best judge read_value"
        ),
        model=(
            "DocumentEdge LAST TIERS UNKNOWN WITHOUT_AUTHORITY identity numbered_id resolve type_of"
        ),
        page="Page",
        parser="parse",
        picture="picture",
        reviews=(
            "ReviewStamp StaleDocument StalenessReport read_staleness read_stamps record staleness "
            "stamp_for"
        ),
        run_records=(
            "ERRORED FAILED OpenRun RunHistory RunRecord STDERR STDOUT SUCCESS TIMED_OUT as_row "
            "folder_of read_history read_log record_run"
        ),
        scan="SourceFile",
        scene="Scene dot mermaid scene_of",
        svg="Drawing inert",
        templates="TEMPLATES slug",
        terms="Excerpt shortened terms_of words_of",
    )
