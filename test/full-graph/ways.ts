/** Which ways of its branches and loops a program has taken, in all its runs together. */

import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import { RecordedDecisions } from '../../runtime/run-program/simulate/decider.ts';
import { predictRun } from '../../src/7-plan/control/predict-run.ts';
import type { CompiledPart } from '../../src/programs/compiled-part.ts';

const branchWays = ['first way', 'second way'] as const;
const loopWays = ['no turn', 'one turn', 'many turns'] as const;
type Way = (typeof branchWays | typeof loopWays)[number];

/** A way that no data takes, the text that stands in the user's file from its place on, and why. */
export type Never = readonly [way: Way, text: string, because: string];

/** All ops of one place in the user's file: copies of turns that were unrolled, too. */
interface Place {
  readonly at: UserPosition;
  readonly ways: readonly Way[];
  readonly taken: Set<Way>;
}

export class WaysTaken {
  readonly #places = new Map<string, Place>();

  /** After a run of the function: what its last run has decided. */
  note(parts: readonly CompiledPart[]): void {
    for (const { record } of parts) {
      if (!record.planned || !record.decisions.complete) continue;
      this.#meet(record.planned);
      const way = new RecordedDecisions(record.decisions.list);
      const noting = {
        branch: (op: ProgramOp) => this.#take(op, way.branch(), branchWays),
        iterations: (op: ProgramOp) => this.#take(op, way.iterations(), loopWays),
        element: () => way.element(),
        number: () => way.number(),
      };
      predictRun(record.planned, noting, record.donated);
    }
  }

  /** Every branch went both ways, every loop took no turn, one and many, but for what is stated. */
  expectAll(never: readonly Never[]): void {
    const open = [...this.#places.values()].flatMap(({ at, ways, taken }) =>
      ways.filter((way) => !taken.has(way)).map((way) => ({ way, at, text: textAt(at) })),
    );
    const states =
      ({ way, text }: { way: Way; text: string }) =>
      (each: Never) =>
        each[0] === way && text.startsWith(each[1]);
    const untaken = open.filter((each) => !never.some(states(each)));
    const stale = never.filter((each) => !open.some((one) => states(one)(each)));
    expect({
      'is taken by no data': untaken.map(
        ({ way, at, text }) => `${way} of ${text} (${formatPosition(at)})`,
      ),
      'is stated to be taken never, and is, or is nowhere': stale.map((each) => each.join(': ')),
    }).toEqual({
      'is taken by no data': [],
      'is stated to be taken never, and is, or is nowhere': [],
    });
  }

  #meet({ forward }: PlannedSubgraph): void {
    for (const { op, regions = [] } of forward.steps) {
      if (op.op.name === 'cond') this.#placeOf(op, branchWays);
      if (op.op.name === 'while') this.#placeOf(op, loopWays);
      for (const region of regions) this.#meet(region);
    }
  }

  #take(op: ProgramOp, decision: number, ways: readonly Way[]): number {
    this.#placeOf(op, ways).taken.add(ways[Math.min(decision, ways.length - 1)]!);
    return decision;
  }

  #placeOf({ op, at }: ProgramOp, ways: readonly Way[]): Place {
    const key = `${op.name} ${formatPosition(at!)}`;
    const place = this.#places.get(key) ?? { at: at!, ways, taken: new Set() };
    this.#places.set(key, place);
    return place;
  }
}

function textAt({ file, line, column }: UserPosition): string {
  return readFileSync(file, 'utf8')
    .split('\n')
    [line - 1]!.slice(column - 1);
}
