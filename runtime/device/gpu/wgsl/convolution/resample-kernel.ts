/** Average pooling, one dimension at a time: means of windows, or of equal parts, with integer bounds. */

import { contiguousStrides, sizeOf } from '../../../../spec/shape.ts';
import type { Attrs } from '../../../kernel-op.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output } from '../../core/kernel-plan.ts';
import { elementStage } from '../element-stage.ts';
import { type ElementType, elementTypeOf } from '../elements/element-type.ts';
import { splitText } from '../index-text.ts';
import type { KernelPlanner, WgslStage } from '../wgsl-plan.ts';
import type { WgslWriter } from '../wgsl-writer.ts';

interface Parts {
  readonly outer: number;
  readonly inner: number;
  /** The number of entries of the whole dimension. */
  readonly size: number;
  /** The number of means. */
  readonly count: number;
  readonly type: ElementType;
  readonly attrs: Attrs;
}

/** Returns null for interpolation, whose positions are not integers. */
function meansOf(whole: TensorMeta, part: TensorMeta, attrs: Attrs): Parts | null {
  const dim = attrs.dim as number;
  const { shape } = whole;
  const [size, count] = [shape[dim]!, part.shape[dim]!];
  if (attrs.mode !== 'area' && attrs.mode !== 'window') return null;
  // Their product must fit into u32.
  if ((size + 1) * (count + 1) >= 2 ** 32) return null;
  const [outer, inner] = [sizeOf(shape.slice(0, dim)), sizeOf(shape.slice(dim + 1))];
  return { outer, inner, size, count, type: elementTypeOf(whole.dtype), attrs };
}

/** Writes `start`, `end` and `divisor` of mean `i`. */
function boundsText(w: WgslWriter, { size, count, attrs }: Parts): void {
  const whole = w.count('size', size);
  if (attrs.mode === 'area') {
    const parts = w.count('count', count);
    w.line(
      `let start = i * ${whole} / ${parts};`,
      `let end = ((i + 1u) * ${whole} + ${parts} - 1u) / ${parts};`,
      'let divisor = f32(end - start);',
    );
    return;
  }
  const number = (name: string) => w.count(name, attrs[name] as number);
  const padding = number('padding');
  const divisor = attrs.divisor as number;
  w.line(
    `let begin = i * ${number('stride')};`,
    `let reach = min(begin + ${number('kernel')}, ${whole} + 2u * ${padding});`,
    `let start = max(begin, ${padding}) - ${padding};`,
    `let end = min(max(reach, ${padding}) - ${padding}, ${whole});`,
  );
  if (divisor > 0)
    w.line(`let divisor = ${w.uniform('divisor', { kind: 'number', value: divisor })};`);
  else w.line(`let divisor = f32(${divisor === 0 ? 'reach - begin' : 'end - start'});`);
}

function meansStage(
  parts: Parts,
  entries: number,
  from: number,
  write: (w: WgslWriter, own: string, at: (place: string) => string) => void,
): WgslStage {
  const { outer, inner, type } = parts;
  const shape = [outer, entries, inner];
  const operands = [
    { slot: input(0), strides: [from * inner, 0, 1], type },
    {
      slot: output(0),
      strides: contiguousStrides(shape),
      written: true,
      elements: sizeOf(shape),
      type,
    },
  ];
  return elementStage(shape, operands, ({ w, at, store }) => {
    const [rows] = splitText(w, 'e', w.count('inner', inner));
    const [, own] = splitText(w, rows, w.count('entries', entries));
    w.line('var sum = 0.0f;');
    write(w, own, (place) => at(0, `${place} * ${w.count('inner', inner)}`));
    w.line(store(1, 'sum'));
  });
}

/** (x) → the means of windows along `dim`. */
export const resamplePlan: KernelPlanner = ([x], [out], attrs) => {
  const parts = meansOf(x!, out!, attrs);
  if (!parts) return null;
  const stage = meansStage(parts, parts.count, parts.size, (w, own, at) => {
    w.line(`let i = ${own};`);
    boundsText(w, parts);
    w.line(
      `for (var k = start; k < end; k = k + 1u) { sum = sum + ${at('k')}; }`,
      'if (end > start) { sum = sum / divisor; }',
    );
  });
  return { scratch: [], stages: [stage] };
};

/** (dy, x: shape) → each element sums the gradients of the windows that contain it. */
export const resampleGradPlan: KernelPlanner = ([dy], [dx], attrs) => {
  const parts = meansOf(dx!, dy!, attrs);
  if (!parts) return null;
  const stage = meansStage(parts, parts.size, parts.count, (w, own, at) => {
    const count = w.count('count', parts.count);
    if (attrs.mode === 'area') {
      const size = w.count('size', parts.size);
      w.line(
        `let first = ${own} * ${count} / ${size};`,
        `let last = ((${own} + 1u) * ${count} + ${size} - 1u) / ${size};`,
      );
    } else {
      const number = (name: string) => w.count(name, attrs[name] as number);
      w.line(
        `let padded = ${own} + ${number('padding')};`,
        `let before = max(padded + 1u, ${number('kernel')}) - ${number('kernel')};`,
        `let first = (before + ${number('stride')} - 1u) / ${number('stride')};`,
        `let last = min(${count}, padded / ${number('stride')} + 1u);`,
      );
    }
    w.line('for (var i = first; i < last; i = i + 1u) {');
    boundsText(w, parts);
    w.line(`if (${own} >= start && ${own} < end) { sum = sum + ${at('i')} / divisor; }`, '}');
  });
  return { scratch: [], stages: [stage] };
};
