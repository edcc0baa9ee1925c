"""A model as a folder that is ready to be handed on, with a card that says what is in it."""
