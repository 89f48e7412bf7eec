"""Frozen values for the hot lane: `dataclasses` alone costs a command twice the bare interpreter.

`@value` gives a class what a frozen dataclass gives: an initialiser from its annotations,
equality, a hash, a repr, positional patterns, and no way to change a field afterwards. The first
three fields may be given by place, every further one only by keyword.
"""

from __future__ import annotations

__all__ = ["changed", "value"]

_BY_PLACE = 3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import replace as changed  # mypy checks the names and types of its fields
    from typing import TypeVar, dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True)
    def value(cls: type[T]) -> type[T]: ...

else:

    def value(cls):
        names = tuple(cls.__dict__.get("__annotations__", ()))

        def initialise(self, *given, **fields):
            # Compiled for the first value: most classes that a command loads never have one (T-19).
            cls.__init__ = _initialiser(cls, names)
            cls.__init__(self, *given, **fields)

        cls.__init__ = initialise
        cls.__match_args__ = names[:_BY_PLACE]
        cls.__eq__ = _equal
        cls.__hash__ = _hash
        cls.__setattr__ = cls.__delattr__ = _refuse
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = _represent
        return cls

    def _initialiser(cls, names):
        defaults = {f"_{name}": cls.__dict__[name] for name in names if name in cls.__dict__}
        parameters = [f"{name}=_{name}" if f"_{name}" in defaults else name for name in names]
        if len(names) > _BY_PLACE:
            parameters.insert(_BY_PLACE, "*")
        body = "; ".join(f"__own[{name!r}] = {name}" for name in names) or "pass"
        scope = dict(defaults)
        exec(
            f"def __init__(self, {', '.join(parameters)}):\n    __own = self.__dict__\n    {body}",
            scope,
        )
        return scope["__init__"]

    def changed(original, **fields):
        """A copy of `original` with `fields` replaced."""
        unknown = fields.keys() - original.__dict__.keys()
        if unknown:
            raise TypeError(f"{type(original).__name__} has no field {sorted(unknown)[0]!r}")
        return type(original)(**{**original.__dict__, **fields})


def _equal(self: object, other: object) -> bool:
    return type(self) is type(other) and self.__dict__ == other.__dict__


def _hash(self: object) -> int:
    return hash((type(self), *self.__dict__.values()))


def _refuse(self: object, name: str, *_: object) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: make a new one to change {name!r}")


def _represent(self: object) -> str:
    fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
    return f"{type(self).__name__}({fields})"
