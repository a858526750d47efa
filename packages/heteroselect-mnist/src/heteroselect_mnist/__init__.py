"""The four published files of MNIST, beside this file. Their licence is CC BY-SA 3.0 (LICENSE.md)."""
