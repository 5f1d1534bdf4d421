import { sameAttrs } from '../../ops/core/prepared-call.ts';
import { ValueGroups } from '../memory-groups.ts';
import type { Plan } from '../plan.ts';
import type { ProgramOp, ValueId } from '../program.ts';
import { writtenOperands } from '../writes.ts';
import type { Fail } from './verify-failure.ts';

const none: ReadonlySet<string> = new Set();

/**
 * Verifies ops marked as rematerialized, for which inputs are not copied: the same op must have run before, in one of
 * the plans, on bitwise identical operands. By value numbering: the same op on the same numbers defines the same
 * number, and a write renumbers all values that share the memory.
 */
export function reverify(plans: readonly Plan[], fail: Fail): void {
  const ops = plans.flatMap(({ steps }) => steps.flatMap(({ op }) => singleOps(op)));
  if (ops.every(({ again }) => again === undefined)) return;
  const groups = new ValueGroups(ops, 'memory');
  const names = new Map<ValueId, ValueId>();
  const writes = new Map<ValueId, number>();
  const known = new Map<string, ProgramOp[]>();
  const nameOf = (id: ValueId) => names.get(id) ?? id;
  ops.forEach((programOp, index) => {
    const { op, inputs, outputs, attrs, again } = programOp;
    const written = writtenOperands(programOp);
    if (written.length === 0 && !op.effect && op.kernel.kind !== 'control') {
      const key = `${op.name} ${inputs.map((id) => [nameOf(id), writes.get(groups.of(id))])}`;
      const alike = known.get(key) ?? [];
      known.set(key, alike);
      const before = alike.find((each) => sameAttrs(each.attrs, attrs, none));
      if (before) {
        outputs.forEach((id, i) => {
          names.set(id, before.outputs[i]!);
        });
      } else alike.push(programOp);
    }
    if (again !== undefined && names.get(outputs[0]!) !== nameOf(again)) {
      fail(`%${outputs} as run again after %${again}`, 'the same operator and operands');
    }
    for (const i of written) writes.set(groups.of(inputs[i]!), index);
  });
}

function singleOps(op: ProgramOp): readonly ProgramOp[] {
  return op.parts ? op.parts.flatMap(singleOps) : [op];
}
