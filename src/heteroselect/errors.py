"""The one error that is meant for people."""


class HeteroSelectError(Exception):
    """Something the user can mend: one sentence that names the setting and what is allowed."""
