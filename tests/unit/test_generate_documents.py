"""The generated trees of the benchmarks are such as G-9 asks for."""

import os
from collections import Counter
from pathlib import Path
from statistics import median

import pytest
from benchmarks.generate_documents import DOCUMENTS_ROOT, change_one, files, write_tree

from ddx.base.clock import Clock
from ddx.documents.cache import load_graph
from ddx.documents.graph import Graph
from ddx.project.project import Project

DOCUMENTS = 500


def read(folder: Path) -> Graph:
    return load_graph(Project(os.path.realpath(folder)), [DOCUMENTS_ROOT], clock=Clock())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("generated")
    write_tree(path, DOCUMENTS)
    return path


@pytest.fixture(scope="module")
def graph(folder) -> Graph:
    return read(folder)


def test_there_are_as_many_documents_as_asked_for_and_nothing_is_wrong_with_them(graph):
    documents = [kind for kind in graph.types if kind not in ("test", "code")]
    assert len(documents) == DOCUMENTS
    assert graph.findings() == ()


def test_every_type_tests_code_and_superseded_documents_occur(graph):  # G-4, G-6, G-7
    kinds = Counter(graph.types)
    assert {"feat", "us", "adr", "sd", "td", "tp", "test", "code"} <= kinds.keys()
    assert any(map(graph.is_superseded, range(len(graph))))


def test_everything_but_the_vision_follows_from_something(graph):  # G-5
    assert [graph.ids[n] for n in range(len(graph)) if not graph.ups[n]] == ["vision"]


def test_the_median_document_has_about_two_kilobytes():  # G-9
    sizes = [len(text.encode()) for path, text in files(DOCUMENTS) if path.endswith(".md")]
    assert 1500 <= median(sizes) <= 2500


def test_the_same_arguments_give_the_same_bytes_and_another_seed_does_not():
    assert list(files(60)) == list(files(60)) != list(files(60, seed=3))


def test_one_change_changes_one_hash(folder, graph):
    change_one(folder)
    again = read(folder)
    pairs = zip(graph.hashes, again.hashes, strict=True)
    assert sum(before != after for before, after in pairs) == 1
