"""Agents: those that mem-search can be installed into, and writing what they need."""
