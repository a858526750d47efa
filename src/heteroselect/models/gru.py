"""A recurrent network that tells the next symbol after each of a sequence (74,444 parameters with 76 symbols).

Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine translation", EMNLP 2014.
"""

from torch import Tensor, nn

from heteroselect.errors import SettingError


class _Next(nn.Module):
    def __init__(self, symbols: int, width: int = 32, hidden: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, width)
        self.recurrent = nn.GRU(width, hidden, batch_first=True)
        self.head = nn.Linear(hidden, symbols)

    def forward(self, x: Tensor) -> Tensor:
        """From (examples, length) to (examples, symbols, length), which is how losses of torch take them."""
        if x.is_floating_point():
            raise SettingError("model.name: gru takes sequences of whole numbers; choose another model.")
        out: Tensor = self.head(self.recurrent(self.embedding(x.long()))[0])
        return out.transpose(1, 2)


def gru(shape: tuple[int, ...], symbols: int) -> nn.Module:
    if len(shape) != 1:
        raise SettingError(f"model.name: gru takes sequences of symbols, but the data has shape {shape}.")
    return _Next(symbols)
