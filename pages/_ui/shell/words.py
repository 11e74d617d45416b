"""The console's words, and the language that this page is shown in."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import streamlit as st
import yaml

from aisbench_core import messages
from aisbench_core.chinese import event_in_chinese, in_chinese
from aisbench_core.messages import Message, label_in_chinese
from aisbench_core.model import FIELDS, Event, Run
from aisbench_core.model.columns import COUNT, FRACTION, Column
from pages._ui.shell import widgets

ENGLISH = Path(__file__).parents[1] / "texts" / "en.yaml"


class Language(StrEnum):
    """The languages that the console speaks."""

    EN = "en"
    ZH = "zh"


NAMES = {Language.EN: "English", Language.ZH: "简体中文"}
"""Each language's name for itself."""


CHOSEN = "language"
"""Where a session has its language."""


@dataclass(frozen=True, slots=True)
class Words:
    """One language's words. Calling it with a key gives the text; `{names}` in it are filled from the arguments."""

    language: Language
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key. A key that is not in the catalogue is a bug: KeyError."""
        return self.texts[key].format(**values)

    def pick(self, english: str, chinese: str) -> str:
        """Which of a manifest's two texts to show; English when there is no Chinese one."""
        return (chinese or english) if self.language is Language.ZH else english

    def unit(self, unit: str) -> str:
        """A unit of counting as the core names it; one without a translation stays as it is."""
        return self.texts.get(f"unit.{unit}", unit)

    def field(self, field: str) -> str:
        """A field's name; one without a translation stays as it is."""
        return self.texts.get(f"field.{field}", field)

    def column(self, column: Column) -> str:
        """A column's name over a table, with its unit."""
        english = column.label or column.name.replace("_", " ")
        name = self.pick(english, label_in_chinese(f"column.{column.name}", english))
        return f"{name} ({column.unit})" if column.unit and column.unit not in (FRACTION, COUNT) else name

    def said(self, sentence: str) -> str:
        """A sentence of the core, such as an error or a finding; other people's text stays as it is."""
        if self.language is Language.EN:
            return sentence
        return messages.in_chinese(sentence) if isinstance(sentence, Message) else in_chinese(sentence)

    def event(self, event: Event) -> str:
        """What an event says; the cloud's own words stay as they are."""
        if self.language is Language.EN or isinstance(event.message, Message):
            return self.said(event.message)
        return event_in_chinese(event.message, event.source)

    def detail(self, run: Run) -> str:
        """How things stand with a run; the cloud's own words stay as they are."""
        quoted = run.detail_is_quoted and not isinstance(run.detail, Message)
        return run.detail if quoted else self.said(run.detail)

    def by(self, actor: str, source: str) -> str:
        """Who did what an event tells: a person, a process, or the part of the system that says so."""
        if not actor:
            return self.texts.get(f"by.{source}", source)
        return self.said(actor) if source == "follower" else actor

    def sample(self, name: str) -> str:
        """What the platform measured, with its unit; one that is not known stays as it is."""
        return self.texts.get(f"sample.{name}", name)

    def rule(self, rule_id: str) -> str:
        """What a preflight rule demands, where the finding itself is in another language; empty in English."""
        return label_in_chinese(f"preflight.{rule_id}", "") if self.language is Language.ZH else ""

    def described(self, field: str) -> tuple[str, str]:
        """The title of a field of the system description, and what it means."""
        known = FIELDS[field]
        return (
            self.pick(known.title or "", label_in_chinese(f"system.{field}.title", "")),
            self.pick(known.description or "", label_in_chinese(f"system.{field}.description", "")),
        )

    def knows(self, key: str) -> bool:
        """Whether there is a text for a key that comes from data (a metric's name, a rule's id)."""
        return key in self.texts


def words() -> Words:
    """The words for this session's language."""
    language = st.session_state.get(CHOSEN, Language.EN)
    return Words(language, catalogue(language))


@cache
def catalogue(language: Language) -> Mapping[str, str]:
    """All texts of a language, by dotted key."""
    tree = yaml.safe_load(ENGLISH.read_text("utf-8"))
    english = {f"{section}.{key}": text for section, texts in tree.items() for key, text in texts.items()}
    if language is Language.EN:
        return english
    return {key: label_in_chinese(f"pages.{key}", text) for key, text in english.items()}


def choose_language(settings_language: str) -> None:
    """Settle this session's language: the selector's, else the URL's `?lang=`, else the first one; the URL follows.

    The menu drops what is in the URL, so it is put back whenever it is not what a new visit would choose anyway."""
    first = first_language(settings_language, st.context.locale)
    asked = st.query_params.get("lang")
    if CHOSEN not in st.session_state:
        st.session_state[CHOSEN] = Language(asked) if asked in list(Language) else first
    chosen = Language(st.session_state[CHOSEN])
    if asked != chosen and (asked is not None or chosen is not first):
        st.query_params["lang"] = chosen.value


def show_languages() -> None:
    """The selector of the language."""

    def store(language: Language) -> None:
        st.session_state[CHOSEN] = language

    st.selectbox(
        words()("menu.language"),
        **widgets.single_choice("lang", list(Language), words().language, store, NAMES.__getitem__),
    )


def first_language(settings_language: str, locale: str | None) -> Language:
    """The language before anybody chose: Chinese for a Chinese browser, else what the settings say."""
    return Language.ZH if (locale or "").lower().startswith("zh") else Language(settings_language)
