"""Small models of a whole cohort as one matrix, one row per client, trained in one graph.

A step of logistic regression costs more in calls than in arithmetic; ten clients in one call cost little more
than one. The rows go through the same kernels as single models do, and `fits` checks on real batches that they
give the same bits: where they do not, or where a model cannot be batched, clients train one by one as ever.
"""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value, vmap
from torch.fx import GraphModule, Node

from heteroselect.core.flat import FlatModel, Loss, shaped
from heteroselect.parts.train.descent import COMPILING

SMALL = 200_000  # parameters; above it arithmetic dominates and there is nothing to gain

Graph = Callable[..., tuple[Tensor, ...]]


class Together:
    """What a solver with `rows` sees of a cohort: a matrix of parameters, one of gradients, and how to fill it.

    A matrix may sum its losses in another order than single models do. Where a method goes by the losses that clients
    report (`exact`), each row's is taken from its outputs as a single model would.
    """

    def __init__(self, model: FlatModel, rows: int, *, exact: bool = False) -> None:
        self.model, self.module, self.exact = model, model.module, exact
        self.vector = model.vector.repeat(rows, 1)
        self.gradient = torch.zeros_like(self.vector)
        self.outputs = torch.empty(0)
        self._parameters, self._gradients = self._views(self.vector), self._views(self.gradient)
        self._graph: Graph | None = None

    def backward(self, loss: Loss, x: Tensor, y: Tensor) -> Tensor:
        """Leaves every row's gradient on its own batch in `gradient`; returns the losses."""
        if self._graph is None:
            with COMPILING:  # the tracer patches torch while it works
                self._graph = self._trace(loss, x, y)
        *gradients, last = self._graph(*self._parameters, x, y)
        torch._foreach_copy_(self._gradients, gradients)
        if not self.exact:
            return last
        self.outputs = last
        with torch.no_grad():
            return torch.stack([loss(*row) for row in zip(last, y, strict=True)])

    def fits(self, loss: Loss, x: Tensor, y: Tensor) -> bool:
        """Whether the rows give the very gradients that single models give, to the bit, and with `exact` the losses."""
        same = torch.equal if self.exact else torch.allclose
        try:
            for _ in range(3):  # a traced graph takes two runs to settle
                losses = self.backward(loss, x, y)
        except (RuntimeError, ValueError, TypeError, UserWarning):  # a module that vmap or the tracer cannot take
            return False
        for row in range(len(self.vector)):
            self.model.vector.copy_(self.vector[row])
            # a copy: where a batch lies in memory decides which kernel a matrix product takes
            single = self.model.backward(loss, x[row].clone(), y[row].clone())
            if not torch.equal(self.model.gradient, self.gradient[row]) or not same(single, losses[row]):
                return False
        return True

    def _views(self, matrix: Tensor) -> list[Tensor]:
        """Each parameter of all rows."""
        spans, views = self.model.layout.parameters, self.model.views
        return [shaped(matrix[:, span.slice], view) for span, view in zip(spans, views, strict=True)]

    def _trace(self, loss: Loss, x: Tensor, y: Tensor) -> Graph:
        """The batched gradient, and losses or outputs, as a plain list of operators without the overhead of vmap; and
        where torch still can, run by its own interpreter, which lets go of Python's lock so that two workers do not
        wait for each other."""
        from torch.fx.experimental.proxy_tensor import make_fx  # half a second, and not every process trains a cohort

        names = [span.name for span in self.model.layout.parameters]

        def one(parameters: list[Tensor], inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
            outputs = functional_call(self.module, dict(zip(names, parameters, strict=True)), (inputs,))
            value = loss(outputs, targets)
            return value, outputs if self.exact else value

        with warnings.catch_warnings():
            # without a rule for a whole batch (that of an LSTM on a CPU) vmap goes row by row, which takes longer to
            # trace than clients one by one take for all of their rounds
            warnings.filterwarnings("error", ".*not yet implemented the batching rule.*")
            plain = make_fx(vmap(grad_and_value(one, has_aux=True)))(self._parameters, x, y)
        add_within_products(plain)

        def flat(*inputs: Tensor) -> tuple[Tensor, ...]:
            gradients, (_, last) = plain(list(inputs[:-2]), *inputs[-2:])
            return (*gradients, last)

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # deprecated; without it all is the same, and slower
                traced: Graph = torch.jit.trace(  # type: ignore[no-untyped-call]
                    flat, (*self._parameters, x, y), check_trace=False
                )
        except (AttributeError, RuntimeError):
            return flat
        return traced


def add_within_products(traced: GraphModule) -> None:
    """Make one operator of a bias and the product added to it, as a linear layer of a single model has it: some
    processors' kernels begin with the bias instead of adding it at the end, which gives other bits."""
    aten = torch.ops.aten
    for node in list(traced.graph.nodes):
        if node.target != aten.add.Tensor or node.kwargs or not isinstance(node.args[1], Node):
            continue
        bias, viewed = node.args
        product = viewed
        while product.target in (aten.view.default, aten._unsafe_view.default) and len(product.users) == 1:
            product = product.args[0]
        whole = product.target == aten.bmm.default and len(product.users) == 1
        if whole and product.meta["val"].shape == viewed.meta["val"].shape:
            with traced.graph.inserting_before(node):
                together = traced.graph.call_function(aten.baddbmm.default, (bias, *product.args))
            node.replace_all_uses_with(together)
    traced.graph.eliminate_dead_code()
    traced.recompile()
