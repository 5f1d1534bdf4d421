import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { invariant } from '../../../runtime/errors/invariant.ts';
import type { OperandForm } from '../../../runtime/program/dynamic-call.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { siteOf } from '../../regions/append-call.ts';
import type { Member, MemberResult, Wire } from '../../regions/joined-call.ts';
import type { CallGroup } from './call-groups.ts';

/** The members of a group, and the values that flow between them. */
export interface WiredGroup {
  readonly ops: readonly ProgramOp[];
  readonly members: readonly Member[];
  /** For each operand of the merged call, the surrounding value. */
  readonly operands: readonly ValueId[];
  /** For each value that a member computes, the member. */
  readonly madeBy: ReadonlyMap<ValueId, MemberResult>;
}

/**
 * Orders operands by member, last member first. Each has its own gradient where one may flow: contributions then arrive
 * in the same order as from separate members.
 */
export function wired({ values, ops: all }: Program, group: CallGroup): WiredGroup {
  const ops = group.map((index) => all[index]!);
  const madeBy = new Map<ValueId, MemberResult>();
  ops.forEach(({ outputs }, member) => {
    outputs.slice(0, -1).forEach((id, result) => {
      madeBy.set(id, { member, result });
    });
  });
  const operands: ValueId[] = [];
  const shared = new Map<string, number>();
  const outside = (id: ValueId, form: OperandForm, recordsGrad: boolean): number => {
    if (recordsGrad && dtypes[values[id]!.dtype].floating && form !== 'number') {
      return operands.push(id) - 1;
    }
    const key = `${form} ${id}`;
    return getOrInsert(shared, key, () => operands.push(id) - 1);
  };
  const backToFront = [...ops].reverse().map(({ call, inputs, recordsGrad }): Member => {
    const site = siteOf(call!);
    invariant(site, 'a joined call is known by its function');
    const wires = inputs.map((id, i): Wire => {
      const producer = madeBy.get(id);
      if (producer) return { from: 'member', ...producer };
      return { from: 'outside', operand: outside(id, site.forms[i]!, recordsGrad) };
    });
    return { call: site, wires };
  });
  return { ops, members: backToFront.reverse(), operands, madeBy };
}
