// The graphs that picture panes draw, each made once.

import type { Nodes } from "../../shared/api";
import { once } from "../../shared/once";
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
  readonly graphOf = once((stage: string) => (stage === POST_GRAD ? this.fx() : this.ir(stage)));

  constructor(private readonly host: PicturesHost) {}

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
