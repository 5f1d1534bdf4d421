import { identity } from '../../../ops/expr/expr-type.ts';
import { broadcastStrides, sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output } from '../core/kernel-plan.ts';
import { elementTypeOf } from './elements/element-type.ts';
import { bodyText, roundedName } from './pointwise-kernel.ts';
import { type HeadBody, operandsRead, operandsUsed } from './staged-body.ts';
import type { WgslOperand } from './wgsl-plan.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** Returns a head without a body: its elements are stored unchanged. `reads` are the inputs it reads. */
export function storedHead(
  reads: readonly number[],
  inputs: readonly TensorMeta[],
  out: TensorMeta,
): HeadBody {
  const copied = { expr: identity, operands: [{ operand: inputs.length }], dtype: out.dtype };
  const body = { shape: out.shape, parts: [copied], results: [0], writes: [] };
  return { reads, body, dtype: out.dtype, attr: (_part, name) => name };
}

/** The operands of a head's stage, inputs before outputs, and their strides over the head's shape. */
interface HeadOperands {
  readonly operands: readonly WgslOperand[];
  readonly strides: readonly (readonly number[])[];
}

/**
 * Binds the factors and the operands of the body. An operand read by shape alone has no memory here and is bound
 * as the first factor.
 */
export function headOperands(
  { reads, body }: HeadBody,
  factors: readonly number[],
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): HeadOperands {
  const used = operandsUsed(body);
  const metas = [...inputs, ...outputs];
  const isUsed = (i: number) => i >= inputs.length || used.has(i);
  const strides = metas.map((meta, i) =>
    isUsed(i) ? broadcastStrides(meta.shape, meta.strides, body.shape) : body.shape.map(() => 0),
  );
  const read = operandsRead(body);
  const isFactor = (i: number) => factors.some((factor) => reads[factor] === i);
  const operands = metas.map((meta, i): WgslOperand => {
    const bound = isUsed(i) || isFactor(i) ? i : reads[factors[0]!]!;
    return {
      slot: i < inputs.length ? input(bound) : output(i - inputs.length),
      written: i >= inputs.length || body.writes.some(({ operand }) => operand === i),
      isRead: i < inputs.length && (bound !== i || isFactor(i) || read.has(i)),
      walk: isFactor(i) || bound !== i ? null : strides[i]!.join(),
      elements: sizeOf(meta.shape),
      type: elementTypeOf(metas[i < inputs.length ? bound : i]!.dtype),
    };
  });
  return { operands, strides };
}

/**
 * Writes the ops applied to an element of the head, whose text is `value`, before it is stored. `place` is the
 * index of an operand's element.
 */
export function headText(
  w: WgslWriter,
  { body, attr, dtype }: HeadBody,
  inputs: readonly TensorMeta[],
  attrs: Attrs,
  value: string,
  place: (operand: number) => string,
): void {
  // A value that is only stored is rounded by the store.
  const isStored = body.parts.every(({ expr }) => expr === identity);
  bodyText(w, body, {
    load: (operand) => w.load(operand, place(operand)),
    store: (operand, own) => w.store(operand, place(operand), own),
    // The head's element follows the op's operands, and results come after it.
    firstResult: inputs.length,
    dtype: (i) => inputs[i]?.dtype ?? dtype,
    known: new Map([[inputs.length, isStored ? value : roundedName(w, dtype, value)]]),
    attr: (part, name) => {
      const full = attr(part, name);
      return { field: `a_${full}`, name: full, value: Number(attrs[full]) };
    },
  });
}
