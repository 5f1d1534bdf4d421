import { invariant } from '../../../runtime/errors/invariant.ts';
import { callBackwardOp } from '../../../runtime/program/control-ops.ts';
import { isGradientSum } from '../../../runtime/program/optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { WiredGroup } from './joined-ops.ts';

/** The backward ops of a group's members, merged into one. */
interface JoinedBackward {
  /** The ops that the merged op replaces: the members' backward ops and the sums of their gradients. */
  readonly replaced: ReadonlySet<ProgramOp>;
  /** Gradients that enter the merged op, by the results that they belong to. */
  readonly seeds: ReadonlyMap<ValueId, ValueId>;
  /** Gradients that leave it, by operand of the merged call. */
  readonly leaving: ReadonlyMap<number, ValueId>;
}

/**
 * Merges the backward ops of a group's members. Null if gradients between them have other readers, or if one program
 * would sum them in another order.
 */
export function joinedBackward(program: Program, group: WiredGroup): JoinedBackward | null {
  return new Joining(program, group).joined();
}

class Joining {
  readonly #group: WiredGroup;
  readonly #madeBy = new Map<ValueId, ProgramOp>();
  readonly #uses = new Map<ValueId, number>();
  /** The backward op of each member; undefined if it is in another program. */
  readonly #backwardOps: readonly (ProgramOp | undefined)[];
  readonly #replaced = new Set<ProgramOp>();

  constructor(program: Program, group: WiredGroup) {
    this.#group = group;
    for (const op of program.ops) {
      for (const id of op.outputs) this.#madeBy.set(id, op);
      for (const id of op.inputs) this.#use(id);
      if (op.before !== undefined) this.#use(op.before);
    }
    for (const id of program.outputs) this.#use(id);
    this.#backwardOps = group.ops.map(({ outputs }) =>
      program.ops.find(({ op, inputs }) => op === callBackwardOp && inputs[0] === outputs.at(-1)),
    );
  }

  #use(id: ValueId): void {
    this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
  }

  joined(): JoinedBackward | null {
    const inner = this.#innerGradients();
    const seeds = new Map<ValueId, ValueId>();
    for (const [i, backwardOp] of this.#backwardOps.entries()) {
      if (!backwardOp) continue;
      this.#replaced.add(backwardOp);
      const of = backwardOp.attrs.of as readonly number[];
      for (const [k, result] of of.entries()) {
        const output = this.#group.ops[i]!.outputs[result]!;
        const parts = inner.get(output) ?? new Set();
        const seed = this.#withoutParts(backwardOp.inputs[k + 1]!, parts);
        // A term has another reader, or the sum uses another order.
        if (parts.size > 0) return null;
        if (seed !== null) seeds.set(output, seed);
        inner.delete(output);
      }
    }
    if (inner.size > 0) return null;
    return { replaced: this.#replaced, seeds, leaving: this.#leaving() };
  }

  /** Gradients that a member contributes to results of an earlier one. */
  #innerGradients(): Map<ValueId, Set<ValueId>> {
    const inner = new Map<ValueId, Set<ValueId>>();
    this.#eachGradient((member, operand, gradient) => {
      const wire = this.#group.members[member]!.wires[operand]!;
      if (wire.from === 'outside') return;
      const output = this.#group.ops[wire.member]!.outputs[wire.result]!;
      inner.set(output, (inner.get(output) ?? new Set()).add(gradient));
    });
    return inner;
  }

  #leaving(): Map<number, ValueId> {
    const leaving = new Map<number, ValueId>();
    this.#eachGradient((member, operand, gradient) => {
      const wire = this.#group.members[member]!.wires[operand]!;
      if (wire.from === 'outside') leaving.set(wire.operand, gradient);
    });
    return leaving;
  }

  #eachGradient(see: (member: number, operand: number, gradient: ValueId) => void): void {
    this.#backwardOps.forEach((backwardOp, member) => {
      const to = (backwardOp?.attrs.to ?? []) as readonly number[];
      for (const [k, operand] of to.entries()) see(member, operand, backwardOp!.outputs[k]!);
    });
  }

  /**
   * Returns the gradient of a result before the members add to it; null if only they contribute. Removes the terms it
   * finds from `parts`.
   */
  #withoutParts(complete: ValueId, parts: Set<ValueId>): ValueId | null {
    let rest = complete;
    while (this.#uses.get(rest) === 1) {
      if (parts.delete(rest)) return null;
      const sum = this.#madeBy.get(rest);
      const [before, part] = sum?.inputs ?? [];
      const isPart = sum && isGradientSum(sum.op) && sum.inputs.length === 2 && parts.has(part!);
      if (!isPart || this.#uses.get(part!) !== 1) return rest;
      invariant(before !== undefined, 'a sum has two parts');
      parts.delete(part!);
      this.#replaced.add(sum);
      rest = before;
    }
    return rest;
  }
}
