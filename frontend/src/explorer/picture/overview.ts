// Lays out the whole graph, in time linear in its size: a tile per group, its nodes as cells in it;
// groups in rows by how many others come before them, rows in columns as in a newspaper. Pure.
import type { Size } from "../../shared/sheet";
import { type Graph, giverFor } from "./graph";
import type { Box, GroupBox, Line, NodeBox, Scene } from "./scene";

const CELL = 12;
const GAP = 3;
const PADDING = 5;
const TITLE = 10;
const BETWEEN = 10;
const ROW_GAP = 9;
const COLUMN_GAP = 46;
/** Lanes beside a column, in which lines pass the rows between their ends. */
const LANES = 9;
const LANE = 4;
const NARROWEST = 150;
/** Width of a title's letter, and of the titles that tiles reserve space for, at zoom 1. It is
 * generous, so that titles also fit at the zoom that shows the whole graph. */
const LETTER = 10;
const TITLE_ROOM = 150;
/** Most tiles that can all show their titles at once. */
const MOST_TITLED = 150;

interface Tile extends Box {
  group: number | null;
  /** Cells: nodes that it computes, after the nodes that nothing computes and that it is the first
   * to use. */
  cells: number[];
  before: Set<number>;
  after: Set<number>;
  rank: number;
  /** Number of cells in a row. */
  across: number;
  row: number;
  column: number;
  /** Where its column ends. */
  edge: number;
}

function newTile(group: number | null): Tile {
  const place = { x: 0, y: 0, width: 0, height: 0, rank: 0, across: 1, row: 0, column: 0, edge: 0 };
  return { group, cells: [], before: new Set(), after: new Set(), ...place };
}

/** The tile of each node without a group: that of its first user, or else of its inputs. Unused
 * inputs and unconnected nodes have a tile of their own, the last. */
function homesOf(graph: Graph): Int32Array {
  const { nodes, groups } = graph;
  const home = new Int32Array(nodes.length).fill(-1);
  const placeOf = (at: number) => nodes[at]?.groups[0] ?? home[at] ?? -1;
  for (let at = nodes.length - 1; at >= 0; at--) {
    const node = nodes[at];
    if (!node || node.groups.length) continue;
    const first = Math.min(...node.users.map(placeOf).filter((place) => place >= 0));
    if (Number.isFinite(first)) home[at] = first;
  }
  nodes.forEach((node, at) => {
    if (node.groups.length || (home[at] ?? -1) >= 0) return;
    const giver = node.inputs.map(placeOf).filter((place) => place >= 0);
    home[at] = giver.length ? Math.max(...giver) : groups.length;
  });
  return home;
}

function tilesOf(graph: Graph): Tile[] {
  const { nodes, groups } = graph;
  const home = homesOf(graph);
  const tiles = groups.map((_, at) => newTile(at));
  const loose = newTile(null);
  nodes.forEach((node, at) => {
    if (!node.groups.length) (tiles[home[at] ?? -1] ?? loose).cells.push(at);
  });
  groups.forEach((group, at) => {
    tiles[at]?.cells.push(...group.nodes);
  });
  tiles.forEach((tile, at) => {
    for (const cell of tile.cells) {
      for (const input of nodes[cell]?.inputs ?? []) {
        const computed = (nodes[input]?.groups.length ?? 0) > 0;
        const from = computed ? giverFor(graph, input, at) : (home[input] ?? -1);
        if (from === null || from < 0 || from >= at) continue;
        tile.before.add(from);
        tiles[from]?.after.add(at);
      }
    }
  });
  if (loose.cells.length) tiles.push(loose);
  return tiles;
}

/** The longest chain of tiles before each one; tiles that wait for nothing are just above their
 * users. */
function rank(tiles: readonly Tile[]): number {
  let last = 0;
  for (const tile of tiles) {
    for (const from of tile.before) tile.rank = Math.max(tile.rank, (tiles[from]?.rank ?? 0) + 1);
    last = Math.max(last, tile.rank);
  }
  for (const tile of tiles) {
    if (tile.before.size || !tile.after.size) continue;
    const first = Math.min(...[...tile.after].map((at) => tiles[at]?.rank ?? 0));
    tile.rank = Math.max(0, first - 1);
  }
  for (const tile of tiles) if (tile.group === null) tile.rank = last + 1;
  return last + 1;
}

function measure(tile: Tile, title: string): void {
  tile.across = Math.max(1, Math.ceil(Math.sqrt(tile.cells.length * 1.7)));
  const down = Math.max(1, Math.ceil(tile.cells.length / tile.across));
  const titled = Math.min(TITLE_ROOM, title.length * LETTER + 2 * PADDING);
  tile.width = Math.max(tile.across * (CELL + GAP) - GAP + 2 * PADDING, title ? titled : 0);
  tile.height = down * (CELL + GAP) - GAP + 2 * PADDING + TITLE;
}

