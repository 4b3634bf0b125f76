"""Named values of optimizers and update rules, and how a rule falls back on its optimizer's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Hyperparameter:
    """A set of named values (learning rate, momentum, ...) that falls back on a parent set.

    An optimizer owns one set; the set of each update rule has it as parent. So ``optimizer.lr = 0.1`` reaches
    every parameter, and ``param.update_rule.hyperparam.lr = 0.01`` overrides it for one.

    Args:
        parent (Hyperparameter): where a name that is not set here is looked up; None at the top.

    Raises:
        AttributeError: when neither this set nor any parent has the name.

    .. admonition:: Example

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

    _parent: Hyperparameter | None = None

    def __init__(self, parent: Hyperparameter | None = None) -> None:
        self._parent = parent

    def __getattr__(self, name: str) -> Any:
        parent = self.__dict__.get('_parent')
        # Copying and pickling probe for dunder names before _parent is set; those are never hyperparameters.
        if name.startswith('__') or (parent is None and '_parent' not in self.__dict__):
            raise AttributeError(name)
        if parent is not None:
            return getattr(parent, name)
        known = ', '.join(sorted(self.get_dict())) or 'none'
        raise AttributeError(f"no hyperparameter '{name}' is set here or in a parent (set at the top: {known})")

    if TYPE_CHECKING:  # any name may be set

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __repr__(self) -> str:
        values = ', '.join(f'{name}={value}' for name, value in sorted(self.get_dict().items()))
        return f'Hyperparameter({values})'

    @property
    def parent(self) -> Hyperparameter | None:
        """The set that names are looked up in when they are not set here."""
        return self._parent

    def get_dict(self) -> dict[str, Any]:
        """Return every value that can be read here, own values before those of the parents."""
        values = {} if self._parent is None else self._parent.get_dict()
        values.update((name, value) for name, value in self.__dict__.items() if name != '_parent')
        return values


class HyperparameterProxy:
    """Makes an attribute of an optimizer an alias of one of its hyperparameters.

    Args:
        attr_name (str): name of the hyperparameter.

    .. admonition:: Example

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
