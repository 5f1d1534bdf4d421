import { sizeOf } from '../../../../spec/shape.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output } from '../../core/kernel-plan.ts';
import { elementTypeOf, type ValueType } from '../elements/element-type.ts';
import { indexTexts, walksOf } from '../index-text.ts';
import { chosenByNothing, type WgslStage } from '../wgsl-plan.ts';
import { groupsOf, workgroupThreads } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';

/** The context of a line's text: thread `s` of `slices` has the positions from `start` to `end`. */
interface LineText {
  readonly w: WgslWriter;
  readonly slices: number;
  /** Returns the element of an operand (inputs, then the output) at a position of the line. */
  readonly at: (operand: number, place: string) => string;
  /** Returns the statement that stores such an element. */
  readonly store: (operand: number, place: string, value: string) => string;
  /** Shares a variable of each thread of the line with the others: declares and fills `array`. */
  readonly share: (array: string, type: ValueType, value: string) => void;
  /** Returns the value shared by thread `number` of the line. */
  readonly shared: (array: string, number: string) => string;
}

/** Returns the number of threads that share a line: a power of 2. */
function threadsPerLine(size: number): number {
  if (size < 64) return 1;
  return size < 1024 ? 8 : 64;
}

/** Returns one dispatch over lines along `dim`; each thread of a line has adjacent positions. */
export function lineStage(
  inputs: readonly TensorMeta[],
  out: TensorMeta,
  dim: number,
  isOnePerLine: boolean,
  write: (text: LineText) => void,
  slices = threadsPerLine(inputs[0]!.shape[dim] ?? 1),
): WgslStage {
  const { shape } = inputs[0]!;
  const size = shape[dim] ?? 1;
  const others = <T>(list: readonly T[]) => list.filter((_, d) => d !== dim);
  const count = sizeOf(others(shape));
  const metas = [...inputs, out];
  const starts = metas.map(({ strides }, i) =>
    i === inputs.length && isOnePerLine ? othersOf(out, shape, dim) : others(strides),
  );
  const { loops } = walksOf(others(shape), starts);
  const perGroup = workgroupThreads / slices;
  return {
    operands: metas.map((meta, i) => ({
      slot: i < inputs.length ? input(i) : output(0),
      written: i === inputs.length,
      walk: null,
      elements: sizeOf(meta.shape),
      type: elementTypeOf(meta.dtype),
    })),
    isEmpty: count * size === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(workgroupThreads, issue);
      const length = w.count('size', size);
      w.line(
        `let s = thread % ${slices}u;`,
        `let q = thread / ${slices}u;`,
        `let o = group * ${perGroup}u + q;`,
        `let exists = o < ${w.count('lines', count)};`,
        `let own = (${length} + ${slices - 1}u) / ${slices}u;`,
        `let start = min(s * own, ${length});`,
        // Nonexistent lines are empty, so that all threads meet at each barrier.
        `let end = select(start, min(start + own, ${length}), exists);`,
      );
      const bases = indexTexts(w, loops, 'o', 'line_');
      const first = bases.map((base, i) => w.let(`${w.offset(i)} + ${base}`));
      const indexOf = (i: number, place: string) => {
        const stride = metas[i]!.strides[dim] ?? 0;
        const isPlace = i === inputs.length && isOnePerLine;
        return isPlace ? first[i]! : `${first[i]!} + (${place}) * ${w.count(`step${i}`, stride)}`;
      };
      write({
        w,
        slices,
        at: (i, place) => w.load(i, indexOf(i, place)),
        store: (i, place, value) => w.store(i, indexOf(i, place), value),
        share: (array, type, value) => {
          w.shared(array, `array<${type}, ${workgroupThreads}>`);
          w.line(`${array}[thread] = ${value};`);
        },
        shared: (array, number) => `${array}[q * ${slices}u + ${number}]`,
      });
      const groups = groupsOf(Math.ceil(count / perGroup));
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** Returns the strides of a result with one element per line, with or without the dimension. */
function othersOf(
  { shape: own, strides }: TensorMeta,
  shape: readonly number[],
  dim: number,
): readonly number[] {
  return own.length === shape.length ? strides.filter((_, d) => d !== dim) : strides;
}
