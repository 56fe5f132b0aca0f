"""The child process in which the code of a user's network model runs."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

from fairweir.errors import FairweirError, describe_exception
from fairweir.formal.models.user import CheckedModel, load
from fairweir.play.process import user_code


def serve(fd: int) -> None:
    """Answer the parent's requests on the connection with the file descriptor `fd`, until the parent closes it."""
    parent = Connection(fd)
    model: CheckedModel | None = None
    with user_code():
        while True:
            try:
                method, arguments = parent.recv()
            except EOFError:
                return
            try:
                if method == "load":
                    model = load(*arguments)
                    answer: Any = model.facts()
                else:
                    answer = getattr(model, method)(*arguments)
                parent.send(("done", answer))
            except FairweirError as error:
                parent.send(("failed", error))
            except (Exception, SystemExit) as error:  # noqa: BLE001 - the parent raises every type
                parent.send(("failed", FairweirError(f"a user's model fails: {describe_exception(error)}")))
