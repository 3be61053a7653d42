"""The model of links, and how references are collected."""
