import { formatPosition, type UserPosition } from '../../../../runtime/errors/position.ts';
import { sizeOf } from '../../../../runtime/spec/shape.ts';
import type { Code } from '../../../vm/bytecode/code.ts';
import { successors } from '../../../vm/bytecode/effects.ts';
import type { Pc } from '../../../vm/bytecode/instructions.ts';
import { structureOf } from '../../../vm/bytecode/structure.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { TensorVariable } from '../../variables/variable.ts';

/** Jumps on a tensor's truth: as an object, a tensor is always true. */
export class TensorConditions {
  readonly #comparisons = new Map<string, UserPosition>();
  readonly #jumps = new Map<Code, Set<Pc>>();

  note({ closure: { code }, pc }: TraceFrame): void {
    const jumps = this.#jumps.get(code) ?? new Set();
    this.#jumps.set(code, jumps.add(pc));
  }

  /**
   * Conditions that are the result of a comparison: the user must have meant its value. Other tensors, such as masks,
   * may be tested for presence.
   */
  get comparisons(): readonly UserPosition[] {
    return [...this.#comparisons.values()];
  }

  noteComparison({ closure: { code }, pc }: TraceFrame, { source, traced }: TensorVariable): void {
    const isOne = traced?.dtype === 'bool' && sizeOf(traced.shape) === 1;
    if (source || !isOne) return;
    const span = code.spans[pc];
    if (!span) return;
    const at = code.source.position(span.start);
    this.#comparisons.set(formatPosition(at), at);
  }

  /** For the error of an endless trace: a loop in progress whose condition is one of them. */
  describe(frames: readonly TraceFrame[]): string | null {
    for (const { closure, pc } of frames) {
      const { code } = closure;
      const around = [...structureOf(code).loops.values()].filter(({ body }) => body.has(pc));
      for (const jump of this.#jumps.get(code) ?? []) {
        const next = successors(code, jump);
        const leaves = around.some(
          ({ body }) => body.has(jump) && next.some((each) => !body.has(each)),
        );
        if (!leaves) continue;
        const span = code.spans[jump];
        const where = span ? ` at ${formatPosition(code.source.position(span.start))}` : '';
        return `the condition of the loop${where} is a tensor, which is always true: read its value with itemSync()`;
      }
    }
    return null;
  }
}
