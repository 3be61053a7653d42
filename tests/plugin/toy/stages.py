from inductorscope.formats.vocabulary import Stage

INDUCTORSCOPE = "0.2"
STAGES = [
    Stage(
        "tiling", "Tiling", "text", file="tiling.txt",
        missing="The package toy writes it as tiling.txt; none came with this graph.",
    )
]  # fmt: skip
