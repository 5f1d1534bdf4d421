/** Which paths of its branches and loops a program has taken, in all its runs together. */

import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import { RecordedDecisions } from '../../runtime/run-program/simulate/decider.ts';
import { predictRun } from '../../src/7-plan/control/predict-run.ts';
import type { CompiledPart } from '../../src/programs/compiled-part.ts';

const branchPaths = ['first branch', 'second branch'] as const;
const loopPaths = ['no iteration', 'one iteration', 'many iterations'] as const;
type Path = (typeof branchPaths | typeof loopPaths)[number];

/** A path that no data takes, the text that stands in the user's file from its place on, and why. */
export type Never = readonly [path: Path, text: string, because: string];

/** All ops of one place in the user's file: copies of iterations that were unrolled, too. */
interface Place {
  readonly at: UserPosition;
  readonly paths: readonly Path[];
  readonly taken: Set<Path>;
}

export class PathsTaken {
  readonly #places = new Map<string, Place>();

  /** After a run of the function: what its last run has decided. */
  note(parts: readonly CompiledPart[]): void {
    for (const { record } of parts) {
      if (!record.planned || !record.decisions.complete) continue;
      this.#meet(record.planned);
      const decided = new RecordedDecisions(record.decisions.list);
      const noting = {
        branch: (op: ProgramOp) => this.#take(op, decided.branch(), branchPaths),
        iterations: (op: ProgramOp) => this.#take(op, decided.iterations(), loopPaths),
        element: () => decided.element(),
        number: () => decided.number(),
      };
      predictRun(record.planned, noting, record.donated);
    }
  }

  /** Every branch took both paths, every loop took no iteration, one and many, but for what is stated. */
  expectAll(never: readonly Never[]): void {
    const open = [...this.#places.values()].flatMap(({ at, paths, taken }) =>
      paths.filter((path) => !taken.has(path)).map((path) => ({ path, at, text: textAt(at) })),
    );
    const states =
      ({ path, text }: { path: Path; text: string }) =>
      (each: Never) =>
        each[0] === path && text.startsWith(each[1]);
    const untaken = open.filter((each) => !never.some(states(each)));
    const stale = never.filter((each) => !open.some((one) => states(one)(each)));
    expect({
      'is taken by no data': untaken.map(
        ({ path, at, text }) => `${path} of ${text} (${formatPosition(at)})`,
      ),
      'is stated to be taken never, and is, or is nowhere': stale.map((each) => each.join(': ')),
    }).toEqual({
      'is taken by no data': [],
      'is stated to be taken never, and is, or is nowhere': [],
    });
  }

  #meet({ forward }: PlannedSubgraph): void {
    for (const { op, regions = [] } of forward.steps) {
      if (op.op.name === 'cond') this.#placeOf(op, branchPaths);
      if (op.op.name === 'while') this.#placeOf(op, loopPaths);
      for (const region of regions) this.#meet(region);
    }
  }

  #take(op: ProgramOp, decision: number, paths: readonly Path[]): number {
    this.#placeOf(op, paths).taken.add(paths[Math.min(decision, paths.length - 1)]!);
    return decision;
  }

  #placeOf({ op, at }: ProgramOp, paths: readonly Path[]): Place {
    const key = `${op.name} ${formatPosition(at!)}`;
    const place = this.#places.get(key) ?? { at: at!, paths, taken: new Set() };
    this.#places.set(key, place);
    return place;
  }
}

function textAt({ file, line, column }: UserPosition): string {
  return readFileSync(file, 'utf8')
    .split('\n')
    [line - 1]!.slice(column - 1);
}
