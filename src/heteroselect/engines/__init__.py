"""Where clients are: in this process (`simulate`), or on other machines (`flower`)."""
