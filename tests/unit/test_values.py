"""`@value` gives what a frozen dataclass gives, without its price."""

from __future__ import annotations

import pytest

from ddx.base.values import changed, value


@value
class Point:
    x: int
    y: int = 0


@value
class Other:
    x: int
    y: int = 0


@value
class Named:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def shout(self) -> str:
        return self.name.upper()


@value
class Wide:
    a: int
    b: int
    c: int
    d: int
    e: int = 0


@value
class Nothing:
    pass


def test_fields_come_by_place_by_name_or_by_default():
    assert (Point(1, 2).x, Point(1, 2).y) == (1, 2)
    assert Point(y=2, x=1) == Point(1, 2)
    assert Point(1).y == 0
    assert Nothing() == Nothing()


def test_fields_after_the_third_come_only_by_name():
    assert Wide(1, 2, 3, d=4, e=5) == Wide(a=1, b=2, c=3, d=4, e=5)
    assert Wide(1, 2, 3, d=4).e == 0
    with pytest.raises(TypeError, match="takes 4 positional arguments but 5"):
        Wide(1, 2, 3, 4)
    with pytest.raises(TypeError, match="'d'"):
        Wide(1, 2, 3)


def test_a_pattern_takes_three_places_and_names_for_the_rest():
    match Wide(1, 2, 3, d=4):
        case Wide(a, b, c, d=d):
            assert (a, b, c, d) == (1, 2, 3, 4)
        case _:
            raise AssertionError
    with pytest.raises(TypeError, match="accepts 3 positional sub-patterns"):
        match Wide(1, 2, 3, d=4):
            case Wide(_, _, _, _):
                pass


@pytest.mark.parametrize("wrong", [(), (1, 2, 3)])
def test_a_field_too_few_or_too_many_is_an_error(wrong):
    with pytest.raises(TypeError):
        Point(*wrong)
    with pytest.raises(TypeError):
        Point(1, z=3)


def test_a_value_never_changes():
    point = Point(1, 2)
    with pytest.raises(AttributeError, match="Point is frozen"):
        point.x = 3
    with pytest.raises(AttributeError, match="make a new one to change 'x'"):
        del point.x
    with pytest.raises(AttributeError):
        point.z = 3
    assert point == Point(1, 2)


def test_values_are_equal_by_class_and_fields():
    assert Point(1, 2) == Point(1, 2)
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 2) != Other(1, 2)
    assert len({Point(1, 2), Point(1, 2), Point(2, 1), Other(1, 2)}) == 3


def test_a_value_shows_itself_and_its_own_words_win():
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert repr(Named("mara")) == "<mara>"
    assert Named("mara").shout == "MARA"


def test_a_value_can_be_matched_by_place():
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
        case _:
            raise AssertionError


def test_changed_makes_a_copy_and_knows_its_fields():
    point = Point(1, 2)
    assert changed(point, y=5) == Point(1, 5)
    assert point == Point(1, 2)
    with pytest.raises(TypeError, match="Point has no field 'z'"):
        changed(point, z=1)
