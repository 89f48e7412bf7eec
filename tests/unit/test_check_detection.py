"""How a repository is tested is read from its files, and each answer says where (R-1 to R-3)."""

from __future__ import annotations

import pytest

from ddx.proof.detection.ci_files import ci_commands
from ddx.proof.detection.command_lines import commands_of, kind_of, why_unresolved
from ddx.proof.detection.detect import Detection, detect
from ddx.proof.detection.repository_files import RepositoryFiles
from ddx.proof.detection.test_locations import is_usual_test, locate_tests

EVERYTHING = frozenset(
    {"npm", "pnpm", "yarn", "bun", "go", "cargo", "mvn", "gradle", "bundle", "mix", "composer"}
) | {"cmake", "dotnet", "make", "just", "task", "python3", "pytest"}


def found(files: dict[str, str], *, installed: frozenset[str] = EVERYTHING) -> Detection:
    return detect(RepositoryFiles(files, files.get), is_installed=installed.__contains__)


def proposed(files: dict[str, str], **given) -> list[tuple[str, str]]:
    return [(it.shell_text, it.where) for it in found(files, **given).test_checks]


def setup_of(files: dict[str, str], **given) -> list[str]:
    return [it.shell_text for it in found(files, **given).setup]


WORKFLOW = """\
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: npm ci
      - name: Tests
        run: |
          echo begin
          npm run test-ci
"""


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("pytest -q", "test"),
        ("python -m pytest tests", "test"),
        ("python3.12 -W error -m unittest discover", "test"),
        ("uv run --locked --group dev tox run", "test"),
        ("pipx run nox -s tests", "test"),
        ("coverage run -m pytest", "test"),
        ("FORCE_COLOR=1 npx jest --ci", "test"),
        ("npm test", "test"),
        ("npm run test:unit -- --ci", "test"),
        ("yarn test", "test"),
        ("pnpm -r run test", "test"),
        ("bun test", "test"),
        ("node --test", "test"),
        ("go test -race ./...", "test"),
        ("cargo nextest run", "test"),
        ("./gradlew check", "test"),
        ("mvn -B verify", "test"),
        ("bundle exec rspec", "test"),
        ("bundle exec rake", "test"),
        ("mix test", "test"),
        ("vendor/bin/phpunit", "test"),
        ("ctest --output-on-failure", "test"),
        ("dotnet test", "test"),
        ("make check", "test"),
        ("just test", "test"),
        ("scripts/test", "test"),
        ("timeout 60 make test", "test"),
        ("ruff check .", "lint"),
        ("npm run lint", "lint"),
        ("cargo clippy -- -D warnings", "lint"),
        ("cargo fmt --check", "lint"),
        ("go vet ./...", "lint"),
        ("mypy src", "types"),
        ("npm run typecheck", "types"),
        ("npm run build", "build"),
        ("cmake --build build", "build"),
        ("pip install -e .[dev]", "setup"),
        ("npm ci", "setup"),
        ("yarn", "setup"),
        ("go mod download", "setup"),
        ("npm install -g codecov", None),
        ("cargo fmt", None),
        ("make", None),
        ("node server.js", None),
        ("codecov upload", None),
        ("'unbalanced", None),
        ("", None),
    ],
)
def test_a_command_says_what_it_is_for(command, kind):
    assert kind_of(command) == kind


def test_a_script_is_read_command_by_command_with_its_lines():
    script = "# first\ncd web && npm ci\nnpm test \\\n  --silent; npm run 'lint;all'\n"
    assert [(it.text, it.line) for it in commands_of(script)] == [
        ("cd web", 1),
        ("npm ci", 1),
        ("npm test --silent", 2),
        ("npm run 'lint;all'", 2),
    ]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("tox -e ${{ matrix.tox }}", "uses ${{ matrix.tox }}, which only CI knows"),
        ("go test $FLAGS ./...", "uses $FLAGS, which only CI knows"),
        ("PATH=bin:/usr/bin make test", "changes PATH"),
        ("npm test || true", "hides its failure by `||`"),
        ("node server.js &", "runs in the background"),
        ("if test -f x", "is part of a shell script"),
        ("mvn test --projects core", "covers only a part (--projects)"),
        ("'unbalanced", "is no plain command"),
        ("npm test", ""),
    ],
)
def test_what_only_ci_can_run_is_told_with_its_reason(command, why):
    assert why_unresolved(command) == why


