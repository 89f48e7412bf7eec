"""Bounded agent passes: check, review, polish and those that write documents (A-1 to A-10)."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.passes.check_pass import check, check_prompt, kept_answers, known_answer, state_hash
    from helix.passes.document_passes import (
        BACKFILL_EXIT_CODES,
        DESIGN_ROUNDS,
        make_pass,
        order_pass,
    )
    from helix.passes.documents import EXIT_CODES, PassOrder, land_waiting
    from helix.passes.drafts import (
        BeadDraft,
        area_label,
        clean_text,
        clean_title,
        file_drafts,
        identity,
        open_parent,
    )
    from helix.passes.filing import (
        REFUSALS,
        FilingResult,
        file_drafts_of_attempt,
        file_findings,
        file_unfiled,
        id_maker,
        keep_drafts,
        known_beads,
        not_filed,
        spoken,
    )
    from helix.passes.follow_ups import MARK
    from helix.passes.pass_bead import (
        Claim,
        ClaimJudgement,
        Leave,
        Release,
        claim_of,
        judge_here,
        recorded_claims,
    )
    from helix.passes.polish_pass import POLISH_ROUNDS, polish, polish_prompt
    from helix.passes.question import (
        READING,
        PassEnd,
        PassResult,
        PromptPages,
        ask,
        build_sections,
        defused,
        find_pages,
    )
    from helix.passes.reply import (
        BUILD,
        CheckAnswer,
        CheckResult,
        UnreadableTrailer,
        activity_of,
        fenced_object,
        known_by_state,
        trailer_lines,
    )
    from helix.passes.review_pass import (
        LAST_COMMIT,
        CleanReview,
        ReviewFinding,
        ReviewFindings,
        ReviewSubject,
        ReviewVerdict,
        kept_subject,
        landed_subject,
        named_subject,
        review,
        review_prompt,
        scope_subject,
    )
    from helix.passes.scope import (
        BASIS,
        REPO,
        SEEN,
        Expire,
        NoteBasis,
        Scope,
        ScopeKind,
        UpstreamCache,
        UpstreamDocuments,
        basis_of,
        is_spoken_of,
        is_supervisory,
        judge_assumption,
        resolve_scope,
    )
else:
    __getattr__ = door(
        __name__,
        check_pass="check check_prompt kept_answers known_answer state_hash",
        document_passes="BACKFILL_EXIT_CODES DESIGN_ROUNDS make_pass order_pass",
        documents="EXIT_CODES PassOrder land_waiting",
        drafts="BeadDraft area_label clean_text clean_title file_drafts identity open_parent",
        filing=(
            "FilingResult REFUSALS file_drafts_of_attempt file_findings file_unfiled id_maker "
            "keep_drafts known_beads not_filed spoken"
        ),
        follow_ups="MARK",
        pass_bead="Claim ClaimJudgement Leave Release claim_of judge_here recorded_claims",
        polish_pass="POLISH_ROUNDS polish polish_prompt",
        question="PassEnd PassResult PromptPages READING ask build_sections defused find_pages",
        reply=(
            "BUILD CheckAnswer CheckResult UnreadableTrailer activity_of fenced_object "
            "known_by_state trailer_lines"
        ),
        review_pass=(
            "CleanReview LAST_COMMIT ReviewFinding ReviewFindings ReviewSubject ReviewVerdict "
            "kept_subject landed_subject named_subject review review_prompt scope_subject"
        ),
        scope=(
            "BASIS Expire NoteBasis REPO SEEN Scope ScopeKind UpstreamCache UpstreamDocuments "
            "basis_of is_spoken_of is_supervisory judge_assumption resolve_scope"
        ),
    )
