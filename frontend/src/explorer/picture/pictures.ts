// The graphs that picture panes draw, each made once.

import type { Nodes } from "../../shared/api";
import { ask, loaded } from "../../shared/server";
import { POST_GRAD } from "../../shared/vocabulary";
import type { GraphPicture } from "../shapes";
import type { Target } from "../state/address";
import type { LinkIndex, Selected } from "../state/links";
import type { Graph } from "./graph";
import type { PictureHost } from "./view";

export interface PicturesHost {
  readonly picture: GraphPicture;
  readonly index: LinkIndex;
  readonly nodesUrl: string;
  stageLines(key: string): Promise<readonly string[]>;
  previewed(selected: Selected | null): void;
  select(target: Target): void;
  turned(): void;
}

export class Pictures implements PictureHost {
  private readonly graphs = new Map<string, Promise<Graph>>();

  constructor(private readonly host: PicturesHost) {}

  get index(): LinkIndex {
    return this.host.index;
  }

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

  previewed(selected: Selected | null): void {
    this.host.previewed(selected);
  }

  select(target: Target): void {
    this.host.select(target);
  }

  turned(): void {
    this.host.turned();
  }
}