def test_ci_comes_first_and_names_its_line():
    files = {
        ".github/workflows/ci.yml": WORKFLOW,
        "package.json": '{"scripts": {"test-ci": "vitest run", "test": "vitest"},\n'
        ' "devDependencies": {"vitest": "1"}}',
        "package-lock.json": "{}",
    }
    assert proposed(files) == [("npm run test-ci", ".github/workflows/ci.yml:11")]
    assert setup_of(files) == ["npm ci"]


def test_a_script_of_ci_that_only_adds_coverage_is_the_plain_test():
    package = '{"scripts": {"test": "mocha", "test-ci": "nyc npm test"}}'
    files = {".github/workflows/ci.yml": WORKFLOW, "package.json": package}
    assert proposed(files) == [("npm test", ".github/workflows/ci.yml:11")]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("run: |", "if: matrix.cover\n        run: |"), "runs only if matrix.cover"),
        (
            ("    steps:", "    services: {db: {image: postgres}}\n    steps:"),
            "its job starts services",
        ),
        (("echo begin", "node db.js &"), "its job first starts `node db.js &`"),
        (("echo begin", "export DB=1"), "follows `export DB=1`"),
        (("echo begin", "if true; then"), "is part of a shell script"),
        (
            ("run: |", "env: {NODE: '${{ matrix.node }}'}\n        run: |"),
            "needs NODE, which only CI knows",
        ),
    ],
)
def test_a_step_that_needs_its_job_is_shown_and_not_proposed(change, why):
    workflow = WORKFLOW.replace(*change)
    files = {
        ".github/workflows/ci.yml": workflow,
        "package.json": '{"scripts": {"test-ci": "jest --ci", "test": "jest"}}',
    }
    assert proposed(files) == [("npm test", "package.json:1")]
    left_out = found(files).left_out
    assert [(it.command, it.why) for it in left_out] == [("npm run test-ci", why)]


def test_a_workflow_that_no_change_starts_proves_nothing():
    nightly = WORKFLOW.replace("on: [push, pull_request]", "on: {schedule: [{cron: '0 1 * * *'}]}")
    assert ci_commands(".github/workflows/nightly.yml", nightly) == []


def test_jobs_for_other_platforms_are_passed_over():
    windows = WORKFLOW.replace("ubuntu-latest", "windows-latest")
    assert ci_commands(".github/workflows/ci.yml", windows) == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            ".gitlab-ci.yml",
            "stages: [test]\nunit:\n  script:\n    - pip install -e .\n    - pytest -q tests\n",
            [("pip install -e .", ".gitlab-ci.yml:4"), ("pytest -q tests", ".gitlab-ci.yml:5")],
        ),
        (
            ".circleci/config.yml",
            (
                "jobs:\n  build:\n    docker: [{image: go}]\n    steps:\n      - checkout\n"
                "      - run: go test ./...\n      - run: {command: go vet ./..., name: vet}\n"
            ),
            [
                ("go test ./...", ".circleci/config.yml:6"),
                ("go vet ./...", ".circleci/config.yml:7"),
            ],
        ),
        (
            "azure-pipelines.yml",
            "stages:\n- jobs:\n  - job: a\n    steps:\n    - script: dotnet test\n",
            [("dotnet test", "azure-pipelines.yml:5")],
        ),
        (".gitlab-ci.yml", "{{{{ no yaml", []),
        (".gitlab-ci.yml", "- a list\n", []),
        (".github/workflows/x.yml", "", []),
    ],
)
def test_every_ci_that_we_know_is_read_with_its_lines(path, text, expected):
    assert [(it.command, it.where) for it in ci_commands(path, text)] == expected


