"""How many random cases a test takes."""
import os


def rounds(count):
    """`count`, or a third where the same tests have run so before (tests/run.py says so by LUNARRAY_TEST_BRIEF)."""
    return -(-count // 3) if os.getenv("LUNARRAY_TEST_BRIEF") else count
