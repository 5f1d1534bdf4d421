/** The layout of a buffer's elements in a texture: in rows, the last one partly used. */
import type { CheckedHandle } from '../core/buffer-pool.ts';

/** Elements per row on every device, a width that WebGL2 guarantees. A power of 2, so that shaders can mask. */
export const rowElements = 2048;
export const rowShift = 11;

/** One buffer. Its texture changes when a kernel writes some elements and keeps others. */
export interface TextureHandle extends CheckedHandle {
  texture: WebGLTexture;
  readonly width: number;
  readonly height: number;
}

export function textureSize(elements: number): { readonly width: number; readonly height: number } {
  return { width: Math.min(elements, rowElements), height: Math.ceil(elements / rowElements) };
}

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Returns elements `first` to `first + count` as rectangles, in order: a partial row, whole rows, a partial row. */
export function rectanglesOf(first: number, count: number): Rectangle[] {
  const found: Rectangle[] = [];
  let at = first;
  const end = first + count;
  while (at < end) {
    const x = at % rowElements;
    const y = Math.floor(at / rowElements);
    const rows = x === 0 ? Math.floor((end - at) / rowElements) : 0;
    const width = rows > 0 ? rowElements : Math.min(rowElements - x, end - at);
    found.push({ x, y, width, height: Math.max(rows, 1) });
    at += width * Math.max(rows, 1);
  }
  return found;
}
