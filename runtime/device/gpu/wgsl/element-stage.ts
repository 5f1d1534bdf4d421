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
  /** The element's step along each dimension of the stage's shape; 0 if the text computes the index itself. */
  readonly strides: readonly number[];
  readonly written?: boolean;
  /** The number of elements of a written operand. */
  readonly elements?: number;
  readonly type: ElementType;
}

/** Returns an operand that is read or written along a shape to which its own shape broadcasts. */
export function along(slot: Slot, meta: TensorMeta, written = false): ElementOperand {
  const { strides, shape, dtype } = meta;
  return { slot, strides, written, elements: sizeOf(shape), type: elementTypeOf(dtype) };
}

/** The context of an element's text: the writer and the operands. */
interface ElementText {
  readonly w: WgslWriter;
  /** Returns the operand's current element, or the one `further` elements after it. */
  readonly at: (operand: number, further?: string) => string;
  /** Returns the statement that stores an operand's current element. */
  readonly store: (operand: number, value: string) => string;
}

/** Returns a dispatch with a thread per element of `shape`, with the text that `write` writes. */
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