PYPROJECT = """\
[project]
name = "shop"
[dependency-groups]
tests = ["pytest>=8", {include-group = "extra"}]
extra = ["trustme"]
[tool.pytest.ini_options]
testpaths = ["tests"]
"""


def test_python_tests_run_by_the_workspaces_own_interpreter():
    files = {"pyproject.toml": PYPROJECT, "tests/test_cart.py": "def test_it(): ..."}
    assert proposed(files) == [(".venv/bin/python -m pytest", "pyproject.toml:6")]
    assert setup_of(files) == [
        "python3 -m venv .venv",
        ".venv/bin/python -m pip install -e . 'pytest>=8' trustme",
    ]


def test_a_locked_project_is_run_by_its_own_tool_where_that_is_installed():
    files = {"pyproject.toml": PYPROJECT, "uv.lock": "", "tests/test_cart.py": ""}
    with_uv = EVERYTHING | {"uv"}
    assert proposed(files, installed=with_uv) == [("uv run pytest", "pyproject.toml:6")]
    assert setup_of(files, installed=with_uv) == ["uv sync"]
    assert proposed(files)[0][0] == ".venv/bin/python -m pytest"


def test_what_tox_runs_is_run_without_tox():
    files = {
        "tox.ini": "[tox]\nenvlist = py\n[testenv]\ndeps = -rrequirements-dev.txt\n"
        "commands =\n    pytest {posargs:tests} --cov=shop\n",
        "setup.py": "",
        "requirements-dev.txt": "pytest\n",
        "tests/test_cart.py": "",
    }
    assert proposed(files) == [(".venv/bin/python -m pytest tests", "tox.ini:6")]
    assert setup_of(files)[1] == ".venv/bin/python -m pip install -e . -r requirements-dev.txt"


def test_a_pytest_of_ci_keeps_its_arguments_but_writes_no_reports():
    workflow = WORKFLOW.replace("npm run test-ci", "python -m pytest -x tests --junitxml=out.xml")
    files = {
        ".github/workflows/ci.yml": workflow,
        "pyproject.toml": PYPROJECT,
        "tests/test_a.py": "",
    }
    assert proposed(files)[0] == (
        ".venv/bin/python -m pytest -x tests",
        ".github/workflows/ci.yml:11",
    )


def test_plain_unittest_needs_no_environment():
    files = {"cart.py": "", "tests/test_cart.py": "import unittest\n"}
    assert proposed(files) == [("python3 -m unittest discover -s tests -t .", "tests/test_cart.py")]
    assert setup_of(files) == []


def test_pytest_that_is_not_installed_comes_with_an_environment():
    files = {"cart.py": "", "tests/test_cart.py": "def test_it(): ..."}
    assert proposed(files)[0][0] == "python3 -m pytest"
    bare = EVERYTHING - {"pytest"}
    assert proposed(files, installed=bare)[0][0] == ".venv/bin/python -m pytest"
    assert setup_of(files, installed=bare)[1] == ".venv/bin/python -m pip install pytest"


@pytest.mark.parametrize(
    ("files", "test", "setup"),
    [
        (
            {"package.json": '{"scripts": {"test": "node --test"}}'},
            "npm test",
            [],
        ),
        (
            {
                "package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}',
                "pnpm-lock.yaml": "",
            },
            "pnpm test",
            ["pnpm install --frozen-lockfile"],
        ),
        ({"go.mod": "module shop", "cart_test.go": ""}, "go test ./...", ["go mod download"]),
        ({"Cargo.toml": "[package]"}, "cargo test", ["cargo fetch"]),
        ({"pom.xml": "", "src/test/java/CartTest.java": ""}, "mvn -B test", []),
        (
            {"build.gradle.kts": "", "gradlew": "", "src/test/kotlin/CartTest.kt": ""},
            "./gradlew test",
            [],
        ),
        (
            {"Gemfile": "", "spec/cart_spec.rb": ""},
            "bundle exec rspec",
            ["bundle install"],
        ),
        ({"mix.exs": "", "test/cart_test.exs": ""}, "mix test", ["mix deps.get"]),
        (
            {"composer.json": "{}", "tests/CartTest.php": ""},
            "vendor/bin/phpunit",
            ["composer install"],
        ),
        (
            {"CMakeLists.txt": "", "test/cart.cc": ""},
            "cmake --build build && ctest --test-dir build --output-on-failure",
            ["cmake -S . -B build"],
        ),
        ({"Shop.sln": "", "Shop.Tests/CartTests.cs": ""}, "dotnet test", ["dotnet restore"]),
        ({"Makefile": "test: build\n\t./run-all.sh\n"}, "make test", []),
        ({"justfile": "test:\n    ./run-all.sh\n"}, "just test", []),
        ({"Taskfile.yml": "tasks:\n  test:\n    cmds: [./run-all.sh]\n"}, "task test", []),
    ],
)
def test_each_ecosystem_is_known_by_its_own_files(files, test, setup):
    assert [it[0] for it in proposed(files)] == [test]
    assert setup_of(files) == setup


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "hello"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": "no json"},
        {"pyproject.toml": "no [toml"},
        {"go.mod": "module shop", "main.go": ""},
        {"Makefile": "build:\n\tcc x.c\n"},
    ],
)
def test_a_repository_without_tests_gets_no_proposal(files):
    assert found(files).test_checks == ()


