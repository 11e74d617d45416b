"""How the training service says no: an HTTP status, the cloud's error code and two sentences."""


class Refused(Exception):
    """The request cannot be carried out; `solution` says what to do about it."""

    def __init__(self, status: int, code: str, message: str, solution: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.solution = solution
