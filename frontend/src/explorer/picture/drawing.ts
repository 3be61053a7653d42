// Everything that draws pictures of graphs, loaded when the first picture is requested.
export { fxGraph } from "./fx-graph";
export { irGraph } from "./ir-graph";
export { PictureView } from "./view";