def test_a_program_that_is_not_installed_is_named_and_not_proposed():
    files = {"go.mod": "module shop", "cart_test.go": ""}
    answer = found(files, installed=frozenset())
    assert answer.checks == ()
    assert [(it.command, it.why) for it in answer.left_out] == [
        ("go test ./...", "go is not installed")
    ]


def test_a_monorepo_has_checks_for_each_package_with_the_paths_they_cover():
    node = '{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}'
    files = {
        "web/package.json": node,
        "web/package-lock.json": "{}",
        "api/go.mod": "module api",
        "api/cart_test.go": "",
        "examples/demo/package.json": node,
    }
    assert [(it.shell_text, it.paths) for it in found(files).test_checks] == [
        ("cd api && go test ./...", ("api/**",)),
        ("cd web && npm test", ("web/**",)),
    ]
    assert setup_of(files) == ["cd api && go mod download", "cd web && npm ci"]


def test_a_test_at_the_top_covers_the_packages_below_it():
    node = '{"scripts": {"test": "jest"}}'
    files = {"package.json": node, "packages/a/package.json": node}
    assert [it[0] for it in proposed(files)] == ["npm test"]


def test_checks_stand_in_the_order_test_lint_types_build():
    scripts = '"build": "tsc", "lint": "eslint .", "typecheck": "tsc --noEmit", "test": "jest"'
    files = {"package.json": f'{{"scripts": {{{scripts}}}}}'}
    assert [it.kind for it in found(files).checks] == ["test", "lint", "types", "build"]


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/test_cart.py", True),
        ("tests/data/cart.json", True),
        ("src/shop/tests/test_cart.py", True),
        ("cart_test.go", True),
        ("conftest.py", True),
        ("web/__tests__/cart.js", True),
        ("web/cart.spec.ts", True),
        ("web/__snapshots__/cart.snap", True),
        ("src/test/java/CartTest.java", True),
        ("test/cart_test.exs", True),
        ("spec/cart_spec.rb", True),
        ("Shop.Tests/Cart.cs", True),
        ("src/shop/testing.py", False),
        ("lib/plug/adapters/test/conn.ex", False),
        ("src/shop/testing/runner.py", False),
        ("vendor/x/tests/test_a.py", False),
        ("docs/latest.md", False),
        ("src/contest.py", False),
    ],
)
def test_where_tests_live_by_the_customs_of_each_language(path, is_test):
    assert is_usual_test(path) is is_test


def test_a_person_may_say_where_the_tests_are():
    places = locate_tests(["checks/a.py", "tests/test_b.py"], ("checks/**",))
    assert places.holds("checks/a.py")
    assert not places.holds("tests/test_b.py")


def test_the_repository_shows_where_its_tests_are():
    paths = ["a_test.go", "b_test.go", "web/__tests__/c.js", "main.go"]
    assert locate_tests(paths).patterns == ("*_test.go", "web/__tests__/**")
