import { contiguousStrides, sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import type { Slot } from '../core/kernel-plan.ts';
import { eachElement } from './each-element.ts';
import { type ElementType, elementTypeOf } from './elements/element-type.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { chosenByNothing, type WgslOperand, type WgslStage } from './wgsl-plan.ts';
import { workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** An operand of a stage with one thread per element of a shape. */
export interface ElementOperand {
  readonly slot: Slot;
  /** The element's step along each dimension of the stage's shape; 0 where the text finds the place by itself. */
  readonly strides: readonly number[];
  readonly written?: boolean;
  /** Elements of a written operand. */
  readonly elements?: number;
  readonly type: ElementType;
}

/** An operand that is read, or written, along a shape that its own broadcasts to. */
export function along(slot: Slot, meta: TensorMeta, written = false): ElementOperand {
  const { strides, shape, dtype } = meta;
  return { slot, strides, written, elements: sizeOf(shape), type: elementTypeOf(dtype) };
}

/** The names in scope of an element's text: the writer, and the operands. */
export interface ElementText {
  readonly w: WgslWriter;
  /** The operand's element on its walk, or that many elements further. */
  readonly at: (operand: number, further?: string) => string;
  /** The statement that stores an operand's element on its walk. */
  readonly store: (operand: number, value: string) => string;
}

/** One dispatch with a thread per element of `shape`, whose text `write` writes. */
export function elementStage(
  shape: readonly number[],
  operands: readonly ElementOperand[],
  write: (text: ElementText) => void,
): WgslStage {
  const size = sizeOf(shape);
  const { loops } = walksOf(
    shape,
    operands.map(({ strides }) => strides),
  );
  const dense = contiguousStrides(loops.shape).join();
  const bound = operands.map(({ slot, written = false, elements = 0, type }, i): WgslOperand => {
    const inOrder = loops.strides[i]!.join() === dense;
    return { slot, written, walk: null, elements, type, inOrder };
  });
  return {
    operands: bound,
    isEmpty: size === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(workgroupThreads, issue);
      const groups = eachElement(w, size, bound, issue, () => {
        const indices = indexTexts(w, loops, 'e', 'w_');
        const starts = indices.map((index, i) => w.let(`${w.offset(i)} + ${index}`));
        write({
          w,
          at: (operand, further) => {
            const start = starts[operand]!;
            return w.load(operand, further ? `${start} + ${further}` : start);
          },
          store: (operand, value) => w.store(operand, starts[operand]!, value),
        });
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}
