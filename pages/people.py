"""People: who signed in and in which role; an admin gives roles and revokes access."""

from pages._ui.people.people import show_people
from pages._ui.people.roles import show_roles
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

create_heading().title(t("people.title"))
show_people()
show_roles()
