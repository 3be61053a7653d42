// All that draws pictures of graphs: fetched when the first picture is asked for.
export { fxGraph } from "./fx-graph";
export { irGraph } from "./ir-graph";
export { PictureView } from "./view";
