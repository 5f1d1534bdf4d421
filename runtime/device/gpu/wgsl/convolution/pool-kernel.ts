import { sizeOf } from '../../../../spec/shape.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output, type Slot } from '../../core/kernel-plan.ts';
import { elementTypeOf, valueTypeOf } from '../elements/element-type.ts';
import { foldOf } from '../fold-text.ts';
import { splitText } from '../index-text.ts';
import { chosenByNothing, type KernelPlanner, type WgslPlan } from '../wgsl-plan.ts';
import { groupsOf, workgroupThreads } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';

type Pair = readonly [number, number];

interface PoolOperand {
  readonly slot: Slot;
  readonly meta: TensorMeta;
}

/** Writes one element, at coordinates n, c, h and v. */
type ElementWriter = (
  w: WgslWriter,
  coordinates: readonly [string, string, string, string],
  elements: PoolElements,
) => void;

interface PoolElements {
  readonly at: (operand: number, coordinates: readonly string[]) => string;
  /** Returns the statement that stores an element. */
  readonly store: (operand: number, coordinates: readonly string[], value: string) => string;
}

/** Returns a dispatch with a thread per element of `shape`; the operands from `firstWritten` on are written. */
function elementPlan(
  shape: readonly number[],
  operands: readonly PoolOperand[],
  firstWritten: number,
  write: ElementWriter,
): WgslPlan {
  const size = sizeOf(shape);
  return {
    scratch: [],
    stages: [
      {
        operands: operands.map(({ slot, meta }, i) => ({
          slot,
          written: i >= firstWritten,
          walk: null,
          elements: sizeOf(meta.shape),
          type: elementTypeOf(meta.dtype),
        })),
        isEmpty: size === 0,
        chosenBy: chosenByNothing,
        write: (issue) => {
          const w = new WgslWriter(workgroupThreads, issue);
          const e = w.let(`group * ${workgroupThreads}u + thread`);
          w.line(`if (${e} < ${w.count('elements', size)}) {`);
          const [lines, v] = splitText(w, e, w.count('shape3', shape[3]!));
          const [planes, h] = splitText(w, lines, w.count('shape2', shape[2]!));
          const [n, c] = splitText(w, planes, w.count('shape1', shape[1]!));
          const place = (operand: number, coordinates: readonly string[]) => {
            const { strides } = operands[operand]!.meta;
            const terms = coordinates.map(
              (each, d) => `${each} * ${w.count(`s${operand}_${d}`, strides[d]!)}`,
            );
            return [w.offset(operand), ...terms].join(' + ');
          };
          write(w, [n, c, h, v], {
            at: (operand, own) => w.load(operand, place(operand, own)),
            store: (operand, own, value) => w.store(operand, place(operand, own), value),
          });
          w.line('}');
          const groups = groupsOf(Math.ceil(size / workgroupThreads));
          return { text: w.text(), uniforms: w.uniforms, groups };
        },
      },
    ],
  };
}

/** Writes the head of a loop over the positions of window `own` along dimension `d`; returns the position's name. */
type WindowLoop = (w: WgslWriter, d: 0 | 1, own: string, size: string) => string;

/** [n, c, h, w] → the maximum of each window and its index in the plane: the first of equal ones, and NaN. */
function largestPlan(
  x: TensorMeta,
  [out, places]: readonly TensorMeta[],
  loop: WindowLoop,
): WgslPlan {
  const operands = [
    { slot: input(0), meta: x },
    { slot: output(0), meta: out! },
    { slot: output(1), meta: places! },
  ];
  const isFloat = valueTypeOf(elementTypeOf(x.dtype)) === 'f32';
  const isAbove = (value: string) =>
    isFloat ? `!(${value} <= best) && (best > 0.0f || best <= 0.0f)` : `${value} > best`;
  return elementPlan(out!.shape, operands, 1, (w, [n, c, oh, ow], { at, store }) => {
    const sizes = [w.count('height', x.shape[2]!), w.count('width', x.shape[3]!)] as const;
    // −1 means that no element was read yet, so that a window of −Infinity still gets an index.
    w.line(`var best = ${foldOf('max', x.dtype).start};`, 'var place = -1i;');
    const h = loop(w, 0, oh, sizes[0]);
    const v = loop(w, 1, ow, sizes[1]);
    const value = w.let(at(0, [n, c, h, v]));
    w.line(
      `if (place < 0i || (${isAbove(value)})) {`,
      `best = ${value};`,
      `place = i32(${h} * ${sizes[1]} + ${v});`,
      '}',
      '}',
      '}',
      store(1, [n, c, oh, ow], 'best'),
      store(2, [n, c, oh, ow], 'place'),
    );
  });
}

