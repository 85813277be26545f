"""Every form of the equations against the others and against the normal form."""


class Agreement:
    """A table."""


def agree(system, **options) -> Agreement:
    raise NotImplementedError
