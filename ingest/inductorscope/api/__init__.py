"""The Python interface, which `import inductorscope` offers."""
