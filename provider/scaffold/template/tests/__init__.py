"""Tests of this shop."""
