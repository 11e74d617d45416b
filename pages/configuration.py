"""A row of the leaderboard by itself: its numbers, its history and scaling, its system, and all of its runs."""

from pages._ui.configuration import details
from pages._ui.shell.core import core
from pages._ui.shell.status import watch_results

drawn = core().warehouse.revision()
ticked = details.show_configuration()
watch_results(drawn, ticked=bool(ticked))
