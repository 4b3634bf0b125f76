"""Named values of optimizers and update rules; a rule falls back on the values of its optimizer."""

from __future__ import annotations

from typing import Any

from minichainer.errors import check_numbers
from minichainer.optimizer._foreign_names import is_foreign, unknown


class Hyperparameter:
    """A set of named values (learning rate, momentum, ...) that falls back on a parent set.

    An optimizer owns one set, which is the parent of the set of each update rule. So ``optimizer.lr = 0.1`` changes
    every parameter, and ``param.update_rule.hyperparam.lr = 0.01`` overrides it for one.

    Args:
        parent: the set in which a name that is not set here is looked up; None at the top.

    Raises:
        AttributeError: on reading a name that neither this set nor any parent has; or on setting one, in a set of an
            optimizer of this package, that is a hyperparameter of others only.

    >>> import minichainer as chainer
    >>> common = chainer.optimizer.Hyperparameter()
    >>> common.lr = 0.1
    >>> own = chainer.optimizer.Hyperparameter(common)
    >>> own.lr
    0.1
    >>> own.lr = 0.5
    >>> own.lr, common.lr
    (0.5, 0.1)
    """

    # These are in slots, so that `__dict__` contains only the set's own values.
    __slots__ = ('__dict__', '__weakref__', '_owner', '_parent')

    _parent: Hyperparameter | None
    _owner: type | None

    def __init__(self, parent: Hyperparameter | None = None) -> None:
        self._parent = parent
        self._owner = None

    def close(self, owner: type) -> None:
        """Lets the set refuse names that are hyperparameters of other optimizers only.

        Args:
            owner: the class of the optimizer or update rule that uses the set, and has set all its values.
        """
        self._owner = owner
        for name, value in self.__dict__.items():
            _check_number(owner, name, value)

    def __getattr__(self, name: str) -> Any:
        # Copying and pickling look up dunder names before the parent is set; those are never hyperparameters.
        if name.startswith('__') or name in ('_parent', '_owner'):
            raise AttributeError(name)
        if self._parent is not None:
            return getattr(self._parent, name)
        known = ', '.join(sorted(self.__dict__)) or 'none'
        raise AttributeError(f"no hyperparameter '{name}' is set here or in a parent (set at the top: {known})")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith('_') and self._owner is not None:
            self._check(self._owner, name, value)
        super().__setattr__(name, value)

    def _check(self, owner: type, name: str, value: Any) -> None:
        if is_foreign(owner, name):
            known = self.get_dict()
            if name not in known:
                raise AttributeError(unknown(owner.__name__, name, known))
        _check_number(owner, name, value)

    def __repr__(self) -> str:
        values = ', '.join(f'{name}={value}' for name, value in sorted(self.get_dict().items()))
        return f'Hyperparameter({values})'

    def __getstate__(self) -> dict[str, Any]:
        return {'_parent': self._parent, '_owner': self._owner, **self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in {'_owner': None, **state}.items():
            super().__setattr__(name, value)

    @property
    def parent(self) -> Hyperparameter | None:
        """The set that is used for names that are not set here."""
        return self._parent

    def get_dict(self) -> dict[str, Any]:
        """Returns all values that can be read here; own values override those of the parents."""
        inherited = {} if self._parent is None else self._parent.get_dict()
        return {**inherited, **self.__dict__}


def _check_number(owner: type, name: str, value: Any) -> None:
    """Raises TypeError for a text or None as a hyperparameter that the owner's class declares with a number."""
    if value is not None and not isinstance(value, (str, bytes)):
        return
    default = getattr(owner, '_declared_values', {}).get(name)
    default = getattr(getattr(owner, '_defaults', None), name, None) if default is None else default
    if isinstance(default, (int, float)) and value is None:
        raise TypeError(f'{owner.__name__}: number expected as {name}, got None; leave it out for {default!r}')
    if isinstance(default, (int, float)):
        check_numbers(owner.__name__, **{name: value})


class HyperparameterProxy:
    """Makes an attribute of an optimizer an alias of one of its hyperparameters.

    Args:
        attr_name: name of the hyperparameter.

    >>> import minichainer as chainer
    >>> class Halving(chainer.GradientMethod):
    ...     factor = chainer.optimizer.HyperparameterProxy('factor')
    >>> optimizer = Halving()
    >>> optimizer.factor = 0.5
    >>> optimizer.hyperparam.factor
    0.5
    """

    def __init__(self, attr_name: str) -> None:
        self._attr_name = attr_name
        self.__doc__ = f'Alias to ``self.hyperparam.{attr_name}``'

    def __get__(self, obj: Any, type: type | None = None) -> Any:
        return self if obj is None else getattr(obj.hyperparam, self._attr_name)

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj.hyperparam, self._attr_name, value)
