import { operandUse } from '../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { isCopy } from './copies/share-copies.ts';
import { ProgramFacts } from './facts/program-facts.ts';

/** The boundary between forward and late ops: the first op of backward. */
interface Boundary {
  readonly firstLate: number;
  /** Whether inputs are live during late ops anyway. */
  readonly inputsStay: boolean;
  /** Forward outputs besides the program's own. */
  readonly returned: readonly ValueId[];
}

/**
 * Recomputes values in backward instead of saving them if that takes no arithmetic on data: copies in another layout of
 * memory that is live anyway, and values that depend on no tensor (constants, counter-based random numbers, and masks
 * of them). Results are kept: the caller holds them anyway, and backward has to detect writes in between. Adds values
 * to the table and doesn't change ops before the boundary.
 */
export function rematerialize(program: Program, boundary: Boundary): Program {
  const rewriter = new Rewriter(program, boundary);
  return rewriter.run();
}

class Rewriter {
  readonly #program: Program;
  readonly #facts: ProgramFacts;
  readonly #boundary: Boundary;
  readonly #values: TensorMeta[];
  readonly #outputs: ReadonlySet<ValueId>;
  readonly #fromNothing = new Map<ValueId, boolean>();
  /** The recomputed values. */
  readonly #recomputed = new Map<ValueId, ValueId>();

  constructor(program: Program, boundary: Boundary) {
    this.#program = program;
    this.#facts = ProgramFacts.of(program);
    this.#boundary = boundary;
    this.#values = [...program.values];
    const returned = [...program.outputs, ...boundary.returned];
    this.#outputs = new Set(returned.map((id) => this.#facts.rootOf(id)));
  }

  run(): Program {
    const { ops } = this.#program;
    const { firstLate } = this.#boundary;
    const result: ProgramOp[] = ops.slice(0, firstLate);
    for (const op of ops.slice(firstLate)) {
      const inputs = op.inputs.map((id, i) =>
        operandUse(op.op, i) === 'data' && this.#isRecomputed(id)
          ? this.#recompute(id, op, result)
          : id,
      );
      result.push({ ...op, inputs });
    }
    if (this.#recomputed.size === 0) return this.#program;
    return { ...this.#program, values: this.#values, ops: result };
  }

  #isRecomputed(id: ValueId): boolean {
    const root = this.#facts.rootOf(id);
    const index = this.#facts.definitionIndex(root);
    if (index < 0 || index >= this.#boundary.firstLate) return false;
    if (this.#outputs.has(root) || this.#facts.isWritten(root)) return false;
    return this.#isFromNothing(root) || this.#isSpareCopy(root);
  }

  /** Whether the value is a copy of memory that is live until the late ops have run anyway. */
  #isSpareCopy(root: ValueId): boolean {
    const { op, inputs } = this.#facts.definitionOf(root)!;
    if (!isCopy(op)) return false;
    const source = this.#facts.rootOf(inputs[0]!);
    if (this.#facts.isWritten(source)) return false;
    const isInput = this.#facts.definitionIndex(source) < 0;
    if (isInput && this.#boundary.inputsStay) return true;
    return this.#facts.lastReadOfMemory(source) >= this.#facts.lastReadOfMemory(root);
  }

  /** Whether the value depends on no tensor: only on attributes and on values of the same kind. */
  #isFromNothing(id: ValueId): boolean {
    const known = this.#fromNothing.get(id);
    if (known !== undefined) return known;
    const definition = this.#facts.definitionOf(id);
    const answer =
      definition !== undefined &&
      !definition.op.inPlace &&
      definition.op.kernel.kind !== 'control' &&
      !this.#facts.isWritten(id) &&
      definition.inputs.every((input) => this.#isFromNothing(input));
    this.#fromNothing.set(id, answer);
    return answer;
  }

  /** Recomputes the value before the first op that reads it. */
  #recompute(id: ValueId, reader: ProgramOp, result: ProgramOp[]): ValueId {
    const known = this.#recomputed.get(id);
    if (known !== undefined) return known;
    const definition = this.#facts.definitionOf(id)!;
    const isRecomputedInput = (input: ValueId): boolean =>
      definition.op.kernel.kind === 'view' || this.#isFromNothing(input);
    const inputs = definition.inputs.map((input, i) => {
      const isRead = operandUse(definition.op, i) === 'data';
      return isRead && isRecomputedInput(input) ? this.#recompute(input, reader, result) : input;
    });
    const outputs = definition.outputs.map((output) => {
      return (this.#values.push(this.#values[output]!) - 1) as ValueId;
    });
    result.push({ ...definition, inputs, outputs, recordsGrad: false, at: reader.at });
    definition.outputs.forEach((output, i) => {
      this.#recomputed.set(output, outputs[i]!);
    });
    return this.#recomputed.get(id)!;
  }
}
