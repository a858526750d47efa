"""How values become bytes: one codec per file; `compress.wire` has the table of them."""

from heteroselect.parts.compress.codecs.codec import Codec, Coded, Head

__all__ = ["Codec", "Coded", "Head"]
