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
  readonly graphOf = once(async (stage: string): Promise<Graph> => {
    const { index, nodesUrl, picture } = this.host;
    const { fxGraph, irGraph } = await loaded(import("./drawing"));
    if (stage === POST_GRAD) return fxGraph(await ask<Nodes>(nodesUrl), picture.kernels);
    return irGraph(stage, await this.host.stageLines(stage), index, picture.kernels);
  });

  constructor(private readonly host: PicturesHost) {}
}
