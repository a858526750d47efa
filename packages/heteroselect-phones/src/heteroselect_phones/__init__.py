"""A table of 9,242 devices, beside this file. Its licence is MIT (LICENSE.md)."""
