"""Errors of the training service: an HTTP status, the cloud's error code, a message and a solution."""


class Refused(Exception):
    """The request is refused; `solution` says what to do about it."""

    def __init__(self, status: int, code: str, message: str, solution: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.solution = solution
