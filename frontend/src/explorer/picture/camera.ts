// The visible part of a scene, and its zoom. Pure.
import type { Size } from "../../shared/sheet";
import type { Box } from "./scene";

const SMALLEST = 0.02;
const LARGEST = 8;
const MARGIN = 14;

export class Camera {
  x = 0;
  y = 0;
  zoom = 1;

  /** Position on the screen of a position in the scene. */
  toScreen(x: number, y: number): [number, number] {
    return [x * this.zoom + this.x, y * this.zoom + this.y];
  }

  toScene(x: number, y: number): [number, number] {
    return [(x - this.x) / this.zoom, (y - this.y) / this.zoom];
  }

  /** Fits a box into the view, no larger than `most`. */
  fit(box: Box, room: Size, most = 2): void {
    const across = (room.width - 2 * MARGIN) / Math.max(1, box.width);
    const down = (room.height - 2 * MARGIN) / Math.max(1, box.height);
    this.zoom = Math.min(most, Math.max(SMALLEST, Math.min(across, down)));
    this.centre(box, room);
  }

  centre(box: Box, room: Size): void {
    this.x = room.width / 2 - (box.x + box.width / 2) * this.zoom;
    this.y = room.height / 2 - (box.y + box.height / 2) * this.zoom;
  }

  /** Zooms, while a position on the screen stays where it is. */
  scale(by: number, x: number, y: number): void {
    const [sceneX, sceneY] = this.toScene(x, y);
    this.zoom = Math.min(LARGEST, Math.max(SMALLEST, this.zoom * by));
    this.x = x - sceneX * this.zoom;
    this.y = y - sceneY * this.zoom;
  }

  shows(box: Box, room: Size): boolean {
    const [left, top] = this.toScreen(box.x, box.y);
    const [right, bottom] = this.toScreen(box.x + box.width, box.y + box.height);
    return left >= 0 && top >= 0 && right <= room.width && bottom <= room.height;
  }
}
