"""A connection to PostgreSQL, for one thread at a time."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import asyncpg

from understudy.sinks.port import Superseded

Result = TypeVar("Result")
Work = Callable[[Any], Awaitable[Result]]
CONNECT_SECONDS: Final = 5.0
WORK_SECONDS: Final = 60.0
PASSING: Final = (
    asyncpg.InterfaceError,  # the connection was closed
    asyncpg.InternalClientError,  # the server closed it while no work was under way
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # the server stops, or another process has ended the connection
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
)


class Away(Exception):
    """The server does not answer, or not now: a new connection may help."""


class Database:
    def __init__(self, secret: Mapping[str, str], name: str, enter: Work[None]) -> None:
        """Connects when there is work. `name`: by which other connections know this one. `enter`: what a
        connection begins with."""
        self._settings, self._name, self._enter = settings_of(secret), name, enter
        self._loop = asyncio.new_event_loop()
        self._connection: Any = None

    def run(self, work: Work[Result]) -> Result:
        """Raises Away, or OSError if the server refuses the work, or what the work raises."""
        try:
            return self._loop.run_until_complete(asyncio.wait_for(self._run(work), WORK_SECONDS))
        except Superseded:
            self._drop()
            raise
        except (OSError, TimeoutError, *PASSING) as error:
            self._drop()
            raise Away(str(error) or "the database does not answer") from error
        except asyncpg.PostgresError as error:
            self._drop()
            raise OSError(f"the database refuses it: {error}") from error

    async def _run(self, work: Work[Result]) -> Result:
        if self._connection is None:
            self._connection = await asyncpg.connect(
                **self._settings,
                timeout=CONNECT_SECONDS,
                statement_cache_size=0,  # so that a pooler may be between
                server_settings={"application_name": self._name, "lock_timeout": "5s"},
            )
            await self._enter(self._connection)
        return await work(self._connection)

    def _drop(self) -> None:
        """The next work connects again."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def close(self) -> None:
        self._drop()
        self._loop.close()


def settings_of(secret: Mapping[str, str]) -> dict[str, Any]:
    """What a Secret says: its keys are those of CloudNativePG and of other operators. Raises OSError."""
    found: dict[str, Any] = {"dsn": secret.get("uri")}
    if found["dsn"] is None:
        if "host" not in secret:
            raise OSError("the Secret of the database has neither a key uri nor a key host")
        found = {
            "host": secret["host"],
            "port": int(secret.get("port", "5432")),
            "user": secret.get("username", secret.get("user")),
            "password": secret.get("password"),
            "database": secret.get("dbname"),
        }
    mode = secret.get("sslmode")
    if "ca.crt" in secret:
        context = ssl.create_default_context(cadata=secret["ca.crt"])
        context.check_hostname = mode != "verify-ca"
        found["ssl"] = context
    elif mode is not None:
        found["ssl"] = mode
    return found
