from inductorscope.formats.log.kinds import KEPT, Kind, Text

INDUCTORSCOPE = "0.2"
KINDS = [Kind("toy_tiling", "sizes of tiles", KEPT, text=Text("tiling", "after code"))]
ARTIFACTS = [Kind("toy_note", "a note of the package toy", KEPT)]
