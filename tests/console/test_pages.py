"""Every page is whole in both languages: on an empty console, on a used one, and without any region."""

from pathlib import Path

import pytest

from pages._ui.shell import navigation
from pages._ui.shell.words import Language, load_catalogue
from tests.console.conftest import OpenPage, texts
from tests.console.seeds import ACTIVE_RUN, DONE_RUN, FAILED_RUN

NAMES = [page.stem for page in navigation.ICONS]
LANGUAGES = list(Language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_an_empty_console_says_what_to_do_next(open_page: OpenPage, name: str, language: Language) -> None:
    app = open_page(name, lang=language.value)

    assert not app.exception
    assert app.title[0].value == load_catalogue(language)[f"menu.{name}"]
    assert texts(app)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_used_console_shows_its_runs(open_page: OpenPage, used: Path, name: str, language: Language) -> None:
    assert used.exists()

    app = open_page(name, lang=language.value)

    assert not app.exception
    assert load_catalogue(language)["errors.incident"].split("{")[0] not in texts(app)


@pytest.mark.parametrize("run_id", [ACTIVE_RUN, FAILED_RUN, DONE_RUN])
def test_one_run_is_shown_by_its_link(open_page: OpenPage, used: Path, run_id: str) -> None:
    assert used.exists()

    app = open_page("live", run=run_id)

    assert not app.exception
    assert run_id in texts(app)


def test_a_run_that_does_not_exist_is_a_sentence(open_page: OpenPage) -> None:
    app = open_page("live", run="nothing")

    assert not app.exception
    assert "there is no run" in app.error[0].value


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("configure", {"hours": "inf"}),
        ("configure", {"hours": "1e308"}),
        ("configure", {"hours": "nan"}),
        ("runs", {"page": "9" * 5000}),
        ("leaderboard", {"page": "9" * 5000}),
        ("compare", {"ids": [f"run-{index}" for index in range(20)]}),
        ("live", {"run": "../../etc/passwd"}),
    ],
)
def test_no_address_makes_a_page_fail(
    open_page: OpenPage, used: Path, name: str, query: dict[str, str | list[str]]
) -> None:
    assert used.exists()

    app = open_page(name, **query)

    assert not app.exception
    assert "Internal error" not in texts(app)
    assert "inf" not in texts(app).split()


def test_without_a_profile_the_pages_say_how_to_get_one(open_page: OpenPage, data_dir: Path) -> None:
    (data_dir / "sandbox" / "profile.yaml").unlink()

    for name in ("configure", "health"):
        app = open_page(name)

        assert not app.exception
        assert "make run" in texts(app)


def test_the_language_can_be_changed_and_stays_in_the_url(open_page: OpenPage) -> None:
    app = open_page("runs")
    assert app.title[0].value == "Runs"

    app.selectbox(key="lang").set_value(Language.ZH).run()

    assert app.title[0].value == "运行记录"
    assert app.query_params["lang"] in ("zh", ["zh"])


def test_a_language_that_nobody_speaks_is_ignored(open_page: OpenPage) -> None:
    app = open_page("runs", lang="tlh")

    assert app.title[0].value == "Runs"