export const maxPoolPlan: KernelPlanner = ([x], outputs, attrs) => {
  return largestPlan(x!, outputs, (w, d, own, size) => {
    const window = (name: string) => w.count(`${name}${d}`, (attrs[name] as Pair)[d]);
    const [tap, place] = [w.name(), w.name()];
    w.line(
      `for (var ${tap} = 0u; ${tap} < ${window('kernel')}; ${tap} = ${tap} + 1u) {`,
      `let ${place} = ${own} * ${window('stride')} + ${tap} * ${window('dilation')};`,
      // Unsigned, so that positions before the plane are far beyond its end.
      `if (${place} - ${window('padding')} >= ${size}) { continue; }`,
    );
    return w.let(`${place} - ${window('padding')}`);
  });
};

/** Returns the plan of max pooling over as many equal parts as the result has entries. */
export const adaptiveMaxPoolPlan: KernelPlanner = ([x], outputs) => {
  return largestPlan(x!, outputs, (w, d, own, size) => {
    const parts = w.count(`parts${d}`, outputs[0]!.shape[d + 2]!);
    const end = w.let(`((${own} + 1u) * ${size} + ${parts} - 1u) / ${parts}`);
    const place = w.name();
    w.line(
      `for (var ${place} = ${own} * ${size} / ${parts}; ${place} < ${end}; ${place} = ${place} + 1u) {`,
    );
    return place;
  });
};

/** Each element of x sums the gradients of the windows that selected it, among those that contain it. */
export const maxPoolGradPlan: KernelPlanner = ([dy, places], [dx], attrs) => {
  const operands = [
    { slot: input(0), meta: dy! },
    { slot: input(1), meta: places! },
    { slot: output(0), meta: dx! },
  ];
  return elementPlan(dx!.shape, operands, 2, (w, [n, c, h, v], { at, store }) => {
    const loop = (d: 0 | 1, own: string, number: string) => {
      const count = w.count(`windows${d}`, dy!.shape[d + 2]!);
      let [first, end] = ['0u', count];
      if (attrs.kernel) {
        const window = (name: string) => w.count(`${name}${d}`, (attrs[name] as Pair)[d]);
        const padded = w.let(`${own} + ${window('padding')}`);
        const reach = w.let(`(${window('kernel')} - 1u) * ${window('dilation')}`);
        const stride = window('stride');
        first = w.let(
          `select(0u, (${padded} - ${reach} + ${stride} - 1u) / ${stride}, ${padded} > ${reach})`,
        );
        end = w.let(`min(${count}, ${padded} / ${stride} + 1u)`);
      }
      w.line(`for (var ${number} = ${first}; ${number} < ${end}; ${number} = ${number} + 1u) {`);
    };
    const position = w.let(`i32(${h} * ${w.count('width', dx!.shape[3]!)} + ${v})`);
    w.line('var sum = 0.0f;');
    loop(0, h, 'oh');
    loop(1, v, 'ow');
    w.line(
      `if (${at(1, [n, c, 'oh', 'ow'])} == ${position}) { sum = sum + ${at(0, [n, c, 'oh', 'ow'])}; }`,
      '}',
      '}',
      store(2, [n, c, h, v], 'sum'),
    );
  });
};
