"""Programs that differ from torch, and why; one that does not differ may not be listed."""

STRICTER = 'torch ignores surplus upstream gradients; here that is an error, because it hides mistakes'
PENDING: dict[str, str] = {
    'roots.too_many_gradients': STRICTER,
    'grads.wrong_number_of_gradients': STRICTER,
    'variables.gradient_without_a_graph': "grad_var is Chainer's: the Variable of a gradient requires a gradient",
    'contexts.once_differentiable_twice': 'a second derivative is an error even where torch drops it silently',
}
