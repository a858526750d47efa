HUB = "hf:"
"""What the name of a data set of the Hugging Face Hub begins with."""
