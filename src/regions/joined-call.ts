import type { GivenOperand } from '../../runtime/program/dynamic-call.ts';
import { FailedCheck } from '../../runtime/run-program/control/assert.ts';
import { type CallSite, type FinishProgram, SiteCall } from './site-call.ts';

/** The origin of a member's operand: the surroundings of the merged call, or an earlier member. */
export type Wire =
  | { readonly from: 'outside'; readonly operand: number }
  | { readonly from: 'member'; readonly member: number; readonly result: number };

export interface Member {
  readonly call: SiteCall;
  /** The wire of each operand. */
  readonly wires: readonly Wire[];
}

export interface MemberResult {
  readonly member: number;
  readonly result: number;
}

/**
 * Merges several calls into one: their ops form one program for the shapes of a run. A result that one member passes to
 * the next is a value of that program, and a view where the function returns a view. Null if no sample run completes
 * all of them.
 */
export function joinedCall(
  members: readonly Member[],
  operandCount: number,
  results: readonly MemberResult[],
  finish: FinishProgram,
): SiteCall | null {
  const takers = Array.from({ length: operandCount }, (_, operand) => takerOf(members, operand));
  const site: CallSite = {
    name: members.map(({ call }) => call.name).join(', '),
    forms: takers.map(({ site, index }) => site.forms[index]!),
    metas: takers.map(({ site, index }) => site.metas[index]!),
    samples: takers.map(({ site, index }) => site.samples[index]!),
    dynamic: results.map(({ member, result }) => members[member]!.call.dynamic[result]!),
    list: false,
    // Views that remain inside don't count.
    apart: results.every(({ member }) => members[member]!.call.apart),
    perform: (operands, builder) => {
      const performed: ReturnType<CallSite['perform']>[] = [];
      for (const { call, wires } of members) {
        const inputs = wires.map((wire) =>
          wire.from === 'outside' ? operands[wire.operand]! : performed[wire.member]![wire.result]!,
        );
        performed.push(call.site.perform(inputs, builder));
      }
      return results.map(({ member, result }) => performed[member]![result]!);
    },
  };
  const sample = sampleOf(site, finish);
  return sample && new SiteCall(site, sample, finish);
}

/** Returns a member that reads the operand, and the index of its own operand. */
function takerOf(members: readonly Member[], operand: number) {
  for (const { call, wires } of members) {
    const index = wires.findIndex((wire) => wire.from === 'outside' && wire.operand === operand);
    if (index >= 0) return { site: call.site, index };
  }
  throw new RangeError(`no member takes operand ${operand}`);
}

/** Returns possible operands of a run: those of a sample run that completes all members. */
function sampleOf(site: CallSite, finish: FinishProgram): readonly GivenOperand[] | null {
  const worlds = Math.min(...site.samples.map((each) => each.length));
  for (let world = 0; world < worlds; world++) {
    const sample = site.samples.map((each) => each[world]);
    if (!sample.every((each) => each !== undefined)) continue;
    try {
      new SiteCall(site, sample, finish).at(sample);
      return sample;
    } catch (error) {
      if (!(error instanceof FailedCheck)) throw error;
    }
  }
  return null;
}
