"""The work queue: beads, kept in one file that survives people, agents and git."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.archive_file import AllBeads, archive
    from ddx.tracker.bead import Bead, BeadId
    from ddx.tracker.bead_actions import (
        BeadRows,
        changed_row,
        claim_bead,
        claimant,
        close_bead,
        create_beads,
        created_rows,
        full_row,
        row_after,
        take_next,
        update_bead,
    )
    from ddx.tracker.changeset import ChangeSet, WorkingCopy, add_event, event, joined, with_event
    from ddx.tracker.columns import ORDER_HEAD, SHADOWS
    from ddx.tracker.criteria import (
        FileContains,
        PathAbsent,
        PathExists,
        RunCommand,
        criteria_of,
        judge,
    )
    from ddx.tracker.doctor.diagnosis import examine, require_tracker
    from ddx.tracker.doctor.link_checks import health
    from ddx.tracker.doctor.repair import treat
    from ddx.tracker.doctor.repair_plan import Fix
    from ddx.tracker.edits import BeadPatch, TrackerEdit, add_dependency, remove_dependency
    from ddx.tracker.explanation import (
        BeadExplanation,
        compare,
        cure_of,
        explain,
        rule_of,
        shown_blocker,
        spoken_blocker,
    )
    from ddx.tracker.interchange import FORMATS, merge_incoming, parse, render
    from ddx.tracker.interchange.dialect import ImportedRows, ImportPlan
    from ddx.tracker.lifecycle import (
        BeadClosure,
        Claimant,
        block,
        cancel,
        claim,
        close,
        reopen,
        require_claim,
        supersede,
        unclaim,
    )
    from ddx.tracker.merge import resolve
    from ddx.tracker.merge_driver import merge_files
    from ddx.tracker.pending_landings import (
        PendingLanding,
        held_by_pending,
        read_pending,
        remove_pending,
        write_pending,
    )
    from ddx.tracker.publication import changed_fields
    from ddx.tracker.queue import (
        PENDING,
        Blocker,
        QueueContext,
        WorkQueue,
        blocker,
        blockers,
        in_queue_order,
        ready,
        ready_for_execution,
        unfinished,
    )
    from ddx.tracker.row import (
        FINISHED,
        PRIORITIES,
        RUNNER,
        STATUSES,
        TYPES,
        Row,
        blockers_of,
        decode,
        events_of,
        holder_of,
        id_prefix,
        is_eligible,
        labels_of,
        link_of,
        links_of,
        status_of,
        text_of,
        texts_of,
        type_of,
        typed,
    )
    from ddx.tracker.setup import commit_tracker, set_up
    from ddx.tracker.snapshot import Snapshot, build, read_all
    from ddx.tracker.tracker import ChangeResult, Tracker, approval, open_tracker, queue_context
else:
    __getattr__ = door(
        __name__,
        archive_file="AllBeads archive",
        bead="Bead BeadId",
        bead_actions=(
            "BeadRows changed_row claim_bead claimant close_bead create_beads created_rows "
            "full_row row_after take_next update_bead"
        ),
        changeset="ChangeSet WorkingCopy add_event event joined with_event",
        columns="ORDER_HEAD SHADOWS",
        criteria="FileContains PathAbsent PathExists RunCommand criteria_of judge",
        doctor__diagnosis="examine require_tracker",
        doctor__link_checks="health",
        doctor__repair="treat",
        doctor__repair_plan="Fix",
        edits="BeadPatch TrackerEdit add_dependency remove_dependency",
        explanation="BeadExplanation compare cure_of explain rule_of shown_blocker spoken_blocker",
        interchange="FORMATS merge_incoming parse render",
        interchange__dialect="ImportPlan ImportedRows",
        lifecycle=(
            "BeadClosure Claimant block cancel claim close reopen require_claim supersede unclaim"
        ),
        merge="resolve",
        merge_driver="merge_files",
        pending_landings=(
            "PendingLanding held_by_pending read_pending remove_pending write_pending"
        ),
        publication="changed_fields",
        queue=(
            "Blocker PENDING QueueContext WorkQueue blocker blockers in_queue_order ready "
            "ready_for_execution unfinished"
        ),
        row=(
            "FINISHED PRIORITIES RUNNER Row STATUSES TYPES blockers_of decode events_of "
            "holder_of id_prefix is_eligible labels_of link_of links_of status_of text_of "
            "texts_of type_of typed"
        ),
        setup="commit_tracker set_up",
        snapshot="Snapshot build read_all",
        tracker="ChangeResult Tracker approval open_tracker queue_context",
    )
