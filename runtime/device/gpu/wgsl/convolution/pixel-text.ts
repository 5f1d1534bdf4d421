import type { TensorMeta } from '../../../tensor-meta.ts';
import type { WgslWriter } from '../wgsl-writer.ts';

/** Writes `pixel(start, h, v)`: the element of the plane starting at `start`, or 0 outside it. */
export function pixelText(w: WgslWriter, { shape, strides }: TensorMeta, operand: number): void {
  w.function('pixel(start : u32, h : i32, v : i32) -> f32', () => {
    const [height, width] = [w.count('height', shape[2]!), w.count('width', shape[3]!)];
    const index = `start + u32(h) * ${w.count('source2', strides[2]!)} + u32(v) * ${w.count('source3', strides[3]!)}`;
    // Without a branch, because threads of one workgroup read both inside and outside the plane.
    w.line(
      `let inside = (h >= 0) & (v >= 0) & (h < i32(${height})) & (v < i32(${width}));`,
      `return select(0.0f, ${w.load(operand, `select(0u, ${index}, inside)`)}, inside);`,
    );
  });
}
