"""Everything that can go wrong in a run and is not a bug.

DeepResearchError                kind              retryable
├── ConfigError                  config            no   what a person wrote is wrong; exit code 2
├── BudgetExceeded               budget            no   the next call does not fit in what is left
├── JournalError                 journal           no   a run's record cannot be used
└── ProviderError                provider          no   something outside failed
    ├── RateLimited              rate_limited      yes  slow down (429); may say for how long
    ├── ProviderTimeout          timeout           yes  no answer in time
    ├── ProviderUnavailable      unavailable       yes  connection failed, 5xx
    ├── AuthFailed               auth              no   a key is missing or refused; ends the run
    ├── ContextTooLong           context_too_long  no   the prompt does not fit; shrink, try again
    ├── BadAnswer                bad_answer        no   an answer that cannot be understood
    ├── ToolsRefused             tools_refused     no   the model cannot call tools; ask without
    ├── PageUnreadable           page_unreadable   no   no usable text at this address
    └── Refused                  refused           no   an address that must not be dialled

Errors of outside libraries are translated into these once, at the edge (`raise … from error`). The
core catches `DeepResearchError` and nothing broader: bugs stay loud.
"""

from typing import ClassVar


class DeepResearchError(Exception):
    """The base of all errors that a run survives or explains."""

    kind: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False


class ConfigError(DeepResearchError):
    """What a person wrote (flag, file, environment) cannot be used; the message tells the mend."""

    kind = "config"


class BudgetExceeded(DeepResearchError):  # noqa: N818 - the field's usual name
    """The next call does not fit in what is left of a budget. Nothing was spent."""

    kind = "budget"

    def __init__(self, resource: str, *, wanted: int, left: int) -> None:
        super().__init__(f"budget of {resource}: {wanted} wanted, {left} left")
        self.resource, self.wanted, self.left = resource, wanted, left


class JournalError(DeepResearchError):
    """A run's record is damaged, foreign, locked or of another version."""

    kind = "journal"


class ProviderError(DeepResearchError):
    """A language model, search engine or page reader failed.

    Args:
        message: One line for people; names the service.
        retry_after: Seconds that the service asked to wait, if it did.
    """

    kind = "provider"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(ProviderError):  # noqa: N818 - the field's usual name
    """The service asks to slow down."""

    kind = "rate_limited"
    retryable = True


class ProviderTimeout(ProviderError):  # noqa: N818 - the field's usual name
    """No answer in time."""

    kind = "timeout"
    retryable = True


class ProviderUnavailable(ProviderError):  # noqa: N818 - the field's usual name
    """The service cannot be reached or failed on its side (5xx)."""

    kind = "unavailable"
    retryable = True


class AuthFailed(ProviderError):  # noqa: N818 - the field's usual name
    """A key is missing or refused. The message names the variable that holds it."""

    kind = "auth"


class ContextTooLong(ProviderError):  # noqa: N818 - the field's usual name
    """The prompt does not fit the model.

    Args:
        message: The provider's words.
        limit: Tokens that fit, if the provider said so.
    """

    kind = "context_too_long"

    def __init__(self, message: str, *, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class BadAnswer(ProviderError):  # noqa: N818 - the field's usual name
    """An answer arrived that cannot be understood, also after asking again."""

    kind = "bad_answer"


class ToolsRefused(ProviderError):  # noqa: N818 - the field's usual name
    """The model or its endpoint cannot call tools: ask for the same in another form."""

    kind = "tools_refused"


class PageUnreadable(ProviderError):  # noqa: N818 - the field's usual name
    """No usable text at this address: gone, empty, a wall, an image, broken."""

    kind = "page_unreadable"


class Refused(ProviderError):  # noqa: N818 - the field's usual name
    """An address that must not be dialled (private network, other scheme)."""

    kind = "refused"
