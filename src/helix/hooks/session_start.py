"""A session begins: its environment, the way back to the plugin, and one line on the memory."""

from __future__ import annotations

from ddx.base import DdxError, replace, variable
from helix.memory import MemoryStore, database_path
from helix.project import own_folder, path_in, plugin_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.project import Project
    from helix.hooks.input import HookEvent

ROOT, DATABASE = "HELIX_PLUGIN_ROOT", "HELIX_DB_PATH"
_ENV_FILE = "CLAUDE_ENV_FILE"
"""A script of the client's that every command of the session runs first."""
_PATIENCE_S = 0.1


def session_start(event: HookEvent) -> str:
    """The one line that the session begins with; empty where HELIX was never set up."""
    project, root = event.project, plugin_root()
    exports = {ROOT: root}
    if project is not None:
        exports[DATABASE] = database_path(project)
    _export(exports)
    if project is None:
        return ""
    own_folder(project)
    _write_root(project, root)
    try:
        return f"HELIX: {_health(project)}; what needs a person: helix status"
    except DdxError as problem:
        return f"HELIX: the memory cannot be used ({problem.message}); see: helix doctor"


def _export(variables: dict[str, str]) -> None:
    path = variable(_ENV_FILE)
    if not path:
        return
    lines = (f"export {name}={_quoted(text)}\n" for name, text in variables.items())
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _write_root(project: Project, root: str) -> None:
    """Agents that the session starts do not inherit its environment (P-8)."""
    path = path_in(project, "plugin_root")
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == f"{root}\n":
                return
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    replace(path, (f"{root}\n".encode(),), durable=False)


def _health(project: Project) -> str:
    with MemoryStore(database_path(project), busy_s=_PATIENCE_S) as store, store.reading() as db:
        known = db.execute("SELECT count(*) FROM memory").fetchone()[0]
        waiting = db.execute("SELECT count(*) FROM quarantine").fetchone()[0]
    review = f", {waiting} to be reviewed (helix memory review)" if waiting else ""
    return f"{known} {'memory' if known == 1 else 'memories'}{review}"