/** Rows of tiles, each no wider than a column. */
function rowsOf(tiles: readonly Tile[], ranks: number, widest: number): Tile[][] {
  const byRank: Tile[][] = Array.from({ length: ranks + 1 }, () => []);
  for (const tile of tiles) byRank[tile.rank]?.push(tile);
  const rows: Tile[][] = [];
  const centre = ({ before }: Tile) => {
    const above = [...before].flatMap((from) => tiles[from] ?? []);
    return above.reduce((sum, { x, width }) => sum + x + width / 2, 0) / Math.max(1, above.length);
  };
  for (const rank of byRank) {
    const ordered = rank.map((tile) => ({ tile, at: centre(tile) }));
    ordered.sort((one, other) => one.at - other.at);
    let row: Tile[] = [];
    let width = 0;
    const end = () => {
      let x = (widest - width + BETWEEN) / 2;
      for (const tile of row) {
        tile.x = x;
        x += tile.width + BETWEEN;
      }
      if (row.length) rows.push(row);
      row = [];
      width = 0;
    };
    for (const { tile } of ordered) {
      if (row.length && width + tile.width > widest) end();
      row.push(tile);
      width += tile.width + BETWEEN;
    }
    end();
  }
  return rows;
}

/** `aspect`: width of the space divided by its height. */
export function overview(graph: Graph, aspect: number): Scene {
  const tiles = tilesOf(graph);
  const ranks = rank(tiles);
  const isTitled = graph.groups.length <= MOST_TITLED;
  for (const tile of tiles) {
    measure(tile, (isTitled && graph.groups[tile.group ?? -1]?.title) || "");
  }
  const widest = Math.max(NARROWEST, ...tiles.map((tile) => tile.width + BETWEEN));
  const rows = rowsOf(tiles, ranks, widest);
  const heights = rows.map((row) => Math.max(...row.map((tile) => tile.height)) + ROW_GAP);
  const total = heights.reduce((sum, height) => sum + height, 0);
  const columns = Math.max(1, Math.round(Math.sqrt((aspect * total) / (widest + COLUMN_GAP))));
  const tall = Math.max(total / columns, ...heights);
  let [x, y, bottom, column] = [0, 0, 0, 0];
  rows.forEach((row, at) => {
    const height = heights[at] ?? 0;
    if (y > 0 && y + height > tall + 1) {
      x += widest + COLUMN_GAP;
      y = 0;
      column += 1;
    }
    for (const tile of row) {
      tile.x += x;
      tile.y = y;
      tile.row = at;
      tile.column = column;
      tile.edge = x + widest;
    }
    y += height;
    bottom = Math.max(bottom, y);
  });
  return drawn(graph, tiles, { width: x + widest + LANE * LANES, height: bottom });
}

function drawn(graph: Graph, tiles: readonly Tile[], size: Size): Scene {
  const groups: GroupBox[] = [];
  const nodes: NodeBox[] = [];
  const lines: Line[] = [];
  tiles.forEach((tile, to) => {
    const { x, y, width, height, group, across } = tile;
    groups.push({ x, y, width, height, group });
    tile.cells.forEach((node, at) => {
      nodes.push({
        x: x + PADDING + (at % across) * (CELL + GAP),
        y: y + PADDING + TITLE + Math.floor(at / across) * (CELL + GAP),
        width: CELL,
        height: CELL,
        node,
        group,
        computed: (graph.nodes[node]?.groups.length ?? 0) > 0,
      });
    });
    for (const from of tile.before) {
      const above = tiles[from];
      if (!above) continue;
      const far = above.column !== tile.column;
      lines.push({ from, to, points: joined(above, tile, from % LANES), far });
    }
  });
  return { x: 0, y: 0, ...size, groups, nodes, lines, joins: "groups" };
}

/** From the bottom of one tile to the top of the next row's, past the rows between two tiles of a
 * column, or from side to side if the other is in a later column. */
function joined(above: Tile, below: Tile, lane: number): number[] {
  const [y, toY] = [above.y + above.height / 2, below.y + below.height / 2];
  if (above.column !== below.column) return [above.x + above.width, y, below.x, toY];
  if (below.row - above.row < 2) {
    return [above.x + above.width / 2, above.y + above.height, below.x + below.width / 2, below.y];
  }
  const past = above.edge + LANE * (lane + 1);
  return [above.x + above.width, y, past, y, past, toY, below.x + below.width, toY];
}
