// The graphs that picture panes draw, each made once.

import type { Nodes } from "../../shared/api";
import { ask, loaded } from "../../shared/server";
import { POST_GRAD } from "../../shared/vocabulary";
import type { GraphPicture } from "../shapes";
import type { LinkIndex } from "../state/links";
import type { Graph } from "./graph";

export interface PicturesHost {
  readonly picture: GraphPicture;
  readonly index: LinkIndex;
  readonly nodesUrl: string;
  stageLines(key: string): Promise<readonly string[]>;
}

export class Pictures {
  private readonly graphs = new Map<string, Promise<Graph>>();

  constructor(private readonly host: PicturesHost) {}

  graphOf(stage: string): Promise<Graph> {
    let graph = this.graphs.get(stage);
    if (!graph) {
      graph = stage === POST_GRAD ? this.fx() : this.ir(stage);
      graph.catch(() => this.graphs.delete(stage)); // the next attempt tries again
      this.graphs.set(stage, graph);
    }
    return graph;
  }

  private async fx(): Promise<Graph> {
    const { fxGraph } = await loaded(import("./drawing"));
    return fxGraph(await ask<Nodes>(this.host.nodesUrl), this.host.picture.kernels);
  }

  private async ir(stage: string): Promise<Graph> {
    const { index, picture } = this.host;
    const { irGraph } = await loaded(import("./drawing"));
    return irGraph(stage, await this.host.stageLines(stage), index, picture.kernels);
  }
}
