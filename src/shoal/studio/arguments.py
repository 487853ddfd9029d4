"""Arguments of questions and actions: they come from outside, so their types are checked before anything is done."""

from collections.abc import Awaitable, Callable
from functools import cache, wraps
from typing import Any

from pydantic import ValidationError, validate_call

from shoal.vocabulary.errors import InputError

Answer = dict[str, Any]
"""An answer for the page, as JSON."""


@cache
def checked(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The same method, with a check that its arguments have the types that it declares.

    Raises InputError if one is missing, unknown or of another type; its value is not repeated.
    """
    call = validate_call(method)

    @wraps(method)
    async def checking(**given: Any) -> Any:
        try:
            return await call(**given)
        except ValidationError as error:
            if error.title != method.__qualname__:  # another check, below the method
                raise
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise InputError(f"The request is not understood: {place}: {first['msg']}. Reload the page.") from None

    return checking
