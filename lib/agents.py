"""What each agent is given and must answer: `from lib.agents import AgentContract` (O-7)."""

from helix.objective.agents import NAMES, AgentContract

__all__ = ["NAMES", "AgentContract"]
