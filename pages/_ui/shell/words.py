"""The console's texts, and the language in which a session reads them."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import streamlit as st
import yaml

from aisbench_core.base.messages import in_chinese, label_in_chinese
from aisbench_core.model import FIELDS
from aisbench_core.model.columns import COUNT, CURRENCY, FRACTION, Column
from aisbench_core.model.columns.statistics import by_statistic
from pages._ui.shell import widgets

ENGLISH = Path(__file__).parents[1] / "texts" / "en.yaml"


class Language(StrEnum):
    """The languages of the console."""

    EN = "en"
    ZH = "zh"


NAMES = {Language.EN: "English", Language.ZH: "简体中文"}  # each language's name for itself
CHOSEN = "language"  # where the session has its language


# The language of the session whose script runs here: each session's script has a thread, and so a context, of its own.
# Reading `st.session_state` takes 4 µs, ten times as long as the rest of a look-up, and a page looks up thousands.
_language: ContextVar[Language] = ContextVar("language")


@dataclass(frozen=True, slots=True)
class Words:
    """All words in one language, the session's unless `fixed` names another.

    Calling it with a key gives the text; `{names}` in it are filled from the arguments."""

    fixed: Language | None = None

    @property
    def language(self) -> Language:
        return self.fixed or session_language()

    @property
    def texts(self) -> Mapping[str, str]:
        return load_catalogue(self.language)

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key. A key that is not in the catalogue is a bug: KeyError."""
        return self.texts[key].format(**values)

    def pick(self, english: str, chinese: str) -> str:
        """Which of a manifest's two texts to show; English when there is no Chinese one."""
        return (chinese or english) if self.language is Language.ZH else english

    def unit(self, unit: str) -> str:
        """A unit that the core counts in; one without a translation stays as it is."""
        return self.texts.get(f"unit.{unit}", unit)

    def stage(self, stage: str) -> str:
        """What a job does instead of training; a script's own words stay as they are."""
        return self.texts.get(f"doing.{stage}", stage)

    def field(self, field: str) -> str:
        """A field's name; one without a translation stays as it is."""
        return self.texts.get(f"field.{field}", field)

    def column(self, column: Column) -> str:
        """A column's name over a table, with its unit."""
        english = column.label or column.name.replace("_", " ")
        name = self.pick(english, label_in_chinese(f"column.{column.name}", english))
        return self.with_unit(name, "" if column.unit in (FRACTION, COUNT, CURRENCY) else column.unit)

    def statistic(self, name: str) -> str:
        """A statistic's name over a table."""
        english = by_statistic()[name].label
        return self.pick(english, label_in_chinese(f"statistic.{name}", english))

    def with_unit(self, name: str, unit: str) -> str:
        """The title of a column or an axis: the name, and the unit in the brackets of the language."""
        return name if not unit else f"{name}（{unit}）" if self.language is Language.ZH else f"{name} ({unit})"

    def message(self, sentence: str) -> str:
        """A sentence of the core, such as an error; other people's text stays as it is."""
        return sentence if self.language is Language.EN else in_chinese(sentence)

    def actor(self, actor: str, source: str) -> str:
        """Who caused an event: a person, a process, or a part of the system."""
        if not actor:
            return self.texts.get(f"by.{source}", source)
        return self.message(actor) if source == "follower" else actor

    def sample(self, name: str) -> str:
        """A metric of the platform with its unit; one without a translation stays as it is."""
        return self.texts.get(f"sample.{name}", name)

    def rule(self, rule_id: str) -> str:
        """What a preflight rule requires, for findings that are only there in English; empty in English."""
        return label_in_chinese(f"preflight.{rule_id}", "") if self.language is Language.ZH else ""

    def describe_field(self, field: str) -> tuple[str, str]:
        """The title of a field of the system description, and what it means."""
        described = FIELDS[field]
        return (
            self.pick(described.title or "", label_in_chinese(f"system.{field}.title", "")),
            self.pick(described.description or "", label_in_chinese(f"system.{field}.description", "")),
        )

    def knows(self, key: str) -> bool:
        """Whether there is a text for a key that is made of data, such as a metric's name."""
        return key in self.texts


t = Words()  # the words that pages show: `t("menu.language")`


def session_language() -> Language:
    """The session's language."""
    language = _language.get(None)
    if language is None:
        language = Language(st.session_state.get(CHOSEN, Language.EN))
        _language.set(language)
    return language


def set_language(language: Language) -> None:
    """Make this the session's language."""
    st.session_state[CHOSEN] = language
    _language.set(language)


@cache
def load_catalogue(language: Language) -> Mapping[str, str]:
    """All texts of a language, by dotted key."""
    tree = yaml.safe_load(ENGLISH.read_text("utf-8"))
    english = {f"{section}.{key}": text for section, texts in tree.items() for key, text in texts.items()}
    if language is Language.EN:
        return english
    return {key: label_in_chinese(f"pages.{key}", text) for key, text in english.items()}


def choose_language(settings_language: str) -> None:
    """Settle the session's language: the selector's, else the URL's `?lang=`, else the browser's or the settings'.

    Streamlit's menu drops the URL's parameters, so `lang` is put back unless a new visit would choose it anyway."""
    first = first_language(settings_language, st.context.locale)
    named = st.query_params.get("lang")
    set_language(st.session_state.get(CHOSEN) or (Language(named) if named in list(Language) else first))
    if named != t.language and (named is not None or t.language is not first):
        st.query_params["lang"] = t.language.value


def show_languages() -> None:
    """The selector of the language."""
    choice = widgets.single_choice("lang", list(Language), t.language, set_language, NAMES.__getitem__)
    st.selectbox(t("menu.language"), **choice)


def first_language(settings_language: str, locale: str | None) -> Language:
    """The language before anybody chose: Chinese for a Chinese browser, else what the settings say."""
    return Language.ZH if (locale or "").lower().startswith("zh") else Language(settings_language)
