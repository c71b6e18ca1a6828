"""Notebooks that tests write."""
import json


def notebook(path, *cells, **top):
    """Writes a notebook; a cell is its source, or (source, tags), or a whole dictionary."""
    def cell(c):
        if isinstance(c, dict):
            return c
        source, tags = c if isinstance(c, tuple) else (c, [])
        return {"cell_type": "code", "source": source, "metadata": {"tags": tags}, "outputs": [], "execution_count": None}

    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell(c) for c in cells], **top}
    path.write_text(json.dumps(book))
    return str(path)
