import type { Device } from '../../../runtime/device/device.ts';
import { isContiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import { exprOf, resultOf, shapeOf } from '../../../runtime/program/fused/fused-op.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { type Shape, sameShape, sizeOf } from '../../../runtime/spec/shape.ts';
import type { GroupRules, Joined } from './groups.ts';
import { innerLength, mayShareLoop } from './inner-length.ts';

/** A loop nest: its shape, and the number of elements in its innermost loop. */
interface Loop {
  readonly device: Device;
  readonly shape: Shape;
  readonly length: number;
}

/** Rules for pointwise ops over one shape: each element passes through all of them. */
export class PointwiseRules implements GroupRules<Loop> {
  /** With more members, a kernel would have more live values than registers and scratch memory can hold. */
  readonly mostParts = 24;
  readonly mostOperands = 24;
  readonly #values: ValueTable;

  constructor(values: ValueTable) {
    this.#values = values;
  }

  begin(programOp: ProgramOp): Loop | null {
    const values = this.#values;
    const { op, inputs, outputs, before, call, regions } = programOp;
    if (!exprOf(op) || before !== undefined || call || regions) return null;
    if (outputs.length !== (op.inPlace ? 0 : 1)) return null;
    const { device } = values[resultOf(programOp)]!;
    const isHere = [...inputs, ...outputs].every((id) => values[id]!.device === device);
    if (!device.fusesPointwise || !isHere) return null;
    if (!op.inPlace && !isContiguousMeta(values[outputs[0]!]!)) return null;
    const shape = shapeOf(programOp, values);
    return { device, shape, length: this.#lengthOf(shape, [...inputs, ...outputs]) };
  }

  join(one: Loop, other: Loop, { operands }: Joined): Loop | null {
    const { device, shape } = one;
    if (device !== other.device || !sameShape(shape, other.shape)) return null;
    // Results of ops are contiguous.
    const length = this.#lengthOf(shape, operands);
    // On a GPU each element is a thread: there is no loop that a broadcast could split.
    const isLoop = device.kind !== 'gpu';
    if (isLoop && !mayShareLoop(sizeOf(shape), length, one.length, other.length)) return null;
    return { device, shape, length };
  }

  #lengthOf(shape: Shape, operands: readonly ValueId[]): number {
    return innerLength(
      shape,
      operands.map((id) => this.#values[id]!),
    );
  }
}
