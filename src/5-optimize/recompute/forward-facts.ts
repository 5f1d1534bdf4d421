import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { ProgramFacts } from '../facts/program-facts.ts';
import { opWork } from './op-work.ts';

/** The facts about forward and backward that recomputing depends on. */
export class ForwardFacts {
  readonly program: Program;
  readonly isForward: (index: number) => boolean;
  /** Indices of the ops of forward, in order. */
  readonly forward: readonly number[];
  readonly #facts: ProgramFacts;
  readonly #returned: ReadonlySet<ValueId>;
  /** The indices of the ops that write each memory. */
  readonly #writes = new Map<ValueId, number[]>();
  /** Cached arithmetic of all of forward, and by op: searches query it repeatedly. */
  #forwardWork: number | undefined;
  readonly #work: (number | undefined)[] = [];
  /** By op, cached operands. */
  readonly #operands: (readonly ValueId[] | undefined)[] = [];
  readonly #read: (readonly ValueId[] | undefined)[] = [];

  /** `outputs`: values that the caller receives, and that are therefore kept anyway. */
  constructor(
    program: Program,
    isForward: (index: number) => boolean,
    outputs: readonly ValueId[] = program.outputs,
  ) {
    this.program = program;
    this.isForward = isForward;
    this.forward = [...program.ops.keys()].filter(isForward);
    this.#facts = ProgramFacts.of(program);
    this.#returned = new Set(outputs.map((id) => this.rootOf(id)));
    program.ops.forEach((op, index) => {
      for (const operand of writtenOperands(op)) {
        const root = this.rootOf(op.inputs[operand]!);
        this.#writes.set(root, [...(this.#writes.get(root) ?? []), index]);
      }
    });
  }

  rootOf(id: ValueId): ValueId {
    return this.#facts.rootOf(id);
  }

  definitionIndex(id: ValueId): number {
    return this.#facts.definitionIndex(id);
  }

  /** Returns the operands that the op's results are computed from or are views of. */
  operandsOf(index: number): readonly ValueId[] {
    const op = this.program.ops[index]!;
    this.#operands[index] ??= op.inputs.filter((_, i) => isComputedFrom(op, i));
    return this.#operands[index];
  }

  /** Returns the operands whose data the op reads. */
  readBy(index: number): readonly ValueId[] {
    const { op, inputs } = this.program.ops[index]!;
    this.#read[index] ??= inputs.filter((_, i) => operandUse(op, i) === 'data');
    return this.#read[index];
  }

  /** Returns the first op after this one that writes the memory; infinity if none does. */
  nextWrite(root: ValueId, index: number): number {
    const next = this.#writes.get(root)?.find((at) => at > index);
    return next ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Whether forward computed the memory with an op without other effects, and the memory is neither written nor
   * returned.
   */
  canRecompute(root: ValueId): boolean {
    const index = this.definitionIndex(root);
    if (index < 0 || !this.isForward(index)) return false;
    const { op } = this.program.ops[index]!;
    if (op.kernel.kind === 'control' || op.kernel.kind === 'view') return false;
    if (op.inPlace || op.effect) return false;
    return !this.#facts.isWritten(root) && !this.#returned.has(root);
  }

  /** Whether the caller receives the memory. */
  isReturned(root: ValueId): boolean {
    return this.#returned.has(root);
  }

  isReadByBackward(root: ValueId): boolean {
    return this.backwardReads(root).length > 0;
  }

  /** Returns the ops of backward that read the memory. */
  backwardReads(root: ValueId): readonly number[] {
    return this.#facts.readersOfMemory(root).filter((index) => !this.isForward(index));
  }

  /** Returns the ops of forward that read the memory. */
  forwardReads(root: ValueId): readonly number[] {
    return this.#facts.readersOfMemory(root).filter((index) => this.isForward(index));
  }

  /** Returns the last op of forward that reads the memory, or its definition if none does. */
  lastForwardRead(root: ValueId): number {
    return this.forwardReads(root).at(-1) ?? this.definitionIndex(root);
  }

  bytesOf(id: ValueId): number {
    const { shape, dtype } = this.program.values[id]!;
    return sizeOf(shape) * dtypes[dtype].bytes;
  }

  /** Arithmetic of all of forward. */
  get forwardWork(): number {
    this.#forwardWork ??= this.forward.reduce((sum, index) => sum + this.workOfOp(index), 0);
    return this.#forwardWork;
  }

  workOfOp(index: number): number {
    this.#work[index] ??= opWork(this.program.ops[index]!, this.program.values);
    return this.#work[index];
  }
}

/** Whether an op's results are computed from the data of an operand, or are views of the operand. */
export function isComputedFrom({ op }: ProgramOp, operand: number): boolean {
  return operandUse(op, operand) === 'data' || (op.kernel.kind === 'view' && operand === 0);
}
